package temporal

import (
	"strings"
	"time"
	"unicode/utf8"
)

// The Chinese rules: dates (2023年5月8日, 五月八号), relative days, weeks, months and years (昨天, 上周五, 去年夏天),
// distances (三年前, 两周后), parts of the day and clock times (晚上八点半), ranges, open ranges and durations.

// hanzi reads one text. As with parser, methods take a position (in runes) and give the one after what
// they read, 0 where nothing was read.
type hanzi struct {
	reader
	text string
	rs   []rune
	pos  []int // byte offset of each rune, and the length
	from int   // the sentence whose tense is known: [from, to)
	to   int

	sentence int8 // its tense
}

// chinese finds the expressions of text by the Chinese rules.
func (r *Resolver) chinese(text string, ref time.Time) (out []Mention) {
	if !strings.ContainsAny(text, hanTriggers) {
		return nil
	}
	h := &hanzi{reader: reader{r: r, ref: ref}, text: text}
	for i, c := range text {
		if c == utf8.RuneError {
			c = ' '
		}
		if c >= '０' && c <= '９' {
			c = c - '０' + '0'
		}
		h.rs, h.pos = append(h.rs, c), append(h.pos, i)
	}
	h.pos = append(h.pos, len(text))
	h.bare = h.isBare()
	for i := 0; i < len(h.rs); {
		if h.rs[i] < firstIdeograph && !isDigit(h.rs[i]) {
			i++
			continue
		}
		h.aim(i)
		m, next, ok := h.mention(i)
		if !ok {
			i = h.skipWord(i)
			continue
		}
		m.From, m.To = h.pos[i], h.pos[next]
		m.Text = text[m.From:m.To]
		m.Tense = h.tensed
		out = append(out, m)
		i = next
	}
	return out
}

// hanTriggers are characters of which every expression has one.
const hanTriggers = "年月日号周天点时秒分昨今明前后春夏秋冬早晚夜晨午末季期拜世节旦初底旬"

func isDigit(c rune) bool { return c >= '0' && c <= '9' }

// skipWord leaves a run of digits or numerals as a whole, so that no part of a number is read by itself.
func (h *hanzi) skipWord(i int) int {
	if isDigit(h.rs[i]) {
		for i < len(h.rs) && isDigit(h.rs[i]) {
			i++
		}
		return i
	}
	return i + 1
}

// has reports whether s stands at i; the position after it, else 0.
func (h *hanzi) has(i int, s string) int {
	for _, c := range s {
		if i >= len(h.rs) || h.rs[i] != c {
			return 0
		}
		i++
	}
	return i
}

// one is the first of words that stands at i, and the position after it.
func (h *hanzi) one(i int, words ...string) (string, int) {
	for _, w := range words {
		if e := h.has(i, w); e != 0 {
			return w, e
		}
	}
	return "", 0
}

// opt skips one of words if it stands at i.
func (h *hanzi) opt(i int, words ...string) int {
	if _, e := h.one(i, words...); e != 0 {
		return e
	}
	return i
}

// isBare reports whether the text is one expression and nothing more, tried by reading it forward.
func (h *hanzi) isBare() bool {
	if len(h.rs) > 24 {
		return false
	}
	h.bare, h.dir = true, +1
	_, e, ok := h.mention(0)
	return ok && e == len(h.rs)
}

