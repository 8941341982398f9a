package temporal

import "slices"

// Points: a date, a part of the day and a clock time in any order that English allows, put together.

// partAt reads a part of the day: "morning", "the early morning", "late at night", "lunch". It says
// whether "this" or "last" was part of it through day: -1 last, 0 this, 9 not said.
func (p *parser) partAt(i int) (pt part, turn int, next int) {
	turn = 9
	j := i
	late, early := false, false
	if p.is(j, "in") || p.is(j, "during") || p.is(j, "at") && p.isAny(j+1, "night", "lunch", "lunchtime") {
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
	if !early && p.is(j, "early") {
		early, j = true, j+1
	} else if p.is(j, "late") && !late {
		late, j = true, j+1
	}
	if !p.has(j, cPart) && !p.isAny(j, "tonight", "tonite") {
		return part{}, 9, 0
	}
	switch p.toks[j].w.s {
	case "morning":
		pt = partOfWord("morning")
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

// partOfWord is the part of the day that a word names.
func partOfWord(s string) part {
	switch s {
	case "morning":
		return partMorning
	case "afternoon":
		return partAfternoon
	case "lunch", "lunchtime":
		return partLunch
	}
	return partNight
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
	// "Mon Jan 2 15:04:05 2006": the year after the clock time
	if d := &pt.date; pt.hasClk && d.kind == fields && !d.hasYear && d.m > 0 && d.d > 0 {
		if y, e := p.year(j); e != 0 && p.isNumber(j) && y > 1800 && y < 2200 && p.rightClear(e) && !p.measured(e) {
			d.y, d.hasYear, d.abs, d.wd = y, true, true, 0
			j = e
		}
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
	}
	return k
}

// levels are the verbs after which "at 15" is a height and no hour: "Postgres stays at 15", "capped at 5".
var levels = []string{"stay", "stays", "stayed", "remain", "remains", "remained", "stands", "stood", "capped", "limited", "fixed", "pinned", "frozen", "stuck",
	"peaked", "peaks", "kept", "holds", "steady", "maxed"}

func (p *parser) levelVerb(i int) bool {
	return slices.ContainsFunc(levels, func(v string) bool { return p.word(i, v) })
}

// clockFits reports whether the clock time at [i, e) may stand where it does.
func (p *parser) clockFits(c clock, i, e int, pt *point, parts int) bool {
	if !c.latent {
		return true
	}
	if p.isNumber(i) && !p.rightClear(e) {
		return false
	}
	at := p.isAny(i-1, "at") || p.isMark(i-1, '@') && (p.toks[i-1].space || i == 1) || p.isAny(i-1, "about", "around", "approximately") && (p.is(i-2, "at") || p.bare && p.toks[e-1].digits == 4)
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
		if p.isNumber(i) && (p.toks[i].digits >= 3 && !p.bare || p.levelVerb(i-2)) { // "Postgres stays at 15"
			return false
		}
		return !p.counted(e) && !p.has(e, cUnit) && !p.is(e, "of")
	}
	// "9 tomorrow morning", "8 tonight", "eight this evening"
	if p.isAny(e, "tomorrow", "tonight", "tonite", "tmrw") && (p.isNumber(i) || p.bare) {
		return true
	}
	if _, t, f := p.partAt(e); f != 0 && (t == 0 || p.isAny(e, "in", "at")) && (p.isNumber(i) || p.bare) {
		return true
	}
	return false
}
