// Package text answers: which words are in this, in a form that can be compared?
//
// A text becomes Tokens: Unicode words (UAX #29), folded (NFKD, case, accents off), stemmed where they are
// English, with identifiers kept whole and split ("configFile" gives configfile, config, file), and runs
// of Han, kana, Hangul and Thai given as overlapping bigrams, since those scripts put no space between words.
// Stop words are marked, not dropped: BM25 leaves them out, a phrase needs them.
//
// Direct dependencies: clipperhouse/uax29 for word boundaries, blevesearch/snowballstem for the English
// stemmer (Porter 2), golang.org/x/text for normalisation.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/english"
	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"
)

// Token is one comparable word of a text. From and To are its byte span; Pos counts words, and the parts
// of an identifier share the Pos of the whole. Term is never empty.
type Token struct {
	Term     string
	From, To int
	Pos      int
	Stop     bool
}

// Analyzer turns texts into tokens. It keeps a stem cache and scratch space, so one value serves one
// goroutine; Get and Put lend them out.
type Analyzer struct {
	env   *snowballstem.Env
	stems map[string]string
	toks  []Token
}

const maxStems = 1 << 14 // words whose stems are kept; about 1 MB

// New returns an Analyzer.
func New() *Analyzer {
	return &Analyzer{env: snowballstem.NewEnv(""), stems: make(map[string]string, 1024)}
}

// Tokens returns the tokens of s in order. The slice is reused by the next call.
func (a *Analyzer) Tokens(s string) []Token {
	a.toks = a.toks[:0]
	it := words.FromString(s)
	pos := 0
	for it.Next() {
		w := it.Value()
		from, to := it.Start(), it.End()
		r, _ := utf8.DecodeRuneInString(w)
		if !isWordRune(r) {
			if len(w) > 1 || r >= 0x80 || len(a.toks) == 0 {
				continue
			}
			// C++, C#, F#: the sign belongs to the single letter before it.
			last := &a.toks[len(a.toks)-1]
			if (r == '+' || r == '#') && last.To == from && (len(last.Term) == 1 || last.Term[len(last.Term)-1] == '+') && last.To-last.From <= 2 {
				last.Term, last.To, last.Stop = last.Term+w, to, false
			}
			continue
		}
		if isSpaceless(r) {
			pos = a.grams(w, from, pos)
			continue
		}
		a.word(w, from, to, pos)
		pos++
	}
	return a.toks
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }

func isSpaceless(r rune) bool {
	return r >= 0x0E00 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Hangul))
}

// grams adds the overlapping bigrams of a spaceless run; a run of one rune stands for itself. UAX #29
// gives Han one rune at a time, so bigrams join neighbouring single tokens.
func (a *Analyzer) grams(w string, from, pos int) int {
	for i, r := range w {
		if !isWordRune(r) {
			continue
		}
		n := utf8.RuneLen(r)
		at := from + i
		if k := len(a.toks); k > 0 && a.toks[k-1].To == at && spacelessTail(a.toks[k-1].Term) {
			prev, _ := utf8.DecodeLastRuneInString(a.toks[k-1].Term)
			a.add(fold(string(prev)+string(r)), at-utf8.RuneLen(prev), at+n, pos)
		}
		a.add(fold(string(r)), at, at+n, pos)
		pos++
	}
	return pos
}

func spacelessTail(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return isSpaceless(r)
}

func (a *Analyzer) add(term string, from, to, pos int) {
	if term != "" {
		a.toks = append(a.toks, Token{Term: term, From: from, To: to, Pos: pos})
	}
}

func (a *Analyzer) word(w string, from, to, pos int) {
	if i := strings.IndexAny(w, "'’"); i > 0 { // don't stays one word; Ana's is Ana
		if rest := w[i:]; rest == "'s" || rest == "’s" || rest == "'" || rest == "’" {
			w = w[:i]
		}
	}
	f := fold(w)
	if f == "" {
		return
	}
	a.toks = append(a.toks, Token{Term: a.Stem(f), From: from, To: to, Pos: pos, Stop: IsStop(f)})
	if parts := split(w); parts != nil {
		for _, p := range parts {
			if f := fold(p); f != "" && utf8.RuneCountInString(f) > 1 {
				a.toks = append(a.toks, Token{Term: a.Stem(f), From: from, To: to, Pos: pos, Stop: IsStop(f)})
			}
		}
	}
}

