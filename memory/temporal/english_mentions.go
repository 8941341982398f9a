package temporal

// Mentions: points with what stands before them (since, until, by), ranges of two points, and durations.

// mention reads the expression that starts at token i.
func (p *parser) mention(i int) (m Mention, next int, ok bool) {
	switch {
	case p.is(i, "for"), p.is(i, "over") && p.has(i+1, cNumber):
		if m, e := p.duration(i); e != 0 {
			return m, e, true
		}
	case p.isAny(i, "since"):
		if pt, e := p.ledPoint(i + 1); e != 0 {
			iv, ok := p.back(pt)
			if ok {
				return p.made(Interval{Start: iv.Start, OpenEnd: true, Grain: iv.Grain}, pt), e, true
			}
		}
	case p.isAny(i, "until", "untill", "till", "through", "thru"), p.is(i, "up") && p.is(i+1, "to"):
		if pt, e := p.ledPoint(i + 1); e != 0 {
			if p.tensed == 0 {
				p.dir = +1
			}
			if iv, ok := p.at(pt, p.ref, p.dir); ok {
				end := iv.End
				if iv.Grain < PartOfDay {
					end = iv.Start
				}
				return p.made(Interval{OpenStart: true, End: end, Grain: iv.Grain}, pt), e, true
			}
		}
	case p.isAny(i, "before") || p.isAny(i, "sometime", "sometimes", "anytime") && p.is(i+1, "before"):
		if pt, e := p.ledPoint(p.skip(i, "sometime", "sometimes", "anytime") + 1); e != 0 {
			if iv, ok := p.at(pt, p.ref, p.dir); ok {
				end := iv.Start
				if pt.date.tail {
					end = iv.End
				}
				return p.made(Interval{OpenStart: true, End: end, Grain: iv.Grain}, pt), e, true
			}
		}
	case p.isAny(i, "after") || p.isAny(i, "sometime", "sometimes", "anytime") && p.isAny(i+1, "after", "since"):
		if pt, e := p.ledPoint(p.skip(i, "sometime", "sometimes", "anytime") + 1); e != 0 {
			if iv, ok := p.at(pt, p.ref, p.dir); ok {
				start := iv.End
				if iv.Grain < PartOfDay {
					start = iv.Start
				}
				return p.made(Interval{Start: start, OpenEnd: true, Grain: iv.Grain}, pt), e, true
			}
		}
	case p.is(i, "by"):
		if m, e := p.by(i); e != 0 {
			return m, e, true
		}
	case p.is(i, "within"):
		if q, g, e := p.length(i + 1); e != 0 && p.dir > 0 {
			if n, u, ok := exact(q, g); ok {
				end := add(p.ref, u, n)
				if u >= Day {
					end = day(end)
				}
				return Mention{Interval: Interval{Start: p.ref, End: end, Grain: Range}}, e, true
			}
		}
		return m, 0, false
	case p.isAny(i, "from", "between"):
		if m, e := p.span(i+1, p.is(i, "between")); e != 0 {
			return m, e, true
		}
		if p.is(i, "from") {
			if pt, e := p.ledPoint(i + 1); e != 0 && pt.hasClk && pt.date.kind == noDate || e != 0 && p.isAny(e, "on", "onwards", "onward") && !p.has(e+1, cWeekday) {
				if iv, ok := p.at(pt, p.ref, p.dir); ok {
					return p.made(Interval{Start: iv.Start, OpenEnd: true, Grain: iv.Grain}, pt), p.skip(e, "on", "onwards", "onward"), true
				}
			}
		}
		return m, 0, false
	case p.isAny(i, "asap") && p.bare:
		return Mention{Interval: Interval{Start: p.r.floor(p.ref, Second), OpenEnd: true, Grain: Second}}, i + 1, true
	case p.is(i, "in") && p.is(i+1, "the") && p.has(i+2, cPart):
		// "in the morning": a part of some day; of today only in a bare text
		pt, e := p.point(i)
		if e == 0 || !p.bare && !pt.bound {
			return m, 0, false
		}
		return p.finish(pt, e)
	}
	if p.has(i, cPrep) && !p.has(i, cPosition|cPrevious) && !p.isAny(i, "in", "about", "around", "over") {
		return m, 0, false
	}
	if m, e := p.span(i, false); e != 0 {
		return m, e, true
	}
	if m, e := p.lasting(i); e != 0 {
		return m, e, true
	}
	pt, e := p.point(i)
	if e == 0 {
		return m, 0, false
	}
	if !p.accept(pt, i, e) {
		return m, 0, false
	}
	if m, f := p.boundedDay(pt, e); f != 0 {
		return m, f, true
	}
	return p.finish(pt, e)
}

// boundedDay reads a part of a day that a clock time bounds: "tomorrow before 4pm", "Friday after five o'clock".
func (p *parser) boundedDay(pt point, e int) (Mention, int) {
	if pt.hasClk || pt.part != (part{}) || pt.date.kind == noDate || !p.isAny(e, "before", "after", "until", "till", "by", "from") {
		return Mention{}, 0
	}
	c, f := p.clockAt(e + 1)
	if f == 0 || c.latent {
		return Mention{}, 0
	}
	iv, ok := p.at(pt, p.ref, p.dir)
	if !ok || iv.Grain != Day {
		return Mention{}, 0
	}
	pt.clk, pt.hasClk = c, true
	at, ok := p.at(pt, p.ref, p.dir)
	if !ok || !iv.Contains(at.Start) {
		return Mention{}, 0
	}
	if p.isAny(e, "after", "from") {
		iv.Start = at.Start
	} else {
		iv.End = at.Start
	}
	iv.Grain = Range
	if !iv.End.After(iv.Start) {
		return Mention{}, 0
	}
	return p.made(iv, pt), f
}

