package secrets

import (
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Expressions are slow, some ten megabytes a second, and most texts hold none of the words that most rules
// ask for. So a text is first read once for all keywords, and then each rule's expression runs only around
// those that it has there.

// keywords finds the keywords of all rules in one pass, by their first two bytes.
type keywords struct {
	first [1 << 16]uint16 // index into lists, by the first two bytes; 0: none begins so
	lists [][]keyword
}

type keyword struct {
	text  string
	rules []int
}

func newKeywords(rules []*rule) *keywords {
	k := &keywords{lists: make([][]keyword, 1)}
	for i, r := range rules {
		for _, word := range r.keywords {
			at := &k.first[pair(word[0], word[1])] // a test holds that none is shorter
			if *at == 0 {
				k.lists = append(k.lists, nil)
				*at = uint16(len(k.lists) - 1)
			}
			list := &k.lists[*at]
			found := false
			for j := range *list {
				if (*list)[j].text == word {
					(*list)[j].rules = append((*list)[j].rules, i)
					found = true
				}
			}
			if !found {
				*list = append(*list, keyword{word, []int{i}})
			}
		}
	}
	return k
}

func pair(a, b byte) int { return int(a)<<8 | int(b) }

// find returns, by rule, where its keywords stand in a text in lower case, in order.
func (k *keywords) find(lower string) map[int][]int {
	var hits map[int][]int
	for at := 0; at+1 < len(lower); at++ {
		list := k.first[pair(lower[at], lower[at+1])]
		if list == 0 {
			continue
		}
		for _, word := range k.lists[list] {
			if strings.HasPrefix(lower[at:], word.text) {
				if hits == nil {
					hits = map[int][]int{}
				}
				for _, r := range word.rules {
					hits[r] = append(hits[r], at)
				}
			}
		}
	}
	return hits
}

type window struct{ from, to int }

const (
	// Windows are this much wider than the longest match: a keyword need not be part of it.
	windowMargin = 100
	// From here on a window is the whole text.
	windowMost = 4 << 10
	nearBytes  = 40
)

// windows returns the parts of text in which the rule may match, given where its keywords stand. They end
// between words, so that an expression's own bounds mean the same, and do not overlap.
func (r *rule) windows(text string, hits []int) []window {
	r.expr()
	whole := r.longest < 0 || r.longest > windowMost
	var ws []window
	for _, at := range hits {
		if r.near != "" && !strings.ContainsAny(text[at:min(len(text), at+nearBytes)], r.near) {
			continue
		}
		if whole {
			return []window{{0, len(text)}}
		}
		from, to := max(0, at-r.longest-windowMargin), min(len(text), at+r.longest+windowMargin)
		for n := 0; from > 0 && n < windowMargin && !space(text[from-1]); n++ {
			from--
		}
		for n := 0; to < len(text) && n < windowMargin && !space(text[to]); n++ {
			to++
		}
		for from > 0 && !utf8.RuneStart(text[from]) {
			from--
		}
		for to < len(text) && !utf8.RuneStart(text[to]) {
			to++
		}
		if n := len(ws); n > 0 && from <= ws[n-1].to {
			ws[n-1].to = max(ws[n-1].to, to)
		} else {
			ws = append(ws, window{from, to})
		}
	}
	return ws
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// longest is the length of an expression's longest match in bytes, -1 where there is no bound.
func longest(expr string) int {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return -1
	}
	return longestOf(re)
}

func longestOf(re *syntax.Regexp) int {
	sum, most := 0, 0
	for _, sub := range re.Sub {
		n := longestOf(sub)
		if n < 0 {
			return -1
		}
		sum += n
		most = max(most, n)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return 2 * len(re.Rune) // folded, a letter may have two bytes or three
	case syntax.OpCharClass:
		if n := len(re.Rune); n > 0 && re.Rune[n-1] > 0x2fff {
			return utf8.UTFMax
		}
		return 1
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpStar, syntax.OpPlus:
		return -1
	case syntax.OpRepeat:
		if re.Max < 0 {
			return -1
		}
		return sum * re.Max
	case syntax.OpAlternate:
		return most
	}
	return sum // concatenations, groups, options; nothing for what has no width
}
