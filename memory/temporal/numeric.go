package temporal

import (
	"time"
)

// Dates and date-times in figures.

// numeric reads "2023-05-08", "2023-05-08T13:56:00Z", "5/8/2023", "8.5.2023", "31/Oct/1974", "2013-02", "2/15".
func (p *parser) numeric(i int) (node, int) {
	if !p.leftClear(i) {
		return node{}, 0
	}
	if n, j := p.iso(i); j != 0 {
		return n, j
	}
	a := &p.toks[i]
	if a.digits == 8 && (p.bare || p.led(i)) && p.rightClear(i+1) { // 20240310
		if n := a.num; n >= 1800_00_00 && n < 2200_00_00 {
			return p.ymd(n/10000, n/100%100, n%100, i+1)
		}
	}
	if a.digits == 4 && p.isMark(i+1, '-') && p.glued(i+1) && p.word(i+2, "w") && p.glued(i+2) && p.isNumber(i+3) && p.glued(i+3) && p.toks[i+3].digits == 2 && p.rightClear(i+4) {
		return p.isoWeek(a.num, p.toks[i+3].num, i+4)
	}
	sep := rune(0)
	j := i + 1
	if j < len(p.toks) && p.toks[j].kind == aMark {
		switch p.toks[j].mark {
		case '/', '-', '.':
			sep = p.toks[j].mark
		}
	}
	if sep == 0 || !p.isNumber(j+1) || (!p.glued(j) || !p.glued(j+1)) && !p.bare {
		return node{}, 0
	}
	b := &p.toks[j+1]
	k := j + 2
	// three parts
	if p.isMark(k, sep) && p.isNumber(k+1) && p.glued(k) == p.glued(j) {
		c := &p.toks[k+1]
		e := k + 2
		if !p.rightClear(e) && !p.isMark(e, ':') {
			return node{}, 0
		}
		switch {
		case a.digits == 4 && b.digits <= 2 && c.digits <= 2:
			return p.ymd(a.num, b.num, c.num, e)
		case c.digits == 4 && a.digits <= 2 && b.digits <= 2 && c.num > 0,
			c.digits == 2 && a.digits <= 2 && b.digits <= 2 && sep != '.' && (sep == '/' || p.bare):
			y := c.num
			if c.digits == 2 {
				y = p.shortYear(y)
			}
			m, d := a.num, b.num
			// with dots the day comes first wherever dots are used
			if (p.r.o.DayFirst || sep == '.') && valid(y, b.num, a.num) || !valid(y, a.num, b.num) {
				m, d = b.num, a.num
			}
			return p.ymd(y, m, d, e)
		}
		return node{}, 0
	}
	if !p.rightClear(k) && !p.isMark(k, ':') {
		return node{}, 0
	}
	switch {
	case a.digits == 4 && a.num >= 1000 && a.num < 2200 && b.digits == 2 && b.num >= 1 && b.num <= 12 && sep != '.' && (p.bare || p.led(i)):
		return node{kind: fields, y: a.num, m: b.num, hasYear: true, abs: true}, k // 2013-02
	case b.digits == 4 && b.num >= 1000 && b.num < 2200 && a.digits <= 2 && a.num >= 1 && a.num <= 12 && sep == '/':
		return node{kind: fields, y: b.num, m: a.num, hasYear: true, abs: true}, k // 2/2013
	case a.digits <= 2 && b.digits <= 2 && sep != '.' && (p.bare && (sep == '/' || i == 0) || sep == '/' && (p.led(i) || p.has(i-1, cWeekday)) && !p.has(k, cUnit) && !p.counted(k)):
		m, d := a.num, b.num
		if p.r.o.DayFirst && valid(2000, b.num, a.num) || !valid(2000, a.num, b.num) {
			m, d = b.num, a.num
		}
		if valid(2000, m, d) {
			return node{kind: fields, m: m, d: d}, k
		}
	}
	return node{}, 0
}