// aim settles the direction: back, unless the sentence has a sign of the future before a sign of the past.
func (h *hanzi) aim(i int) {
	h.tensed, h.dir = 0, -1
	if h.bare {
		h.dir = +1
		return
	}
	if i >= h.from && i < h.to { // the same sentence as before
		h.tensed = h.sentence
		if h.tensed > 0 {
			h.dir = +1
		}
		return
	}
	a, b := i, i
	for a > 0 && !strings.ContainsRune("。！？!?\n；;", h.rs[a-1]) {
		a--
	}
	for b < len(h.rs) && !strings.ContainsRune("。！？!?\n；;", h.rs[b]) {
		b++
	}
	s := hanCompounds.Replace(h.text[h.pos[a]:h.pos[b]])
	for _, w := range []string{"已经", "刚", "曾", "过了", "去了", "了", "过"} {
		if strings.Contains(s, w) {
			h.tensed = -1
		}
	}
	for _, w := range []string{"将", "打算", "计划", "准备", "即将", "希望", "想要", "定在", "定于", "要去", "会", "要", "提醒"} {
		if strings.Contains(s, w) && (h.tensed == 0 || w == "将" || w == "打算" || w == "计划" || w == "准备" || w == "即将") {
			h.tensed = +1
		}
	}
	h.from, h.to, h.sentence = a, max(b, i+1), h.tensed
	if h.tensed > 0 {
		h.dir = +1
	}
}

// hanCompounds takes out words in which a sign of tense is none.
var hanCompounds = strings.NewReplacer("会议", "", "会员", "", "开会", "", "社会", "", "机会", "", "会计", "", "聚会", "", "晚会", "", "大会", "",
	"约会", "", "重要", "", "主要", "", "需要", "", "要求", "", "为了", "", "了解", "", "经过", "", "通过", "", "超过", "", "过程", "", "将近", "", "不过", "")

var hanDigit = map[rune]int{'零': 0, '〇': 0, '一': 1, '二': 2, '两': 2, '三': 3, '四': 4, '五': 5, '六': 6, '七': 7, '八': 8, '九': 9}

// number reads "12", "十二", "二十三", "两", "二〇二三"; width counts its digits, 0 for numerals with tens.
func (h *hanzi) number(i int) (n, width, next int) {
	j := i
	for j < len(h.rs) && isDigit(h.rs[j]) && j-i < 6 {
		n = n*10 + int(h.rs[j]-'0')
		j++
	}
	if j > i {
		if j < len(h.rs) && isDigit(h.rs[j]) {
			return 0, 0, 0
		}
		return n, j - i, j
	}
	part, tens := 0, false
	digits := 0
	for ; j < len(h.rs); j++ {
		c := h.rs[j]
		if d, ok := hanDigit[c]; ok {
			part = part*10 + d
			digits++
			continue
		}
		scale := 0
		switch c {
		case '十':
			scale = 10
		case '百':
			scale = 100
		case '千':
			scale = 1000
		case '廿':
			n, tens = n+20, true
			continue
		}
		if scale == 0 {
			break
		}
		if part == 0 {
			part = 1
		}
		n, part, tens = n+part*scale, 0, true
	}
	if j == i || j-i > 8 {
		return 0, 0, 0
	}
	if tens {
		digits = 0
	}
	return n + part, digits, j
}

// amount reads a number of units: "三", "3.5", "几", "半", "十几".
func (h *hanzi) amount(i int) (q quantity, next int) {
	if w, e := h.one(i, "大约", "大概", "差不多", "将近", "约", "近"); e != 0 && w != "近" {
		i, q.vague = e, true
	}
	if _, e := h.one(i, "好几", "几", "数"); e != 0 {
		q.n, q.vague, q.few = 3, true, true
		return q, e
	}
	if e := h.has(i, "半"); e != 0 {
		q.n = .5
		return q, e
	}
	n, _, e := h.number(i)
	if e == 0 {
		return q, 0
	}
	q.n = float64(n)
	if e < len(h.rs)-1 && h.rs[e] == '.' && isDigit(h.rs[e+1]) {
		if f, w, g := h.number(e + 1); g != 0 {
			x := float64(f)
			for ; w > 0; w-- {
				x /= 10
			}
			q.n += x
			e = g
		}
	}
	if g, ok := h.one(e, "多", "来"); ok != 0 && g != "" {
		q.vague = true
		e = ok
	}
	return q, e
}

