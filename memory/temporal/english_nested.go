package temporal

// Dates inside dates: "the first Monday of March", "last week of September 2014", "20th of next month",
// "Wednesday of next week", "early March", "the end of 2012".

// container reads the date that something lies in, after "of", "in", "from" or nothing.
func (p *parser) container(i int) (in Interval, next int, noYear, ok bool) {
	if p.is(i, "the") && (p.is(i+1, "month") || p.is(i+1, "year") || p.is(i+1, "week") || p.is(i+1, "quarter")) {
		return p.r.current(p.ref, p.toks[i+1].w.unit), i + 2, false, true
	}
	if p.has(i, cUnit) && p.isAny(i, "month", "year", "week", "quarter") {
		return p.r.current(p.ref, p.toks[i].w.unit), i + 1, false, true
	}
	n, e := p.date(i)
	if e == 0 || n.clockFixed {
		return Interval{}, 0, false, false
	}
	in, ok = p.resolve(n, p.ref, p.dir)
	return in, e, n.noYear(), ok
}

// within reads an ordinal place in a longer time: nth weekday, day, week, weekend, month of.
func (p *parser) within(i int) (node, int) {
	j := p.skip(i, "the")
	if p.has(j, cWeekday) && !p.plural(j) && p.isAny(j+1, "after", "before", "following") { // the Friday before 15 July
		return p.weekdayFrom(p.toks[j].w.n, 1, j+1)
	}
	o, fromEnd := 0, false
	switch {
	case p.is(j, "last"), p.is(j, "final"):
		if p.has(j+1, cUnit) && p.toks[j+1].w.unit >= Day && p.is(j+2, "before") { // last weekend before 10 April
			return p.unitNear(p.toks[j+1].w.unit, j+2)
		}
		o, fromEnd = 1, true
		j++
	default:
		n, e := p.ordinal(j)
		if e == 0 {
			return node{}, 0
		}
		o, j = n, e
		if p.is(j, "last") || p.isMark(j, '-') && p.is(j+1, "last") {
			fromEnd = true
			for !p.is(j, "last") {
				j++
			}
			j++
		}
	}
	if o < 1 || o > 366 {
		return node{}, 0
	}
	wd, g := 0, Grain(0)
	count := 1
	if p.is(j, "half") && p.is(j+1, "of") && o <= 2 && !fromEnd { // the first half of 2021
		in, e, noYear, ok := p.container(j + 2)
		if !ok || in.OpenStart || in.OpenEnd || in.Grain < Week {
			return node{}, 0
		}
		return node{kind: fixed, iv: half(in, o), abs: p.absolute(j+2, e), yearless: noYear}, e
	}
	switch {
	case p.has(j, cWeekday) && !p.plural(j):
		wd = p.toks[j].w.n
		j++
	case p.has(j, cUnit) && p.toks[j].w.unit >= Day:
		g = p.toks[j].w.unit
		if p.is(j, "week") && p.is(j+1, "end") {
			g = Weekend
			j++
		}
		j++
	default:
		if n, e := p.cardinal(j); e != 0 && p.has(e, cUnit) && p.toks[e].w.unit >= Day && o == 1 { // the first two weeks of May
			count, g, j = n, p.toks[e].w.unit, e+1
			break
		}
		return node{}, 0
	}
	if wd > 0 && p.isAny(j, "after", "before", "following") { // third Tuesday after Christmas 2014
		return p.weekdayFrom(wd, o, j)
	}
	if !p.isAny(j, "of", "in") {
		return node{}, 0
	}
	in, e, noYear, ok := p.container(j + 1)
	if !ok || in.OpenStart || in.OpenEnd || in.Grain <= Day {
		return node{}, 0
	}
	iv, ok := p.pick(in, o, fromEnd, wd, g)
	if !ok || !in.Covers(iv) {
		return node{}, 0
	}
	if count > 1 {
		if fromEnd {
			iv.Start, iv.Grain = add(iv.End, g, -count), Range
		} else {
			iv.End, iv.Grain = add(iv.Start, g, count), Range
		}
	}
	return node{kind: fixed, iv: iv, abs: p.absolute(j+1, e), yearless: noYear}, e
}

// weekdayFrom reads what follows a weekday: "[the Friday] before 15 July", "[the third Tuesday] after Christmas".
func (p *parser) weekdayFrom(wd, o, j int) (node, int) {
	a, e, ok := p.anchor(j + 1)
	if !ok || a.Grain < Day || a.OpenStart || a.OpenEnd {
		return node{}, 0
	}
	if p.is(j, "before") {
		return fixedNode(unit(days(weekday(a.Start, isoWeekday(wd), -1), -7*(o-1)), Day)), e
	}
	return fixedNode(unit(days(weekday(a.End.Add(-1), isoWeekday(wd), 1), 7*(o-1)), Day)), e
}

// absolute reports whether a written-out year stands among tokens [i, j).
func (p *parser) absolute(i, j int) bool {
	for ; i < j; i++ {
		if p.isNumber(i) && p.toks[i].digits == 4 {
			return true
		}
	}
	return false
}

