package temporal

import "time"

// Turns of what recurs: last, this and next week, weekend, weekday, month and season; runs of units.

// turned is the last, this, next unit of g.
func (p *reader) turned(g Grain, k int) Interval {
	if g == Weekend {
		if k == 0 && p.tensed == 0 { // "this weekend" without a tense is the coming one
			return p.r.current(p.ref, Weekend)
		}
		return p.weekend(k)
	}
	return p.r.nth(p.ref, g, k)
}

// weekend: "last weekend" is the one that is over; "this weekend" the coming one, or the one just over in a
// sentence that looks back; "next weekend" the one of the next week.
func (p *reader) weekend(k int) Interval {
	this := p.r.current(p.ref, Weekend)
	sat := this.Start
	on := !p.ref.Before(sat) // it has begun
	switch {
	case k > 0:
		return unit(days(sat, 7), Weekend)
	case k < 0, p.dir < 0 && !on:
		return unit(days(sat, -7), Weekend)
	}
	return this
}

// turnedWeekday: "last Friday" is the latest before today; "this Friday" the coming one (today counts), the
// week's in a sentence that looks back; "next Friday" the one of the next week; soft ("this coming
// Friday") the nearest after today.
func (p *reader) turnedWeekday(wd time.Weekday, k int, soft bool) Interval {
	switch {
	case k < 0:
		return unit(weekday(p.ref, wd, -1), Day)
	case k > 0 && soft:
		return unit(weekday(p.ref, wd, +1), Day)
	case k > 0:
		monday := p.r.nth(p.ref, Week, 1).Start
		return unit(weekday(days(monday, -1), wd, +1), Day)
	case p.tensed < 0:
		return unit(weekday(days(day(p.ref), 1), wd, -1), Day)
	}
	return unit(weekday(days(day(p.ref), -1), wd, +1), Day)
}

// turnedYearly: last, this, next of what recurs each year. "Last May" is the latest that is over; "this
// May" the reference's year; "next May" the first that has not begun.
func (p *reader) turnedYearly(k int, at func(y int) (Interval, bool)) (Interval, bool) {
	y := p.ref.Year()
	if k == 0 {
		return at(y)
	}
	for d := -1; d <= 8; d++ {
		iv, ok := at(y + d*k)
		if !ok {
			continue
		}
		if k < 0 && !iv.End.After(p.ref) || k > 0 && iv.Start.After(p.ref) {
			return iv, true
		}
	}
	return Interval{}, false
}

// turnedBack is k units from the current one.
func (p *reader) turnedBack(g Grain, k int) Interval {
	if g == Weekend {
		return unit(days(p.weekend(-1).Start, 7*(k+1)), Weekend)
	}
	return p.r.nth(p.ref, g, k)
}

// season: "last summer" is the latest that is over, "this summer" the current one, else the nearest by
// the sentence's tense, else this year's.
func (p *reader) season(s, k int) node {
	at := func(y int) (Interval, bool) { return p.r.seasonOf(s, y, p.ref.Location()), true }
	if k == 0 {
		if iv, ok := at(p.ref.Year()); ok && iv.Contains(p.ref) {
			return fixedNode(iv)
		}
		if iv, ok := at(p.ref.Year() - 1); ok && iv.Contains(p.ref) {
			return fixedNode(iv)
		}
		iv, _ := p.near(p.ref, p.dir, at)
		return fixedNode(iv)
	}
	iv, _ := p.turnedYearly(k, at)
	return fixedNode(iv)
}

// run is n units before (k < 0) or after the current one; up to now where the sentence says "in the last".
func (p *reader) run(k, n int, g Grain, q quantity, rolling bool) node {
	out := node{kind: fixed, approx: q.vague}
	if k < 0 && g >= Day && rolling {
		d := day(p.ref)
		out.iv = Interval{Start: add(d, g, -n), End: days(d, 1), Grain: g}
		if n > 1 {
			out.iv.Grain = Range
		}
		return out
	}
	s := p.r.floor(p.ref, g)
	if g == Weekend {
		a := p.turned(g, k)
		out.iv = Interval{Start: a.Start, End: a.End, Grain: Range}
		if k < 0 {
			out.iv.Start = days(a.Start, -7*(n-1))
		} else {
			out.iv.End = days(a.End, 7*(n-1))
		}
	} else if k < 0 {
		out.iv = Interval{Start: add(s, g, -n), End: s, Grain: g}
	} else {
		s = add(s, g, 1)
		out.iv = Interval{Start: s, End: add(s, g, n), Grain: g}
	}
	if n > 1 {
		out.iv.Grain = Range
	}
	return out
}
