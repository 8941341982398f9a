package temporal

import (
	"strings"
	"time"
)

// Question is the time understood from a question. Most questions have none: the zero value.
type Question struct {
	Window     *Interval // the stated window, nil for none
	WindowText string    // its words
	Yearless   bool      // the window is a time of the year without its year ("in June"): any year's may be meant
	Stated     bool      // the window is written out with its year
	Relation   string    // of the window or the anchor: "in", "before", "after", "since", "until", "around"; "" for none
	Anchor     string    // the other event's words, where the window is relative to one: "the road trip"

	WantsDuration bool  // "how long"
	Ago           bool  // "how long ago": from the event to now
	Unit          Grain // of "how many weeks"; Day where WantsDuration without a unit
	WantsOrder    bool  // "which came first", "the most recent"
	Order         int8  // -1 earliest, +1 latest
	// Between holds the two events of "how many weeks passed between A and B", "which came first, A or B".
	Between [2]string
}

// Fits reports whether an interval answers to the question's window: it shares a moment with it, in any year
// where the window named none ("in June"). Without a window everything fits.
func (q *Question) Fits(i Interval) bool {
	if q.Window == nil || q.Window.Overlaps(i) {
		return true
	}
	if !q.Yearless || i.OpenStart || i.OpenEnd {
		return false
	}
	for y := i.Start.Year() - 1; y <= i.End.Year(); y++ { // a winter begins in the year before
		if q.Window.InYear(y).Overlaps(i) {
			return true
		}
	}
	return false
}

// Question reads the time in a question. "When did" alone asks for a time and states none.
func (r *Resolver) Question(q string, ref time.Time) Question {
	var out Question
	ms := r.Find(q, ref)
	for i := range ms {
		if ms[i].Duration && i+1 < len(ms) {
			continue
		}
		m := ms[i]
		// "last Friday on 23 January 2022": the date is where the words are said from
		for _, at := range ms[i+1:] {
			if !m.Absolute && at.Absolute && at.Grain <= Day && !at.OpenStart {
				if again := r.Find(q, at.Start); len(again) == len(ms) {
					m = again[i]
				}
				break
			}
		}
		iv := m.Interval
		out.Window, out.WindowText, out.Yearless, out.Stated = &iv, m.Text, m.Yearless, m.Absolute
		out.Relation = relation(q[:m.From], m)
		break
	}
	var buf [64]token
	toks, _ := tokenize(q, buf[:])
	p := &parser{reader: reader{r: r, ref: ref}, text: q, toks: toks, free: -1}
	p.askDuration(&out)
	p.askOrder(&out)
	if out.Window == nil {
		p.askAnchor(&out)
	}
	return out
}

// relation names how a window lies to the answer.
func relation(before string, m Mention) string {
	words := strings.ToLower(m.Text)
	for _, r := range []string{"before", "after", "since", "until", "till", "by"} {
		if strings.HasPrefix(words, r+" ") {
			switch r {
			case "till", "by":
				return "until"
			}
			return r
		}
	}
	if m.Approx {
		return "around"
	}
	switch f := strings.Fields(strings.ToLower(before)); {
	case len(f) > 0 && (f[len(f)-1] == "around" || f[len(f)-1] == "about"):
		return "around"
	case len(f) > 1 && f[len(f)-2] == "as" && f[len(f)-1] == "of":
		return "until"
	}
	return "in"
}

// askDuration reads "how long", "how many weeks passed between A and B", "how many days ago".
func (p *parser) askDuration(out *Question) {
	for i := range p.toks {
		switch {
		case p.word(i, "how") && (p.is(i+1, "long") || p.word(i+1, "long")):
			out.WantsDuration, out.Unit, out.Ago = true, Day, p.is(i+2, "ago")
		case p.word(i, "how") && p.word(i+1, "many") && p.has(i+2, cUnit):
			out.WantsDuration, out.Unit, out.Ago = true, p.toks[i+2].w.unit, p.is(i+3, "ago")
		case p.word(i, "how") && p.word(i+1, "much") && p.is(i+2, "time"), p.word(i, "what") && p.word(i+1, "length") && p.word(i+3, "time"):
			out.WantsDuration, out.Unit = true, Day
		default:
			continue
		}
		for k := i + 2; k < len(p.toks); k++ {
			if p.is(k, "between") {
				out.Between = p.two(k+1, "and")
				return
			}
			if p.is(k, "from") && out.Window == nil {
				if b := p.two(k+1, "to"); b[0] != "" && b[1] != "" {
					out.Between = b
				} else if b := p.two(k+1, "until"); b[0] != "" && b[1] != "" {
					out.Between = b
				}
				return
			}
		}
		return
	}
}

