package temporal

// Numbers, ordinals, quantities and units in English.

// cardinal reads "3", "three", "twenty one", "twenty-one".
func (p *parser) cardinal(i int) (n, next int) {
	if p.isNumber(i) {
		if p.toks[i].digits > 6 {
			return 0, 0
		}
		return p.toks[i].num, i + 1
	}
	if !p.has(i, cNumber) {
		return 0, 0
	}
	n, next = p.toks[i].w.n, i+1
	if n >= 20 && n%10 == 0 {
		j := next
		if p.isMark(j, '-') && p.glued(j) {
			j++
		}
		if p.has(j, cNumber) && p.toks[j].w.n < 10 {
			return n + p.toks[j].w.n, j + 1
		}
	}
	if p.is(i, "one") && p.is(i+1, "hundred") {
		return 100, i + 2
	}
	return n, next
}

// ordinal reads "3rd", "third", "twenty-first".
func (p *parser) ordinal(i int) (n, next int) {
	if p.isNumber(i) && p.toks[i].digits <= 2 && p.suffix(i+1) {
		return p.toks[i].num, i + 2
	}
	if p.has(i, cOrdinal) {
		return p.toks[i].w.n, i + 1
	}
	if p.has(i, cNumber) && (p.is(i, "twenty") || p.is(i, "thirty")) {
		j := i + 1
		if p.isMark(j, '-') && p.glued(j) {
			j++
		}
		if p.has(j, cOrdinal) && p.toks[j].w.n < 10 {
			return p.toks[i].w.n + p.toks[j].w.n, j + 1
		}
	}
	return 0, 0
}

// suffix reports whether token i is the ending of an ordinal in figures, glued to it.
func (p *parser) suffix(i int) bool {
	if !p.glued(i) || p.toks[i].kind != aWord || p.toks[i].to-p.toks[i].from != 2 {
		return false
	}
	switch s := p.text[p.toks[i].from:p.toks[i].to]; s {
	case "st", "nd", "rd", "th", "ST", "ND", "RD", "TH", "St", "Nd", "Rd", "Th":
		return true
	}
	return false
}

// quantity is an amount of units: exact, broken, or vague.
type quantity struct {
	n     float64
	vague bool    // a few, several, about
	few   bool    // an unsaid number: a few, several
	upto  float64 // the greater number of "two or three", "2-3"; 0 for none
}

func (q quantity) whole() (int, bool) { return int(q.n), q.n == float64(int(q.n)) }

// amount reads "three", "a", "a couple of", "a few", "half an", "2.5", "2 and a half", "one and a half", "1/2".
func (p *parser) amount(i int) (q quantity, next int) {
	for p.isAny(i, "about", "around", "approximately", "roughly", "almost", "nearly", "over", "under", "just", "only", "like") ||
		p.is(i, "less") && p.is(i+1, "than") || p.is(i, "more") && p.is(i+1, "than") {
		q.vague = q.vague || !p.is(i, "just")
		if p.isAny(i, "less", "more") {
			i++
		}
		i++
	}
	switch {
	case p.isAny(i, "a", "an", "the") && p.is(i+1, "couple"), p.is(i, "couple"), p.isAny(i, "a", "the") && p.is(i+1, "pair"):
		i = p.skip(i, "a", "an", "the") + 1
		q.n = 2
		return q, p.skip(i, "of")
	case p.is(i, "a") && p.is(i+1, "few"), p.is(i, "few"), p.is(i, "several"):
		i = p.skip(i, "a") + 1
		q.n, q.vague, q.few = 3, true, true
		return q, p.skip(i, "of")
	case p.is(i, "half"):
		i = p.skip(i+1, "of")
		q.n = .5
		return q, p.skip(i, "a", "an")
	case p.isAny(i, "a") && p.is(i+1, "half"):
		q.n = .5
		return q, i + 2
	case p.isAny(i, "a") && p.is(i+1, "quarter") && p.is(i+2, "of") && p.isAny(i+3, "a", "an"):
		q.n = .25
		return q, i + 4
	case p.is(i, "three") && (p.is(i+1, "quarters") || p.isMark(i+1, '-') && p.is(i+2, "quarters")):
		for !p.is(i, "quarters") {
			i++
		}
		q.n = .75
		i = p.skip(i+1, "of")
		return q, p.skip(i, "a", "an")
	case p.isAny(i, "a", "an"):
		q.n = 1
		return q, i + 1
	}
	n, j := p.cardinal(i)
	if j == 0 {
		return q, 0
	}
	q.n = float64(n)
	if p.isNumber(i) {
		if p.isMark(j, '.') && p.glued(j) && p.isNumber(j+1) && p.glued(j+1) {
			f := float64(p.toks[j+1].num)
			for d := 0; d < p.toks[j+1].digits; d++ {
				f /= 10
			}
			q.n += f
			return q, j + 2
		}
		if p.isMark(j, '/') && p.glued(j) && p.isNumber(j+1) && p.glued(j+1) && p.toks[j+1].num > 0 && p.toks[j+1].num < 10 {
			q.n /= float64(p.toks[j+1].num)
			return q, j + 2
		}
	}
	if p.is(j, "and") {
		k := p.skip(j+1, "a", "an")
		if p.is(k, "half") {
			q.n += .5
			return q, k + 1
		}
	}
	if p.is(j, "more") {
		j++
	} else if p.isMark(j, '+') && p.glued(j) { // 10+ years
		q.vague = true
		j++
	}
	// two or three, 2-3, two to three: with the unit right after
	if k := j; p.isAny(k, "or", "to") || p.isMark(k, '-') && p.isNumber(k+1) {
		if m, e := p.cardinal(k + 1); e != 0 && float64(m) > q.n && p.has(e, cUnit) {
			q.upto, q.vague = float64(m), true
			return q, e
		}
	}
	return q, j
}

