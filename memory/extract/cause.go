package extract

import "strings"

// Side names a half of a causal statement.
type Side string

// The halves.
const (
	NoSide     Side = ""
	CauseSide  Side = "cause"
	EffectSide Side = "effect"
)

// Cause is one causal statement that a cue word makes.
//
// For a purpose ("saved money so that she could travel") the motive is the cause and the deed the
// effect, since the motive is what answers "why": CueKind is then "purpose".
//
// Backward is set where one half lies in what was said before the text: "That's why I left." as the
// whole of a turn. Prior says which half; its span is empty from Causes, and refers to prev from
// ReplyCauses. All other spans refer to the text (of ReplyCauses: the reply).
type Cause struct {
	Cause, Effect Span
	Cue           Span
	CueKind       string // because, due to, result, verb, purpose, fix, so, reply
	Backward      bool
	Prior         Side
	Confidence    float64 // 0..1 that this is a causal statement of this direction
}

// Causes lists the causal statements of text, in the order of their cues. Only words that state a
// cause count: order in time never does, nor does a question, a negated cue ("not because") or a cue
// inside a quoted title. A text without a cue word costs one look at each of its words.
func Causes(text string) []Cause {
	if !hasCue(text) {
		return nil
	}
	c := causer{text: text, toks: scan(text)}
	c.sentences()
	for n := range c.sents {
		c.sentence(n)
	}
	return c.out
}

// sentence is tokens [from, to) without its closing punctuation.
type sentence struct {
	from, to int
	question bool
}

type causer struct {
	text  string
	toks  []token
	sents []sentence
	out   []Cause
}

// maxSentence bounds a sentence in tokens, so that the rules, which look to both of its ends, stay
// linear in the text. Written prose hardly passes 100.
const maxSentence = 160

func (c *causer) sentences() {
	for i := 0; i < len(c.toks); {
		j := i
		for j < len(c.toks) && c.toks[j].sent == c.toks[i].sent && j-i < maxSentence {
			j++
		}
		s := sentence{from: i, to: j}
		for s.to > s.from && !c.toks[s.to-1].word {
			if c.toks[s.to-1].is("?") || c.toks[s.to-1].is("？") {
				s.question = true
			}
			s.to--
		}
		for s.from < s.to && !c.toks[s.from].word {
			s.from++
		}
		if s.from < s.to {
			c.sents = append(c.sents, s)
		}
		i = j
	}
}

// span covers the words of tokens [i, j), punctuation at the ends left out; empty without a word.
func (c *causer) span(i, j int) Span {
	for i < j && !c.toks[i].word {
		i++
	}
	for j > i && !c.toks[j-1].word {
		j--
	}
	if i >= j {
		return Span{}
	}
	return Span{int(c.toks[i].from), int(c.toks[j-1].to)}
}

func (c *causer) words(i, j int) int {
	n := 0
	for ; i < j; i++ {
		if c.toks[i].word {
			n++
		}
	}
	return n
}

// half is the span of a clause without the conjunctions at its ends.
func (c *causer) half(i, j int) Span {
	for i < j && (!c.toks[i].word || c.words(i, j) > 1 && joints.has(c.toks[i].low) && (c.toks[i].low != "so" || subjects.has(c.toks[i+1].low))) {
		i++
	}
	for j > i && (!c.toks[j-1].word || c.words(i, j) > 1 && joints.has(c.toks[j-1].low)) {
		j--
	}
	return c.span(i, j)
}

var joints = words(`and but or so because mainly mostly partly probably simply largely primarily`)

// low is the lower-case word at i, "" outside [from, to) of s.
func (c *causer) low(s sentence, i int) string {
	if i < s.from || i >= s.to {
		return ""
	}
	return c.toks[i].low
}

// prevWord is the word before i in s, punctuation skipped.
func (c *causer) prevWord(s sentence, i int) string {
	for i--; i >= s.from; i-- {
		if c.toks[i].word {
			return c.toks[i].low
		}
	}
	return ""
}

