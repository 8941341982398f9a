package temporal

import "time"

// date reads a date of any form that starts at token i: the longest of the readings. The last few answers
// are kept, since a range, a point and a clock range ask for the same one.
func (p *parser) date(i int) (node, int) {
	if i >= len(p.toks) {
		return node{}, 0
	}
	for k := range p.kept {
		if m := &p.kept[k]; m.at == i+1 && m.dir == p.dir && m.tensed == p.tensed && p.free < 0 {
			return m.n, m.next
		}
	}
	if p.depth > maxDepth {
		return node{}, 0
	}
	p.depth++
	n, next := p.anyDate(i)
	p.depth--
	if p.free < 0 && (p.depth == 0 || next != 0) {
		p.kept[p.keep] = kept{at: i + 1, dir: p.dir, tensed: p.tensed, n: n, next: next}
		p.keep = (p.keep + 1) % len(p.kept)
	}
	return n, next
}

// maxDepth bounds dates inside dates ("the day after the first Monday of the month before May"): people stop
// at three, and every level multiplies the readings to try.
const maxDepth = 3

// kept is an answer of date; at is the token's index plus one.
type kept struct {
	at, dir, next int
	tensed        int8
	n             node
}

func (p *parser) anyDate(i int) (best node, next int) {
	try := func(n node, j int) {
		if j > next {
			best, next = n, j
		}
	}
	if p.isNumber(i) {
		try(p.numeric(i))
	}
	try(p.calendar(i))
	try(p.deictic(i))
	try(p.modified(i))
	try(p.distance(i))
	try(p.named(i))
	try(p.within(i))
	try(p.position(i))
	if next != 0 {
		if n, j := p.narrowed(best, next); j != 0 {
			best, next = n, j
		}
	}
	return best, next
}

// deictic reads today, yesterday, tomorrow, the day before yesterday, now.
func (p *parser) deictic(i int) (node, int) {
	today := unit(day(p.ref), Day)
	shift := func(k int) Interval { return unit(days(today.Start, k), Day) }
	j := p.skip(i, "the")
	if p.is(j, "day") {
		if p.is(j+1, "before") && p.is(j+2, "yesterday") {
			return fixedNode(shift(-2)), j + 3
		}
		if p.is(j+1, "after") && p.has(j+2, cDeictic) && p.isAny(j+2, "tomorrow", "tmrw", "tmr") {
			return fixedNode(shift(2)), j + 3
		}
	}
	if p.is(j, "other") && p.isAny(j+1, "day", "night", "morning", "evening") || j > i && p.raw(j) == "other" && p.isAny(j+1, "day", "night", "evening", "morning") {
		return node{kind: fixed, approx: true, iv: Interval{Start: days(today.Start, -7), End: today.Start, Grain: Range}}, j + 2
	}
	if !p.has(i, cDeictic) && !p.isAny(i, "right", "just", "at", "atm") {
		return node{}, 0
	}
	switch {
	case p.is(i, "today"):
		return fixedNode(today), i + 1
	case p.is(i, "yesterday"):
		return fixedNode(shift(-1)), i + 1
	case p.isAny(i, "tomorrow", "tomorrows", "tmrw", "tmr"):
		return fixedNode(shift(1)), i + 1
	case p.isAny(i, "tonight", "tonite"):
		n := fixedNode(today)
		n.part = partNight
		return n, i + 1
	case p.is(i, "overnight"):
		return node{}, 0
	}
	if p.bare && p.is(i, "at") && p.is(i+1, "the") && p.word(i+2, "moment") {
		return node{kind: fixed, clockFixed: true, iv: unit(p.r.floor(p.ref, Second), Second)}, i + 3
	}
	if p.bare { // "now" in a sentence is a filler
		now := node{kind: fixed, clockFixed: true, iv: unit(p.r.floor(p.ref, Second), Second)}
		switch {
		case p.isAny(i, "now", "atm"):
			return now, i + 1
		case p.isAny(i, "right", "just") && p.is(i+1, "now"):
			return now, i + 2
		}
	}
	return node{}, 0
}

// raw is the text of token i as written, "" where it is long.
func (p *parser) raw(i int) string {
	if i < 0 || i >= len(p.toks) || p.toks[i].to-p.toks[i].from > 12 {
		return ""
	}
	return p.text[p.toks[i].from:p.toks[i].to]
}

