package temporal

import "time"

// What the rule sets share: what they read becomes nodes and points, and a reader places those in time.
// The grammar of a language lies in its own files and ends here.

// reader places what was read against a reference.
type reader struct {
	r      *Resolver
	ref    time.Time
	bare   bool // the text is nothing but a time expression
	dir    int  // direction of the expression being read: -1 or +1
	tensed int8 // the sentence's tense: -1, 0, +1
}

// node is a date as read, before its direction is settled: calendar fields that may lack the year, or an
// interval that is fixed already.
type node struct {
	kind       nodeKind
	y, m, d    int
	wd         int  // Monday 1 to Sunday 7
	hasYear    bool // y is given
	n          int  // season or quarter
	feast      *feast
	iv         Interval
	abs        bool
	approx     bool
	latent     bool      // a time only with a preposition before it or in a bare text
	clockFixed bool      // iv is an instant: no clock time may follow
	part       part      // "tonight": a part of the day comes with it
	yearless   bool      // of a fixed interval inside a time named without its year
	exact      time.Time // of a distance read coarsely: the very day, for a clock time that follows
	tail       bool      // the end of a longer time: "before the end of May" is up to its last day
}

type nodeKind uint8

const (
	noDate nodeKind = iota
	fixed
	fields
	season
	quarter
	feastDay
)

// noYear reports whether n names a time of the year without saying which year.
func (n *node) noYear() bool {
	return n.yearless || !n.hasYear && (n.kind == fields && n.m > 0 || n.kind == season || n.kind == quarter || n.kind == feastDay)
}

func fixedNode(iv Interval) node { return node{kind: fixed, iv: iv} }

// resolve gives the interval of n, looked for from base in direction dir where n leaves that open.
func (p *reader) resolve(n node, base time.Time, dir int) (Interval, bool) {
	loc := base.Location()
	switch n.kind {
	case fixed:
		return n.iv, true
	case season:
		if n.hasYear {
			return p.r.seasonOf(n.n, n.y, loc), true
		}
		return p.near(base, dir, func(y int) (Interval, bool) { return p.r.seasonOf(n.n, y, loc), true })
	case quarter:
		if !n.hasYear {
			return p.sameYear(base, dir, func(y int) (Interval, bool) { return unit(date(y, time.Month(n.n*3-2), 1, loc), Quarter), true })
		}
		return unit(date(n.y, time.Month(n.n*3-2), 1, loc), Quarter), true
	case feastDay:
		at := func(y int) (Interval, bool) { return n.feast.on(y, loc) }
		if n.hasYear {
			return at(n.y)
		}
		return p.near(base, dir, at)
	case fields:
		return p.resolveFields(n, base, dir)
	}
	return Interval{}, false
}

func (p *reader) resolveFields(n node, base time.Time, dir int) (Interval, bool) {
	loc := base.Location()
	switch {
	case n.m > 0 && n.d > 0:
		at := func(y int) (Interval, bool) {
			if !valid(y, n.m, n.d) {
				return Interval{}, false
			}
			return unit(date(y, time.Month(n.m), n.d, loc), Day), true
		}
		if n.hasYear {
			return at(n.y)
		}
		if n.wd > 0 { // the weekday settles the year, if one near by fits
			y := base.Year()
			for _, c := range []int{y, y + dir, y - dir, y + 2*dir} {
				if iv, ok := at(c); ok && iv.Start.Weekday() == isoWeekday(n.wd) {
					return iv, true
				}
			}
		}
		return p.near(base, dir, at)
	case n.m > 0:
		at := func(y int) (Interval, bool) { return unit(date(y, time.Month(n.m), 1, loc), Month), true }
		if n.hasYear {
			return at(n.y)
		}
		return p.near(base, dir, at)
	case n.hasYear:
		return unit(date(n.y, 1, 1, loc), Year), true
	case n.d > 0:
		y, m, _ := base.Date()
		for k := 0; k < 36; k++ { // the month must have the day, and the weekday must fit
			first := time.Date(y, m+time.Month(k*dir), 1, 12, 0, 0, 0, time.UTC)
			if n.d > daysIn(first.Year(), first.Month()) {
				continue
			}
			iv := unit(date(first.Year(), first.Month(), n.d, loc), Day)
			if dir > 0 && !iv.End.After(base) || dir < 0 && iv.Start.After(base) {
				continue
			}
			if n.wd > 0 && iv.Start.Weekday() != isoWeekday(n.wd) {
				continue
			}
			return iv, true
		}
	case n.wd > 0:
		return unit(weekday(base, isoWeekday(n.wd), dir), Day), true
	}
	return Interval{}, false
}