// length reads an amount and its unit: "三年", "两个月", "半个小时", "一年半".
func (h *hanzi) length(i int) (q quantity, g Grain, next int) {
	q, j := h.amount(i)
	if j == 0 {
		return q, 0, 0
	}
	if e := h.has(j, "个半"); e != 0 { // 两个半小时
		q.n += .5
		j = e
	}
	w, e := h.one(j, "个小时", "小时", "个钟头", "钟头", "分钟", "秒钟", "秒", "天", "个星期", "星期", "个礼拜", "礼拜", "个周末", "周", "个月", "个季度", "年", "个世纪")
	switch {
	case e == 0:
		return q, 0, 0
	case strings.HasSuffix(w, "小时"), strings.HasSuffix(w, "钟头"):
		g = Hour
	case w == "分钟":
		g = Minute
	case strings.HasPrefix(w, "秒"):
		g = Second
	case w == "天":
		g = Day
	case w == "个周末":
		g = Weekend
	case w == "个月":
		g = Month
	case w == "个季度":
		g = Quarter
	case w == "年":
		g = Year
	case w == "个世纪":
		g = Century
	default:
		g = Week
	}
	if g == Year && q.n >= 1000 { // a year's number
		return q, 0, 0
	}
	if (g == Year || g == Week || g == Day) && h.has(e, "半") != 0 && q.n >= 1 {
		q.n += .5
		e++
	}
	if f := h.has(e, "多"); f != 0 {
		q.vague, e = true, f
	}
	return q, g, e
}

// mention reads the expression that starts at i.
func (h *hanzi) mention(i int) (m Mention, next int, ok bool) {
	// 从 2016年 起, 自 2016年 以来, 从 周一 到 周三
	if _, e := h.one(i, "从", "自从", "自"); e != 0 {
		if m, f := h.span(e); f != 0 {
			return m, f, true
		}
		if pt, f := h.point(e); f != 0 {
			_, f2 := h.one(f, "以来", "开始", "至今", "到现在", "起")
			if f2 != 0 || h.rs[i] == '自' {
				dir := -1
				if h.tensed > 0 {
					dir = 1
				}
				if iv, ok := h.at(pt, h.ref, dir); ok {
					return h.made(Interval{Start: iv.Start, OpenEnd: true, Grain: iv.Grain}, pt), max(f, f2), true
				}
			}
		}
		return m, 0, false
	}
	// 直到周五, 截至5月, 到周五为止
	if w, e := h.one(i, "直到", "截至", "截止", "到"); e != 0 {
		if pt, f := h.point(e); f != 0 {
			end := h.opt(f, "为止")
			if w != "到" || end > f {
				if iv, ok := h.at(pt, h.ref, h.dir); ok {
					return h.made(Interval{OpenStart: true, End: iv.End, Grain: iv.Grain}, pt), end, true
				}
			}
		}
		return m, 0, false
	}
	if m, e := h.span(i); e != 0 {
		return m, e, true
	}
	if m, e := h.stretch(i); e != 0 {
		return m, e, true
	}
	pt, e := h.point(i)
	if e == 0 {
		return h.duration(i)
	}
	iv, ok := h.at(pt, h.ref, h.dir)
	if !ok {
		return m, 0, false
	}
	switch w, f := h.one(e, "以来", "至今", "之前", "以前", "之后", "以后", "前后", "左右"); {
	case w == "以来" || w == "至今":
		return h.made(Interval{Start: iv.Start, OpenEnd: true, Grain: iv.Grain}, pt), f, true
	case w == "之前" || w == "以前":
		end := iv.Start
		if pt.date.tail {
			end = iv.End
		}
		return h.made(Interval{OpenStart: true, End: end, Grain: iv.Grain}, pt), f, true
	case w == "之后" || w == "以后":
		start := iv.End
		if iv.Grain < PartOfDay {
			start = iv.Start
		}
		return h.made(Interval{Start: start, OpenEnd: true, Grain: iv.Grain}, pt), f, true
	case w != "":
		pt.approx, e = true, f
	}
	return h.made(iv, pt), e, true
}

func (h *hanzi) made(iv Interval, pt point) Mention {
	return Mention{Interval: iv, Absolute: pt.date.abs, Yearless: pt.date.noYear(), Approx: pt.approx || pt.date.approx}
}

