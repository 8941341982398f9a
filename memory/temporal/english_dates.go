package temporal

// year reads a year of four figures, "'23", "two thousand ten", or "44 BC".
func (p *parser) year(i int) (y, next int) {
	if p.isNumber(i) && p.toks[i].digits < 4 && p.toks[i].num > 0 && p.is(i+1, "ad") && p.toks[i+1].caps {
		return p.toks[i].num, i + 2
	}
	if p.isNumber(i) && p.toks[i].digits == 4 && p.toks[i].num > 0 && p.toks[i].num < 3000 {
		j := i + 1
		if p.isAny(j, "ad") {
			return p.toks[i].num, j + 1
		}
		if p.is(j, "a") && p.isMark(j+1, '.') && p.isAny(j+2, "d") {
			j += 3
			if p.isMark(j, '.') && p.glued(j) {
				j++
			}
			return p.toks[i].num, j
		}
		return p.toks[i].num, j
	}
	if p.isMark(i, '\'') && p.isNumber(i+1) && p.glued(i+1) && p.toks[i+1].digits == 2 {
		return p.shortYear(p.toks[i+1].num), i + 2
	}
	if p.is(i, "two") && p.is(i+1, "thousand") {
		if n, j := p.cardinal(p.skip(i+2, "and")); j != 0 && n < 100 {
			return 2000 + n, j
		}
		return 2000, i + 2
	}
	if (p.is(i, "twenty") || p.is(i, "nineteen")) && p.has(i+1, cNumber) && p.toks[i+1].w.n >= 10 {
		n, j := p.cardinal(i + 1)
		return p.toks[i].w.n*100 + n, j
	}
	return 0, 0
}

// month reads a month's name.
func (p *parser) month(i int) (m, next int) {
	if !p.has(i, cMonth) {
		return 0, 0
	}
	next = i + 1
	if p.isMark(next, '.') && p.toks[i].to-p.toks[i].from <= 4 && p.glued(next) && next+1 < len(p.toks) {
		next++
	}
	return p.toks[i].w.n, next
}

// dayOfMonth reads "8", "8th", "the 8th", "first"; ordinalOnly refuses a bare figure.
func (p *parser) dayOfMonth(i int) (d, next int, ord bool) {
	i = p.skip(i, "the")
	if d, next = p.ordinal(i); next != 0 && d >= 1 && d <= 31 {
		return d, next, true
	}
	if p.isNumber(i) && p.toks[i].digits <= 2 && p.toks[i].num >= 1 && p.toks[i].num <= 31 {
		return p.toks[i].num, i + 1, false
	}
	return 0, 0, false
}

// yearAfter reads the year that may follow a date: "2023", ", 2023", "of 2023", "'23"; short allows "15".
func (p *parser) yearAfter(i int, short bool) (y, next int) {
	j := i
	if p.isMark(j, ',') {
		j++
	} else if p.isAny(j, "of", "in") {
		j++
	}
	if y, n := p.year(j); n != 0 && p.rightClear(n) && !(p.isMark(n, ':') && p.glued(n)) {
		return y, n
	}
	if short && j == i && p.isNumber(j) && p.toks[j].digits == 2 && p.toks[j].num > 12 && p.rightClear(j+1) && !p.isMark(j+1, ':') && !p.has(j+1, cAmPm) {
		return p.shortYear(p.toks[j].num), j + 1
	}
	return 0, 0
}

// calendar reads dates of calendar fields: "8 May 2023", "May 8th", "the 8th of May", "May 2023",
// "Monday, Feb 18", "Tuesday the 19th", "the 24th", "Friday".
func (p *parser) calendar(i int) (n node, next int) {
	// weekday first: "Monday, Feb 18"
	if p.has(i, cWeekday) {
		wd := p.toks[i].w.n
		j := i + 1
		if p.isMark(j, '.') && p.glued(j) && p.toks[i].to-p.toks[i].from <= 5 {
			j++
		}
		k := p.skipMark(j, ',')
		k = p.skip(k, "the")
		if n, e := p.monthDay(k); e != 0 {
			n.wd = wd
			n.latent = false
			return n, e
		}
		if d, e, ord := p.dayOfMonth(p.skip(j, "the")); e != 0 && ord && p.rightClear(e) && !p.has(e, cUnit|cWeekday) && !p.is(e, "of") {
			return node{kind: fields, d: d, wd: wd}, e
		}
		if p.plural(i) { // a habit
			return node{}, 0
		}
		latent := p.has(i, cDayName)
		return node{kind: fields, wd: wd, latent: latent}, j
	}
	return p.monthDay(i)
}

// plural reports a habit: "Mondays".
func (p *parser) plural(i int) bool {
	s := p.toks[i].w.s
	return len(s) > 5 && s[len(s)-2:] == "ys"
}

func (p *parser) skipMark(i int, m rune) int {
	if p.isMark(i, m) {
		return i + 1
	}
	return i
}