// finish resolves a point into a mention.
func (p *parser) finish(pt point, e int) (Mention, int, bool) {
	iv, ok := p.at(pt, p.ref, p.dir)
	if !ok {
		return Mention{}, 0, false
	}
	return p.made(iv, pt), e, true
}

func (p *parser) made(iv Interval, pt point) Mention {
	return Mention{Interval: iv, Absolute: pt.date.abs, Yearless: pt.date.noYear(), Approx: pt.approx || pt.date.approx}
}

// accept reports whether a point that stands by itself at [i, e) is a time: latent ones need a preposition.
func (p *parser) accept(pt point, i, e int) bool {
	if p.isAny(i-1, "every", "each") || p.has(i, cWeekday) && p.plural(i) { // a habit
		return false
	}
	if pt.hasClk && pt.date.kind == noDate && (p.word(i-1, "line") || p.word(i-1, "ratio") || p.word(i-1, "verse") || p.word(i-1, "score")) {
		return false
	}
	if p.is(e, "of") && p.isAny(e+1, "each", "every") { // the first of each month
		return false
	}
	if pt.hasClk && pt.date.kind == noDate && (p.isAny(e, "every", "each") || p.is(e, "on") && p.has(e+1, cWeekday) && p.plural(e+1)) {
		return false // at ten on Sundays
	}
	if pt.bound {
		return true
	}
	n := &pt.date
	switch {
	case pt.hasClk:
		if p.isAny(i, "noon", "midnight", "midday") && p.isAny(i-1, "a", "the", "our") && p.counted(e) { // a midnight snack
			return false
		}
		return true
	case n.kind == noDate: // a part of the day alone, and no greeting
		return p.bare && !p.is(i-1, "good")
	case n.latent:
		if n.kind == fields && n.m > 0 && n.d == 0 && !p.bare {
			if p.is(i, "may") || p.is(i, "march") || p.is(i, "mar") {
				return p.toks[i].upper && p.led(i)
			}
			return p.led(i) && p.toks[i].upper || p.led(i) && !p.ambiguousSmall(i)
		}
		if n.kind == season && !p.bare && p.counted(e) { // summer break
			return false
		}
		if n.kind == fields && n.wd > 0 && !p.bare {
			return p.toks[i].upper && p.led(i) && !p.toks[i].caps
		}
		return p.led(i)
	}
	return true
}

// ambiguousSmall: names of months in small letters that are more often something else.
func (p *parser) ambiguousSmall(i int) bool {
	switch p.toks[i].w.s {
	case "mar", "jan", "dec", "sep", "june", "april", "august", "apr":
		return p.toks[i].w.s != "june" && p.toks[i].w.s != "april" && p.toks[i].w.s != "august"
	}
	return false
}

// ledPoint reads a point that a preposition leads, so that its latent forms count: "since May", "until 6".
func (p *parser) ledPoint(i int) (point, int) {
	i = p.skip(i, "about", "around", "at", "on", "in")
	pt, e := p.point(i)
	if e != 0 && !p.accept(pt, i, e) {
		return point{}, 0
	}
	if e == 0 && p.bare { // "until 6"
		if c, f := p.clockAt(i); f != 0 && !p.counted(f) {
			return point{clk: c, hasClk: true}, f
		}
	}
	return pt, e
}

// back resolves a point that lies behind whatever the tense: since March.
func (p *parser) back(pt point) (Interval, bool) {
	dir := -1
	if p.tensed > 0 || p.bare && pt.hasClk {
		dir = 1
	}
	return p.at(pt, p.ref, dir)
}

// by reads "by Friday", "by 2pm", "by the end of the month": from the reference up to then; in a sentence
// that looks back without a beginning.
func (p *parser) by(i int) (Mention, int) {
	j := i + 1
	iv, pt, e := Interval{}, point{}, 0
	k := p.skip(j, "the")
	switch {
	case p.isAny(k, "eod", "eom", "eoy", "eow"):
		g := map[string]Grain{"eod": Day, "eom": Month, "eoy": Year, "eow": Week}[p.toks[k].w.s]
		iv, e = p.r.current(p.ref, g), k+1
	case p.is(k, "end") && p.is(k+1, "of"):
		in, f, _, ok := p.container(k + 2)
		if !ok {
			return Mention{}, 0
		}
		iv, e = in, f
	default:
		pt, e = p.ledPoint(j)
		if e == 0 || pt.date.kind == fixed && pt.date.iv.Grain < Day {
			return Mention{}, 0
		}
		var ok bool
		if p.tensed == 0 { // what is to be done by then
			p.dir = +1
		}
		if pt.date.latent && p.dir < 0 && !p.bare { // inspired by autumn
			return Mention{}, 0
		}
		if iv, ok = p.at(pt, p.ref, p.dir); !ok {
			return Mention{}, 0
		}
		if iv.Grain < PartOfDay {
			iv.End = iv.Start
		}
	}
	m := p.made(iv, pt)
	m.Interval = Interval{Start: p.ref, End: iv.End, Grain: Range}
	if !iv.End.After(p.ref) {
		m.Interval = Interval{OpenStart: true, End: iv.End, Grain: iv.Grain}
	}
	return m, e
}
