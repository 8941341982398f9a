package temporal

// Times with names of their own: seasons, quarters, decades, centuries, feast days and years.

// named reads seasons, quarters, decades, centuries, feast days and years.
func (p *parser) named(i int) (n node, next int) {
	j := p.skip(i, "the")
	if p.has(j, cSeason) && !p.plural(j) {
		s := p.toks[j].w.n
		if y, e := p.yearAfter(j+1, false); e != 0 {
			return node{kind: season, n: s, y: y, hasYear: true, abs: true}, e
		}
		if p.has(j+1, cPart|cUnit) && !p.is(j+1, "h") {
			return node{}, 0
		}
		if p.isAny(i-1, "over", "throughout") && j > i && !p.counted(j+1) {
			return node{kind: season, n: s}, j + 1
		}
		if p.is(j-1, "to") || p.is(j, "fall") && p.is(j+1, "back") { // to fall back, to spring up
			return node{}, 0
		}
		if j == i || p.led(i) {
			return node{kind: season, n: s, latent: true}, j + 1
		}
	}
	if q, e := p.quarter(j); e != 0 {
		return q, e
	}
	if n, e := p.decade(j, j > i); e != 0 {
		return n, e
	}
	if o, e := p.ordinal(j); e != 0 && o > 0 && o < 40 && p.is(e, "century") {
		s := date((o-1)*100+1, 1, 1, p.ref.Location())
		return node{kind: fixed, abs: true, iv: unit(s, Century)}, e + 1
	}
	if f, e := p.feastAt(j); e != 0 {
		n := node{kind: feastDay, feast: f}
		if y, g := p.yearAfter(e, false); g != 0 {
			n.y, n.hasYear, n.abs = y, true, true
			return n, g
		}
		return n, e
	}
	if y, e := p.year(i); e != 0 && (y >= 1000 || p.is(e-1, "ad")) && p.rightClear(e) && !p.measured(e) {
		bare := p.bare && i == 0 && e == len(p.toks)
		if bare || p.ledYear(i) {
			return node{kind: fields, y: y, hasYear: true, abs: true}, e
		}
	}
	return node{}, 0
}

// ledYear is led for years: a preposition or a position right before.
func (p *parser) ledYear(i int) bool {
	if p.isMark(i, '\'') {
		return p.has(i-1, cPrep)
	}
	if p.isAny(i-1, "in", "since", "until", "till", "by", "before", "after", "from", "during", "of", "around", "about", "circa", "through",
		"thru", "early", "mid", "late", "year", "last", "to", "beginning", "end", "middle", "start", "spring", "approximately") {
		if p.isAny(i-1, "about", "around", "approximately", "circa") && p.isNumber(i) && p.toks[i].num < 1500 {
			return false
		}
		return !(p.isAny(i-1, "of", "about", "to", "from", "around", "last", "through") && !p.yearLike(i))
	}
	return p.isMark(i-1, '-') && p.isAny(i-2, "mid", "early", "late", "pre", "post")
}

// yearLike reports whether the figures at i stand like a year where the word before is weak evidence: four
// figures between 1900 and 2100, not followed by a noun.
func (p *parser) yearLike(i int) bool {
	t := &p.toks[i]
	if t.kind != aNumber || t.num < 1800 || t.num > 2100 {
		return t.kind != aNumber
	}
	return i+1 >= len(p.toks) || p.toks[i+1].kind == aMark || p.toks[i+1].w != nil && p.toks[i+1].w.cls&(cPast|cPresent|cHave|cBe|cSubject|cPrep|cFunction) != 0
}

// measured reports whether a unit of measure or a counted noun follows the figures: "in 2000 ms", "by 1500 users".
func (p *parser) measured(i int) bool {
	if i >= len(p.toks) || p.toks[i].kind != aWord {
		return p.isMark(i, '%') || p.isMark(i, '$') || p.isMark(i, '€')
	}
	w := p.text[p.toks[i].from:p.toks[i].to]
	if p.toks[i].w != nil {
		return p.toks[i].w.cls&(cUnit|cNumber) != 0
	}
	switch w {
	case "ms", "us", "ns", "kb", "mb", "gb", "px", "km", "m", "cm", "mm", "kg", "g", "mg", "kcal", "rpm", "ft", "feet", "meters", "metres", "miles",
		"people", "degrees", "K", "MB", "GB", "KB", "Hz", "MHz", "tokens", "chars", "bytes":
		return true
	}
	// a plural noun right after the figures is what they count
	n := len(w)
	return n > 3 && w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u' && w[n-2] != 'i' && w[0] >= 'a' && w[0] <= 'z'
}

