package extract

import "strings"

// Statements whose halves do not stand left and right of the cue: the reason that E is C, the cause of E
// was C, so ADJ that E; and what a pronoun before a cue points to.

// reason reads "the reason (why) E is (that|because) C" and "one reason for E was C".
func (c *causer) reason(s sentence, i int) (Cause, bool) {
	x := Cause{}
	if c.low(s, i) == "cause" {
		return c.rootCause(s, i)
	}
	d := c.prevWord(s, i)
	switch d {
	case "the", "main", "real", "only", "one", "another", "big", "biggest", "first", "second", "my", "his", "her", "their", "our", "whole", "other":
	default:
		return x, false
	}
	from := i + 1
	switch c.low(s, from) {
	case "why", "that", "for", "behind", "being":
		from++
	}
	if c.low(s, i+1) == "being" {
		return x, false
	}
	for k := from + 1; k < s.to; k++ {
		switch c.low(s, k) {
		case "is", "was", "are", "were":
			n := k + 1
			switch c.low(s, n) {
			case "because", "that", "the", "a", "an", "due", "my", "our", "his", "her", "their", "to":
			default:
				continue
			}
			if w := c.low(s, n); w == "because" || w == "that" {
				n++
			} else if c.low(s, i+1) != "for" && c.low(s, i+1) != "why" && c.low(s, i+1) != "behind" {
				return x, false
			}
			x.Effect, x.Cause = c.half(from, k), c.half(n, c.right(s, n))
			return x, c.words(from, k) >= 1 && c.words(n, s.to) >= 1
		}
	}
	return x, false
}

// rootCause reads "the cause of E was C" and "E, root cause was C".
func (c *causer) rootCause(s sentence, i int) (Cause, bool) {
	x := Cause{}
	d := i
	for d > s.from && c.toks[d-1].word {
		w := c.toks[d-1].low
		if w != "the" && w != "root" && w != "main" && w != "likely" && w != "probable" && w != "real" && w != "its" && w != "underlying" {
			break
		}
		d--
	}
	if d == i {
		return x, false
	}
	verb := i + 1
	if c.low(s, verb) == "of" {
		for verb < s.to && verb < i+12 && !copula.has(c.low(s, verb)) {
			verb++
		}
	}
	n := verb + 1
	if !copula.has(c.low(s, verb)) || n >= s.to || c.negated(s, n) {
		return x, false
	}
	switch w := c.low(s, n); w {
	case "a", "an", "the", "that", "our", "my", "his", "her", "their", "missing", "bad", "stale", "too", "two":
	default:
		if t := c.toks[n]; !(t.word && (t.inner || t.capital || strings.HasSuffix(w, "ing"))) {
			return x, false
		}
	}
	if c.low(s, n) == "the" && c.low(s, n+1) == "same" {
		return x, false
	}
	x.Cause = c.half(n, c.right(s, n))
	switch {
	case c.low(s, i+1) == "of":
		x.Effect = c.half(i+2, verb)
	case c.opener(s, d):
		for k := range c.sents {
			if c.sents[k].from == s.from {
				if p, ok := c.before(k); ok {
					x.Effect = p
				} else {
					x.Prior = EffectSide
				}
			}
		}
	default:
		x.Effect = c.half(c.left(s, d), d)
	}
	return x, true
}

var copula = words(`is was are were`)

// inner is where a main clause starts without a comma, behind a noun phrase: at a pronoun two words or
// more in.
func (c *causer) inner(s sentence, from int) int {
	for k := from + 2; k < s.to; k++ {
		if !c.toks[k].word {
			return 0
		}
		if w := c.toks[k].low; pronouns.has(w) && !functionWords.has(c.toks[k-1].low) {
			if c.words(k, s.to) < 3 {
				return 0
			}
			return k
		}
	}
	return 0
}

// pointer is the index of the it, that, this or which that is the subject of the verb at i, adverbs
// between; -1 where the subject is another.
func (c *causer) pointer(s sentence, i int) int {
	for k := i - 1; k >= s.from && k >= i-4; k-- {
		switch c.toks[k].low {
		case "it", "that", "this", "which":
			if k == s.from || !c.toks[k-1].word || c.toks[k-1].low == "and" || c.toks[k-1].low == "but" || c.toks[k-1].low == "so" {
				return k
			}
			return -1
		case "really", "just", "always", "even", "also", "has", "had", "have", "only", "then", "sometimes", "often", "would", "could", "can", "might", "may", "will", "definitely", "truly", "totally", "eventually", "finally", "in", "fact":
		default:
			return -1
		}
	}
	return -1
}

// soSplit is the index of "that" in "so tired that E", 0 for any other cue.
func (c *causer) soSplit(s sentence, i, end int) int {
	if c.toks[i].low != "so" || end != i+1 {
		return 0
	}
	for k := i + 2; k < s.to && k <= i+5; k++ {
		if !c.toks[k].word {
			return 0
		}
		if c.toks[k].low == "that" {
			return k
		}
	}
	return 0
}