// turn reads last, this, next: -1, 0, +1.
func (p *parser) turn(i int) (k, next int) {
	i = p.skip(i, "the", "our", "my", "your")
	switch {
	case p.is(i, "this") && p.is(i+1, "past"), p.is(i, "this") && p.is(i+1, "last"):
		return -1, i + 2
	case p.is(i, "this") && p.isAny(i+1, "coming", "upcoming", "next"):
		return +1, i + 2
	case p.has(i, cPrevious):
		return -1, i + 1
	case p.has(i, cCurrent):
		return 0, i + 1
	case p.has(i, cFollowing):
		return +1, i + 1
	}
	return 0, 0
}

// modified reads "last week", "this summer", "next Friday", "last May", "the last two weeks", "this past weekend".
func (p *parser) modified(i int) (node, int) {
	k, j := p.turn(i)
	if j == 0 {
		// "the weekend" and "over the weekend": the nearest by tense
		if (p.is(i, "the") || p.bare) && p.has(p.skip(i, "the"), cUnit) {
			return p.theUnit(p.skip(i, "the"))
		}
		if p.isAny(i, "all", "rest", "whole", "entire") {
			return p.allOf(i)
		}
		return node{}, 0
	}
	if p.is(i, "this") && p.isAny(j, "time", "day") || p.is(i, "the") && p.word(j-1, "same") {
		if n, e := p.sameTime(j); e != 0 {
			return n, e
		}
	}
	soft := p.isAny(j-1, "coming", "upcoming", "following") || p.is(j-1, "past") && p.is(j-2, "this")
	j = p.skip(j, "around")
	if k != 0 {
		if n, e, tried := p.turnedRun(i, j, k); tried {
			return n, e
		}
	}
	switch {
	case p.has(j, cSeason) && !(p.is(j, "fall") && p.has(j+1, cPrep)):
		return p.season(p.toks[j].w.n, k), j + 1
	case p.has(j, cUnit) && !p.isAny(j, "h", "q", "mo", "mos", "second", "seconds"):
		return p.turnedUnit(i, j, k)
	case p.has(j, cWeekday) && !p.plural(j):
		e := j + 1
		if p.isMark(e, '.') && p.glued(e) && p.toks[j].to-p.toks[j].from <= 5 && e+1 < len(p.toks) {
			e++
		}
		if d, f, ord := p.dayOfMonth(p.skip(e, "the")); f != 0 && ord && p.rightClear(f) && !p.counted(f) { // this Friday the 13th
			return node{kind: fields, d: d, wd: p.toks[j].w.n}, f
		}
		return fixedNode(p.turnedWeekday(isoWeekday(p.toks[j].w.n), k, soft)), e
	case p.has(j, cMonth):
		return p.turnedMonth(j, k)
	}
	if f, e := p.feastAt(j); e != 0 {
		if iv, ok := p.turnedYearly(k, func(y int) (Interval, bool) { return f.on(y, p.ref.Location()) }); ok {
			return fixedNode(iv), e
		}
	}
	return node{}, 0
}

// article reports whether the turn that was read at i has one: "the next week".
func (p *parser) article(i int) bool {
	return p.isAny(i, "the", "our", "my", "your") || p.is(i-1, "the")
}

// turnedRun reads "[last] two weeks", "[next] few days"; tried is set where a number stands there at all.
func (p *parser) turnedRun(i, j, k int) (n node, next int, tried bool) {
	if p.isAny(j, "a", "an", "half", "the") {
		return n, 0, false
	}
	q, e := p.amount(j)
	if e == 0 {
		return n, 0, false
	}
	g, mult, f := p.units(e)
	if f == 0 {
		return n, 0, p.has(e, cWeekday|cSeason)
	}
	if k < 0 && p.is(j-1, "last") && !p.article(i) && !p.bare && i > 0 && !p.has(i-1, cPrep) && p.toks[i-1].kind == aWord {
		return n, 0, true // they last two days
	}
	if c, whole := q.whole(); whole && c > 0 && c < 10000 {
		return p.run(k, c*mult, g, q, p.rolling(i)), f, true
	}
	return n, 0, false
}