// left is where the clause that ends at i begins: after the last strong break before it.
func (c *causer) left(s sentence, i int) int {
	for k := i - 1; k > s.from; k-- {
		t := c.toks[k]
		if t.word {
			if c.toks[k-1].word {
				continue
			}
			if t.low == "but" && k+1 < i && c.words(k+1, i) >= 2 {
				return k + 1
			}
			if (t.low == "and" || t.low == "so") && k+1 < i && subjects.has(c.toks[k+1].low) && c.words(k+1, i) >= 3 {
				return k + 1
			}
			continue
		}
		if (t.low == ";" || t.low == ":") && c.words(k+1, i) >= 2 {
			return k + 1
		}
	}
	return s.from
}

// right is where the clause that starts at i ends: before the next strong break.
func (c *causer) right(s sentence, i int) int {
	for k := i + 1; k < s.to; k++ {
		t := c.toks[k]
		if t.word {
			if (t.low == "but" || t.low == "which" || t.low == "although" || t.low == "though") && !c.toks[k-1].word {
				return k
			}
			if (t.low == "so" || t.low == "and") && !c.toks[k-1].word && k+1 < s.to && subjects.has(c.toks[k+1].low) {
				return k
			}
			continue
		}
		if t.low == ";" && c.words(i, k) >= 1 {
			return k
		}
	}
	return s.to
}

// comma is the first comma of [i, to) that closes the opening clause, -1 without one.
func (c *causer) comma(s sentence, i int) int {
	depth := 0
	for k := i; k < s.to; k++ {
		switch c.toks[k].low {
		case "(":
			depth++
		case ")":
			depth--
		case ",", "–", "—":
			if depth <= 0 && !c.toks[k].word && c.words(k+1, s.to) >= 2 && c.words(i, k) >= 1 {
				// "because, uh, it rained": not the comma of a filler.
				n := c.low(s, k+1)
				if interjections.has(n) && n != "man" && n != "all" || interjections.has(c.low(s, k-1)) && c.words(i, k) < 3 {
					continue
				}
				if n != "and" && n != "or" || c.words(i, k) >= 4 {
					return k
				}
			}
		}
	}
	return -1
}

// subjects open a clause of their own.
var subjects = words(`i i'm i've i'll i'd im ive we we're we've we'll we'd you you're you've you'll you'd he he's he'll he'd she she's she'll she'd it it's it'll it'd they they're they've they'll they'd
my our your his her their its the this that there there's these those everyone everybody someone nobody people`)

var pronouns = words(`i i'm i've i'll i'd im ive we we're we've we'll we'd you you're you've you'll you'd he he's he'll he'd she she's she'll she'd it it's it'll it'd they they're they've they'll they'd`)

func (c *causer) sentence(n int) {
	s := c.sents[n]
	if s.question {
		return
	}
	for i := s.from; i < s.to; i++ {
		t := &c.toks[i]
		if !t.word {
			continue
		}
		rs := cueIndex[t.low]
		for k := range rs {
			r := &rs[k]
			end := r.match(c, s, i)
			if end < 0 {
				continue
			}
			if c.titled(s, i, end) {
				break
			}
			got, ok := r.apply(c, n, i, end)
			if !ok {
				continue
			}
			got.Cue = c.span(i, end)
			got.CueKind = r.kind
			if got.Confidence == 0 {
				got.Confidence = r.conf
			}
			got.Confidence *= c.hedge(s)
			c.add(got)
			i = end - 1
			break
		}
	}
}

// add keeps a statement whose halves are there and are not those of the one before.
func (c *causer) add(x Cause) {
	if x.Cause.Empty() && x.Prior != CauseSide || x.Effect.Empty() && x.Prior != EffectSide {
		return
	}
	x.Backward = x.Prior != NoSide
	c.out = append(c.out, x)
}

