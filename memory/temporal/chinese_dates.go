package temporal

import (
	"strings"
	"time"
)

// date reads a Chinese date: the longest of the readings.
func (h *hanzi) date(i int) (best node, next int) {
	try := func(n node, e int) {
		if e > next {
			best, next = n, e
		}
	}
	try(h.dayWord(i))
	try(h.yearDate(i))
	try(h.monthDate(i))
	try(h.turnedDate(i))
	try(h.distance(i))
	try(h.otherDate(i))
	return best, next
}

// dayWord reads 今天, 昨天, 前天, 大后天, 今晚, 昨夜.
func (h *hanzi) dayWord(i int) (node, int) {
	shift := 0
	j := i
	for e := h.has(j, "大"); e != 0 && (h.has(e, "前天") != 0 || h.has(e, "后天") != 0 || h.has(e, "大") != 0); e = h.has(j, "大") {
		shift++
		j = e
	}
	w, e := h.one(j, "今天", "今日", "昨天", "昨日", "明天", "明日", "前天", "前日", "后天", "今早", "今晚", "今夜", "昨晚", "昨夜", "明早", "明晚", "前晚", "当天", "同一天")
	if e == 0 || w == "当天" || w == "同一天" {
		return node{}, 0
	}
	rs := []rune(w)
	n := map[rune]int{'今': 0, '昨': -1, '明': 1, '前': -2, '后': 2}[rs[0]]
	if n < 0 {
		n -= shift
	} else if n > 0 {
		n += shift
	}
	if rs[0] == '前' && rs[1] == '日' && !h.bare {
		return node{}, 0
	}
	out := fixedNode(unit(days(day(h.ref), n), Day))
	switch rs[1] {
	case '早':
		out.part = partMorning
		e = h.opt(e, "上")
	case '晚', '夜':
		out.part = partNight
		e = h.opt(e, "上", "里")
	}
	return out, e
}