// turnedUnit reads "[last] week", "[the coming] weeks".
func (p *parser) turnedUnit(i, j, k int) (node, int) {
	w, article := p.toks[j].w, p.article(i)
	g := w.unit
	plural := len(w.s) > 2 && w.s[len(w.s)-1] == 's' && w.s != "wks"
	switch {
	case plural && p.bare && g == Season:
	case plural && k != 0 && (article || p.rolling(i)) && (g == Week || g == Month || g == Year): // in the coming weeks
		return p.run(k, 3, g, quantity{n: 3, vague: true, few: true}, p.rolling(i)), j + 1
	case plural,
		g == Season && !p.bare, // of a team, of a series
		g == Second, g == Minute && !p.bare,
		g == Day && (k == 0 || k < 0 && !p.is(i, "past")),
		g == Day && k > 0 && (article || !p.bare),                        // the next day: after an event that is not named
		g > Day && k > 0 && article && p.is(j-1, "following") && !p.bare: // the following week: the same
		return node{}, 0
	}
	if k < 0 && p.rolling(i) && g > Day {
		return p.run(k, 1, g, quantity{n: 1}, true), j + 1
	}
	return fixedNode(p.turned(g, k)), j + 1
}

// turnedMonth reads "[last] May", "[next] December 25th".
func (p *parser) turnedMonth(j, k int) (node, int) {
	if p.isAny(j, "may", "march", "mar") && !p.toks[j].upper && !p.bare { // this may fail
		return node{}, 0
	}
	m, e := p.month(j)
	loc := p.ref.Location()
	if d, f, ord := p.dayOfMonth(e); f != 0 && valid(2000, m, d) && (ord || p.rightClear(f)) && !p.has(f, cUnit|cAmPm) {
		if iv, ok := p.turnedYearly(k, func(y int) (Interval, bool) {
			return unit(date(y, time.Month(m), d, loc), Day), valid(y, m, d)
		}); ok {
			return fixedNode(iv), f
		}
	}
	iv, _ := p.turnedYearly(k, func(y int) (Interval, bool) { return unit(date(y, time.Month(m), 1, loc), Month), true })
	return fixedNode(iv), e
}

// sameTime reads "[this time] last year", "[this day] last week".
func (p *parser) sameTime(j int) (node, int) {
	k, e := p.turn(j + 1)
	if e == 0 || k == 0 || !p.has(e, cUnit) || p.toks[e].w.unit < Week || p.toks[e].w.s[len(p.toks[e].w.s)-1] == 's' {
		return node{}, 0
	}
	t := add(p.ref, p.toks[e].w.unit, k)
	if p.is(j, "day") || p.toks[e].w.unit != Year {
		return fixedNode(unit(day(t), Day)), e + 1
	}
	return node{kind: fixed, iv: p.r.current(t, Month), approx: true}, e + 1
}

// rolling reports whether "in the", "over the", "for the" stand before the last, past units: a stretch up to now.
func (p *parser) rolling(i int) bool {
	k := i
	if p.is(k, "the") || p.is(k, "this") {
		k--
	} else {
		k--
	}
	return p.isAny(k, "in", "over", "during", "within", "for", "throughout")
}

// theUnit reads a unit after "the", or bare: "the weekend", "the week of 5 June", "the year 2012".
func (p *parser) theUnit(j int) (node, int) {
	switch w := p.toks[j].w; {
	case w.unit == Weekend && w.s != "weekends" && !p.isAny(j+1, "before", "after", "of"):
		return fixedNode(p.weekend(0)), j + 1
	case w.s == "year":
		if y, e := p.year(j + 1); e != 0 {
			return node{kind: fields, y: y, hasYear: true, abs: true}, e
		}
	}
	return node{}, 0
}

// allOf reads "all week", "all day", "the rest of the week".
func (p *parser) allOf(i int) (node, int) {
	j := i + 1
	if p.is(j, "day") && !p.bare { // all day: of whichever day is told
		return node{}, 0
	}
	if p.is(i, "rest") {
		if !p.is(j, "of") {
			return node{}, 0
		}
		j = p.skip(j+1, "the", "this")
	} else {
		j = p.skip(j, "of", "this", "the")
	}
	if !p.has(j, cUnit) || p.toks[j].w.unit < Day {
		return node{}, 0
	}
	s := p.toks[j].w.s
	if s[len(s)-1] == 's' {
		return node{}, 0
	}
	iv := p.r.current(p.ref, p.toks[j].w.unit)
	if p.is(i, "rest") {
		iv.Start, iv.Grain = day(p.ref), Range
		if p.toks[j].w.unit == Day {
			return node{}, 0
		}
	}
	return fixedNode(iv), j + 1
}