// isoWeek is week w of year y by ISO 8601: the first is the one that holds 4 January.
func (p *parser) isoWeek(y, w, e int) (node, int) {
	jan4 := date(y, 1, 4, p.ref.Location())
	s := days(jan4, -int((jan4.Weekday()+6)%7)+7*(w-1))
	if w < 1 || w > 53 || days(s, 3).Year() != y {
		return node{}, 0
	}
	return node{kind: fixed, iv: unit(s, Week), abs: true}, e
}

func (p *parser) ymd(y, m, d, e int) (node, int) {
	if !valid(y, m, d) {
		return node{}, 0
	}
	return node{kind: fields, y: y, m: m, d: d, hasYear: true, abs: true}, e
}

// iso reads ISO 8601 dates with a time of day, which the tokens cut badly: from the text itself.
func (p *parser) iso(i int) (node, int) {
	if p.toks[i].digits != 4 || p.toks[i].from+16 > len(p.text) {
		return node{}, 0
	}
	t, n, g, ok := isoTime(p.text[p.toks[i].from:], p.ref.Location())
	if !ok {
		return node{}, 0
	}
	end := p.toks[i].from + n
	for e := i + 1; e <= len(p.toks); e++ {
		if p.toks[e-1].to == end {
			if !p.rightClear(e) && !p.isMark(e, '/') {
				return node{}, 0
			}
			return node{kind: fixed, iv: unit(t.In(p.ref.Location()), g), abs: true, clockFixed: true}, e
		}
		if p.toks[e-1].to > end {
			break
		}
	}
	return node{}, 0
}

// isoTime reads the longest date-time of the form 2023-05-08T13:56[:07[.5]][Z|+02:00] at the start of s.
func isoTime(s string, loc *time.Location) (t time.Time, n int, g Grain, ok bool) {
	num := func(at, width int) (int, bool) {
		if at+width > len(s) {
			return 0, false
		}
		v := 0
		for _, c := range []byte(s[at : at+width]) {
			if c < '0' || c > '9' {
				return 0, false
			}
			v = v*10 + int(c-'0')
		}
		return v, true
	}
	y, a := num(0, 4)
	m, b := num(5, 2)
	d, c := num(8, 2)
	h, e := num(11, 2)
	mi, f := num(14, 2)
	if !a || !b || !c || !e || !f || s[4] != '-' || s[7] != '-' || s[13] != ':' || s[10] != 'T' && s[10] != 't' && s[10] != ' ' ||
		!valid(y, m, d) || h > 24 || mi > 59 {
		return t, 0, 0, false
	}
	n, g = 16, Minute
	sec, nano := 0, 0
	if n < len(s) && s[n] == ':' {
		if v, ok := num(n+1, 2); ok && v <= 60 {
			sec, n, g = v, n+3, Second
			if n+1 < len(s) && (s[n] == '.' || s[n] == ',') && s[n+1] >= '0' && s[n+1] <= '9' {
				n++
				for scale := 100000000; n < len(s) && s[n] >= '0' && s[n] <= '9'; n++ {
					nano += int(s[n]-'0') * scale
					scale /= 10
				}
			}
		}
	}
	if n < len(s) && (s[n] == 'Z' || s[n] == 'z') {
		loc, n = time.UTC, n+1
	} else if n < len(s) && (s[n] == '+' || s[n] == '-') {
		if oh, ok := num(n+1, 2); ok && oh < 15 {
			sign := 1
			if s[n] == '-' {
				sign = -1
			}
			switch om, ok := num(n+4, 2); {
			case ok && s[n+3] == ':':
				loc, n = time.FixedZone("", sign*(oh*3600+om*60)), n+6
			default:
				if om, ok := num(n+3, 2); ok {
					loc, n = time.FixedZone("", sign*(oh*3600+om*60)), n+5
				} else {
					loc, n = time.FixedZone("", sign*oh*3600), n+3
				}
			}
		}
	}
	return time.Date(y, time.Month(m), d, h, mi, sec, nano, loc), n, g, true
}
