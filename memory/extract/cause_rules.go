package extract

import "strings"

// A cue is a row of the table below: words, what they state, and what must hold around them. Each
// word of a pattern is a list of alternatives; a trailing ? makes it optional. Longer patterns
// stand before shorter ones of the same first word. Confidences are estimates, made by
// reading what each cue said in dialogue and news, not measured shares: they order edges and let a
// caller cut. Bare purposes ("to show") stand under 0.6, reasons proper over 0.7.
type cue struct {
	pattern [][]string
	kind    string
	shape   shape
	conf    float64
	kept    int // words of the cue that belong to the half before it: "arrested" of "arrested for"
	ok      func(c *causer, s sentence, i, end int) bool
}

type shape uint8

const (
	causeRight  shape = iota // E cue C; first in the sentence: cue C, E
	effectRight              // C cue E; first in the sentence: the sentence before is C
	effectVerb               // subject cue object: C must be there, in this sentence
	causeVerb                // subject cue by C
	deedLeft                 // purpose: deed cue motive; first in the sentence: cue motive, deed
	causeBack                // cue C, of what was said just before: that's because
	meansOf                  // cue E by doing C
	reasonIs                 // the reason that E is C: the halves stand the other way round
)

func row(kind string, sh shape, conf float64, pattern string, ok func(c *causer, s sentence, i, end int) bool) cue {
	r := cue{kind: kind, shape: sh, conf: conf, ok: ok}
	for _, w := range strings.Fields(pattern) {
		r.pattern = append(r.pattern, strings.Split(w, "|"))
	}
	return r
}

// keeping is row with a first word that says what happened.
func keeping(kind string, sh shape, conf float64, pattern string, ok func(c *causer, s sentence, i, end int) bool) cue {
	r := row(kind, sh, conf, pattern, ok)
	r.kept = 1
	return r
}

var cueIndex = indexCues()