// hedge weakens what is said under a condition or as a possibility.
func (c *causer) hedge(s sentence) float64 {
	if w := c.toks[s.from].low; w == "if" || w == "unless" || w == "imagine" || w == "suppose" {
		return 0.6
	}
	for i := s.from; i < s.to; i++ {
		if c.toks[i].low == "maybe" || c.toks[i].low == "perhaps" || c.toks[i].low == "might" {
			return 0.8
		}
	}
	return 1
}

// titled tells whether the cue [i, end) stands in quotation marks that hold a title or the bare word.
func (c *causer) titled(s sentence, i, end int) bool {
	open := -1
	for k := i - 1; k >= 0 && i-k <= 12 && c.toks[k].sent >= c.toks[i].sent-1; k-- {
		if w := c.toks[k].low; !c.toks[k].word && (w == `"` || w == "“" || w == "‘" || w == "«" || w == "'" || w == "*" || w == "`") {
			open = k
			break
		} else if w == "”" || w == "»" {
			return false
		}
	}
	if open < 0 {
		return false
	}
	closed := -1
	for k := end; k < len(c.toks) && k-open <= 14; k++ {
		if w := c.toks[k].low; !c.toks[k].word && (w == `"` || w == "”" || w == "’" || w == "»" || w == "'" || w == "*" || w == "`") {
			closed = k
			break
		}
	}
	if closed < 0 {
		return false
	}
	if open == i-1 && closed <= end {
		return true // the bare word
	}
	words, capital := 0, 0
	for k := open + 1; k < closed; k++ {
		if t := c.toks[k]; t.word && !functionWords.has(t.low) {
			words++
			if t.capital {
				capital++
			}
		}
	}
	return c.toks[closed-1].word && capital == words && c.words(open, closed) <= 10
}

// before is the sentence that a backward cue of sentence n leans on: the last one in the text that
// says something. ok is false where there is none.
func (c *causer) before(n int) (Span, bool) {
	for first := n - 8; n > 0 && n > first; {
		n--
		s := c.sents[n]
		if c.filler(s) {
			continue
		}
		if c.words(s.from, s.to) < 2 || s.question {
			return Span{}, false
		}
		return c.span(s.from, s.to), true
	}
	return Span{}, false
}

// filler tells whether s says nothing of its own: "Yep, Maria!", "For sure."
func (c *causer) filler(s sentence) bool {
	for k := s.from; k < s.to; k++ {
		if t := c.toks[k]; t.word && !interjections.has(t.low) && !fillers.has(t.low) && !(t.capital && !t.start) && !givenNames.has(t.base()) {
			return false
		}
	}
	return true
}

var fillers = words(`i know see get it that is was so a very much you you're too that's it's cool nice great awesome amazing of course lot for asking the question really couldn't agree more agreed and your mean true fair enough`)

// opener tells whether [from of s, i) holds nothing but words that may stand before a linking cue:
// "And that's why", "Well, as a result".
func (c *causer) opener(s sentence, i int) bool {
	for k := s.from; k < i; k++ {
		t := c.toks[k]
		if t.word && !interjections.has(t.low) && !linking.has(t.low) {
			return false
		}
	}
	return true
}

var linking = words(`and but so well now maybe perhaps probably mostly mainly partly guess honestly actually basically it's just also simply largely really only i think`)

// negated: the cue is denied: "not because", "isn't due to", "didn't lead to".
func (c *causer) negated(s sentence, i int) bool {
	for k := i - 1; k >= s.from; k-- {
		t := c.toks[k]
		if !t.word {
			return false
		}
		switch t.low {
		case "not", "never", "neither", "nor", "without":
			return true
		case "just", "only", "simply", "really", "necessarily", "directly", "ever", "have", "has", "be", "been", "always", "merely", "even", "the", "a", "entirely", "all":
			continue
		}
		return strings.HasSuffix(t.low, "n't")
	}
	return false
}
