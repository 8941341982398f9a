package temporal

// Durations: lengths of time, and where they lie if the sentence says so.

// duration reads "for three years", "for the last two weeks", "for 10 days from 18th Dec". A length up to
// the reference where the sentence says that it still goes on (have ... for), else a length alone.
func (p *parser) duration(i int) (Mention, int) {
	j := i + 1
	if k, e := p.turn(j); e != 0 && k != 0 { // for the last two weeks
		n, f := p.modified(j)
		if f == 0 {
			return Mention{}, 0
		}
		return Mention{Interval: n.iv, Duration: true, Approx: n.approx, Length: p.lengthOf(e, f)}, f
	}
	q, g, e := p.length(j)
	if e == 0 {
		return Mention{}, 0
	}
	m := Mention{Duration: true, Approx: q.vague, Length: &Span{q.n, g}}
	if p.isAny(e, "ago", "hence") || p.fromNow(e) != 0 {
		return Mention{}, 0
	}
	n, u, ok := exact(q, g)
	if !ok {
		return m, e
	}
	if p.is(e, "now") || p.is(e, "already") {
		e++
		m.Interval = p.upTo(u, n)
		return m, e
	}
	if p.is(e, "from") || p.is(e, "starting") {
		k := p.skip(p.skip(e+1, "from"), "on")
		if pt, f := p.point(k); f != 0 {
			if iv, ok := p.at(pt, p.ref, p.dir); ok {
				m.Interval = Interval{Start: iv.Start, End: add(iv.Start, u, n), Grain: Range}
				return m, f
			}
		}
	}
	if p.ongoing(i) {
		m.Interval = p.upTo(u, n)
	}
	return m, e
}

// lasting reads a length that still goes on, without "for": "seven years now".
func (p *parser) lasting(i int) (Mention, int) {
	if p.bare || !p.has(i, cNumber) && !p.isNumber(i) && !p.isAny(i, "a", "an", "almost", "nearly", "about", "over") {
		return Mention{}, 0
	}
	q, g, e := p.length(i)
	if e == 0 || g < Day || !p.is(e, "now") || p.is(e-1, "from") {
		return Mention{}, 0
	}
	n, u, ok := exact(q, g)
	if !ok || e+1 < len(p.toks) && p.toks[e+1].kind == aWord && !p.has(e+1, cPrep|cFunction) {
		return Mention{}, 0
	}
	return Mention{Interval: p.upTo(u, n), Duration: true, Approx: q.vague, Length: &Span{q.n, g}}, e + 1
}

func (p *parser) lengthOf(i, j int) *Span {
	if q, g, e := p.length(i); e == j && e != 0 {
		return &Span{q.n, g}
	}
	if p.has(i, cUnit) {
		return &Span{1, p.toks[i].w.unit}
	}
	return nil
}

// ongoing reports whether the clause before token i is in the present perfect: I have been ..., 've had.
func (p *parser) ongoing(i int) bool {
	for k := i - 1; k >= 0 && k > i-14; k-- {
		if p.boundary(k) == 2 {
			return false
		}
		if p.has(k, cHave) && !p.is(k, "had") {
			return true
		}
	}
	return false
}