var cueTable = []cue{
	row("result", effectRight, 0.85, "because|due|thanks|owing of|to this|that|it|which", backRef),
	// What was said before is the effect.
	row("because", causeBack, 0.85, "that's|it's|this|that|it is|was|? because|cuz|'cause of?", notDenied),
	row("because", causeBack, 0.8, "which is|was because of?", notDenied),

	// Reasons.
	row("because", causeRight, 0.9, "because of", becauseOK),
	row("because", causeRight, 0.9, "because|becuase|beacuse|becoz", becauseOK),
	row("because", causeRight, 0.8, "cuz|coz|bcuz|bcoz|bc", becauseOK),
	row("because", causeRight, 0.75, "cause|cos", slangCause),
	row("since", causeRight, 0.75, "since", causalSince),
	row("because", causeRight, 0.7, "given that", nil),
	row("because", causeRight, 0.75, "on account of", notDenied),
	row("because", causeRight, 0.75, "for fear of|that", notDenied),
	row("because", causeRight, 0.7, "for lack|want of", notDenied),
	row("because", causeRight, 0.6, "seeing as|that", clauseNext),
	row("due to", causeRight, 0.85, "due to", dueTo),
	row("due to", causeRight, 0.8, "owing to", owingTo),
	row("due to", causeRight, 0.8, "thanks to", thanksTo),
	row("due to", causeRight, 0.85, "as a|the|an direct|natural|immediate|? result|consequence of", notDenied),
	row("due to", causeRight, 0.7, "in response|reaction|retaliation to|for", notDenied),
	row("due to", causeRight, 0.65, "in the wake|aftermath of", nil),
	row("due to", causeRight, 0.7, "in view|light of", notDenied),
	row("due to", causeRight, 0.65, "in anticipation of", nil),
	row("due to", causeRight, 0.75, "in retaliation|protest|revenge|retribution for|of|at|against|over|to", nil),
	row("due to", causeRight, 0.6, "in memory|honor|honour|solidarity|support of|with", nil),
	row("due to", causeRight, 0.7, "out of fear|concern|spite|necessity|desperation|frustration", nil),
	keeping("due to", causeRight, 0.65, "protest|protests|protested|protesting|arrested|detained|fired|sacked|suspended|sued|jailed|criticised|criticized|outrage|outraged|anger|angry|angered|furious|irked|resigned|dispute|row|strike|concern|concerns|fears|tension|tensions|demonstrations|rally|rallies|clashed|clashes|unrest|accused|condemned over", notOver),
	keeping("due to", causeRight, 0.65, "arrested|jailed|fined|sued|fired|punished|detained|criticised|criticized|sentenced|praised|sacked|suspended|disqualified|blamed|grounded|scolded for", eventFor),

	// Passive causes.
	keeping("verb", causeVerb, 0.9, "caused by", notDenied),
	keeping("verb", causeVerb, 0.85, "triggered|sparked|prompted|provoked|fuelled|fueled|spurred|ignited|brought on? by", notDenied),
	keeping("verb", causeVerb, 0.85, "brought about|on by", notDenied),
	keeping("verb", causeVerb, 0.6, "driven|motivated by", notDenied),
	row("verb", causeVerb, 0.85, "result|results|resulted|resulting|stem|stems|stemmed|stemming from", resultFrom),
	row("verb", causeVerb, 0.7, "arose|arises|arising from", notDenied),
	keeping("verb", causeVerb, 0.75, "attributed|blamed to|on", attributed),
	row("verb", causeVerb, 0.7, "is|was|are|were down to", nil),

	// Repairs: what mended it is the cause of its being mended.
	keeping("fix", causeVerb, 0.8, "fixed|resolved|solved|cured|mitigated|remedied|repaired by", meansBy),

	row("fix", meansOf, 0.75, "fixed|fixes|fix|resolved|solved|mitigated|cured|reduced|prevented", notDenied),
	keeping("verb", causeVerb, 0.7, "blocked|delayed|broken|introduced by", hinderedBy),

	// Results.
	row("result", effectRight, 0.85, "that's|thats|this|that|which|here's is|was|? exactly|probably|also|partly|mainly|? why", whyResult),
	row("result", effectVerb, 0.75, "is|was|are|were exactly|partly|also|? the? main|real|only|? reason why|that|?", reasonWhy),
	row("result", effectVerb, 0.7, "is|was exactly|partly|also|? why", whyVerb),
	row("result", effectRight, 0.85, "as a|the|an direct|natural|immediate|? result|consequence", resultLink),
	row("result", effectRight, 0.75, "consequently|therefore|thus|hence|accordingly", linkWord),
	row("result", effectRight, 0.8, "for that|this reason", resultLink),
	row("result", effectRight, 0.7, "no wonder", wonder),
	row("result", effectVerb, 0.65, "which means|meant that?", clauseNext),
	row("purpose", deedLeft, 0.7, "so", soCan),
	row("so", effectRight, 0.7, "so", resultSo),

	// Verbs of causing.
	row("verb", effectVerb, 0.85, "led|leads|leading to", ledTo),
	row("verb", effectVerb, 0.7, "lead to", leadTo),
	row("verb", effectVerb, 0.85, "result|results|resulted|resulting in", resultIn),
	row("verb", effectVerb, 0.8, "gave|give|gives|giving rise to", notDenied),
	row("verb", effectVerb, 0.8, "brought|brings|bringing about", notDenied),
	row("verb", effectVerb, 0.85, "caused|causing", causedVerb),
	row("verb", effectVerb, 0.75, "causes", causesVerb),
	row("verb", effectVerb, 0.65, "cause", causeVerbBase),
	row("verb", effectVerb, 0.8, "triggered|triggers|triggering|sparked|sparking|sparks|provoked|provoking|spurred|spurring|ignited|prompted|prompting", activeVerb),
	row("verb", effectVerb, 0.6, "contributed|contributes|contributing to", contributed),
	row("verb", effectVerb, 0.75, "forced|forces|forcing|compelled|compelling", objectTo),
	row("verb", effectVerb, 0.65, "inspired|inspires|inspiring|motivated|motivates|motivating|convinced|encouraged|drove|pushed|allowed|allowing|enabled|enabling|prompted|prompting|pushing|driving|encouraging", objectTo),
	row("verb", effectVerb, 0.7, "made|makes|making", madeDo),
	row("verb", effectVerb, 0.7, "so", soThat),

	// Purposes.
	row("purpose", deedLeft, 0.75, "so that", purposeSo),
	row("purpose", deedLeft, 0.75, "in order to|that|for", purposeTo),
	row("purpose", deedLeft, 0.75, "so as not? to", purposeTo),
	row("purpose", deedLeft, 0.7, "in an|a effort|bid|attempt to", purposeTo),
	row("purpose", deedLeft, 0.65, "with the aim|goal|intention|intent|purpose|hope of", purposeTo),
	row("purpose", deedLeft, 0.6, "for the sake|purpose of", purposeTo),
	row("purpose", deedLeft, 0.65, "demanding", demandingWhat),
	row("due to", causeRight, 0.7, "on suspicion|charges of", nil),
	row("purpose", deedLeft, 0.65, "to avoid|prevent|stop|protest|demand|denounce|commemorate|oppose|ensure|protect|condemn|mourn|pressure|pressurise|pressurize|urge", purposeBare),
	row("purpose", deedLeft, 0.55, "to raise|reduce|celebrate|honor|honour|support|press|show|express|seek|highlight|voice|save|improve|persuade|mark|push|restore|quell|disperse|block|create|promote", purposeBare),
}

