package temporal

import "time"

// Points: a date, a part of the day and a clock time in any order that English allows, put together.

// part is a part of a day in hours; zero where there is none. Parts overlap, as they do in speech:
// duckling's bounds, which the usual lists of expressions share.
type part struct{ from, to int }

var (
	partMorning   = part{0, 12}
	partEarly     = part{0, 9}
	partAfternoon = part{12, 19}
	partEvening   = part{18, 24}
	partNight     = part{18, 24}
	partLate      = part{21, 24}
	partLunch     = part{12, 14}
)

// point is what stands at one place of the text, before its direction is settled.
type point struct {
	date   node
	part   part
	clk    clock
	hasClk bool
	approx bool
	bound  bool // several components, or a word before it: its latent parts count as times
}

// partAt reads a part of the day: "morning", "the early morning", "late at night", "lunch". It says
// whether "this" or "last" was part of it through day: -1 last, 0 this, 9 not said.
func (p *parser) partAt(i int) (pt part, turn int, next int) {
	turn = 9
	j := i
	late, early := false, false
	if p.is(j, "in") || p.is(j, "during") {
		j++
	}
	if p.is(j, "the") {
		j++
	}
	if p.is(j, "late") && p.is(j+1, "at") {
		late, j = true, j+2
	}
	if p.isAny(j, "early") {
		early, j = true, j+1
		j = p.skip(p.skip(j, "in"), "the")
	} else if p.is(j, "late") {
		late, j = true, j+1
	}
	if early && p.is(j, "hours") && p.is(j+1, "of") { // the early hours of the morning
		j = p.skip(j+2, "the")
	}
	if p.is(j, "this") {
		turn, j = 0, j+1
	} else if p.is(j, "last") || p.is(j, "past") {
		turn, j = -1, j+1
	}
	if early == false && p.is(j, "early") {
		early, j = true, j+1
	} else if p.is(j, "late") && !late {
		late, j = true, j+1
	}
	if !p.has(j, cPart) && !p.isAny(j, "tonight", "tonite") {
		return part{}, 9, 0
	}
	switch p.toks[j].w.s {
	case "morning":
		pt = partMorning
		if early {
			pt = partEarly
		} else if late {
			pt = part{9, 12}
		}
	case "afternoon", "afternoonish":
		pt = partAfternoon
		if early {
			pt = part{12, 15}
		} else if late {
			pt = part{15, 19}
		}
	case "evening":
		pt = partEvening
		if late {
			pt = partLate
		} else if early {
			pt = part{18, 21}
		}
	case "night", "nite", "tonight", "tonite":
		pt = partNight
		if late {
			pt = partLate
		}
		if p.isAny(j, "tonight", "tonite") {
			turn = 0
		}
	case "lunch", "lunchtime", "noonish":
		pt = partLunch
	default: // plural: a habit
		return part{}, 9, 0
	}
	return pt, turn, j + 1
}

// point reads the components that stand at i.
func (p *parser) point(i int) (pt point, next int) {
	j := i
	parts := 0
	for parts < 4 {
		k := j
		if parts > 0 {
			k = p.joint(j, &pt)
		} else {
			for p.isAny(k, "about", "around", "approximately", "roughly", "circa") {
				pt.approx = true
				k++
			}
		}
		if k >= len(p.toks) {
			break
		}
		best, kind := 0, 0
		var n node
		var c clock
		var pa part
		turn := 9
		if pt.date.kind == noDate {
			if d, e := p.date(k); e > best {
				n, best, kind = d, e, 1
			}
		}
		if pt.part == (part{}) {
			if a, t, e := p.partAt(k); e > best || e == best && e != 0 && kind == 1 && n.part != (part{}) {
				if t == 9 || pt.date.kind == noDate {
					pa, turn, best, kind = a, t, e, 2
				}
			}
		}
		if !pt.hasClk {
			if d, e := p.clockAt(k); e > best {
				if p.clockFits(d, k, e, &pt, parts) {
					c, best, kind = d, e, 3
				}
			}
		}
		if best == 0 {
			break
		}
		switch kind {
		case 1:
			if parts > 0 && (n.clockFixed || n.latent && pt.hasClk && !p.led(k)) {
				best = 0
				break
			}
			if parts > 0 && n.kind == fixed && n.iv.Grain > Day && (pt.hasClk || pt.part != (part{})) {
				best = 0
				break
			}
			pt.date = n
			if n.part != (part{}) {
				pt.part = n.part
			}
		case 2:
			pt.part = pa
			switch turn {
			case 0:
				pt.date = fixedNode(unit(day(p.ref), Day))
			case -1:
				pt.date = fixedNode(unit(days(day(p.ref), -1), Day))
			}
		case 3:
			pt.clk, pt.hasClk = c, true
		}
		if best == 0 {
			break
		}
		parts++
		j = best
		if pt.date.clockFixed {
			break
		}
	}
	if parts == 0 {
		return pt, 0
	}
	pt.bound = parts > 1
	return pt, j
}

