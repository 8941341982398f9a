package temporal

import "time"

// Ranges: two points and what parts them.

// separator reads what parts the two ends of a range.
func (p *parser) separator(i int, between bool) int {
	switch {
	case p.isAny(i, "to", "until", "untill", "till", "til", "through", "thru"):
		return i + 1
	case p.isMark(i, '-') && (!p.toks[i].space || !p.glued(i+1)): // not a sign: 15:04:05 -0700
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
	if between && !p.is(i-1, "between") && p.is(i, "between") {
		i++
	}
	if m, e := p.dayRange(i, between, led); e != 0 {
		return m, e
	}
	if m, e := p.yearRange(i, between, led); e != 0 {
		return m, e
	}
	if m, e := p.clockRange(i, between, led); e != 0 {
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
	if ok && y.Start.Before(x.Start) && y.Grain >= Day && !b.date.abs && b.date.kind == fixed && b.date.approx { // late May to early June
		y.Start, y.End = add(y.Start, Year, 1), add(y.End, Year, 1)
	}
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
	m := Mention{Interval: p.spanOf(x, y), Absolute: a.date.abs || b.date.abs, Yearless: a.date.noYear() && b.date.noYear(), Approx: a.approx || b.approx}
	return m, e
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
	at := func(y int) (Interval, bool) {
		if !valid(y, m, d1) || !valid(y, m, d2) {
			return Interval{}, false
		}
		a := date(y, time.Month(m), d1, p.ref.Location())
		return p.spanOf(unit(a, Day), unit(days(a, d2-d1), Day)), true
	}
	iv, ok := Interval{}, false
	if n.hasYear {
		iv, ok = at(n.y)
	} else {
		iv, ok = p.near(p.ref, p.dir, at)
	}
	if !ok {
		return Mention{}, 0
	}
	return Mention{Interval: iv, Absolute: n.abs, Yearless: !n.hasYear}, e
}

// yearRange reads "2016-2019", "from 2010 to 2014", "1960 - 1961".
func (p *parser) yearRange(i int, between, led bool) (Mention, int) {
	a, j := p.year(i)
	if j == 0 || !p.isNumber(i) || a < 1000 {
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
	return Mention{Interval: p.spanOf(unit(date(a, 1, 1, loc), Year), unit(date(b, 1, 1, loc), Year)), Absolute: true}, e
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
	if s == 0 && !between && p.is(k, "and") && led {
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
