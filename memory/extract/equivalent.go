package extract

import (
	"regexp"
	"strings"
)

// known joins two names of one thing. The cue has to say that they are one; likeness never does.
var known = regexp.MustCompile(`(?i)[,(]?\s*\b(?:also known as|also called|better known as|formerly known as|previously known as|formerly called|a\.k\.a\.|aka|nicknamed)\s+`)

// Equivalents lists the pairs of names that text says are one: "the billing gateway, also known as Bertha".
// The name before the cue is a mention that ends there, or the words back to an article; the one after it
// is a mention that begins there, or the words up to a mark. A pair whose sides are not both found is left out.
func Equivalents(text string) [][2]Mention {
	if !strings.Contains(text, "nown as") && !strings.Contains(text, "alled") && !strings.Contains(text, "k") {
		return nil
	}
	var out [][2]Mention
	var ms []Mention
	for _, m := range known.FindAllStringIndex(text, 8) {
		if ms == nil {
			ms = Mentions(text)
		}
		left, ok := nameBefore(text, m[0], ms)
		if !ok {
			continue
		}
		right, ok := nameAfter(text, m[1], ms)
		if !ok || left.Canonical == right.Canonical {
			continue
		}
		out = append(out, [2]Mention{left, right})
	}
	return out
}

func nameBefore(text string, end int, ms []Mention) (Mention, bool) {
	for end > 0 && (text[end-1] == ' ' || text[end-1] == ',' || text[end-1] == '(') {
		end--
	}
	for _, m := range ms {
		if m.To == end {
			return m, true
		}
	}
	from := strings.LastIndexAny(text[:end], ".!?;:,\n(") + 1
	words := strings.Fields(text[from:end])
	for i := len(words) - 1; i >= 0 && i >= len(words)-5; i-- {
		switch strings.ToLower(words[i]) {
		case "the", "our", "my", "his", "her", "their", "this", "that", "a", "an":
			return namedSpan(text, end-len(strings.Join(words[i+1:], " ")), end)
		}
	}
	return Mention{}, false
}

func nameAfter(text string, from int, ms []Mention) (Mention, bool) {
	for _, m := range ms {
		if m.From == from || m.From == from+4 && strings.EqualFold(text[from:min(len(text), from+4)], "the ") {
			return m, true
		}
	}
	rest := text[from:]
	end := strings.IndexAny(rest, ".,!?;:)\n")
	if end < 0 {
		end = len(rest)
	}
	rest = strings.Trim(rest[:end], ` "'`)
	for _, article := range []string{"the ", "our ", "a ", "an "} {
		if len(rest) > len(article) && strings.EqualFold(rest[:len(article)], article) {
			rest = rest[len(article):]
		}
	}
	if n := len(strings.Fields(rest)); n == 0 || n > 3 {
		return Mention{}, false
	}
	at := from + strings.Index(text[from:], rest)
	return namedSpan(text, at, at+len(rest))
}

func namedSpan(text string, from, to int) (Mention, bool) {
	if from < 0 || from >= to || to > len(text) {
		return Mention{}, false
	}
	m := Mention{Span: Span{from, to}, Text: text[from:to], Canonical: Key(text[from:to]), Confidence: 0.7}
	return m, m.Canonical != ""
}