// indexCues maps each first word to its rows, in table order, behind the row of "the reason E is C",
// whose halves stand the other way round and which reason reads.
func indexCues() map[string][]cue {
	idx := map[string][]cue{}
	table := append([]cue{{pattern: [][]string{{"reason", "reasons", "cause"}}, kind: "because", conf: 0.85, shape: reasonIs}}, cueTable...)
	for _, r := range table {
		first := r.pattern[0]
		for _, w := range first {
			idx[w] = append(idx[w], r)
		}
	}
	return idx
}

// match is the index behind the pattern at i, -1 where it does not stand there. Comma and dash may
// not stand inside a cue.
func (r *cue) match(c *causer, s sentence, i int) int {
	k := i
	for n, alts := range r.pattern {
		optional := alts[len(alts)-1] == "" || strings.HasSuffix(alts[len(alts)-1], "?")
		hit := false
		if k < s.to && c.toks[k].word && (n == 0 || c.toks[k].glued || c.toks[k-1].word) {
			w := c.toks[k].low
			for _, a := range alts {
				if a != "?" && (a == w || len(a) == len(w)+1 && a[len(w)] == '?' && a[:len(w)] == w) {
					hit = true
					break
				}
			}
		}
		if hit {
			k++
		} else if !optional {
			return -1
		}
	}
	if k == i {
		return -1
	}
	return k
}

// hasCue is the pre-filter: whether any word of text opens a pattern and, where all patterns of the
// word have a second one, that follows. It allocates nothing.
func hasCue(text string) bool {
	var buf [16]byte
	for i := 0; i < len(text); {
		c := text[i] | 0x20
		if c < 'a' || c > 'z' {
			i++
			continue
		}
		n := 0
		for i < len(text) {
			b := text[i]
			if b == 0xE2 && i+2 < len(text) && text[i+1] == 0x80 && text[i+2] == 0x99 { // ’
				b = '\''
				i += 2
			}
			if l := b | 0x20; l >= 'a' && l <= 'z' {
				b = l
			} else if b != '\'' {
				break
			}
			if n < len(buf) {
				buf[n] = b
			}
			n++
			i++
		}
		if n < 2 || n > len(buf) {
			continue
		}
		if _, ok := cueIndex[string(buf[:n])]; !ok {
			continue
		}
		if weak, ok := weakFirst[string(buf[:n])]; ok && !followed(text[i:], weak) {
			continue
		}
		return true
	}
	return false
}

// weakFirst lists first words too common to be worth a scan unless one of these follows at once.
var weakFirst = map[string][]string{
	"to": {"avoid", "prevent", "stop", "protest", "demand", "denounce", "commemorate", "oppose", "ensure", "protect", "condemn", "mourn", "pressur", "urge", "raise", "reduce", "celebrate", "hono", "support", "press", "show", "express", "seek", "highlight", "voice", "save", "improve", "persuade", "mark", "push", "restore", "quell", "disperse", "block", "create", "promote"},
	"is": {"the", "why", "exactly", "partly", "also", "main", "real", "only", "reason", "down"}, "was": {"the", "why", "exactly", "partly", "also", "main", "real", "only", "reason", "down"},
	"are": {"the", "down", "reason", "main"}, "were": {"the", "down", "reason", "main"},
	"in": {"order", "an ", "a ", "response", "reaction", "retaliation", "the wake", "the aftermath", "view", "light", "anticipation", "protest", "revenge", "retribution", "memory", "hono", "solidarity", "support"},
	"as": {"a ", "the ", "an "}, "for": {"fear", "lack", "want", "that", "this", "the "}, "with": {"the "}, "on": {"account", "suspicion", "charges"}, "out": {"of"}, "no": {"wonder"},
	"it": {"is b", "was b", "is c", "was c", "because"}, "it's": {"because", "cuz", "'cause"}, "this": {"is", "was", "why", "because"}, "that": {"is", "was", "why", "because"},
	"that's": {"why", "because", "exactly", "probably", "also", "partly", "mainly", "cuz", "'cause"}, "which": {"is", "was", "why", "means", "meant"},
}

func followed(rest string, words []string) bool {
	i := 0
	for i < len(rest) && (rest[i] == ' ' || rest[i] == '\n' || rest[i] == '\t') {
		i++
	}
	rest = rest[i:]
	for _, w := range words {
		if len(rest) >= len(w) && strings.EqualFold(rest[:len(w)], w) {
			return true
		}
	}
	return false
}

