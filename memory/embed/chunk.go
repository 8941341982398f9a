package embed

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A text longer than a piece is cut into several, each with a vector of its own; the text is found by
// its best one. Cutting happens at the end of a paragraph, else of a sentence, else between words.

// chunkVersion goes into the recipe: with another way of cutting, vectors belong to another space.
const chunkVersion = "c1"

const (
	// chunkTokens is the size of a piece, in estimated tokens. Not less: a turn of a conversation or a
	// paragraph should stay one piece (99 % of chat turns are under 200 tokens). Not more: a vector is
	// an average, and one sentence in more than about 400 tokens no longer moves it enough to be found;
	// and it fits a 512-token model with its prefix.
	chunkTokens = 400
	// chunkReserve is left free in a model's context for its special tokens and the prefix.
	chunkReserve = 32
	// giantWord is the longest run of letters given to a model, in characters. The longest words of
	// European dictionaries have under 50; longer runs are encoded data. Word-piece tokenizers take
	// cubic time over them (4,000 letters: 6 to 12 s), and shorter pieces lose nothing.
	giantWord = 64
)

// chunks cuts text into pieces of at most budget estimated tokens. A blank text has none.
func chunks(text string, budget int) []string {
	text = breakGiants(strings.TrimFunc(strings.ToValidUTF8(text, "\uFFFD"), blank))
	if text == "" {
		return nil
	}
	total := tokens(text)
	if total <= budget {
		return []string{text}
	}
	// Even pieces: a last one of three words would be found by those alone.
	n := (total + budget - 1) / budget
	budget = min(budget, total/n+total/n/8+1)
	var out []string
	var piece strings.Builder
	size := 0
	flush := func() {
		if s := strings.TrimFunc(piece.String(), blank); s != "" {
			out = append(out, s)
		}
		piece.Reset()
		size = 0
	}
	for _, unit := range units(text, budget) {
		n := tokens(unit)
		if size > 0 && size+n > budget {
			flush()
		}
		piece.WriteString(unit)
		size += n
	}
	flush()
	return out
}

// units splits a text into runs that stay together: sentences and lines where they fit the budget,
// else words, else characters. Joined, they are the text.
func units(text string, budget int) []string {
	var out []string
	for _, s := range splitAfter(text, sentenceEnd) {
		if tokens(s) <= budget {
			out = append(out, s)
			continue
		}
		for _, w := range splitAfter(s, wordEnd) {
			for tokens(w) > budget {
				cut := prefixOf(w, budget)
				out = append(out, w[:cut])
				w = w[cut:]
			}
			if w != "" {
				out = append(out, w)
			}
		}
	}
	return out
}

// splitAfter cuts text behind every character where end says so of it and the one that follows.
func splitAfter(text string, end func(r, next rune) bool) []string {
	var out []string
	start := 0
	for i, r := range text {
		after := i + utf8.RuneLen(r)
		if after >= len(text) {
			break
		}
		next, _ := utf8.DecodeRuneInString(text[after:])
		if end(r, next) {
			out = append(out, text[start:after])
			start = after
		}
	}
	return append(out, text[start:])
}

func sentenceEnd(r, next rune) bool {
	switch r {
	case '\n':
		return next != '\n'
	case '.', '!', '?', '…', ';':
		return unicode.IsSpace(next)
	case '。', '！', '？', '；', '।', '؟':
		return true
	}
	return false
}

func wordEnd(r, next rune) bool { return unicode.IsSpace(r) && !unicode.IsSpace(next) }

// prefixOf is how many bytes of w are within budget, at least one character.
func prefixOf(w string, budget int) int {
	var e estimate
	for i, r := range w {
		e.add(r)
		if e.count() > budget && i > 0 {
			return i
		}
	}
	return len(w)
}

// breakGiants puts a space into every run of letters and digits longer than giantWord.
func breakGiants(text string) string {
	run, has := 0, false
	for _, r := range text {
		if run = nextRun(run, r); run > giantWord {
			has = true
			break
		}
	}
	if !has {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/giantWord)
	run = 0
	for _, r := range text {
		if run = nextRun(run, r); run > giantWord {
			b.WriteByte(' ')
			run = 1
		}
		b.WriteRune(r)
	}
	return b.String()
}

// nextRun counts a run of characters that a word-piece tokenizer takes as one word: everything but
// white space, punctuation, and the scripts it splits by character.
func nextRun(run int, r rune) int {
	if blank(r) || unicode.IsPunct(r) || ideographic(r) {
		return 0
	}
	return run + 1
}

// tokens estimates how many tokens a model makes of a text, on the high side for ordinary prose.
func tokens(text string) int {
	var e estimate
	for _, r := range text {
		e.add(r)
	}
	return e.count()
}

// estimate counts tokens: a word of ASCII letters is one per four letters begun (English prose has
// 4.0 to 4.7 characters to a token, spaces included), digits and other alphabets one per two,
// ideographs, punctuation and symbols one each. An estimate that turns out too low costs a refused
// request and a second one in halves; one that is too high only makes pieces shorter.
type estimate struct {
	total int
	run   int // quarters of a token of the word being read
}

func (e *estimate) count() int { return e.total + (e.run+3)/4 }

func (e *estimate) add(r rune) {
	switch {
	case blank(r):
		e.end()
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		e.run++
	case ideographic(r) || unicode.IsPunct(r) || unicode.IsSymbol(r):
		e.end()
		e.total++
	default:
		e.run += 2
	}
}

func (e *estimate) end() {
	e.total += (e.run + 3) / 4
	e.run = 0
}

func ideographic(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// blank says of a character that it prints nothing: white space, control and format characters.
func blank(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zs)
}
