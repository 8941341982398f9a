package temporal

import (
	"time"

	"github.com/olebedev/when"
	"github.com/olebedev/when/rules"
	"github.com/olebedev/when/rules/en"
)

// Clock times. Figures ("3:15 pm", "5 p.m.", "23:40") are read by olebedev/when, by its clock rules alone:
// its rules for dates take "may" and "march" for months and know no years. What it does not read (16h00,
// quarter past five, ten thirty, seconds, zones) is ours.

// clock is a time of day as read.
type clock struct {
	h, m, s int
	grain   Grain
	half    int8 // 1 before noon, 2 after, 0 not said
	h24     bool // needs no half: 15:30, 08:00, noon
	latent  bool // a time only after "at" or beside a date or a part of the day
	zone    *word
}

var clockReader = func() *when.Parser {
	w := when.New(&rules.Options{Distance: 0, MatchByOrder: true})
	w.Add(en.HourMinute(rules.Override), en.Hour(rules.Skip))
	return w
}()

// noDay is a day without any clock change, to read clock times on.
var noDay = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// figures asks when for the clock time at the start of s; n is the bytes read.
func figures(s string) (h, m, n int, ok bool) {
	if len(s) > 14 {
		s = s[:14]
	}
	r, err := clockReader.Parse(s, noDay)
	if err != nil || r == nil || r.Index != 0 || r.Time.YearDay() != 1 {
		return 0, 0, 0, false
	}
	return r.Time.Hour(), r.Time.Minute(), len(r.Text), true
}

// halfDay reads am or pm: "pm", "p.m.", "p m", "in the AM"; alone "p" only glued to figures.
func (p *parser) halfDay(i int) (half int8, next int) {
	switch {
	case p.has(i, cAmPm):
		half, next = int8(p.toks[i].w.n), i+1
		if p.isMark(next, '.') && p.glued(next) && (p.toks[i].to-p.toks[i].from == 3 || next+1 >= len(p.toks)) {
			next++
		}
		return half, next
	case p.isAny(i, "a", "p") && p.is(i+1, "m") && (p.isNumber(i-1) || p.has(i-1, cNumber)):
		return halfOf(p.toks[i].w.s), i + 2
	case p.isAny(i, "a", "p") && p.glued(i) && p.isNumber(i-1) && (p.is(i, "p") || p.is(i-2, "at") || p.isMark(i-2, ':') || p.is(i-2, "from") || p.is(i-2, "to")) && p.rightClear(i+1):
		return halfOf(p.toks[i].w.s), i + 1
	}
	return 0, 0
}

func halfOf(s string) int8 {
	if s[0] == 'a' {
		return 1
	}
	return 2
}

// clockAt reads a time of day at token i.
func (p *parser) clockAt(i int) (c clock, next int) {
	c, next = p.bareClock(i)
	if next == 0 {
		return c, 0
	}
	if p.isAny(next, "sharp") {
		next++
	}
	if p.raw(next) == "ish" || p.isMark(next, '-') && p.raw(next+1) == "ish" {
		for p.raw(next) != "ish" {
			next++
		}
		next++
		c.latent = false
		if half, e := p.halfDay(next); e != 0 && c.half == 0 {
			c.half, next = half, e
		}
	}
	if p.is(next, "approximately") {
		next++
	}
	if c.half == 0 && !c.h24 {
		k := next
		if p.is(k, "in") && p.isAny(k+1, "the") && p.has(k+2, cAmPm) {
			c.half, next, c.latent = int8(p.toks[k+2].w.n), k+3, false
		}
	}
	// a zone
	k := next
	open := p.isMark(k, '(')
	if open {
		k++
	}
	if p.has(k, cZone) && (p.toks[k].caps || p.bare) || p.offset(k, true) != nil {
		if w := p.offset(k, true); w != nil { // -0700
			c.zone, next = w, k+2
		} else if w := p.offset(k+1, false); w != nil && p.toks[k].w.shift == 0 { // UTC+2
			c.zone, next = w, k+3
		} else {
			c.zone, next = p.toks[k].w, k+1
		}
		c.latent = false
		if open && p.isMark(next, ')') {
			next++
		}
		if c.half == 0 {
			c.h24 = true
		}
	}
	return c, next
}