// yearBehind puts the year that follows a day and a month at e into n ("-2013", ", 2013"), and returns where it
// ends; 0 where there is none.
func (p *parser) yearBehind(n *node, e int) int {
	y, f := 0, 0
	if p.isMark(e, '-') && p.glued(e) || p.isMark(e, '/') && p.glued(e) {
		y, f = p.yearAfter(e+1, true)
	}
	if f == 0 {
		y, f = p.yearAfter(e, true)
	}
	if f != 0 {
		n.y, n.hasYear, n.abs = y, true, true
	}
	return f
}

// monthDay reads the forms with a month's name, and a lone day of the month ("the 24th").
func (p *parser) monthDay(i int) (n node, next int) {
	if m, j := p.month(i); j != 0 {
		n = node{kind: fields, m: m}
		k := p.skipMark(j, ',')
		if k == j || p.isNumber(k) && p.toks[k].digits <= 2 {
			if p.isMark(k, '-') && p.glued(k) || p.isMark(k, '/') && p.glued(k) {
				k++
			}
			if d, e, ord := p.dayOfMonth(k); e != 0 && valid(2000, m, d) && (ord || !p.isMark(e, ':') && !p.is(e, "h") && !p.has(e, cAmPm)) &&
				!(p.has(e, cUnit) && !p.is(e, "second")) && !p.isMark(e, '%') {
				n.d = d
				if f := p.yearBehind(&n, e); f != 0 {
					return n, f
				}
				e = p.weekdayAfter(&n, e)
				if n.wd != 0 {
					if y, f := p.yearAfter(e, false); f != 0 {
						n.y, n.hasYear, n.abs = y, true, true
						e = f
					}
				}
				return n, e
			}
		}
		if y, e := p.yearAfter(j, false); e != 0 {
			n.y, n.hasYear, n.abs = y, true, true
			return n, e
		}
		n.latent = p.has(i, cMonthName) && !p.surelyMonth(i)
		return n, j
	}
	d, j, ord := p.dayOfMonth(i)
	if j == 0 {
		return node{}, 0
	}
	k := j
	if p.is(k, "day") && p.is(k+1, "of") { // third day of october
		k++
	}
	if p.is(k, "of") {
		k++
	} else if p.isMark(k, '-') && p.glued(k) || p.isMark(k, '/') && p.glued(k) || p.isMark(k, '.') && p.glued(k) {
		k++
	}
	k = p.skip(k, "the")
	if m, e := p.month(k); e != 0 && valid(2000, m, d) && (ord || p.isNumber(i) || p.is(i, "the")) {
		n = node{kind: fields, m: m, d: d}
		if f := p.yearBehind(&n, e); f != 0 {
			return n, f
		}
		return n, p.weekdayAfter(&n, e)
	}
	if (p.is(j, "of") || p.is(j, "day") && p.is(j+1, "of")) && (ord || p.isNumber(i)) && !p.is(i, "the") || ord && p.is(j, "of") { // 20 of next month
		k := j + 1
		if p.is(j, "day") {
			k++
		}
		if _, e := p.turn(k); e != 0 && p.is(e, "month") || p.is(k, "the") && p.is(k+1, "month") {
			return node{kind: fields, d: d, latent: true}, k - 1
		}
	}
	if ord && p.isNumber(p.skip(i, "the")) || p.is(i, "the") && (ord && (p.bare || p.is(i-1, "on")) || p.isNumber(i+1) && p.bare) {
		// "on the 24th": a day of the month, when nothing that is counted follows
		if p.rightClear(j) && (p.bare || p.isAny(i-1, "on", "by", "since", "until", "till", "from", "before", "after", "around")) && !p.counted(j) {
			return node{kind: fields, d: d, latent: true}, j
		}
	}
	return node{}, 0
}

// counted reports whether a noun that the ordinal before it counts stands at i: "the 2nd floor".
func (p *parser) counted(i int) bool {
	if i >= len(p.toks) || p.toks[i].kind == aMark {
		return false
	}
	t := &p.toks[i]
	return t.kind == aNumber || t.w == nil || t.w.cls&(cUnit|cNumber|cOrdinal|cSeason|cPart) != 0 ||
		t.w.cls&(cPrep|cFunction|cPast|cFuture|cPresent|cHave|cBe|cSubject|cDeictic|cWeekday|cMonth|cPrevious|cFollowing|cCurrent|cZone|cAmPm) == 0
}

// surelyMonth reports whether a month's name that is also another word is written as a month: with a
// capital inside a sentence and a word of time before it.
func (p *parser) surelyMonth(i int) bool {
	s := p.toks[i].w.s
	return p.toks[i].upper && i > 0 && s != "may" && s != "march" && s != "april" && s != "june" && s != "august" && len(s) > 3
}

func (p *parser) weekdayAfter(n *node, i int) int {
	j := p.skipMark(i, ',')
	open := p.isMark(j, '(')
	if open {
		j++
	}
	if p.has(j, cWeekday) && !p.plural(j) && (j > i || p.bare) {
		n.wd = p.toks[j].w.n
		j++
		if open && p.isMark(j, ')') {
			j++
		}
		return j
	}
	return i
}
