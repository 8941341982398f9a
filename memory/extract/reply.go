package extract

import "strings"

// ReplyCauses lists what reply says about the cause or the result of what prev says: the first
// statement of a reply that leans back. Cue refers to reply. Exactly one half, the one named by
// Prior, refers to prev; the other refers to reply. Backward is always set.
//
//	prev "Why did you cancel?"  reply "Because my ankle is swollen."   effect in prev
//	prev "My ankle is swollen." reply "That's why you cancelled!"      cause in prev
//
// A reply to a why-question that carries no cue word counts with low confidence (CueKind "reply") if
// its first sentence is a statement; questions, refusals and bare interjections do not.
func ReplyCauses(prev, reply string) []Cause {
	if strings.TrimSpace(prev) == "" || strings.TrimSpace(reply) == "" {
		return nil
	}
	cued := hasCue(reply)
	asked := hasWhy(prev)
	if !cued && !asked {
		return nil
	}
	p := causer{text: prev, toks: scan(prev)}
	p.sentences()
	r := causer{text: reply, toks: scan(reply)}
	r.sentences()
	if len(p.sents) == 0 || len(r.sents) == 0 {
		return nil
	}
	back, isWhy := p.answered()
	if back.Empty() {
		return nil
	}
	// The first sentence of the reply that says something may lean back.
	for n := range r.sents {
		s := r.sents[n]
		if r.filler(s) {
			continue
		}
		if s.question {
			return nil
		}
		if cued {
			one := causer{text: reply, toks: r.toks, sents: []sentence{s}}
			one.sentence(0)
			for _, x := range one.out {
				if x.Prior == NoSide {
					// A whole statement in the reply to a why-question: its cause answers.
					if isWhy && (x.CueKind == "because" || x.CueKind == "due to" || x.CueKind == "since" || x.CueKind == "purpose") {
						return []Cause{{Cause: x.Cause, Effect: back, Cue: x.Cue, CueKind: x.CueKind, Backward: true, Prior: EffectSide, Confidence: x.Confidence}}
					}
					continue
				}
				if x.Prior == CauseSide {
					if isWhy { // "Why ...?" "That's why."
						return nil
					}
					x.Cause = back
				} else {
					x.Effect = back
					if isWhy {
						x.Confidence = min(0.95, x.Confidence+0.1)
					}
				}
				return []Cause{x}
			}
		}
		if !isWhy {
			return nil
		}
		return r.bareAnswer(s, back)
	}
	return nil
}

// bareAnswer takes the first statement of a reply to a why-question as the reason.
func (c *causer) bareAnswer(s sentence, effect Span) []Cause {
	from := s.from
	for from < s.to && (!c.toks[from].word || interjections.has(c.toks[from].low)) {
		from++
	}
	if c.words(from, s.to) < 3 {
		return nil
	}
	x := Cause{Cause: c.span(from, s.to), Effect: effect, CueKind: "reply", Backward: true, Prior: EffectSide, Confidence: 0.55}
	x.Cue = c.span(from, from+1)
	switch c.toks[from].low {
	case "to", "so": // "To see my sister."
		x.CueKind, x.Confidence = "purpose", 0.7
		return []Cause{x}
	case "maybe", "perhaps", "probably":
		x.Confidence = 0.4
	case "because", "since", "due", "cuz", "cause":
		x.CueKind, x.Confidence = "because", 0.85
		return []Cause{x}
	case "what", "why", "how", "who", "where", "when", "which", "do", "does", "did", "are", "is", "can", "could", "would", "if", "let's", "lets", "tell", "ask", "guess", "look", "come", "don't":
		return nil
	}
	for k := from; k < s.to && k < from+6; k++ {
		switch c.toks[k].low {
		case "dunno", "idk", "unsure", "matter", "question", "sure":
			return nil
		case "know", "remember", "think", "idea":
			if k > 0 && (strings.HasSuffix(c.toks[k-1].low, "n't") || c.toks[k-1].low == "not" || c.toks[k-1].low == "no") {
				return nil
			}
		}
	}
	return []Cause{x}
}

// answered is the sentence of a turn that a reply leans on: its last question, else its last
// statement; isWhy where the question asks for a reason.
func (c *causer) answered() (Span, bool) {
	for n := len(c.sents) - 1; n >= 0; n-- {
		s := c.sents[n]
		if c.words(s.from, s.to) == 0 {
			continue
		}
		if s.question {
			from, why := c.why(s)
			if why {
				if c.words(from, s.to) >= 2 {
					return c.span(from, s.to), true
				}
				// A bare "Why?" or "How come?" asks about the sentence before it.
				if p, ok := c.before(n); ok {
					return p, true
				}
				return Span{}, false
			}
		}
		if c.words(s.from, s.to) >= 2 || n == 0 {
			return c.span(s.from, s.to), false
		}
	}
	return Span{}, false
}

// why tells whether a question asks for a reason, and where what it asks about begins. "Why don't we"
// and "why not" propose.
func (c *causer) why(s sentence) (int, bool) {
	for k := s.from; k < s.to; k++ {
		switch c.toks[k].low {
		case "why", "why'd", "whyd":
			switch n := c.low(s, k+1); n {
			case "not":
				return 0, false
			case "don't", "dont", "wouldn't":
				if p := c.low(s, k+2); p == "we" || p == "you" {
					return 0, false
				}
			case "do", "should":
				if c.low(s, k+1) == "do" && c.low(s, k+2) == "you" && (c.low(s, k+3) == "ask" || c.low(s, k+3) == "say") {
					return k + 1, true
				}
			}
			return k + 1, true
		case "how":
			if c.low(s, k+1) == "come" {
				return k + 2, true
			}
		case "what":
			n := c.low(s, k+1)
			switch n {
			case "made", "caused", "prompted", "inspired", "motivated", "led", "triggered", "convinced":
				return k + 1, true
			case "is", "was", "were", "are":
				for j := k + 2; j < s.to && j <= k+5; j++ {
					if w := c.toks[j].low; w == "reason" || w == "cause" {
						return j + 1, true
					}
				}
			}
		case "what's", "whats":
			for j := k + 1; j < s.to && j <= k+4; j++ {
				if w := c.toks[j].low; w == "reason" || w == "cause" {
					return j + 1, true
				}
			}
		}
	}
	return 0, false
}

// hasWhy is the pre-filter of why.
func hasWhy(text string) bool {
	if strings.IndexByte(text, '?') < 0 && !strings.Contains(text, "？") {
		return false
	}
	for _, w := range [...]string{"why", "Why", "WHY", "ow come", "hat made", "hat caused", "hat prompted", "hat inspired", "hat motivated", "hat led", "hat triggered", "hat convinced", "reason", "cause"} {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}