// offset reads a zone in figures at the sign at k: "+0200" after a space, or "+2", "-7" glued to UTC or GMT.
func (p *parser) offset(k int, alone bool) *word {
	if !p.isMark(k, '+') && !p.isMark(k, '-') || !p.isNumber(k+1) || !p.glued(k+1) || p.glued(k) == alone || !p.rightClear(k+2) {
		return nil
	}
	n, digits := p.toks[k+1].num, p.toks[k+1].digits
	if digits == 4 {
		n = n/100*60 + n%100
	} else if n *= 60; digits > 2 || alone {
		return nil
	}
	if n > 14*60 {
		return nil
	}
	if p.isMark(k, '-') {
		n = -n
	}
	return &word{s: "UTC", shift: n}
}

func (p *parser) bareClock(i int) (c clock, next int) {
	if i >= len(p.toks) {
		return c, 0
	}
	t := &p.toks[i]
	switch {
	case p.isNumber(i):
		return p.figureClock(i)
	case p.isAny(i, "noon", "midday"):
		return clock{h: 12, grain: Hour, h24: true}, i + 1
	case p.is(i, "midnight"):
		return clock{h: 24, grain: Hour, h24: true}, i + 1
	case p.is(i, "mid") && p.is(i+1, "day"):
		return clock{h: 12, grain: Hour, h24: true}, i + 2
	case t.w == nil:
		return c, 0
	}
	if c, e := p.pastClock(i); e != 0 {
		return c, e
	}
	// hours in words
	n, j := p.cardinal(i)
	if j == 0 || n < 1 || n > 12 || p.toks[i].kind != aWord || t.w.n == 12 && p.is(i, "dozen") {
		return c, 0
	}
	c = clock{h: n, grain: Hour, latent: true}
	if p.isAny(j, "o'clock", "oclock") {
		c.latent = false
		j++
		if half, e := p.halfDay(j); e != 0 {
			c.half, j = half, e
		}
		return c, j
	}
	if half, e := p.halfDay(j); e != 0 {
		c.half, c.latent = half, false
		return c, e
	}
	// minutes in words
	k := p.skipMark(j, '-')
	if p.isAny(k, "oh", "o", "zero", "ou") || p.raw(k) == "ou" || p.raw(k) == "zero" {
		if m, e := p.cardinal(p.skipMark(k+1, '-')); e != 0 && m < 10 {
			c.m, c.grain, c.latent = m, Minute, false
			return p.withHalf(c, e)
		}
	}
	if m, e := p.cardinal(k); e != 0 && p.toks[k].kind == aWord && m >= 10 && m < 60 {
		c.m, c.grain = m, Minute
		c.latent = !(p.bare && n >= 10 && m%15 == 0)
		return p.withHalf(c, e)
	}
	return c, j
}

func (p *parser) withHalf(c clock, j int) (clock, int) {
	if half, e := p.halfDay(j); e != 0 {
		c.half, c.latent = half, false
		return c, e
	}
	return c, j
}

