package temporal

import (
	"strings"
	"time"
)

// Distances: "three years ago", "in two weeks", "two days before Christmas", "the week before last".

// distance reads counted distances: "three years ago", "two weekends ago", "2 Fridays from now", "in two
// weeks", "a week from Christmas", "two days before 9 June", "the week after next".
func (p *parser) distance(i int) (node, int) {
	if p.is(i, "in") || p.is(i, "after") && p.bare {
		return p.inUnits(i)
	}
	if n, e := p.beforeLast(i); e != 0 {
		return n, e
	}
	// two Fridays ago, 3 Fridays from now
	if q, j := p.amount(i); j != 0 {
		n, whole := q.whole()
		if p.has(j, cWeekday) && whole && n > 0 {
			wd := isoWeekday(p.toks[j].w.n)
			if p.isAny(j+1, "ago", "back") {
				return fixedNode(unit(days(weekday(p.ref, wd, -1), -7*(n-1)), Day)), j + 2
			}
			if e := p.fromNow(j + 1); e != 0 {
				return fixedNode(unit(days(weekday(p.ref, wd, +1), 7*(n-1)), Day)), e
			}
			return node{}, 0
		}
		if p.is(i, "a") && p.is(j, "week") && p.is(j+1, "on") && p.has(j+2, cWeekday) && !p.plural(j+2) { // a week on Monday
			return fixedNode(unit(days(weekday(p.ref, isoWeekday(p.toks[j+2].w.n), +1), 7), Day)), j + 3
		}
		if w := p.singular(j); w != nil && whole && n > 0 && n < 1000 && p.isAny(j+1, "ago", "back") { // two summers ago, two nights ago
			if w.cls&cPart != 0 {
				return node{kind: fixed, iv: unit(days(day(p.ref), -n), Day), part: partOfWord(w.s)}, j + 2
			}
			at := p.yearly(w)
			if iv, ok := p.turnedYearly(-1, at); ok {
				iv, _ = at(iv.Start.Year() - (n - 1))
				return fixedNode(iv), j + 2
			}
		}
	}
	if q, j := p.amount(i); j != 0 { // two previous weeks
		if k, e := p.turn(j); e != 0 && k != 0 && e == j+1 {
			if g, mult, f := p.units(e); f != 0 && g >= Day {
				if n, whole := q.whole(); whole && n > 0 {
					return p.run(k, n*mult, g, q, p.rolling(i)), f
				}
			}
		}
	}
	q, g, j := p.length(i)
	if j == 0 {
		// "the week before 9 June", "the day after the 4th of July", "the week before last", "the week after next"
		k := p.skip(i, "the")
		if !p.has(k, cUnit) || p.toks[k].w.unit < Day || !p.isAny(k+1, "before", "after", "of", "from", "following", "preceding") {
			return node{}, 0
		}
		g = p.toks[k].w.unit
		if p.is(k+1, "before") && p.is(k+2, "last") {
			return fixedNode(p.turnedBack(g, -2)), k + 3
		}
		if p.is(k+1, "after") && p.is(k+2, "next") {
			return fixedNode(p.turnedBack(g, 2)), k + 3
		}
		return p.unitNear(g, k+1)
	}
	switch {
	case p.isAny(j, "ago") || p.is(j, "back") && !p.has(j+1, cPrep) && !p.is(j+1, "to"), p.isAny(j, "earlier") && p.bare:
		if p.is(j-1, "long") {
			return node{}, 0
		}
		e := j + 1
		if p.is(e, "today") || p.is(e, "now") {
			e++
		}
		n := p.away(q, g, -1)
		if p.is(e, "yesterday") || p.is(e, "tomorrow") {
			return node{}, 0
		}
		return n, e
	case p.is(j, "hence"), p.is(j, "later") && p.bare:
		return p.away(q, g, +1), j + 1
	}
	if e := p.fromNow(j); e != 0 {
		if p.is(e-1, "today") {
			if n, u, ok := exact(q, g); ok {
				return fixedNode(unit(add(day(p.ref), u, n), Day)), e
			}
		}
		return p.away(q, g, +1), e
	}
	if p.isAny(j, "before", "after", "from", "following", "past") && g >= Day { // two days before Christmas
		dir := 1
		if p.is(j, "before") {
			dir = -1
		}
		was := p.dir
		if g >= Year && !p.is(j, "before") { // a year after Christmas: the last one
			p.dir = -1
		}
		a, e, ok := p.anchor(j + 1)
		p.dir = was
		if ok {
			n, u, ok := exact(q, g)
			if !ok {
				return node{}, 0
			}
			s := a.Start
			iv := unit(add(day(s), u, dir*n), Day)
			if q.few {
				if dir < 0 {
					iv = Interval{Start: add(day(s), u, -5), End: day(s), Grain: Range}
				} else {
					iv = Interval{Start: days(day(s), 1), End: add(days(day(s), 1), u, 5), Grain: Range}
				}
			} else if u == Week && a.Grain == Day && dir < 0 && p.is(i, "the") {
				iv = Interval{Start: days(day(s), -7*n), End: day(s), Grain: Week}
			} else if a.Grain > Day && monthsOf(a.Grain) > 0 && monthsOf(u) > 0 {
				iv = unit(p.r.floor(add(s, u, dir*n), a.Grain), a.Grain)
			}
			return node{kind: fixed, iv: iv, approx: q.vague}, e
		}
	}
	return node{}, 0
}