// stretch reads "过去三年", "最近两周", "未来三个月", "接下来几天".
func (h *hanzi) stretch(i int) (Mention, int) {
	w, e := h.one(i, "过去的", "过去", "最近的", "最近", "近", "未来的", "未来", "接下来的", "接下来", "今后")
	if e == 0 {
		return Mention{}, 0
	}
	k := -1
	if strings.HasPrefix(w, "未来") || strings.HasPrefix(w, "接下来") || w == "今后" {
		k = 1
	}
	q, g, f := h.length(e)
	if f == 0 || g < Day {
		return Mention{}, 0
	}
	n, whole := q.whole()
	if !whole {
		return Mention{}, 0
	}
	nd := h.run(k, n, g, q, true)
	return Mention{Interval: nd.iv, Approx: q.vague}, h.opt(f, "以来", "来", "里", "内", "中")
}

// duration reads lengths: "三年了", "已经三年", "住了三年".
func (h *hanzi) duration(i int) (m Mention, next int, ok bool) {
	q, g, e := h.length(i)
	if e == 0 || h.bare && q.few {
		return m, 0, false
	}
	m = Mention{Duration: true, Approx: q.vague, Length: &Span{q.n, g}}
	before := string(h.rs[max(0, i-4):i])
	if f := h.has(e, "了"); f != 0 || strings.HasSuffix(before, "已经") || h.has(e, "来") != 0 {
		if n, u, ok := exact(q, g); ok {
			m.Interval = h.upTo(u, n)
		}
		e = h.opt(e, "来")
	}
	return m, e, true
}

// span reads a range: "周一到周三", "6月26日至28日", "2010年到2014年", "下午3点到5点".
func (h *hanzi) span(i int) (Mention, int) {
	a, j := h.point(i)
	if j == 0 {
		return Mention{}, 0
	}
	_, k := h.one(j, "到", "至", "~", "～", "-", "－", "—", "–")
	if k == 0 {
		return Mention{}, 0
	}
	b, e := h.point(k)
	if e == 0 {
		if d, f := h.dayNumber(k); f != 0 && a.date.d > 0 {
			b, e = point{date: node{kind: fields, d: d}}, f
		} else {
			return Mention{}, 0
		}
	}
	if a.date.kind == fields && b.date.kind == fields && !a.date.hasYear && b.date.hasYear && a.date.m > 0 {
		a.date.y, a.date.hasYear = b.date.y, true
	}
	x, ok := h.at(a, h.ref, h.dir)
	if !ok {
		return Mention{}, 0
	}
	if b.hasClk && b.part == (part{}) && a.part != (part{}) {
		b.part = a.part
	}
	y, ok := h.at(b, x.Start, +1)
	if !ok || y.Start.Before(x.Start) {
		return Mention{}, 0
	}
	return Mention{Interval: h.spanOf(x, y), Absolute: a.date.abs, Approx: a.approx}, h.opt(e, "之间", "期间")
}

// point reads a date, a part of the day and a clock time, each optional, in this order.
func (h *hanzi) point(i int) (pt point, next int) {
	if w, e := h.one(i, "大约", "大概"); e != 0 && w != "" {
		pt.approx = true
		i = e
	}
	j := i
	if n, e := h.date(i); e != 0 {
		pt.date, j = n, e
		if n.part != (part{}) {
			pt.part = n.part
		}
	}
	k := j
	if j > i {
		k = h.opt(j, "的", "，", " ")
	}
	if pt.part == (part{}) {
		if pa, e := h.partAt(k, pt.date.kind != noDate); e != 0 {
			pt.part, j, k = pa, e, e
		}
	}
	if c, e := h.clock(k, pt.part != (part{}) || pt.date.kind != noDate); e != 0 {
		pt.clk, pt.hasClk, j = c, true, e
	}
	if j == i {
		return pt, 0
	}
	if pt.date.kind == noDate && !pt.hasClk && !h.bare { // a part of the day alone is no time
		return pt, 0
	}
	return pt, j
}