// joint skips what may stand between two components of a point.
func (p *parser) joint(j int, pt *point) int {
	k := p.skipMark(j, ',')
	if p.isMark(k, '@') {
		return k + 1
	}
	switch {
	case p.isAny(k, "at", "on"):
		k++
		for p.isAny(k, "about", "around", "approximately") {
			k++
		}
	case p.is(k, "for") && p.isNumber(k+1), p.is(k, "of"), p.is(k, "around"):
		k++
	case p.is(k, "in") && pt.hasClk && p.isAny(k+1, "the") == false:
	}
	return k
}

// clockFits reports whether the clock time at [i, e) may stand where it does.
func (p *parser) clockFits(c clock, i, e int, pt *point, parts int) bool {
	if !c.latent {
		return true
	}
	if p.isNumber(i) && !p.rightClear(e) {
		return false
	}
	at := p.isAny(i-1, "at") || p.isMark(i-1, '@') || p.isAny(i-1, "about", "around", "approximately") && (p.is(i-2, "at") || p.bare && p.toks[e-1].digits == 4)
	if parts > 0 {
		if pt.date.kind != noDate && pt.date.kind != fixed && pt.date.wd == 0 && !at {
			return false
		}
		if !at && !(p.is(i-1, "for")) && !(pt.part != (part{}) && p.isNumber(i)) {
			return false
		}
		return !p.counted(e) || p.has(e, cPart)
	}
	if at {
		if p.isNumber(i) && p.toks[i].digits >= 3 && !p.bare {
			return false
		}
		return !p.counted(e) && !p.has(e, cUnit) && !p.is(e, "of")
	}
	// "9 tomorrow morning", "8 tonight", "eight this evening"
	if p.isAny(e, "tomorrow", "tonight", "tonite", "tmrw") && (p.isNumber(i) || p.bare) {
		return true
	}
	if _, t, f := p.partAt(e); f != 0 && (t == 0 || p.is(e, "in")) && (p.isNumber(i) || p.bare) {
		return true
	}
	return false
}