// yearAt reads a year: 2023年, 二〇二三年, 98年, 去年, 明年.
func (h *hanzi) yearAt(i int) (y, next int, abs bool) {
	if w, e := h.one(i, "大前年", "前年", "去年", "今年", "本年", "明年", "后年"); e != 0 {
		n := map[string]int{"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2}[w]
		return h.ref.Year() + n, e, false
	}
	n, width, e := h.number(i)
	if e == 0 || h.has(e, "年") == 0 || h.has(e, "年代") != 0 {
		return 0, 0, false
	}
	switch {
	case width == 4 && n >= 1000:
	case width == 2 && (n >= 60 || n < 10) && h.has(e, "年前") == 0 && h.has(e, "年后") == 0 && h.has(e, "年来") == 0:
		n = h.shortYear(n)
	default:
		return 0, 0, false
	}
	return n, e + 1, true
}

// yearDate reads what begins with a year: 2023年5月8日, 去年夏天, 明年初, 2024年第三季度.
func (h *hanzi) yearDate(i int) (node, int) {
	y, j, abs := h.yearAt(i)
	if j == 0 {
		return node{}, 0
	}
	loc := h.ref.Location()
	year := unit(date(y, 1, 1, loc), Year)
	k := h.opt(j, "的", "度")
	if n, e := h.monthDate(k); e != 0 && n.m > 0 {
		if n.kind == fixed { // 五月底
			n.iv = h.third(unit(date(y, time.Month(n.m), 1, loc), Month), n.n)
			n.abs = abs
			return n, e
		}
		n.y, n.hasYear, n.abs = y, true, abs
		return n, e
	}
	if s, e := h.seasonAt(k); e != 0 {
		return node{kind: fixed, iv: h.r.seasonOf(s, y, loc), abs: abs}, e
	}
	if q, e := h.quarterAt(k); e != 0 {
		return node{kind: quarter, n: q, y: y, hasYear: true, abs: abs}, e
	}
	if f, e := h.feastAt(k); e != 0 {
		return node{kind: feastDay, feast: f, y: y, hasYear: true, abs: abs}, e
	}
	if e := h.has(k, "上半年"); e != 0 {
		return node{kind: fixed, abs: abs, iv: Interval{Start: year.Start, End: add(year.Start, Month, 6), Grain: Range}}, e
	}
	if e := h.has(k, "下半年"); e != 0 {
		return node{kind: fixed, abs: abs, iv: Interval{Start: add(year.Start, Month, 6), End: year.End, Grain: Range}}, e
	}
	if w, e := h.one(j, "年初", "年底", "年末", "年中", "初", "底", "末"); e != 0 {
		return node{kind: fixed, abs: abs, approx: true, tail: thirdOf(w) == 3, iv: h.third(year, thirdOf(w))}, e
	}
	if e := h.has(j, "这一天"); e != 0 {
		return node{}, 0
	}
	return node{kind: fixed, iv: year, abs: abs}, j
}

// thirdOf is the part of a unit that 初, 中, 底 name.
func thirdOf(w string) int {
	rs := []rune(w)
	switch rs[len(rs)-1] {
	case '初':
		return 1
	case '中':
		return 2
	}
	if len(rs) == 2 && rs[1] == '旬' {
		return map[rune]int{'上': 1, '中': 2, '下': 3}[rs[0]]
	}
	return 3
}

// dayNumber reads a day of the month: 8日, 八号.
func (h *hanzi) dayNumber(i int) (d, next int) {
	n, _, e := h.number(i)
	if e == 0 || n < 1 || n > 31 {
		return 0, 0
	}
	_, f := h.one(e, "日", "号")
	if f == 0 || h.anyRune(f, "线楼门房店台机车厅院馆令码站") {
		return 0, 0
	}
	return n, f
}

func (h *hanzi) anyRune(i int, set string) bool {
	if i >= len(h.rs) {
		return false
	}
	for _, c := range set {
		if h.rs[i] == c {
			return true
		}
	}
	return false
}

// monthDate reads 5月, 五月八日, 5月8号, 五月底, 8号. For a third of a month n.m and n.n keep what was read.
func (h *hanzi) monthDate(i int) (node, int) {
	if i > 0 && i < len(h.rs) && (h.rs[i-1] == '第' || h.rs[i-1] == '.' || isDigit(h.rs[i-1])) {
		return node{}, 0
	}
	n, _, e := h.number(i)
	if e == 0 {
		return node{}, 0
	}
	if f := h.has(e, "月"); f != 0 && n >= 1 && n <= 12 {
		f = h.opt(f, "份")
		if d, g := h.dayNumber(f); g != 0 && valid(2000, n, d) {
			out := node{kind: fields, m: n, d: d}
			if wd, k := h.weekdayName(h.opt(g, "，", "（", "(")); k != 0 {
				out.wd = wd
				g = h.opt(k, "）", ")")
			}
			return out, g
		}
		if w, g := h.one(f, "上旬", "中旬", "下旬", "初", "底", "末", "中"); g != 0 && !(w == "中" && h.anyRune(g, "国")) {
			iv, ok := h.near(h.ref, h.dir, func(y int) (Interval, bool) {
				return h.third(unit(date(y, time.Month(n), 1, h.ref.Location()), Month), thirdOf(w)), true
			})
			return node{kind: fixed, iv: iv, m: n, n: thirdOf(w), approx: true, tail: thirdOf(w) == 3}, g * b2i(ok)
		}
		return node{kind: fields, m: n}, f
	}
	if d, f := h.dayNumber(i); f != 0 {
		return node{kind: fields, d: d}, f
	}
	return node{}, 0
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// weekdayName reads 周五, 星期天, 礼拜一: Monday is 1.
func (h *hanzi) weekdayName(i int) (wd, next int) {
	_, e := h.one(i, "星期", "礼拜", "周")
	if e == 0 || e >= len(h.rs) {
		return 0, 0
	}
	switch c := h.rs[e]; c {
	case '日', '天':
		return 7, e + 1
	default:
		if d, ok := hanDigit[c]; ok && d >= 1 && d <= 6 && c != '两' {
			if h.anyRune(e+1, "年岁个月天十百") { // 周三年
				return 0, 0
			}
			return d, e + 1
		}
	}
	return 0, 0
}

// turn reads 上, 上上, 这, 本, 下, 下下: how many units away.
func (h *hanzi) turn(i int) (k, next int) {
	w, e := h.one(i, "上上上", "上上", "上一", "上", "下下", "下一", "下", "这一", "这", "本")
	switch w {
	case "上上上":
		k = -3
	case "上上":
		k = -2
	case "上一", "上":
		k = -1
	case "下下":
		k = 2
	case "下一", "下":
		k = 1
	}
	return k, e
}

// turnedDate reads 上周五, 下个月8号, 这个周末, 上个月底, and the same without a turn: 周五, 周末.
func (h *hanzi) turnedDate(i int) (node, int) {
	k, j := h.turn(i)
	turned := j != 0
	if !turned {
		j = i
	} else {
		j = h.opt(j, "个")
	}
	if e := h.has(j, "周末"); e != 0 {
		switch {
		case !turned || k == 0:
			return fixedNode(h.weekend(0)), e
		case k > 0:
			return fixedNode(unit(days(h.weekend(1).Start, 7*(k-1)), Weekend)), e
		}
		return fixedNode(h.turnedBack(Weekend, k)), e
	}
	if wd, e := h.weekdayName(j); e != 0 {
		if !turned {
			return node{kind: fields, wd: wd}, e
		}
		monday := days(h.r.floor(h.ref, Weekend), -5)
		return fixedNode(unit(days(monday, 7*k+wd-1), Day)), e
	}
	if !turned {
		return node{}, 0
	}
	if _, e := h.one(j, "周", "星期", "礼拜"); e != 0 {
		return fixedNode(h.r.nth(h.ref, Week, k)), e
	}
	if e := h.has(j, "季度"); e != 0 {
		return fixedNode(h.r.nth(h.ref, Quarter, k)), e
	}
	if e := h.has(j, "世纪"); e != 0 {
		iv := h.r.nth(h.ref, Century, k)
		if n, _, f := h.number(e); f != 0 && h.has(f, "年代") != 0 && n%10 == 0 && n < 100 {
			return fixedNode(unit(date(iv.Start.Year()-1+n, 1, 1, h.ref.Location()), Decade)), f + 2
		}
		return fixedNode(iv), e
	}
	if e := h.has(j, "月"); e != 0 {
		month := h.r.nth(h.ref, Month, k)
		if d, f := h.dayNumber(h.opt(e, "的")); f != 0 && d <= daysIn(month.Start.Year(), month.Start.Month()) {
			return fixedNode(unit(days(month.Start, d-1), Day)), f
		}
		if w, f := h.one(e, "上旬", "中旬", "下旬", "初", "底", "末", "中"); f != 0 {
			return node{kind: fixed, iv: h.third(month, thirdOf(w)), approx: true, tail: thirdOf(w) == 3}, f
		}
		return fixedNode(month), e
	}
	return node{}, 0
}

// distance reads distances: 三年前, 两个月后, 几天前, 半小时前.
func (h *hanzi) distance(i int) (node, int) {
	q, g, e := h.length(i)
	if e == 0 {
		return node{}, 0
	}
	w, f := h.one(e, "之前", "以前", "前", "之后", "以后", "后")
	if f == 0 {
		return node{}, 0
	}
	dir := 1
	if []rune(w)[len([]rune(w))-1] == '前' {
		dir = -1
	}
	return h.away(q, g, dir), f
}

// seasonAt reads 春天, 夏季.
func (h *hanzi) seasonAt(i int) (s, next int) {
	w, e := h.one(i, "春天", "春季", "夏天", "夏季", "秋天", "秋季", "冬天", "冬季")
	if e == 0 {
		return 0, 0
	}
	return map[rune]int{'冬': 0, '春': 1, '夏': 2, '秋': 3}[[]rune(w)[0]], e
}

// quarterAt reads 第三季度, 三季度.
func (h *hanzi) quarterAt(i int) (q, next int) {
	n, _, e := h.number(h.opt(i, "第"))
	if e == 0 || n < 1 || n > 4 {
		return 0, 0
	}
	return n, h.has(e, "季度")
}

// otherDate reads seasons, quarters, decades, centuries and feast days without a year, 年底 and 月初.
func (h *hanzi) otherDate(i int) (node, int) {
	if s, e := h.seasonAt(i); e != 0 {
		return node{kind: season, n: s}, e
	}
	if q, e := h.quarterAt(i); e != 0 {
		return node{kind: quarter, n: q}, e
	}
	if f, e := h.feastAt(i); e != 0 {
		return node{kind: feastDay, feast: f}, e
	}
	loc := h.ref.Location()
	if n, width, e := h.number(i); e != 0 {
		if f := h.has(e, "世纪"); f != 0 && n > 0 && n < 30 {
			if m, _, g := h.number(f); g != 0 && h.has(g, "年代") != 0 && m%10 == 0 && m < 100 {
				return node{kind: fixed, abs: true, iv: unit(date((n-1)*100+m, 1, 1, loc), Decade)}, g + 2
			}
			return node{kind: fixed, abs: true, iv: unit(date((n-1)*100+1, 1, 1, loc), Century)}, f
		}
		if f := h.has(e, "年代"); f != 0 && n%10 == 0 {
			if n < 100 {
				return fixedNode(unit(date(h.pastCentury(n), 1, 1, loc), Decade)), f
			}
			if width == 4 {
				return node{kind: fixed, abs: true, iv: unit(date(n, 1, 1, loc), Decade)}, f
			}
		}
	}
	if w, e := h.one(i, "年初", "年底", "年末"); e != 0 && (i == 0 || !isDigit(h.rs[i-1])) {
		return node{kind: fixed, approx: true, tail: thirdOf(w) == 3, iv: h.third(h.r.current(h.ref, Year), thirdOf(w))}, e
	}
	if w, e := h.one(i, "月初", "月底", "月末"); e != 0 {
		return node{kind: fixed, approx: true, tail: thirdOf(w) == 3, iv: h.third(h.r.current(h.ref, Month), thirdOf(w))}, e
	}
	return node{}, 0
}

// feastAt reads the feast days that are known by a Chinese name.
func (h *hanzi) feastAt(i int) (*feast, int) {
	for _, f := range hanFeasts {
		if e := h.has(i, f.name); e != 0 {
			first, _, _ := strings.Cut(f.english, " ")
			for _, n := range h.r.feasts[first] {
				if strings.Join(n.words, " ") == f.english {
					return n.feast, e
				}
			}
		}
	}
	return nil, 0
}

// hanFeasts names feasts of the table by an English name that the table has.
var hanFeasts = []struct{ name, english string }{
	{"圣诞节", "christmas"}, {"平安夜", "christmas eve"}, {"元旦", "new years day"}, {"情人节", "valentines day"},
	{"万圣节", "halloween"}, {"复活节", "easter"}, {"感恩节", "thanksgiving"},
}

// partAt reads a part of the day. dated allows the short forms.
func (h *hanzi) partAt(i int, dated bool) (part, int) {
	w, e := h.one(i, "凌晨", "清晨", "早上", "早晨", "上午", "中午", "下午", "傍晚", "晚上", "夜里", "夜晚", "深夜", "半夜", "晚间")
	switch w {
	case "凌晨":
		return part{0, 6}, e
	case "清晨":
		return partEarly, e
	case "早上", "早晨", "上午":
		return partMorning, e
	case "中午":
		return partLunch, e
	case "下午":
		return partAfternoon, e
	case "傍晚":
		return part{17, 20}, e
	case "深夜", "半夜":
		return partLate, e
	case "":
		if f := h.has(i, "晚"); dated && f != 0 {
			return partNight, f
		}
		return part{}, 0
	}
	return partEvening, e
}

// clock reads 3点, 三点半, 8点15分, 十点一刻, 15:30.
func (h *hanzi) clock(i int, led bool) (c clock, next int) {
	n, _, e := h.number(i)
	if e == 0 || n > 24 {
		return c, 0
	}
	if e < len(h.rs) && (h.rs[e] == ':' || h.rs[e] == '：') {
		m, w, f := h.number(e + 1)
		if f == 0 || w != 2 || m > 59 || !led && h.rs[e] == ':' {
			return c, 0 // a clock time alone in figures is the English rules'
		}
		return clock{h: n, m: m, grain: Minute, h24: n > 12 || n == 0}, f
	}
	_, f := h.one(e, "点钟", "点", "时")
	if f == 0 || h.rs[f-1] == '时' && !led {
		return c, 0
	}
	if !led && h.anyRune(f, "了儿头心多东西五六七八九") && h.rs[f-1] == '点' && h.has(f, "半") == 0 {
		return c, 0 // 一点儿, 两点多, 3点五
	}
	if n == 1 && !led && h.rs[f-1] == '点' && f < len(h.rs) && !h.anyRune(f, "半钟整") && !isDigit(h.rs[f]) {
		return c, 0 // 一点: a little
	}
	c = clock{h: n, grain: Hour, h24: n > 12 || n == 0}
	switch w, g := h.one(f, "半", "一刻", "三刻", "整"); w {
	case "半":
		c.m, c.grain, f = 30, Minute, g
	case "一刻":
		c.m, c.grain, f = 15, Minute, g
	case "三刻":
		c.m, c.grain, f = 45, Minute, g
	case "整":
		f = g
	default:
		if m, _, g := h.number(f); g != 0 && m < 60 {
			if k := h.has(g, "分"); k != 0 && h.has(g, "分钟") == 0 || m >= 10 {
				c.m, c.grain = m, Minute
				f = g
				if k != 0 {
					f = k
				}
			}
		}
	}
	return c, f
}