// quarter reads "Q3 2024", "3rd quarter of 2018", "2018Q4", "18q4", "third quarter".
func (p *parser) quarter(i int) (node, int) {
	if p.isNumber(i) && (p.toks[i].digits == 4 || p.toks[i].digits == 2) && p.is(i+1, "q") && p.isNumber(i+2) && p.glued(i+2) {
		if q := p.toks[i+2].num; q >= 1 && q <= 4 && p.toks[i+2].digits == 1 && p.rightClear(i+3) {
			y := p.toks[i].num
			if p.toks[i].digits == 2 {
				y = p.shortYear(y)
			}
			return node{kind: quarter, n: q, y: y, hasYear: true, abs: true}, i + 3
		}
	}
	if p.is(i, "h") && p.isNumber(i+1) && p.glued(i+1) && p.toks[i+1].digits == 1 && (p.toks[i+1].num == 1 || p.toks[i+1].num == 2) { // H1 2023
		if y, e := p.yearAfter(i+2, false); e != 0 {
			return node{kind: fixed, abs: true, iv: half(unit(date(y, 1, 1, p.ref.Location()), Year), p.toks[i+1].num)}, e
		}
	}
	q, j := 0, 0
	if p.is(i, "q") && p.isNumber(i+1) && p.glued(i+1) && p.toks[i+1].digits == 1 {
		q, j = p.toks[i+1].num, i+2
		if !p.rightClear(j) && !p.isMark(j, '/') && !p.isMark(j, '-') {
			return node{}, 0
		}
		if (p.isMark(j, '/') || p.isMark(j, '-') || p.isMark(j, '\'')) && p.isNumber(j+1) {
			if y, e := p.year(j + 1); e != 0 {
				return node{kind: quarter, n: q, y: y, hasYear: true, abs: true}, e
			}
		}
	} else if o, e := p.ordinal(i); e != 0 && p.has(e, cQuarter) && p.toks[e].w.s != "q" && p.toks[e].w.s != "quarters" {
		q, j = o, e+1
	} else if p.has(i, cQuarter) && p.isAny(i, "quarter", "qtr") {
		if n, e := p.cardinal(i + 1); e != 0 && n <= 4 && p.rightClear(e) && p.isNumber(i+1) {
			q, j = n, e
		}
	}
	if q < 1 || q > 4 {
		return node{}, 0
	}
	if y, e := p.yearAfter(j, false); e != 0 {
		return node{kind: quarter, n: q, y: y, hasYear: true, abs: true}, e
	}
	if !p.bare && !p.is(i, "q") { // the fourth quarter of a game
		return node{}, 0
	}
	return node{kind: quarter, n: q}, j
}

// decade reads "the 90s", "the 1990s", "the nineties", "the '80s".
func (p *parser) decade(i int, article bool) (node, int) {
	j := i
	if p.isMark(j, '\'') {
		j++
	}
	y, e := 0, 0
	switch {
	case p.isNumber(j) && p.glued(j+1) && (p.raw(j+1) == "s" || p.raw(j+1) == "S") && p.toks[j].num%10 == 0:
		e = j + 2
		y = p.toks[j].num
		if p.toks[j].digits == 2 {
			if !article && j == i && !p.has(i-1, cPosition) { // in 60s: seconds
				return node{}, 0
			}
			y = p.pastCentury(y)
		} else if p.toks[j].digits != 4 {
			return node{}, 0
		}
	case p.isNumber(j) && p.isMark(j+1, '\'') && p.raw(j+2) == "s" && p.glued(j+2) && p.toks[j].num%10 == 0 && (p.toks[j].digits == 4 || p.toks[j].digits == 2 && article):
		e = j + 3
		y = p.toks[j].num
		if y < 100 {
			y = p.pastCentury(y)
		}
	case p.has(j, cDecade):
		if !article {
			return node{}, 0
		}
		y, e = p.pastCentury(p.toks[j].w.n), j+1
	default:
		return node{}, 0
	}
	iv := unit(date(y, 1, 1, p.ref.Location()), Decade)
	if y%100 == 0 && p.toks[j].digits == 4 && y < 2000 { // the 1900s, the 1800s: the century
		iv = unit(date(y, 1, 1, p.ref.Location()), Century)
	}
	return node{kind: fixed, abs: p.isNumber(j) && p.toks[j].digits == 4, iv: iv}, e
}