// near is the unit that recurs each year, at(y), nearest to base in direction dir; one that holds base counts.
func (p *reader) near(base time.Time, dir int, at func(y int) (Interval, bool)) (Interval, bool) {
	y := base.Year()
	if p.tensed == 0 && !p.bare && base.Equal(p.ref) {
		return nearest(base, at)
	}
	for k := -1; k <= 8; k++ {
		iv, ok := at(y + k*dir)
		if !ok {
			continue
		}
		if dir > 0 && iv.End.After(base) || dir < 0 && !iv.Start.After(base) {
			return iv, true
		}
	}
	return Interval{}, false
}

// nearest is at(y) of the year that brings it nearest to base: a date without a year in a sentence without a
// tense ("kick-off: 12 June") is the one that needs no year to be understood.
func nearest(base time.Time, at func(y int) (Interval, bool)) (best Interval, ok bool) {
	var least time.Duration
	for y := base.Year() - 1; y <= base.Year()+1; y++ {
		iv, found := at(y)
		if !found {
			continue
		}
		d := iv.Start.Sub(base)
		if iv.Contains(base) {
			d = 0
		} else if d < 0 {
			d = base.Sub(iv.End)
		}
		if !ok || d < least {
			best, least, ok = iv, d, true
		}
	}
	return best, ok
}

// sameYear is at(base's year), or the year before for a backward direction where that lies ahead.
func (p *reader) sameYear(base time.Time, dir int, at func(y int) (Interval, bool)) (Interval, bool) {
	iv, ok := at(base.Year())
	if ok && dir < 0 && iv.Start.After(base) {
		return at(base.Year() - 1)
	}
	return iv, ok
}

// shortYear completes a year of two figures: up to 20 years ahead of the reference, else the century before.
func (p *reader) shortYear(yy int) int {
	ref := p.ref.Year()
	y := ref - ref%100 + yy
	if y > ref+20 {
		y -= 100
	} else if y <= ref-80 {
		y += 100
	}
	return y
}

// pastCentury places a decade of two figures: the latest that has begun.
func (p *reader) pastCentury(yy int) int {
	y := p.ref.Year() - p.ref.Year()%100 + yy
	if y > p.ref.Year() {
		y -= 100
	}
	return y
}

// away is the time that lies q units of g before or after the reference. Exact in a bare text and for
// days and finer; in a told sentence as coarse as the unit: "two weeks ago" the seven days around that
// day, "three months ago" that month, "ten years ago" that year, "a year ago" that month of it.
func (p *reader) away(q quantity, g Grain, dir int) node {
	out := node{kind: fixed, approx: q.vague}
	n, u, ok := exact(q, g)
	if !ok {
		return node{}
	}
	if q.few && !p.bare && u >= Day {
		a, b := add(p.r.floor(p.ref, grainFloor(u)), u, -5), add(p.r.floor(p.ref, grainFloor(u)), u, -1)
		if u == Week {
			a, b = days(day(p.ref), -35), days(day(p.ref), -14)
		}
		if dir > 0 {
			a, b = add(p.r.floor(p.ref, grainFloor(u)), u, 2), add(p.r.floor(p.ref, grainFloor(u)), u, 6)
		}
		out.iv = Interval{Start: a, End: b, Grain: Range}
		return out
	}
	if q.upto > q.n && u >= Day && u == g { // two or three years ago
		base := p.r.floor(p.ref, grainFloor(u))
		a, b := add(base, u, dir*n), add(base, u, dir*int(q.upto))
		if b.Before(a) {
			a, b = b, a
		}
		out.iv = Interval{Start: a, End: add(b, grainFloor(u), 1), Grain: Range}
		return out
	}
	t := add(p.ref, u, dir*n)
	if u >= Day {
		out.exact = day(t)
	}
	switch u {
	case Second, Minute:
		out.iv, out.clockFixed = unit(p.r.floor(t, Second), Second), true
	case Hour:
		out.iv, out.clockFixed = unit(p.r.floor(t, Minute), Minute), true
	case Day:
		out.iv = unit(day(t), Day)
	case Weekend:
		if dir < 0 {
			out.iv = unit(days(p.weekend(-1).Start, -7*(n-1)), Weekend)
		} else {
			out.iv = unit(days(p.r.floor(p.ref, Weekend), 7*n), Weekend)
		}
	case Week:
		out.iv = unit(day(t), Day)
		if !p.bare {
			out.iv = Interval{Start: days(day(t), -3), End: days(day(t), 4), Grain: Week}
			out.approx = true
		}
	case Month:
		out.iv = unit(day(t), Day)
		if !p.bare {
			out.iv, out.approx = p.r.current(t, Month), true
		}
	case Season, Quarter:
		out.iv = p.r.nth(p.ref, u, dir*n)
	case Year:
		out.iv = p.r.current(t, Month)
		if !p.bare && n > 1 {
			out.iv, out.approx = p.r.current(t, Year), true
		}
	case Decade:
		out.iv, out.approx = p.r.current(t, Year), true
		if !p.bare {
			out.iv = Interval{Start: date(t.Year()-2, 1, 1, t.Location()), End: date(t.Year()+3, 1, 1, t.Location()), Grain: Range}
		}
	case Century:
		out.iv, out.approx = p.r.current(t, Decade), true
	default:
		out.iv = p.r.current(t, u)
	}
	return out
}

