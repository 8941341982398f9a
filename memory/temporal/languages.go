package temporal

import (
	"time"
	"unicode"
	"unicode/utf8"
)

// A rule set reads the time expressions of one language. To add one: a file with its grammar, which ends
// in nodes and points for a reader to place (reading.go, placing.go), and a row here. Rule sets are chosen
// by the scripts of the text, which costs one look at its bytes; a text in two scripts is read by both.

type ruleSet struct {
	name string
	when script // any of these scripts in the text
	find func(r *Resolver, text string, ref time.Time) []Mention
}

var ruleSets = []ruleSet{
	{"en", latin, (*Resolver).english},
	{"zh", han, (*Resolver).chinese},
}

// script is a set of scripts. Figures count as latin.
type script uint8

const (
	latin script = 1 << iota
	han
)

func scripts(text string) (s script) {
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' {
				s |= latin
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if c >= 0xE3 && unicode.Is(unicode.Han, r) {
			s |= han
		}
		i += n
	}
	return s
}

// scan runs the rule sets of the scripts that occur in text.
func (r *Resolver) scan(text string, ref time.Time) (out []Mention) {
	s := scripts(text)
	for _, set := range ruleSets {
		if set.when&s == 0 {
			continue
		}
		if found := set.find(r, text, ref); out == nil {
			out = found
		} else if found != nil {
			out = merge(out, found)
		}
	}
	return out
}

// merge joins two lists in text order; where two overlap the longer stays.
func merge(a, b []Mention) []Mention {
	var out []Mention
	for len(a) > 0 || len(b) > 0 {
		var m Mention
		if len(b) == 0 || len(a) > 0 && a[0].From <= b[0].From {
			m, a = a[0], a[1:]
		} else {
			m, b = b[0], b[1:]
		}
		if n := len(out); n > 0 && m.From < out[n-1].To {
			if m.To-m.From > out[n-1].To-out[n-1].From {
				out[n-1] = m
			}
			continue
		}
		out = append(out, m)
	}
	return out
}