// word compares token i's text, also outside the vocabulary.
func (p *parser) word(i int, s string) bool {
	if i < 0 || i >= len(p.toks) || p.toks[i].kind != aWord {
		return false
	}
	return strings.EqualFold(p.text[p.toks[i].from:p.toks[i].to], s)
}

// two cuts the text from token i into what stands before and after the word sep.
func (p *parser) two(i int, sep string) (out [2]string) {
	for k := len(p.toks) - 1; k > i; k-- { // the last: "the day I met Ana and Bo and the trip" has no better rule
		if p.word(k, sep) {
			return [2]string{p.words(i, k), p.words(k+1, len(p.toks))}
		}
	}
	return out
}

// words is the text of tokens [i, j), without marks at its end.
func (p *parser) words(i, j int) string {
	if i >= j || i >= len(p.toks) {
		return ""
	}
	return strings.TrimRight(strings.TrimSpace(p.text[p.toks[i].from:p.toks[j-1].to]), " ?!.,;:")
}

// askOrder reads "which came first, A or B", "first", "last", "most recent", "latest", "before or after".
func (p *parser) askOrder(out *Question) {
	for i := range p.toks {
		switch {
		case (p.word(i, "came") || p.word(i, "happened") || p.word(i, "occurred") || p.word(i, "started") || p.word(i, "come") || p.word(i, "happen")) &&
			(p.is(i+1, "first") || p.is(i+1, "earlier")):
			out.WantsOrder, out.Order = true, -1
			p.orderOf(out, i+2)
			return
		case (p.word(i, "came") || p.word(i, "happened") || p.word(i, "occurred")) && (p.is(i+1, "last") || p.is(i+1, "later")):
			out.WantsOrder, out.Order = true, +1
			p.orderOf(out, i+2)
			return
		case p.word(i, "most") && (p.word(i+1, "recent") || p.word(i+1, "recently")), p.word(i, "latest"), p.word(i, "newest"):
			out.WantsOrder, out.Order = true, +1
		case p.word(i, "earliest"):
			out.WantsOrder, out.Order = true, -1
		case p.is(i, "first") && !p.has(i+1, cUnit|cPart) && !p.isMark(i+1, '-') && !p.is(i-1, "at") && !p.word(i+1, "place") && !p.is(i+1, "half") && !p.word(i+1, "name"):
			if out.Window == nil || !strings.Contains(strings.ToLower(out.WindowText), "first") {
				out.WantsOrder, out.Order = true, -1
			}
		case p.is(i, "last") && !out.WantsDuration && i+1 < len(p.toks) && p.toks[i+1].kind == aWord && !p.timeAhead(i+1) && !p.is(i-1, "at") && !p.word(i+1, "name"):
			if out.Window == nil || !strings.Contains(strings.ToLower(out.WindowText), "last") {
				out.WantsOrder, out.Order = true, +1
			}
		}
	}
}

// timeAhead reports whether a word of time stands at i: then "last" is part of an expression.
func (p *parser) timeAhead(i int) bool {
	return p.has(i, cUnit|cWeekday|cMonth|cSeason|cPart|cNumber|cFeast) || p.is(i, "few") || p.is(i, "couple")
}

// orderOf reads the two events of "which came first, A or B".
func (p *parser) orderOf(out *Question, i int) {
	for i < len(p.toks) && p.toks[i].kind == aMark {
		i++
	}
	if b := p.two(i, "or"); b[1] != "" {
		out.Between = b
	}
}

// askAnchor reads "after the road trip", "before she moved to Lisbon", "since the accident".
func (p *parser) askAnchor(out *Question) {
	for i := 1; i < len(p.toks); i++ {
		r := ""
		switch {
		case p.is(i, "before"):
			r = "before"
		case p.is(i, "after"), p.word(i, "following"):
			r = "after"
		case p.is(i, "since"):
			r = "since"
		case p.is(i, "until"), p.is(i, "till"):
			r = "until"
		case p.is(i, "during"), p.word(i, "while"):
			r = "in"
		default:
			continue
		}
		if p.word(i+1, "or") || p.word(i-1, "or") || p.word(i-1, "look") || p.word(i-1, "looks") || p.word(i-1, "looking") || p.word(i-1, "looked") ||
			p.word(i-1, "named") || p.word(i-1, "take") || p.word(i-1, "taking") {
			continue
		}
		k := i + 1
		w := p.words(k, len(p.toks))
		if w == "" || p.is(k, "all") && k+1 >= len(p.toks)-1 || p.word(k, "it") && k+1 >= len(p.toks) || p.word(k, "that") && k+1 >= len(p.toks) || p.word(k, "then") {
			continue
		}
		out.Anchor, out.Relation = w, r
		return
	}
}