func grainFloor(g Grain) Grain {
	if g == Week {
		return Day
	}
	return g
}

// upTo is the n units of g up to the reference.
func (p *reader) upTo(g Grain, n int) Interval {
	end := p.ref
	if g >= Day {
		end = days(day(p.ref), 1)
		return Interval{Start: add(day(p.ref), g, -n), End: end, Grain: Range}
	}
	return Interval{Start: add(end, g, -n), End: end, Grain: Range}
}

// third is the early, middle or late part of an interval: ten days of a month, four months of a year
// (three at its beginning, as quarters go), three days of a week.
func (p *reader) third(in Interval, pos int) Interval {
	s, e := in.Start, in.End
	out := Interval{Grain: Range}
	switch in.Grain {
	case Week:
		cut := [...]time.Time{s, days(s, 3), days(s, 4), e}
		if pos == 2 {
			out.Start, out.End = days(s, 2), days(s, 5)
		} else {
			out.Start, out.End = cut[pos-1], cut[pos]
		}
	case Month:
		cut := [...]time.Time{s, days(s, 10), days(s, 20), e}
		out.Start, out.End = cut[pos-1], cut[pos]
	case Quarter, Season:
		out.Start, out.End = add(s, Month, pos-1), add(s, Month, pos)
	case Year:
		switch pos {
		case 1:
			out.Start, out.End = s, add(s, Month, 3)
		case 2:
			out.Start, out.End = add(s, Month, 4), add(s, Month, 8)
		case 3:
			out.Start, out.End = add(s, Month, 8), e
		}
	case Decade:
		cut := [...]int{0, 4, 7, 10}
		out.Start, out.End = add(s, Year, cut[pos-1]), add(s, Year, cut[pos])
	case Century:
		cut := [...]int{0, 33, 66, 100}
		out.Start, out.End = add(s, Year, cut[pos-1]), add(s, Year, cut[pos])
	default:
		return in
	}
	return out
}

// half is the first or the second half of an interval.
func half(in Interval, o int) Interval {
	s := in.Start
	mid := s
	switch in.Grain {
	case Month:
		mid = days(s, 15)
	case Quarter, Season:
		mid = days(add(s, Month, 1), 15)
	case Year:
		mid = add(s, Month, 6)
	case Decade:
		mid = add(s, Year, 5)
	case Century:
		mid = add(s, Year, 50)
	default:
		mid = days(s, daysBetween(s, in.End)/2)
	}
	if o == 1 {
		return Interval{Start: s, End: mid, Grain: Range}
	}
	return Interval{Start: mid, End: in.End, Grain: Range}
}

// pick is the oth (from the end: oth last) weekday or whole unit inside in.
func (p *reader) pick(in Interval, o int, fromEnd bool, wd int, g Grain) (Interval, bool) {
	first, last := day(in.Start), day(in.End.Add(-1))
	if wd > 0 {
		if fromEnd {
			return unit(days(weekday(days(last, 1), isoWeekday(wd), -1), -7*(o-1)), Day), true
		}
		return unit(days(weekday(days(first, -1), isoWeekday(wd), 1), 7*(o-1)), Day), true
	}
	if g >= in.Grain && in.Grain != Range {
		return Interval{}, false
	}
	switch g {
	case Day:
		if fromEnd {
			return unit(days(last, -(o-1)), Day), true
		}
		return unit(days(first, o-1), Day), true
	case Week, Weekend, Month, Quarter, Season, Year, Decade:
		step := g
		if g == Weekend {
			step = Week
		}
		if fromEnd {
			u := p.r.current(last, g)
			if g == Weekend {
				u = unit(days(p.r.floor(days(last, 1), Weekend), 0), Weekend)
			}
			for n := 0; u.End.After(in.End) && n < 3; n++ {
				u = unit(add(u.Start, step, -1), g)
			}
			return unit(add(u.Start, step, -(o-1)), g), true
		}
		u := p.r.current(first, g)
		for n := 0; u.Start.Before(in.Start) && n < 3; n++ {
			u = unit(add(u.Start, step, 1), g)
		}
		return unit(add(u.Start, step, o-1), g), true
	}
	return Interval{}, false
}

// spanOf joins two intervals: the last named unit is included, unless the options say otherwise.
func (p *reader) spanOf(x, y Interval) Interval {
	end := y.End
	if p.r.o.RangeExclusive && y.Grain >= Day {
		end = y.Start
	}
	return Interval{Start: x.Start, End: end, Grain: Range}
}
