package temporal

import "time"

// Mentions: points with what stands before them (since, until, by), ranges of two points, and durations.

// mention reads the expression that starts at token i.
func (p *parser) mention(i int) (m Mention, next int, ok bool) {
	switch {
	case p.is(i, "for"), p.is(i, "over") && p.has(i+1, cNumber):
		if m, e := p.duration(i); e != 0 {
			return m, e, true
		}
	case p.isAny(i, "since"):
		if pt, e := p.led1(i + 1); e != 0 {
			iv, ok := p.back(pt)
			if ok {
				return p.made(Interval{Start: iv.Start, OpenEnd: true, Grain: iv.Grain}, pt), e, true
			}
		}
	case p.isAny(i, "until", "untill", "till", "through", "thru"), p.is(i, "up") && p.is(i+1, "to"):
		if pt, e := p.led1(i + 1); e != 0 {
			if iv, ok := p.at(pt, p.ref, p.dir); ok {
				end := iv.End
				if iv.Grain < PartOfDay {
					end = iv.Start
				}
				return p.made(Interval{OpenStart: true, End: end, Grain: iv.Grain}, pt), e, true
			}
		}
	case p.isAny(i, "before") || p.isAny(i, "sometime", "sometimes", "anytime") && p.is(i+1, "before"):
		if pt, e := p.led1(p.skip(i, "sometime", "sometimes", "anytime") + 1); e != 0 {
			if iv, ok := p.at(pt, p.ref, p.dir); ok {
				return p.made(Interval{OpenStart: true, End: iv.Start, Grain: iv.Grain}, pt), e, true
			}
		}
	case p.isAny(i, "after") || p.isAny(i, "sometime", "sometimes", "anytime") && p.isAny(i+1, "after", "since"):
		if pt, e := p.led1(p.skip(i, "sometime", "sometimes", "anytime") + 1); e != 0 {
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
			if pt, e := p.led1(i + 1); e != 0 && pt.hasClk && pt.date.kind == noDate || e != 0 && p.isAny(e, "on", "onwards", "onward") && !p.has(e+1, cWeekday) {
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
	if p.has(i, cPrep) && !p.has(i, cPosition|cPrevious) && !p.isAny(i, "in", "about", "around") {
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
	return p.finish(pt, e)
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
	return Mention{Interval: iv, Absolute: pt.date.abs, Approx: pt.approx || pt.date.approx}
}

// accept reports whether a point that stands by itself at [i, e) is a time: latent ones need a preposition.
func (p *parser) accept(pt point, i, e int) bool {
	if p.isAny(i-1, "every", "each") && !p.bare {
		return false
	}
	if pt.bound {
		return true
	}
	n := &pt.date
	switch {
	case pt.hasClk:
		return true
	case n.kind == noDate: // a part of the day alone
		return p.bare
	case n.latent:
		if n.kind == fields && n.m > 0 && n.d == 0 && !p.bare {
			if p.is(i, "may") || p.is(i, "march") || p.is(i, "mar") {
				return p.toks[i].upper && p.led(i) && !p.has(e, cSubject)
			}
			return p.led(i) && p.toks[i].upper || p.led(i) && !p.ambiguousSmall(i)
		}
		if n.kind == season && !p.bare && p.counted(e) { // summer break
			return false
		}
		if n.kind == fields && n.wd > 0 && !p.bare {
			if p.plural(i) {
				return false
			}
			return p.toks[i].upper && (p.led(i) || i == 0) && !p.toks[i].caps
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

// led1 reads a point that a preposition leads, so that its latent forms count: "since May", "until 6".
func (p *parser) led1(i int) (point, int) {
	i = p.skip(i, "about", "around", "at", "on", "in")
	if p.is(i, "the") && p.isAny(i+1, "last") && false {
		return point{}, 0
	}
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
		in, f, ok := p.container(k + 2)
		if !ok {
			return Mention{}, 0
		}
		iv, e = in, f
	default:
		pt, e = p.led1(j)
		if e == 0 || pt.date.kind == fixed && pt.date.iv.Grain < Day {
			return Mention{}, 0
		}
		var ok bool
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

// separator reads what parts the two ends of a range.
func (p *parser) separator(i int, between bool) int {
	switch {
	case p.isAny(i, "to", "until", "untill", "till", "til", "through", "thru"):
		return i + 1
	case p.isMark(i, '-'):
		return i + 1
	case between && p.is(i, "and"):
		return i + 1
	case p.isMark(i, '/') && p.isNumber(i+1):
		return i + 1
	}
	return 0
}

// span reads a range: "26 to 28 June", "from Monday to Wednesday", "9:30 - 11:00 on Thursday", "2016-2019".
func (p *parser) span(i int, between bool) (Mention, int) {
	led := p.isAny(i-1, "from", "between")
	i = p.skip(i, "in")
	if between && p.is(i-1, "between") == false && p.is(i, "between") {
		i++
	}
	if m, e := p.dayRange(i, between, led); e != 0 {
		return m, e
	}
	if m, e := p.clockRange(i, between, led); e != 0 {
		return m, e
	}
	if m, e := p.yearRange(i, between, led); e != 0 {
		return m, e
	}
	a, j := p.point(i)
	if j == 0 {
		return Mention{}, 0
	}
	k := p.separator(j, between)
	if k == 0 {
		return Mention{}, 0
	}
	if p.isMark(j, '/') && !a.date.clockFixed || p.isMark(j, '-') && !led && p.glued(j) && a.date.kind == fixed && !a.date.clockFixed {
		return Mention{}, 0
	}
	p.free = k
	b, e := p.point(k)
	p.free = -1
	if e == 0 || a.hasClk != b.hasClk && !led {
		return Mention{}, 0
	}
	if !led && !p.accept(a, i, j) && !(a.date.m > 0 && b.date.m > 0) {
		return Mention{}, 0
	}
	// May to July 2023: the first takes the second's year
	if a.date.kind == fields && b.date.kind == fields && a.date.m > 0 && b.date.m > 0 && b.date.hasYear && !a.date.hasYear {
		a.date.y, a.date.hasYear, a.date.abs = b.date.y, true, true
		if a.date.m > b.date.m {
			a.date.y--
		}
	}
	if (a.date.kind == season || a.date.kind == quarter) && a.date.kind == b.date.kind && b.date.hasYear && !a.date.hasYear {
		a.date.y, a.date.hasYear, a.date.abs = b.date.y, true, true
	}
	x, ok := p.at(a, p.ref, p.dir)
	if !ok {
		return Mention{}, 0
	}
	base := x.Start
	if a.date.kind != noDate && x.Grain >= Day {
		base = x.End.Add(-1)
	}
	y, ok := p.at(b, base, +1)
	if !ok || y.Start.Before(x.Start) {
		return Mention{}, 0
	}
	if p.dir < 0 && !p.bare && b.date.kind != fixed && y.Start.After(p.ref) && !b.date.abs {
		// "from Monday to Wednesday" told on a Thursday: both lie behind
		if a.date.kind == fields && a.date.wd > 0 && a.date.d == 0 {
			x2, ok := p.at(a, days(x.Start, -1), -1)
			if ok {
				if y2, ok := p.at(b, x2.Start, +1); ok && !y2.Start.After(p.ref) {
					x, y = x2, y2
				}
			}
		}
	}
	m := Mention{Interval: p.range2(x, y), Absolute: a.date.abs || b.date.abs, Approx: a.approx || b.approx}
	return m, e
}

// range2 joins two intervals: the last named unit is included, unless the options say otherwise.
func (p *parser) range2(x, y Interval) Interval {
	end := y.End
	if p.r.o.RangeExclusive && y.Grain >= Day {
		end = y.Start
	}
	return Interval{Start: x.Start, End: end, Grain: Range}
}

// dayRange reads days of one month: "July 13-15", "26 to 28 June 2023", "August 27th - 29th".
func (p *parser) dayRange(i int, between, led bool) (Mention, int) {
	if m, j := p.month(i); j != 0 {
		d1, k, _ := p.dayOfMonth(j)
		if k == 0 {
			return Mention{}, 0
		}
		s := p.separator(k, between)
		if s == 0 {
			return Mention{}, 0
		}
		d2, e, ord := p.dayOfMonth(s)
		if e == 0 || d2 <= d1 || p.has(e, cMonth) || !ord && (p.isMark(e, ':') || p.has(e, cAmPm)) {
			return Mention{}, 0
		}
		return p.daysOf(m, d1, d2, e)
	}
	d1, j, ord1 := p.dayOfMonth(i)
	if j == 0 || !ord1 && !p.isNumber(p.skip(i, "the")) {
		return Mention{}, 0
	}
	s := p.separator(j, between)
	if s == 0 {
		return Mention{}, 0
	}
	d2, k, _ := p.dayOfMonth(s)
	if k == 0 || d2 <= d1 {
		return Mention{}, 0
	}
	k = p.skip(k, "of")
	m, e := p.month(k)
	if e == 0 {
		return Mention{}, 0
	}
	return p.daysOf(m, d1, d2, e)
}

func (p *parser) daysOf(m, d1, d2, e int) (Mention, int) {
	n := node{kind: fields, m: m, d: d1}
	if y, f := p.yearAfter(e, false); f != 0 {
		n.y, n.hasYear, n.abs = y, true, true
		e = f
	}
	x, ok := p.resolve(n, p.ref, p.dir)
	if !ok || !valid(x.Start.Year(), m, d2) {
		return Mention{}, 0
	}
	y := unit(days(x.Start, d2-d1), Day)
	return Mention{Interval: p.range2(x, y), Absolute: n.abs}, e
}

// yearRange reads "2016-2019", "from 2010 to 2014", "1960 - 1961".
func (p *parser) yearRange(i int, between, led bool) (Mention, int) {
	a, j := p.year(i)
	if j == 0 || !p.isNumber(i) {
		return Mention{}, 0
	}
	k := p.separator(j, between)
	if k == 0 {
		return Mention{}, 0
	}
	b, e := p.year(k)
	if e == 0 || b < a || !p.rightClear(e) || p.measured(e) {
		return Mention{}, 0
	}
	if !led && !p.led(i) && !(p.isMark(j, '-') && a >= 1500 && b <= 2100) {
		return Mention{}, 0
	}
	loc := p.ref.Location()
	return Mention{Interval: p.range2(unit(date(a, 1, 1, loc), Year), unit(date(b, 1, 1, loc), Year)), Absolute: true}, e
}

// clockRange reads "3-4pm", "9:30 - 11:00 on Thursday", "from 3 to 4 in the PM", "Thursday from 9a to 11a",
// "later than 9:30 but before 11:00".
func (p *parser) clockRange(i int, between, led bool) (Mention, int) {
	var d node
	j := i
	hasDate := false
	if n, e := p.date(i); e != 0 && !n.clockFixed && (!p.isNumber(i) || p.isAny(e, "from", "between")) {
		d, j, hasDate = n, e, true
		j = p.skipMark(j, ',')
		if p.isAny(j, "from", "between") {
			between, led = p.is(j, "between"), true
			j++
		} else if p.is(j, "in") && p.is(j+1, "between") {
			led, j = true, j+2
		} else if p.is(j, "at") {
			j++
		}
	}
	if p.is(j, "later") && p.is(j+1, "than") {
		j, led = j+2, true
	}
	a, k := p.clockAt(j)
	if k == 0 {
		return Mention{}, 0
	}
	s := p.separator(k, between)
	if s == 0 && p.is(k, "but") && p.is(k+1, "before") {
		s = k + 2
	}
	if s == 0 && between == false && p.is(k, "and") && led {
		s = k + 1
	}
	if s == 0 {
		return Mention{}, 0
	}
	b, e := p.clockAt(p.skip(s, "around", "about"))
	if e == 0 {
		return Mention{}, 0
	}
	if a.latent && b.latent {
		// "from 3 to 4" needs more to be a time
		if !led && !hasDate || p.counted(e) || !hasDate && !p.bare || !p.bare && p.isNumber(j) != p.isNumber(s) {
			return Mention{}, 0
		}
	}
	if p.isNumber(j) && p.toks[j].digits > 2 && a.latent && !p.bare {
		return Mention{}, 0
	}
	if a.latent && !b.latent && b.half == 0 && b.zone == nil && !b.h24 && !led && !p.bare && !hasDate {
		return Mention{}, 0
	}
	// a part of the day or a date after it
	pa := part{}
	if q, t, f := p.partAt(e); f != 0 && t != -1 {
		pa, e = q, f
	}
	if !hasDate {
		k := p.skip(p.skipMark(e, ','), "on")
		if n, f := p.date(k); f != 0 && !n.clockFixed && !n.latent {
			if iv, ok := p.resolve(n, p.ref, p.dir); ok && iv.Grain == Day {
				d, hasDate, e = n, true, f
			}
		}
	}
	ah, bh := to24(a.h, a.half), to24(b.h, b.half)
	if b.half == 0 && !b.h24 && pa != (part{}) {
		bh = inPart(b.h, pa)
	}
	switch { // the half of the day said once holds for both, where that keeps the order
	case a.half == 0 && !a.h24 && (b.half != 0 || pa != (part{})):
		ah = a.h % 12
		if ah+12 <= bh && bh >= 12 && !(ah+12 == bh && a.m >= b.m) {
			ah += 12
		}
	case b.half == 0 && !b.h24 && (a.half != 0 || a.h24):
		if bh*60+b.m <= ah*60+a.m && bh+12 < 25 {
			bh += 12
		}
	case a.half == 0 && b.half == 0 && !a.h24 && !b.h24:
		ah = usual(a.h)
		bh = b.h
		for bh*60+b.m <= ah*60+a.m && bh < 24 {
			bh += 12
		}
	}
	base := day(p.ref)
	if hasDate {
		iv, ok := p.resolve(d, p.ref, p.dir)
		if !ok || iv.Grain != Day {
			return Mention{}, 0
		}
		base = iv.Start
	}
	if z := b.zone; z != nil || a.zone != nil {
		if z == nil {
			z = a.zone
		}
		a.zone, b.zone = z, z
		x, _ := p.zoned(a, ah, Interval{Start: base}, hasDate, p.ref, p.dir)
		y, _ := p.zoned(b, bh, Interval{Start: base}, hasDate, p.ref, p.dir)
		if y.Start.Before(x.Start) {
			return Mention{}, 0
		}
		return Mention{Interval: Interval{Start: x.Start, End: y.End, Grain: Range}, Absolute: d.abs}, e
	}
	at := func(k int) (Interval, Interval) {
		x, y := clockIv(days(base, k), ah, a), clockIv(days(base, k), bh, b)
		if y.Start.Before(x.Start) {
			y = clockIv(days(base, k+1), bh, b)
		}
		return x, y
	}
	x, y := at(0)
	if !hasDate {
		if p.dir > 0 && !y.End.After(p.ref) {
			x, y = at(1)
		} else if p.dir < 0 && x.Start.After(p.ref) {
			x, y = at(-1)
		}
	}
	end := y.End
	if y.Grain == Hour && (x.Grain == Minute || b.m != 0) {
		end = y.Start.Add(time.Minute)
	}
	return Mention{Interval: Interval{Start: x.Start, End: end, Grain: Range}, Absolute: d.abs}, e
}

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

// upTo is the n units of g up to the reference.
func (p *parser) upTo(g Grain, n int) Interval {
	end := p.ref
	if g >= Day {
		end = days(day(p.ref), 1)
		return Interval{Start: add(day(p.ref), g, -n), End: end, Grain: Range}
	}
	return Interval{Start: add(end, g, -n), End: end, Grain: Range}
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