// at resolves pt from base in direction dir.
func (p *parser) at(pt point, base time.Time, dir int) (iv Interval, ok bool) {
	if pt.date.kind != noDate {
		if iv, ok = p.resolve(pt.date, base, dir); !ok {
			return iv, false
		}
		if pt.date.clockFixed {
			return iv, !pt.hasClk && pt.part == (part{})
		}
	}
	dated := pt.date.kind != noDate
	if !pt.hasClk && pt.part == (part{}) {
		return iv, dated
	}
	if dated && iv.Grain != Day {
		if iv.Grain > Day && iv.Grain <= Month && pt.date.kind == fixed && pt.hasClk {
			iv = unit(day(iv.Start), Day) // in 2 weeks at 5pm, read as a day when bare
		} else {
			return iv, false
		}
	}
	if !pt.hasClk {
		if !dated {
			iv = unit(day(base), Day)
			if dir < 0 && hour(iv.Start, pt.part.from, 0, 0).After(base) {
				iv = unit(days(iv.Start, -1), Day)
			}
		}
		return p.partOf(iv.Start, pt.part), true
	}
	c := pt.clk
	h := to24(c.h, c.half)
	if c.half == 0 && !c.h24 && pt.part != (part{}) {
		h = inPart(c.h, pt.part)
	}
	if c.zone != nil {
		return p.zoned(c, h, iv, dated, base, dir)
	}
	if dated || pt.part != (part{}) {
		d := day(base)
		if dated {
			d = iv.Start
		}
		if c.half == 0 && !c.h24 && pt.part == (part{}) {
			h = usual(c.h)
		}
		if h == 24 && pt.part == partMorning {
			h = 24
		}
		iv = clockIv(d, h, c)
		if !dated {
			if dir > 0 && !iv.End.After(base) {
				iv = clockIv(days(d, 1), h, c)
			} else if dir < 0 && iv.Start.After(base) {
				iv = clockIv(days(d, -1), h, c)
			}
		}
		return iv, true
	}
	// a time alone: today's, in the sentence's direction
	d := day(base)
	hours := []int{h}
	if c.half == 0 && !c.h24 {
		u := usual(c.h)
		hours = []int{u, (u + 12) % 24}
	}
	for k := 0; k <= 1; k++ {
		for _, h := range hours {
			iv = clockIv(days(d, k*dir), h, c)
			if dir > 0 && iv.End.After(base) && !iv.Start.Before(base) || dir > 0 && iv.Contains(base) || dir < 0 && !iv.Start.After(base) {
				return iv, true
			}
		}
	}
	return iv, true
}

// usual is the hour of 24 that people mean by an hour of 12 without am or pm: seven to eleven in the
// morning, twelve to six after noon.
func usual(h int) int {
	if h >= 1 && h <= 6 {
		return h + 12
	}
	return h
}

// inPart is the hour of 24 that h means in a part of the day: 3 in the morning, 8 in the evening, 12 at night.
func inPart(h int, pt part) int {
	if h > 12 {
		return h
	}
	switch {
	case pt.from < 12: // morning
		if h == 12 {
			return 24
		}
		return h
	case h == 12:
		if pt.to <= 14 || pt.from == 12 {
			return 12
		}
		return 24
	}
	return h + 12
}

func hour(d time.Time, h, m, s int) time.Time {
	return time.Date(d.Year(), d.Month(), d.Day(), h, m, s, 0, d.Location())
}

func clockIv(d time.Time, h int, c clock) Interval { return unit(hour(d, h, c.m, c.s), c.grain) }

func (p *parser) partOf(d time.Time, pt part) Interval {
	end := hour(d, pt.to, 0, 0)
	if pt.to == 24 {
		end = days(d, 1)
	}
	start := hour(d, pt.from, 0, 0)
	if pt.from == 0 {
		start = d
	}
	return Interval{Start: start, End: end, Grain: PartOfDay}
}

// zoned places a clock time of another zone and answers in the reference's.
func (p *parser) zoned(c clock, h int, iv Interval, dated bool, base time.Time, dir int) (Interval, bool) {
	loc := time.FixedZone(c.zone.s, c.zone.shift*60)
	d := base.In(loc)
	if dated {
		d = iv.Start
	}
	at := func(k int) Interval {
		u := unit(time.Date(d.Year(), d.Month(), d.Day()+k, h, c.m, c.s, 0, loc), c.grain)
		if u.Grain == Hour {
			u = Interval{Start: u.Start, End: u.Start.Add(time.Minute), Grain: Minute}
		}
		u.Start, u.End = u.Start.In(base.Location()), u.End.In(base.Location())
		return u
	}
	u := at(0)
	if !dated {
		if dir > 0 && !u.End.After(base) {
			u = at(1)
		} else if dir < 0 && u.Start.After(base) {
			u = at(-1)
		}
	}
	return u, true
}
