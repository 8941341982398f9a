package extract

import (
	"strings"
	"unicode/utf8"
)

var nickIndex = indexNicknames()

func indexNicknames() map[string][]int {
	idx := map[string][]int{}
	for n, line := range nicknames {
		for _, w := range strings.Fields(line) {
			idx[w] = append(idx[w], n)
		}
	}
	return idx
}

// Aliases says how far the form of two name strings allows that they name one entity, 0..1: 1 for the
// same Key, around 0.8 for a nickname ("Mel", "Melanie"), 0.7 for a part ("Ross", "Ross Geller"),
// less for initials and acronyms, 0 for anything else, in particular for two persons who share a
// surname. It is symmetric, and never a reason to merge by itself: "Alex" and "Alex" are 1.
func Aliases(a, b string) float64 {
	ka, kb := Key(a), Key(b)
	if ka == "" || kb == "" {
		return 0
	}
	if ka == kb {
		return 1
	}
	ta, tb := bareName(ka), bareName(kb)
	if len(ta) == 0 || len(tb) == 0 || len(ta) > 12 || len(tb) > 12 {
		return 0
	}
	if strings.Join(ta, " ") == strings.Join(tb, " ") {
		return 0.95 // a title, a full stop
	}
	if ka > kb {
		ta, tb = tb, ta
	}
	best := 0.0
	if len(ta) == 1 && len(tb) == 1 {
		best = oneWord(ta[0], tb[0])
	} else {
		best = manyWords(ta, tb)
	}
	if len(ta) == 1 && len(tb) > 1 {
		best = max(best, acronym(ta[0], tb))
	}
	if len(tb) == 1 && len(ta) > 1 {
		best = max(best, acronym(tb[0], ta))
	}
	// New York / newyork, web-server / web server.
	if squash(ka) == squash(kb) && utf8.RuneCountInString(squash(ka)) >= 4 {
		best = max(best, 0.85)
	}
	return best
}

func squash(s string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '-', '_', '.', '\'':
			return -1
		}
		return r
	}, s)
}

// bareName is the words of a folded name without titles and full stops.
func bareName(k string) []string {
	ws := strings.FieldsFunc(k, func(r rune) bool { return r == ' ' || r == ',' })
	out := ws[:0]
	for i, w := range ws {
		w = strings.TrimSuffix(w, ".")
		if w == "" || i < len(ws)-1 && titles.has(w) && len(ws) > 1 {
			continue
		}
		if i == len(ws)-1 && len(out) > 1 && (w == "jr" || w == "sr" || w == "ii" || w == "iii") {
			continue
		}
		out = append(out, w)
	}
	return out
}

func nick(a, b string) bool {
	for _, x := range nickIndex[a] {
		for _, y := range nickIndex[b] {
			if x == y {
				full := strings.Fields(nicknames[x])[0]
				if full == a || full == b {
					return true
				}
			}
		}
	}
	return false
}

// twoNicks: both are short forms of one full name ("Bob", "Rob").
func twoNicks(a, b string) bool {
	for _, x := range nickIndex[a] {
		for _, y := range nickIndex[b] {
			if x == y {
				return true
			}
		}
	}
	return false
}

func oneWord(a, b string) float64 {
	switch {
	case a == b:
		return 1
	case nick(a, b):
		return 0.8
	case twoNicks(a, b):
		return 0.6
	}
	short, long := a, b
	if utf8.RuneCountInString(short) > utf8.RuneCountInString(long) {
		short, long = long, short
	}
	n := utf8.RuneCountInString(short)
	switch {
	case n >= 3 && strings.HasPrefix(long, short):
		if givenNames.has(long) && givenNames.has(short) {
			return 0.35 // Christine, Christian; Ann, Annabelle
		}
		if givenNames.has(long) && utf8.RuneCountInString(long)-n >= 2 {
			return 0.7 // "Jess" and the like, beyond the table
		}
		return 0.3
	case n == 1 && strings.HasPrefix(long, short):
		return 0.4
	case n >= 4 && (long == short+"y" || long == short+"ie" || long == short+"s"):
		return 0.5
	}
	return 0
}

// manyWords compares names of which one has several words.
func manyWords(a, b []string) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(a) == 1 {
		switch w := a[0]; {
		case w == b[0]:
			if givenNames.has(w) || ambiguousNames.has(w) {
				return 0.7
			}
			return 0.5
		case w == b[len(b)-1]:
			return 0.55 // a surname alone
		case nick(w, b[0]):
			return 0.65
		case twoNicks(w, b[0]):
			return 0.45
		}
		return 0
	}
	// Both have a first and a last name.
	if a[len(a)-1] != b[len(b)-1] {
		if a[0] == b[0] && len(a) == 2 && len(b) >= 3 && contains(b, a[1]) {
			return 0.7
		}
		if a[0] == b[0] && len(a[1]) == 1 && strings.HasPrefix(b[len(b)-1], a[1]) { // Ross G
			return 0.65
		}
		if a[0] == b[0] && len(b[len(b)-1]) == 1 && strings.HasPrefix(a[len(a)-1], b[len(b)-1]) {
			return 0.65
		}
		if prefixWords(a, b) {
			return 0.6
		}
		return 0
	}
	fa, fb := a[0], b[0]
	switch {
	case fa == fb:
		return 0.9 // a middle name
	case nick(fa, fb):
		return 0.85
	case len(fa) == 1 && strings.HasPrefix(fb, fa), len(fb) == 1 && strings.HasPrefix(fa, fb):
		return 0.75
	case twoNicks(fa, fb):
		return 0.65
	case !givenNames.has(fa) && !givenNames.has(fb) && suffixWords(a, b):
		return 0.5
	}
	return 0
}

func contains(ws []string, w string) bool {
	for _, x := range ws {
		if x == w {
			return true
		}
	}
	return false
}

func prefixWords(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func suffixWords(a, b []string) bool {
	d := len(b) - len(a)
	for i := range a {
		if a[i] != b[i+d] {
			return false
		}
	}
	return true
}

// acronym: "nyc" of "new york city", "who" of "world health organization"; small words may be left out.
func acronym(short string, long []string) float64 {
	short = strings.ReplaceAll(short, ".", "")
	if n := utf8.RuneCountInString(short); n < 2 || n > 8 {
		return 0
	}
	for _, small := range [...]bool{true, false} {
		var b strings.Builder
		for _, w := range long {
			for _, p := range strings.Split(w, "-") {
				if p == "" || !small && functionWords.has(p) {
					continue
				}
				r, _ := utf8.DecodeRuneInString(p)
				b.WriteRune(r)
			}
		}
		if b.String() == short {
			if utf8.RuneCountInString(short) == 2 {
				return 0.4
			}
			return 0.6
		}
	}
	return 0
}
