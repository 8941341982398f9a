package consolidate

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/extract"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// What a model says is held against the words it was shown. The functions here answer single questions: does
// this quote stand there, is this named there, is this said in those words?

// locate finds a quote in a text and returns its span. Models straighten curly quotation marks, collapse
// white space, change the case of a first letter and add a full stop or an ellipsis: that much is
// forgiven. The words and their order are not.
func locate(s, quote string) (from, to int, ok bool) {
	if strings.TrimSpace(quote) == "" {
		return 0, 0, false
	}
	if i := strings.Index(s, quote); i >= 0 {
		return i, i + len(quote), true
	}
	q := plain(strings.Trim(strings.TrimSpace(quote), `"'“”‘’….,;: `))
	if len(q) == 0 {
		return 0, 0, false
	}
	for from := range s {
		if to, ok := match(s[from:], q); ok {
			return from, from + to, true
		}
	}
	return 0, 0, false
}

// plain is a quote in the form in which it is compared, character by character.
func plain(s string) []rune {
	var out []rune
	for _, r := range s {
		r = plainRune(r)
		if r == ' ' && (len(out) == 0 || out[len(out)-1] == ' ') {
			continue
		}
		out = append(out, r)
	}
	return out
}

func plainRune(r rune) rune {
	switch r {
	case '’', '‘', 'ʼ', '`':
		return '\''
	case '“', '”', '„', '«', '»':
		return '"'
	case '–', '—', '‑':
		return '-'
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	return unicode.ToLower(r)
}

// match says how many bytes of s the quote takes, if s begins with it.
func match(s string, q []rune) (int, bool) {
	i := 0
	for k := 0; k < len(q); {
		if i >= len(s) {
			return 0, false
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if plainRune(r) != q[k] {
			return 0, false
		}
		i += n
		if q[k] == ' ' { // any white space for any white space
			for i < len(s) {
				r, n := utf8.DecodeRuneInString(s[i:])
				if !unicode.IsSpace(r) {
					break
				}
				i += n
			}
		}
		k++
	}
	return i, true
}

// quoteIn locates a quote in a memory.
func quoteIn(m Memory, quote string) (Quote, bool) {
	from, to, ok := locate(m.Text, quote)
	if !ok {
		return Quote{}, false
	}
	return Quote{Memory: m.ID, From: from, To: to, Text: m.Text[from:to]}, true
}

// selves are words by which a writer speaks of themselves.
var selves = map[string]bool{"i": true, "me": true, "my": true, "mine": true, "myself": true, "speaker": true, "user": true, "the user": true, "the speaker": true, "we": true, "us": true}

// pronouns are no names.
var pronouns = map[string]bool{
	"he": true, "him": true, "his": true, "she": true, "her": true, "hers": true, "it": true, "its": true, "they": true, "them": true,
	"their": true, "theirs": true, "you": true, "your": true, "yours": true, "this": true, "that": true, "these": true, "those": true,
	"who": true, "someone": true, "somebody": true, "everyone": true, "nobody": true, "here": true, "there": true, "today": true,
	"yesterday": true, "tomorrow": true, "new": true, "note": true, "unknown": true, "none": true, "n/a": true,
}

// named finds the name of someone or something in a memory: as it stands in the text, or the speaker's.
// The writer's "I" is the speaker. It is "" where the memory names no such thing.
func named(m Memory, name string) string {
	name = strings.TrimSpace(name)
	key := extract.Key(name)
	switch {
	case key == "" || pronouns[key] || utf8.RuneCountInString(name) > 80:
		return ""
	case selves[key]:
		return m.Speaker
	case m.Speaker != "" && key == extract.Key(m.Speaker):
		return m.Speaker
	}
	if from, to, ok := locateWords(m.Text, name); ok {
		return strings.TrimSpace(m.Text[from:to])
	}
	return ""
}

// locateWords is locate for whole words.
func locateWords(s, words string) (from, to int, ok bool) {
	base := 0
	for {
		f, t, ok := locate(s[base:], words)
		if !ok {
			return 0, 0, false
		}
		f, t = base+f, base+t
		before, _ := utf8.DecodeLastRuneInString(s[:f])
		after, _ := utf8.DecodeRuneInString(s[t:])
		first, _ := utf8.DecodeRuneInString(s[f:])
		last, _ := utf8.DecodeLastRuneInString(s[:t])
		if !(inWord(before) && inWord(first)) && !(inWord(last) && inWord(after)) {
			return f, t, true
		}
		_, n := utf8.DecodeRuneInString(s[f:])
		base = f + n
	}
}

// inWord leaves out scripts without spaces between words.
func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// said tells whether every informative word of a phrase stands in a text, in any form.
func said(s, phrase string) bool {
	share, n := overlap(s, phrase)
	return n > 0 && share == 1
}

// overlap is the share of a phrase's informative words that stand in a text, and how many there are.
func overlap(s, phrase string) (float64, int) {
	there := map[string]bool{}
	for _, w := range allWords(s) {
		there[w] = true
	}
	words := informative(phrase)
	if len(words) == 0 {
		return 0, 0
	}
	hit := 0
	for _, w := range words {
		if there[w.term] {
			hit++
		}
	}
	return float64(hit) / float64(len(words)), len(words)
}

// allWords are the comparable forms of all words of s.
func allWords(s string) []string {
	a := analyzers.Get().(*text.Analyzer)
	defer analyzers.Put(a)
	var out []string
	for _, t := range a.Tokens(s) {
		out = append(out, t.Term)
	}
	return out
}

// invents tells whether a summary holds a name or a number that its sources do not, or mostly words that
// they do not.
func invents(summary, sources string) bool {
	share, n := overlap(sources, summary)
	if n == 0 || share < 0.6 {
		return true
	}
	there := map[string]bool{}
	for _, w := range allWords(sources) {
		there[w] = true
	}
	for _, m := range extract.Mentions(summary) {
		if share, n := overlap(sources, m.Text); n > 0 && share < 1 {
			return true
		}
	}
	for _, w := range informative(summary) {
		if (w.name || strings.ContainsAny(summary[w.from:w.to], "0123456789")) && !there[w.term] {
			return true
		}
	}
	return false
}

// wordCount counts words of any kind.
func wordCount(s string) int { return len(strings.Fields(s)) }
