package temporal

import (
	"unicode"
	"unicode/utf8"
)

// token is a word, a number or a mark of the text.
type token struct {
	from, to int
	kind     tokenKind
	space    bool  // white space, or the text's beginning, stands before it
	upper    bool  // begins with a capital
	caps     bool  // all capitals
	sign     bool  // a number, or a word that a time hangs on
	poss     bool  // ended in 's or s'
	mark     rune  // of a mark
	num      int   // of a number
	digits   int   // of a number
	w        *word // vocabulary entry, nil for other words
}

type tokenKind uint8

const (
	aWord tokenKind = iota
	aNumber
	aMark
)

// longest word of the vocabulary, in bytes, with room for 's
const maxWord = 24

// tokenize splits text and looks its words up. trigger tells whether any token can be part of a time
// expression at all. Runs of digits and runs of letters are
// tokens of their own even where no space parts them ("3pm", "16h00"); space tells.
func tokenize(text string, buf []token) (toks []token, trigger bool) {
	toks = buf[:0]
	space := true
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			space = true
			i++
			continue
		case c >= '0' && c <= '9':
			j, n := i, 0
			for j < len(text) && text[j] >= '0' && text[j] <= '9' {
				if j-i < 9 {
					n = n*10 + int(text[j]-'0')
				}
				j++
			}
			t := token{from: i, to: j, kind: aNumber, num: n, digits: j - i, space: space, sign: true}
			toks = append(toks, t)
			trigger = true
			i = j
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf:
			if c >= utf8.RuneSelf {
				r, n := utf8.DecodeRuneInString(text[i:])
				if !unicode.IsLetter(r) || unicode.Is(unicode.Han, r) {
					if unicode.IsSpace(r) {
						space = true
						i += n
						continue
					}
					if r == '’' || unicode.IsPunct(r) || unicode.Is(unicode.Han, r) {
						m := r
						switch r {
						case '’', '‘':
							m = '\''
						case '–', '—', '‒', '−':
							m = '-'
						}
						toks = append(toks, token{from: i, to: i + n, kind: aMark, mark: m, space: space})
					} else {
						toks = append(toks, token{from: i, to: i + n, kind: aMark, mark: '?', space: space})
					}
					i += n
					space = false
					continue
				}
			}
			t, j := scanWord(text, i)
			t.space = space
			if n := len(toks); n >= 2 && t.w != nil && t.w.s == "end" && !space && toks[n-1].mark == '-' && !toks[n-1].space &&
				toks[n-2].w != nil && toks[n-2].w.s == "week" { // week-end
				toks = toks[:n-1]
				toks[n-2].to, toks[n-2].w = j, vocabulary["weekend"]
				i, space = j, false
				continue
			}
			if t.w != nil && t.w.cls&cTrigger != 0 {
				t.sign, trigger = true, true
			}
			toks = append(toks, t)
			i = j
		default:
			toks = append(toks, token{from: i, to: i + 1, kind: aMark, mark: rune(c), space: space})
			i++
		}
		space = false
	}
	return toks, trigger
}

// scanWord reads the word at i: letters, with apostrophes between letters. A closing 's is dropped for the
// look-up and noted.
func scanWord(text string, i int) (token, int) {
	var low [maxWord]byte
	n, j, letters, uppers := 0, i, 0, 0
	poss := false
	for j < len(text) {
		c := text[j]
		switch {
		case c >= 'a' && c <= 'z':
			letters++
		case c >= 'A' && c <= 'Z':
			c |= 0x20
			letters++
			uppers++
		case c == '\'' || c == '.' && dotted(text, i, j):
			if c == '\'' && (j+1 >= len(text) || !isLetter(text[j+1])) {
				goto done
			}
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[j:])
			if r == '’' && j+size < len(text) && isLetter(text[j+size]) {
				if n < maxWord {
					low[n] = '\''
					n++
				}
				j += size
				continue
			}
			if !unicode.IsLetter(r) && !unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Han, r) {
				goto done
			}
			letters++
			n = maxWord // no word of the vocabulary has such letters
			j += size
			continue
		default:
			goto done
		}
		if n < maxWord {
			low[n] = c
			n++
		}
		j++
	}
done:
	t := token{from: i, to: j, kind: aWord, upper: text[i] >= 'A' && text[i] <= 'Z', caps: letters > 1 && uppers == letters}
	if n < maxWord {
		key := low[:n]
		if w, ok := vocabulary[string(key)]; ok {
			t.w = w
			return t, j
		}
		if n > 2 && key[n-1] == 's' && key[n-2] == '\'' {
			key, poss = key[:n-2], true
			if w, ok := vocabulary[string(key)]; ok && w.cls&cNoun != 0 {
				t.w, t.poss = w, poss
				return t, j
			}
		}
		t.w = guess(key)
	}
	return t, j
}

// dotted reports whether the dot at j stands inside an abbreviation of single letters that starts at i: "p.m".
func dotted(text string, i, j int) bool {
	return j == i+1 && j+1 < len(text) && (text[j+1]|0x20 == 'm' || text[j+1]|0x20 == 'd') &&
		(j+2 >= len(text) || !isLetter(text[j+2])) && (text[i]|0x20 == 'a' || text[i]|0x20 == 'p')
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= utf8.RuneSelf }