// units reads the unit after an amount. Short forms of one letter only glued to figures ("3h").
func (p *parser) units(i int) (g Grain, mult, next int) {
	i = p.skip(i, "more", "full", "whole", "long")
	if !p.has(i, cUnit) {
		return 0, 0, 0
	}
	w := p.toks[i].w
	mult = 1
	switch w.s {
	case "h", "q", "mo", "mos":
		if w.s == "q" || !p.isNumber(i-1) {
			return 0, 0, 0
		}
	case "fortnight", "fortnights":
		mult = 2
	case "min", "sec", "hr", "wk", "yr", "hrs", "mins", "secs", "wks", "yrs":
		if p.isMark(i+1, '.') && p.glued(i+1) && (i+2 < len(p.toks)) && p.isAny(i+2, "ago") {
			return w.unit, 1, i + 2
		}
	}
	return w.unit, mult, i + 1
}

// length reads an amount and its unit: "three years", "a couple of weeks", "an hour and a half", "2.5h".
func (p *parser) length(i int) (q quantity, g Grain, next int) {
	q, j := p.amount(i)
	if j == 0 {
		return q, 0, 0
	}
	if p.isMark(j, '-') && p.glued(j) { // a three-year course: not a length of its own
		return q, 0, 0
	}
	g, mult, k := p.units(j)
	if k == 0 {
		if p.isMark(j, '\'') && p.glued(j) && p.isNumber(j-1) && p.rightClear(j+1) {
			return q, Minute, j + 1
		}
		if p.isMark(j, '"') && p.glued(j) && p.isNumber(j-1) {
			return q, Second, j + 1
		}
		return q, 0, 0
	}
	q.n, q.upto = q.n*float64(mult), q.upto*float64(mult)
	if p.is(k, "or") && q.n == 1 && p.isAny(k+1, "two", "so") { // a year or two
		q.vague = true
		if p.is(k+1, "two") {
			q.upto = 2 * float64(mult)
		}
		return q, g, k + 2
	}
	if p.is(k, "and") {
		if m := p.skip(k+1, "a", "an"); p.is(m, "half") && !p.has(m+1, cUnit) {
			q.n += .5
			k = m + 1
		} else if q2, m := p.amount(k + 1); m != 0 { // three years and two months
			if g2, _, e := p.units(m); e != 0 && g2 < g && q2.n == float64(int(q2.n)) {
				if f := ratio(g, g2); f > 0 {
					q.n, g, k = q.n*f+q2.n, g2, e
				}
			}
		}
	}
	return q, g, k
}

// ratio is how many units of b make one of a, where that is fixed; else 0.
func ratio(a, b Grain) float64 {
	switch {
	case a == Hour && b == Minute, a == Minute && b == Second:
		return 60
	case a == Week && b == Day:
		return 7
	case a == Year && b == Month, a == Decade && b == Year:
		if a == Decade {
			return 10
		}
		return 12
	}
	return 0
}

// exact turns a broken quantity into whole units: half an hour is 30 minutes, a year and a half 18 months.
func exact(q quantity, g Grain) (n int, unit Grain, ok bool) {
	if n, ok := q.whole(); ok {
		return n, g, true
	}
	var f float64
	var u Grain
	switch g {
	case Minute:
		f, u = 60, Second
	case Hour:
		f, u = 60, Minute
	case Day:
		f, u = 24, Hour
	case Week:
		f, u = 7, Day
	case Month:
		f, u = 30, Day
	case Year:
		f, u = 12, Month
	case Decade:
		f, u = 10, Year
	case Century:
		f, u = 100, Year
	default:
		return 0, 0, false
	}
	return int(q.n*f + .5), u, true
}