// position reads "early March", "mid-2014", "the end of April", "late 90s", "the beginning of next week".
func (p *parser) position(i int) (node, int) {
	j := p.skip(i, "the", "very")
	if p.isAny(j, "eom", "bom", "eoy", "boy", "eow") && (p.toks[j].caps || p.bare) {
		g := Month
		switch p.toks[j].w.s {
		case "eoy", "boy":
			g = Year
		case "eow":
			g = Week
		}
		pos := 3
		if p.toks[j].w.s[0] == 'b' {
			pos = 1
		}
		return fixedNode(p.third(p.r.current(p.ref, g), pos)), j + 1
	}
	if !p.has(j, cPosition) {
		return node{}, 0
	}
	pos := p.toks[j].w.n
	s := p.toks[j].w.s
	k := j + 1
	switch s {
	case "beginning", "start", "end", "middle":
		if !p.is(k, "of") {
			return node{}, 0
		}
		k++
	default:
		k = p.skip(p.skip(p.skipMark(k, '-'), "in"), "of")
		if p.has(k, cPart|cDeictic|cWeekday) || p.is(k, "the") && p.has(k+1, cPart|cUnit) {
			return node{}, 0
		}
		if p.is(k, "day") {
			return node{}, 0
		}
	}
	in, e, noYear, ok := p.container(p.skip(k, "around"))
	if !ok || in.OpenEnd || in.OpenStart {
		return node{}, 0
	}
	if in.Grain < Week {
		return node{}, 0
	}
	return node{kind: fixed, iv: p.third(in, pos), abs: p.absolute(k, e), approx: true, tail: s == "end", yearless: noYear}, e
}

// narrowed reads what follows a date and moves or narrows it: "Sunday from last week", "the 20th of next
// month", "Friday after next", "Christmas of last year", "last week's Sunday", "March in a year".
func (p *parser) narrowed(n node, j int) (node, int) {
	// last week's Sunday
	if n.kind == fixed && p.toks[j-1].poss && p.has(j, cWeekday) {
		if iv, ok := p.pick(n.iv, 1, false, p.toks[j].w.n, 0); ok && n.iv.Covers(iv) {
			return fixedNode(iv), j + 1
		}
	}
	if n.kind == fixed && n.iv.Grain == Day && (p.is(j, "week") || p.is(j, "a") && p.is(j+1, "week")) && !p.isAny(p.skip(j, "a")+1, "ago") { // tomorrow week
		if p.is(j, "week") && !p.bare {
			return node{}, 0
		}
	}
	// last year in May
	if n.kind == fixed && n.iv.Grain == Year && p.isAny(j, "in", "around") {
		k := p.skip(j+1, "the")
		m := node{}
		e := 0
		if mo, f := p.month(k); f != 0 {
			m, e = node{kind: fields, m: mo}, f
		} else if p.has(k, cSeason) && !p.counted(k+1) {
			m, e = node{kind: season, n: p.toks[k].w.n}, k+1
		}
		if e != 0 {
			m.y, m.hasYear = n.iv.Start.Year(), true
			if iv, ok := p.resolve(m, p.ref, p.dir); ok {
				return node{kind: fixed, iv: iv, approx: n.approx}, e
			}
		}
	}
	yearly := n.kind == fields && n.m > 0 && !n.hasYear || (n.kind == feastDay || n.kind == season || n.kind == quarter) && !n.hasYear
	weekly := n.kind == fields && n.wd > 0 && n.d == 0
	monthly := n.kind == fields && n.d > 0 && n.m == 0
	if !yearly && !weekly && !monthly {
		return node{}, 0
	}
	// Friday after next
	if p.is(j, "after") && p.is(j+1, "next") {
		a, ok := p.resolve(n, p.ref, +1)
		if !ok {
			return node{}, 0
		}
		if n.kind == fields && n.m > 0 && a.Contains(p.ref) {
			a, _ = p.resolve(n, a.End, +1)
		}
		b, ok := p.resolve(n, days(a.Start, 1), +1)
		if weekly && ok { // the second from now
			b, ok = p.resolve(n, a.Start, +1)
		}
		if n.kind == fields && n.m > 0 && n.d == 0 || !ok {
			b, ok = p.resolve(n, a.End, +1)
		}
		if !ok {
			return node{}, 0
		}
		return fixedNode(b), j + 2
	}
	// in a year, 3 years ago, from now, hence: the one nearest to that day
	if yearly {
		k := j
		back := 0
		if p.is(k, "in") {
			k++
		}
		if q, g, e := p.length(k); e != 0 && (k > j || p.isAny(e, "ago", "hence") || p.fromNow(e) != 0) {
			num, u, ok := exact(q, g)
			if ok && (g == Year || g == Month) {
				back = 1
				end := e
				if k == j {
					if p.is(e, "ago") {
						back, end = -1, e+1
					} else if p.is(e, "hence") {
						end = e + 1
					} else {
						end = p.fromNow(e)
					}
				}
				t := add(p.ref, u, back*num)
				base := n
				base.y, base.hasYear = t.Year(), true
				iv, ok := p.resolve(base, p.ref, back)
				if ok {
					return fixedNode(iv), end
				}
			}
		}
	}
	k := j
	if monthly && p.is(j-1, "of") {
		k = j - 1
	}
	if p.isAny(k, "of", "from", "in") {
		k++
	} else if !(p.has(k, cPrevious|cCurrent|cFollowing)) {
		return node{}, 0
	}
	if _, e := p.turn(k); e == 0 && !(monthly && p.is(k, "the") && p.is(k+1, "month")) {
		return node{}, 0
	}
	in, e, _, ok := p.container(k)
	if !ok {
		return node{}, 0
	}
	switch {
	case weekly && (in.Grain == Week || in.Grain == Month && k > j):
		if iv, ok := p.pick(in, 1, false, n.wd, 0); ok && in.Covers(iv) {
			return fixedNode(iv), e
		}
	case monthly && in.Grain == Month && n.d <= daysIn(in.Start.Year(), in.Start.Month()):
		return fixedNode(unit(days(in.Start, n.d-1), Day)), e
	case yearly && in.Grain == Year:
		n.y, n.hasYear = in.Start.Year(), true
		if iv, ok := p.resolve(n, p.ref, p.dir); ok {
			return fixedNode(iv), e
		}
	}
	return node{}, 0
}
