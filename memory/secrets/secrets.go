// Package secrets answers: does this text hold a key or a password, and where? It finds and masks; what to
// do about it (warn, mask, refuse) is its caller's policy.
//
// The rules for keys are gitleaks' (rules/README.md), read as data: the library itself would add 7 MB and
// two hundred modules to the program and 37 ms to its start. To them come a few of our own for what people
// write to an assistant rather than into code: "the wifi password is ...", and passwords inside URLs.
//
// A rule is found by its keywords first; only then does its expression run, which is compiled the first
// time. The rule set is read when Find is first called.
package secrets

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Finding is a secret in a text: the bytes [From, To), and the id of the rule that found it, such as
// "github-pat".
type Finding struct {
	Rule     string
	From, To int
}

// Find returns the secrets of text in order; they do not overlap. It is safe for concurrent use.
func Find(text string) []Finding {
	lower := strings.ToLower(text)
	if len(lower) != len(text) {
		lower = asciiLower(text)
	}
	l := load()
	hits := l.words.find(lower)
	var found []Finding
	for i, r := range l.rules {
		switch {
		case len(r.keywords) == 0:
			found = r.find(text, 0, len(text), found)
		case len(hits[i]) > 0:
			for _, w := range r.windows(text, hits[i]) {
				found = r.find(text, w.from, w.to, found)
			}
		}
	}
	return settle(found)
}

// Mask returns text with each finding replaced by "[secret: rule]". The findings are those of Find for the
// same text.
func Mask(text string, findings []Finding) string {
	var b strings.Builder
	at := 0
	for _, f := range findings {
		if f.From < at || f.To > len(text) {
			continue
		}
		b.WriteString(text[at:f.From])
		b.WriteString("[secret: " + f.Rule + "]")
		at = f.To
	}
	b.WriteString(text[at:])
	return b.String()
}

// Describe says in a sentence what a rule finds; "" for an unknown one.
func Describe(rule string) string {
	for _, r := range ruleSet() {
		if r.id == rule {
			return r.description
		}
	}
	return ""
}

// asciiLower lowers ASCII letters alone, so that offsets stay: some letters change their length.
func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// settle sorts findings and resolves overlaps: a particular rule wins over a general one, then the longer
// finding, then the id.
func settle(found []Finding) []Finding {
	general := func(f Finding) int {
		if strings.HasPrefix(f.Rule, "generic") || strings.HasPrefix(f.Rule, "password") {
			return 1
		}
		return 0
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(general(a), general(b)), cmp.Compare(b.To-b.From, a.To-a.From),
			cmp.Compare(a.From, b.From), cmp.Compare(a.Rule, b.Rule))
	})
	var kept []Finding
	for _, f := range found {
		if !slices.ContainsFunc(kept, func(k Finding) bool { return f.From < k.To && k.From < f.To }) {
			kept = append(kept, f)
		}
	}
	slices.SortFunc(kept, func(a, b Finding) int { return cmp.Compare(a.From, b.From) })
	return kept
}

// find looks for the rule in text[lo:hi].
func (r *rule) find(text string, lo, hi int, found []Finding) []Finding {
	for _, m := range r.expr().FindAllStringSubmatchIndex(text[lo:hi], -1) {
		for i := range m {
			if m[i] >= 0 {
				m[i] += lo
			}
		}
		from, to := m[0], m[1]
		if g := r.secretGroup; g > 0 && 2*g < len(m) && m[2*g] >= 0 {
			from, to = m[2*g], m[2*g+1]
		} else if g == 0 {
			for i := 2; i < len(m); i += 2 { // the first group that took part
				if m[i] >= 0 && m[i+1] > m[i] {
					from, to = m[i], m[i+1]
					break
				}
			}
		}
		if r.trim != nil {
			from, to = r.trim(text, from, to)
		}
		secret := text[from:to]
		if secret == "" || r.entropy > 0 && entropy(secret) <= r.entropy {
			continue
		}
		if r.allowed(secret, text[m[0]:m[1]], text, m) {
			continue
		}
		found = append(found, Finding{r.id, from, to})
	}
	return found
}

func (r *rule) allowed(secret, match, text string, m []int) bool {
	if r.accept != nil && !r.accept(secret) {
		return true
	}
	for _, a := range slices.Concat(globalAllowed(), r.allow) {
		target := secret
		switch a.target {
		case "match":
			target = match
		case "line":
			from := strings.LastIndexByte(text[:m[0]], '\n') + 1
			to := len(text)
			if n := strings.IndexByte(text[m[1]:], '\n'); n >= 0 {
				to = m[1] + n
			}
			target = text[from:to]
		}
		if a.allows(secret, target) {
			return true
		}
	}
	return false
}

func (a *allowance) allows(secret, target string) bool {
	byExpr := slices.ContainsFunc(a.exprs(), func(re *regexp.Regexp) bool { return re.MatchString(target) })
	low := strings.ToLower(secret)
	byWord := slices.ContainsFunc(a.stopwords, func(w string) bool { return strings.Contains(low, w) })
	if a.all {
		return !a.paths && (len(a.regexes) == 0 || byExpr) && (len(a.stopwords) == 0 || byWord)
	}
	return byExpr || byWord
}

// entropy is Shannon's, in bits per character.
func entropy(s string) float64 {
	counts := map[rune]int{}
	n := 0
	for _, c := range s {
		counts[c]++
		n++
	}
	chars := make([]int, 0, len(counts)) // summed in one order
	for _, c := range counts {
		chars = append(chars, c)
	}
	slices.Sort(chars)
	var sum float64
	for _, c := range chars {
		p := float64(c) / float64(n)
		sum -= p * math.Log2(p)
	}
	return sum
}