// Stem returns the English stem of a folded word; a word with a rune that is not an ASCII letter is its own stem.
func (a *Analyzer) Stem(w string) string {
	if len(w) < 3 {
		return w
	}
	for i := 0; i < len(w); i++ {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	if s, ok := a.stems[w]; ok {
		return s
	}
	a.env.SetCurrent(w)
	english.Stem(a.env)
	s := strings.Clone(a.env.Current())
	if len(a.stems) >= maxStems {
		clear(a.stems)
	}
	a.stems[strings.Clone(w)] = s
	return s
}

// split gives the parts of an identifier or a compound: at _ - . / and where lower case meets upper case
// or letters meet digits. nil where there is only one part.
func split(w string) []string {
	cut := false
	var prev rune
	for i, r := range w {
		if i > 0 && boundary(prev, r) {
			cut = true
			break
		}
		prev = r
	}
	if !cut {
		return nil
	}
	var parts []string
	start := 0
	prev = 0
	for i, r := range w {
		switch {
		case isJoin(r):
			if i > start {
				parts = append(parts, w[start:i])
			}
			start = i + utf8.RuneLen(r)
		case i > start && boundary(prev, r):
			parts = append(parts, w[start:i])
			start = i
		}
		prev = r
	}
	if start < len(w) {
		parts = append(parts, w[start:])
	}
	if len(parts) < 2 {
		return nil
	}
	return parts
}

func isJoin(r rune) bool { return r == '_' || r == '-' || r == '.' || r == '/' || r == ':' }

func boundary(p, r rune) bool {
	return isJoin(r) || isJoin(p) || unicode.IsLower(p) && unicode.IsUpper(r)
}

// Fold returns s in the form in which names and words are compared: NFKD without marks, case folded.
func Fold(s string) string { return fold(s) }

func fold(s string) string {
	ascii, lower := true, true
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x80 {
			ascii = false
			break
		}
		if c >= 'A' && c <= 'Z' {
			lower = false
		}
	}
	if ascii {
		if lower {
			return s
		}
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range norm.NFKD.String(s) {
		if unicode.Is(unicode.Mn, r) && r < 0x900 { // accents go; the vowel signs of Indic scripts are letters of the word
			continue
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return norm.NFC.String(strings.ReplaceAll(b.String(), "ß", "ss"))
}

// Sentences returns the byte spans of the sentences of s, white space around them left out. A sentence ends at
// . ! ? or their CJK forms before white space or a capital, and at a line break.
func Sentences(s string) [][2]int {
	var out [][2]int
	start := 0
	flush := func(end int) {
		f, t := start, end
		for f < t && isSpace(s[f]) {
			f++
		}
		for t > f && isSpace(s[t-1]) {
			t--
		}
		if t > f {
			out = append(out, [2]int{f, t})
		}
		start = end
	}
	for i, r := range s {
		if i < start {
			continue // inside the closing marks of the sentence before
		}
		switch r {
		case '\n':
			flush(i + 1)
		case '.', '!', '?':
			j := i + 1
			for j < len(s) && strings.IndexByte(".!?\"')", s[j]) >= 0 {
				j++
			}
			if j >= len(s) || isSpace(s[j]) {
				if r == '.' && abbreviation(s[start:i]) {
					continue
				}
				if j > i {
					flush(j)
				}
			}
		case '。', '！', '？':
			flush(i + utf8.RuneLen(r))
		}
	}
	flush(len(s))
	return out
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func abbreviation(before string) bool {
	i := strings.LastIndexAny(before, " \n\t(")
	switch strings.ToLower(before[i+1:]) {
	case "mr", "mrs", "ms", "dr", "prof", "st", "vs", "etc", "e.g", "i.e", "no", "jr", "sr", "approx", "dept", "fig":
		return true
	}
	return len(before)-i-1 == 1 && i+1 < len(before) && before[i+1] >= 'A' && before[i+1] <= 'Z' && before[i+1] != 'I'
}
