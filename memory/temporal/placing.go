package temporal

import "time"

// Points of a day: a date, a part of the day and a clock time together.

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

// at resolves pt from base in direction dir.
func (p *reader) at(pt point, base time.Time, dir int) (iv Interval, ok bool) {
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
		if pt.date.exact.IsZero() {
			return iv, false
		}
		iv = unit(pt.date.exact, Day) // in two weeks at 5pm
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

func (p *reader) partOf(d time.Time, pt part) Interval {
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
func (p *reader) zoned(c clock, h int, iv Interval, dated bool, base time.Time, dir int) (Interval, bool) {
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
