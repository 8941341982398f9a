package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// Segment is one event of a long text or of a pasted conversation. Its span includes blank lines that
// follow it and, of a turn, the speaker's label, so that the spans joined give the text back; Body is
// what was said, without label and outer blanks.
type Segment struct {
	Span
	Body    Span
	Speaker string // as written; "" where the text names none
	At      string // the time as written, "" where none is given
}

// Sizes in runes. A text of shortText or less is one event, as long as it is no conversation: that is
// a long mail, and cutting what fits one retrieved block only tears its parts apart. Segments aim at
// goodSegment, two or three paragraphs, and never exceed maxSegment, which the default token budget
// of an answer (2,000 tokens) holds several of.
const (
	shortText   = 2000
	goodSegment = 900
	maxSegment  = 1800
)

// Segments splits a pasted conversation into its turns, and any other text longer than 2,000 runes
// along its headings, paragraphs and sentences. It returns nil where text is one event. The spans
// cover the text in order without gap or overlap, cut between grapheme clusters.
func Segments(text string) []Segment {
	if turns := transcript(text); turns != nil {
		return turns
	}
	if len(text) <= shortText || utf8.RuneCountInString(text) <= shortText {
		return nil
	}
	var out []Segment
	for _, s := range pack(text, Span{0, len(text)}) {
		out = append(out, Segment{Span: s, Body: trim(text, s)})
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

func trim(text string, s Span) Span {
	body := s.In(text)
	t := strings.TrimLeftFunc(body, unicode.IsSpace)
	from := s.From + len(body) - len(t)
	t = strings.TrimRightFunc(t, unicode.IsSpace)
	return Span{from, from + len(t)}
}

// pack joins the blocks of s (paragraphs, list items, fenced code) to segments; a heading opens one.
func pack(text string, s Span) []Span {
	var out []Span
	var cur Span
	runes := 0
	flush := func() {
		if !cur.Empty() {
			out = append(out, cur)
		}
		cur, runes = Span{}, 0
	}
	for _, b := range blocks(text, s) {
		n := utf8.RuneCountInString(b.In(text))
		head := heading(text, b)
		if runes > 0 && (runes+n > maxSegment || runes >= goodSegment || head && runes >= goodSegment/3) {
			flush()
		}
		if n > maxSegment {
			flush()
			out = append(out, breakUp(text, b)...)
			continue
		}
		if cur.Empty() {
			cur = b
		} else {
			cur.To = b.To
		}
		runes += n
	}
	flush()
	return out
}

func heading(text string, b Span) bool {
	s := strings.TrimLeft(b.In(text), " \t")
	if strings.HasPrefix(s, "#") {
		t := strings.TrimLeft(s, "#")
		return len(s)-len(t) <= 6 && strings.HasPrefix(t, " ")
	}
	return false
}

// blocks cuts s before headings and behind blank lines; a fenced code block stays whole.
func blocks(text string, s Span) []Span {
	var out []Span
	from := s.From
	fence := ""
	for i := s.From; i < s.To; {
		j := strings.IndexByte(text[i:s.To], '\n')
		if j < 0 {
			j = s.To
		} else {
			j += i + 1
		}
		line := strings.TrimSpace(text[i:j])
		switch {
		case fence != "":
			if strings.HasPrefix(line, fence) {
				fence = ""
			}
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			// An opening fence without an end is no fence.
			if strings.Contains(text[j:s.To], "\n"+line[:3]) {
				fence = line[:3]
			}
		case line == "":
			for j < s.To { // further blank lines belong to the block before
				k := strings.IndexByte(text[j:s.To], '\n')
				if k < 0 || strings.TrimSpace(text[j:j+k]) != "" {
					break
				}
				j += k + 1
			}
			if strings.TrimSpace(text[from:j]) != "" {
				out = append(out, Span{from, j})
				from = j
			}
		case strings.HasPrefix(line, "#") && i > from && heading(text, Span{i, j}) && strings.TrimSpace(text[from:i]) != "":
			out = append(out, Span{from, i})
			from = i
		}
		i = j
	}
	if from < s.To {
		if strings.TrimSpace(text[from:s.To]) == "" && len(out) > 0 {
			out[len(out)-1].To = s.To
		} else {
			out = append(out, Span{from, s.To})
		}
	}
	return out
}

// breakUp cuts a block that is too long: at lines, at sentences, at words, and where there are none,
// between grapheme clusters.
func breakUp(text string, b Span) []Span {
	var out []Span
	from := b.From
	const none = -1
	line, sentence, blank := none, none, none
	n := 0
	seg := graphemes.FromString(text[b.From:b.To])
	at := b.From
	ended := false
	for seg.Next() {
		g := seg.Value()
		next := at + len(g)
		k := utf8.RuneCountInString(g)
		if n+k > maxSegment && n > 0 {
			to := at
			switch {
			case line > from:
				to = line
			case sentence > from:
				to = sentence
			case blank > from:
				to = blank
			}
			out = append(out, Span{from, to})
			n = utf8.RuneCountInString(text[to:at])
			from = to
			line, sentence, blank = none, none, none
		}
		n += k
		r, _ := utf8.DecodeRuneInString(g)
		switch {
		case r == '\n' || r == '\r':
			if n >= goodSegment/2 {
				line = next
			}
			if ended && n >= goodSegment/2 {
				sentence = next
			}
		case unicode.IsSpace(r):
			if n >= goodSegment/2 {
				blank = next
			}
			if ended && n >= goodSegment/2 {
				sentence = next
			}
		case r == '.' || r == '!' || r == '?' || r == '…':
			ended = true
		case r == '。' || r == '！' || r == '？' || r == '।':
			ended = true
			if n >= goodSegment/2 {
				sentence = next
			}
		case r == '"' || r == '\'' || r == ')' || r == '”' || r == '’' || r == ']':
		default:
			ended = false
		}
		at = next
	}
	if from < b.To {
		rest := Span{from, b.To}
		if strings.TrimSpace(rest.In(text)) == "" && len(out) > 0 {
			out[len(out)-1].To = b.To
		} else {
			out = append(out, rest)
		}
	}
	return out
}