// figureClock reads a clock time that begins with figures.
func (p *parser) figureClock(i int) (c clock, next int) {
	t := &p.toks[i]
	if !p.leftClear(i) && !p.isMark(i-1, '-') || t.digits > 4 {
		return c, 0
	}
	colon := p.isMark(i+1, ':') && p.glued(i+1) && p.isNumber(i+2) && p.glued(i+2)
	if colon && t.digits <= 2 && p.toks[i+2].digits == 2 {
		return p.colonClock(i)
	}
	if colon {
		return c, 0
	}
	j := i + 1
	if p.is(j, "h") && p.glued(j) && t.num < 25 { // 16h, 16h00
		c = clock{h: t.num, grain: Minute, h24: true}
		if p.isNumber(j+1) && p.glued(j+1) && p.toks[j+1].digits == 2 && p.toks[j+1].num < 60 && (p.rightClear(j+2) || p.isMark(j+2, '-')) {
			c.m = p.toks[j+1].num
			return c, j + 2
		}
		c.latent = !p.bare
		return c, j + 1
	}
	if p.isMark(j, '.') && p.glued(j) && p.isNumber(j+1) && p.glued(j+1) && p.toks[j+1].digits == 2 && p.toks[j+1].num < 60 && t.digits <= 2 && t.num <= 12 && t.num > 0 {
		if half, e := p.halfDay(j + 2); e != 0 { // 8.30 pm
			return clock{h: t.num, m: p.toks[j+1].num, grain: Minute, half: half}, e
		}
		return c, 0
	}
	if t.digits == 4 && p.isAny(j, "hours", "hrs") && t.num < 2400 && t.num%100 < 60 && (p.bare || p.is(i-1, "at")) { // 1900 hours
		return clock{h: t.num / 100, m: t.num % 100, grain: Minute, h24: true}, j + 1
	}
	if p.isAny(j, "o'clock", "oclock") && t.num <= 12 && t.num > 0 {
		return p.withHalf(clock{h: t.num, grain: Hour}, j+1)
	}
	if c, e := p.pastClock(i); e != 0 {
		return c, e
	}
	if half, e := p.halfDay(j); e != 0 {
		if t.digits <= 2 && t.num <= 12 && t.num > 0 {
			if h, _, n, ok := figures(p.text[t.from:]); ok && p.toks[e-1].to >= t.from+n-1 {
				return clock{h: h, grain: Hour, half: half, h24: true}, e
			}
			return clock{h: t.num, grain: Hour, half: half}, e
		}
		if t.digits >= 3 && t.num%100 < 60 && t.num/100 <= 12 && t.num/100 > 0 { // 330 p.m.
			return clock{h: t.num / 100, m: t.num % 100, grain: Minute, half: half}, e
		}
		return c, 0
	}
	switch {
	case t.digits <= 2 && t.num >= 1 && t.num <= 24 && !p.suffix(j):
		if p.isNumber(j) && p.toks[j].digits == 2 && p.toks[j].num < 60 && p.toks[j].space && p.rightClear(j+1) && (p.is(i-1, "at")) { // at 3 15
			return p.withHalf(clock{h: t.num, m: p.toks[j].num, grain: Minute, latent: true, h24: t.num > 12}, j+1)
		}
		return clock{h: t.num, grain: Hour, latent: true, h24: t.num > 12}, j
	case t.digits >= 3 && t.num%100 < 60 && t.num/100 < 24 && t.num/100 > 0:
		return clock{h: t.num / 100, m: t.num % 100, grain: Minute, latent: true, h24: t.num/100 > 12 || t.digits == 4 && t.num < 1000}, j
	}
	return c, 0
}

// colonClock reads 3:15, 3:15pm, 15:23:24 with the help of when.
func (p *parser) colonClock(i int) (c clock, next int) {
	t := &p.toks[i]
	j := i + 3
	sec := -1
	if p.isMark(j, ':') && p.glued(j) && p.isNumber(j+1) && p.glued(j+1) {
		if p.toks[j+1].digits != 2 || p.toks[j+1].num > 59 {
			return c, 0
		}
		sec = p.toks[j+1].num
		j += 2
		if p.isMark(j, '.') && p.glued(j) && p.isNumber(j+1) && p.glued(j+1) { // fractions
			j += 2
		}
	}
	end := p.toks[i+2].to
	if sec < 0 && j < len(p.toks) && p.has(j, cAmPm) {
		end = p.toks[j].to
	}
	h, m, _, ok := figures(p.text[t.from:end])
	if !ok {
		return c, 0
	}
	c = clock{h: h, m: m, grain: Minute, h24: t.num > 12 || t.num == 0 || t.digits == 2 && p.text[t.from] == '0'}
	if sec >= 0 {
		c.s, c.grain = sec, Second
		c.h24 = true
	}
	if half, e := p.halfDay(j); e != 0 {
		c.h, c.half, c.h24 = t.num, half, t.num > 12
		return c, e
	}
	if !p.rightClear(j) && !p.isMark(j, '-') && !p.isMark(j, '/') && !(p.isMark(j, '.') && p.glued(j)) {
		return c, 0
	}
	return c, j
}