// singular is the entry of a season, a month, a part of the day or Christmas at i, which may stand in the plural.
func (p *parser) singular(i int) *word {
	if i >= len(p.toks) || p.toks[i].kind != aWord {
		return nil
	}
	s := p.plainWord(i)
	for _, cut := range []string{strings.TrimSuffix(s, "s"), s} {
		if w := vocabulary[cut]; w != nil && w.cls&(cMonth|cSeason|cPart) != 0 {
			return w
		}
	}
	return nil
}

// beforeLast reads "the summer before last", "the Friday before last", "the night before last".
func (p *parser) beforeLast(i int) (node, int) {
	j := p.skip(i, "the")
	if !p.is(j+1, "before") || !p.is(j+2, "last") || p.has(j+3, cUnit|cWeekday|cMonth|cSeason|cPart) {
		return node{}, 0
	}
	w := p.toks[j].w
	switch {
	case w == nil:
	case w.cls&cWeekday != 0 && !p.plural(j):
		return fixedNode(unit(days(weekday(p.ref, isoWeekday(w.n), -1), -7), Day)), j + 3
	case w.cls&cPart != 0 && w.s == "night":
		return node{kind: fixed, iv: unit(days(day(p.ref), -2), Day), part: partNight}, j + 3
	case w.cls&(cSeason|cMonth) != 0:
		at := p.yearly(w)
		if iv, ok := p.turnedYearly(-1, at); ok {
			if iv, ok = at(iv.Start.Year() - 1); ok {
				return fixedNode(iv), j + 3
			}
		}
	}
	return node{}, 0
}

// yearly is the season or month of w in year y.
func (p *parser) yearly(w *word) func(y int) (Interval, bool) {
	return func(y int) (Interval, bool) {
		if w.cls&cSeason != 0 {
			return p.r.seasonOf(w.n, y, p.ref.Location()), true
		}
		return unit(date(y, time.Month(w.n), 1, p.ref.Location()), Month), true
	}
}

// fromNow reads "from now", "from today", "from right now".
func (p *parser) fromNow(i int) int {
	if !p.is(i, "from") {
		return 0
	}
	j := p.skip(i+1, "right")
	if p.isAny(j, "now", "today") {
		return j + 1
	}
	return 0
}

// unitNear reads what follows a unit: "[the week] before 9 June 2023", "[the weekend] after Easter", "[the week] of 5 June".
func (p *parser) unitNear(g Grain, j int) (node, int) {
	a, e, ok := p.anchor(j + 1)
	if !ok {
		return node{}, 0
	}
	s, end := day(a.Start), a.End
	switch {
	case p.is(j, "of"):
		if g != Week && g != Weekend || a.Grain > Day {
			return node{}, 0
		}
		return fixedNode(p.r.current(a.Start, g)), e
	case p.isAny(j, "before", "preceding"):
		switch {
		case g == Week && a.Grain <= Day && !p.r.o.WeekBefore:
			return fixedNode(Interval{Start: days(s, -7), End: s, Grain: Week}), e
		case g == Weekend:
			sat := weekday(s, time.Saturday, -1)
			return fixedNode(unit(sat, Weekend)), e
		case g == Day:
			return fixedNode(unit(days(s, -1), Day)), e
		}
		return fixedNode(p.r.nth(s, g, -1)), e
	case p.isAny(j, "after", "following"):
		last := day(end.Add(-1))
		switch {
		case g == Week && a.Grain <= Day && !p.r.o.WeekBefore:
			return fixedNode(Interval{Start: days(last, 1), End: days(last, 8), Grain: Week}), e
		case g == Weekend:
			return fixedNode(unit(weekday(last, time.Saturday, +1), Weekend)), e
		case g == Day:
			return fixedNode(unit(days(last, 1), Day)), e
		}
		return fixedNode(p.r.nth(last, g, 1)), e
	}
	return node{}, 0
}

// anchor reads a date to measure from: never a lone year-less latent word.
func (p *parser) anchor(i int) (Interval, int, bool) {
	n, e := p.date(i)
	if e == 0 || n.clockFixed {
		return Interval{}, 0, false
	}
	iv, ok := p.resolve(n, p.ref, p.dir)
	return iv, e, ok
}

// inUnits reads "in two weeks", "in half an hour"; a length of work, not a time, in a sentence that looks back.
func (p *parser) inUnits(i int) (node, int) {
	j := i + 1
	if p.is(j, "the") || p.isAny(j, "over", "under", "less", "more") { // in under two hours: how long it takes
		return node{}, 0
	}
	q, g, e := p.length(j)
	if e == 0 {
		if p.bare && p.is(i, "in") && p.isAny(j, "a") && p.has(j+1, cUnit) {
			return node{}, 0
		}
		return node{}, 0
	}
	if !p.bare && (p.tensed < 0 || p.isAny(e, "of", "or") || e < len(p.toks) && p.toks[e-1].poss) {
		return node{}, 0
	}
	if f := p.fromNow(e); f != 0 {
		e = f
	}
	e = p.skip(e, "time")
	return p.away(q, g, +1), e
}