// apply reads the halves of the statement whose cue is [i, end) in sentence n.
func (r *cue) apply(c *causer, n, i, end int) (Cause, bool) {
	s := c.sents[n]
	if r.shape == reasonIs {
		return c.reason(s, i)
	}
	if r.ok != nil && !r.ok(c, s, i, end) {
		return Cause{}, false
	}
	opening := c.opener(s, i)
	x := Cause{}
	switch r.shape {
	case meansOf:
		k := c.gerundBy(s, end)
		if k < 0 || !opening && c.words(c.left(s, i), i) > 6 {
			return x, false
		}
		x.Effect, x.Cause = c.half(c.left(s, i), k), c.half(k+1, c.right(s, k+1))
	case causeBack:
		if !opening || c.words(end, s.to) < 1 {
			return x, false
		}
		x.Cause = c.half(end, c.right(s, end))
		if p, ok := c.before(n); ok {
			x.Effect = p
		} else {
			x.Prior = EffectSide
		}
	case causeRight, deedLeft:
		if c.words(end, s.to) < 1 {
			return x, false
		}
		if !opening {
			l := c.left(s, i)
			x.Effect, x.Cause = c.half(l, i+r.kept), c.half(end, c.right(s, end))
			break
		}
		if k := c.comma(s, end); k >= 0 {
			x.Cause, x.Effect = c.half(end, k), c.half(k+1, c.right(s, k+1))
			break
		}
		if k := c.inner(s, end); r.kind == "due to" && k > 0 { // "As a result of the outage we added an alert."
			x.Cause, x.Effect, x.Confidence = c.half(end, k), c.half(k, c.right(s, k)), r.conf*0.85
			break
		}
		if r.kind == "purpose" || r.kind == "due to" || r.kind == "since" || c.words(end, s.to) < 2 && r.kind != "because" {
			return x, false
		}
		// "Because my ankle is swollen.": the rest of a reply.
		x.Cause = c.half(end, s.to)
		if p, ok := c.before(n); ok {
			x.Effect = p
		} else {
			x.Prior = EffectSide
		}
		x.Confidence = r.conf * 0.9
	case effectRight:
		if c.words(end, s.to) < 2 {
			return x, false
		}
		if opening {
			x.Effect = c.half(end, c.right(s, end))
			if p, ok := c.before(n); ok {
				x.Cause = p
			} else {
				x.Prior = CauseSide
			}
			break
		}
		x.Cause, x.Effect = c.half(c.left(s, i), i), c.half(end, c.right(s, end))
	case effectVerb:
		if opening && c.words(s.from, i) == 0 || c.words(end, s.to) < 1 {
			return x, false
		}
		l, r0 := c.left(s, i), i
		if c.words(l, i) == 0 {
			return x, false
		}
		x.Effect = c.half(end, c.right(s, end))
		if k := c.soSplit(s, i, end); k > 0 { // so ADJ that E
			r0 = k
			x.Effect = c.half(k+1, c.right(s, k+1))
		} else if v := c.pointer(s, i); v >= 0 {
			// "..., and it made me cry": the cause is what "it" points to.
			k := v
			for k > s.from && (!c.toks[k-1].word || c.toks[k-1].low == "and" || c.toks[k-1].low == "but" || c.toks[k-1].low == "so") {
				k--
			}
			if c.words(s.from, k) >= 2 {
				l, r0 = c.left(s, k), k
				x.Confidence = r.conf * 0.95
			} else if p, ok := c.before(n); ok {
				x.Cause, x.Confidence = p, r.conf*0.85
				break
			} else if c.opener(s, v) {
				x.Prior, x.Confidence = CauseSide, r.conf*0.8
				break
			}
		}
		if x.Cause = c.half(l, r0); c.words(l, r0) == 1 && c.filler(sentence{from: l, to: r0}) {
			return x, false
		}
	case causeVerb:
		if c.words(end, s.to) < 1 {
			return x, false
		}
		if opening { // "Triggered by X, Y"
			if k := c.comma(s, end); k >= 0 && r.kind == "verb" {
				x.Cause, x.Effect = c.half(end, k), c.half(k+1, c.right(s, k+1))
				break
			}
			x.Cause = c.half(end, c.right(s, end)) // "The login broke. Fixed by pinning it."
			if p, ok := c.before(n); ok {
				x.Effect = p
			} else {
				x.Prior = EffectSide
			}
			break
		}
		x.Effect, x.Cause = c.half(c.left(s, i), i+r.kept), c.half(end, c.right(s, end))
	}
	return x, true
}