// pastClock reads "quarter past five", "half past 3pm", "20 to 6", "15 minutes past noon", "twenty after 3".
func (p *parser) pastClock(i int) (c clock, next int) {
	m, j := 0, 0
	k := p.skip(i, "a")
	switch {
	case p.is(k, "quarter"):
		m, j = 15, k+1
	case p.is(k, "half"):
		m, j = 30, k+1
		if n, e := p.cardinal(j); e != 0 && n >= 1 && n <= 12 && !p.has(e, cUnit) && !(p.isMark(e, ':') && p.glued(e)) && (p.bare && p.toks[j].kind == aWord || p.is(i-1, "at") && !p.counted(e)) { // half three
			c, e = p.withHalf(clock{h: n, m: 30, grain: Minute}, e)
			return c, e
		}
	default:
		n, e := p.cardinal(i)
		if e == 0 || n < 1 || n > 59 {
			return c, 0
		}
		m, j = n, e
		if p.isAny(j, "minutes", "mins", "min", "minute") {
			j++
		}
	}
	sign := 0
	switch {
	case p.isAny(j, "past", "after"):
		sign = 1
	case p.isAny(j, "to", "till", "before"), p.is(j, "of") && p.is(k, "quarter"):
		sign = -1
	case p.is(j, "from") && p.isAny(j-1, "minutes", "mins") && p.bare:
		sign = 1
	default:
		return c, 0
	}
	h := j + 1
	c, next = p.hourOnly(h)
	if next == 0 {
		return c, 0
	}
	plain := p.isNumber(i) || p.has(i, cNumber)
	if plain && m%5 != 0 && !p.isAny(j-1, "minutes", "mins", "min", "minute") {
		return c, 0 // "3 to 4"
	}
	if plain && !p.isAny(j-1, "minutes", "mins", "min", "minute") && c.half == 0 && !c.h24 && !p.bare && !(p.is(i-1, "at") && m%5 == 0) {
		return c, 0 // "ten to five" in a sentence is too often a range or a score
	}
	if p.isAny(j, "before", "after") && c.half == 0 && !c.h24 && !p.bare {
		return c, 0
	}
	total := c.h*60 + sign*m
	if total < 0 {
		total += 24 * 60
	}
	if c.half == 0 && !c.h24 && total < 60 {
		total += 12 * 60
	}
	c.h, c.m, c.grain, c.latent = total/60, total%60, Minute, false
	if c.half != 0 { // the half was said of the hour: settle it now
		h := to24(c.h, 0)
		if c.half == 2 && total < 12*60 && !(sign < 0 && total/60 == 11) {
			h += 12
		}
		c.h, c.h24 = h%24, true
	}
	return c, next
}

// hourOnly reads an hour: "five", "3pm", "15h", "noon".
func (p *parser) hourOnly(i int) (clock, int) {
	if i >= len(p.toks) {
		return clock{}, 0
	}
	switch {
	case p.isAny(i, "noon", "midday"):
		return clock{h: 12, h24: true}, i + 1
	case p.is(i, "midnight"):
		return clock{h: 24, h24: true}, i + 1
	}
	n, j := p.cardinal(i)
	if j == 0 || n < 1 || n > 24 || p.isMark(j, ':') && p.glued(j) {
		return clock{}, 0
	}
	c := clock{h: n, h24: n > 12}
	if p.is(j, "h") && p.glued(j) {
		c.h24 = true
		return c, j + 1
	}
	if half, e := p.halfDay(j); e != 0 {
		c.half = half
		return c, e
	}
	if p.isAny(j, "o'clock", "oclock") {
		j++
	}
	if p.has(j, cUnit) {
		return clock{}, 0
	}
	return c, j
}

// to24 is the hour of 24 for an hour said with half (1 before noon, 2 after; 0 unknown).
func to24(h int, half int8) int {
	switch {
	case half == 2 && h < 12:
		return h + 12
	case half == 1 && h == 12:
		return 0
	}
	return h
}
