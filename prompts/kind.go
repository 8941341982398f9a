package prompts

import (
	"regexp"
	"strings"
)

// Kind is what sort of answer a question wants. It decides how answer_with_memory instructs.
type Kind string

const (
	Single  Kind = "single"  // one fact
	Several Kind = "several" // a list, a count, facts to be joined
	Time    Kind = "time"
	Reason  Kind = "reason"
	Open    Kind = "open" // a judgement, a summary, a guess from what is known
)

var (
	openWords = regexp.MustCompile(`(?i)^\s*(would|could|should|might|may|is it likely|do you think|describe|tell me|summari[sz]e|explain|compare|what do you (think|know)|what (can|could|might|would)|how (would|could|might|should|do(es)? .* feel)|who (is|was) )|\b(likely|probably|what kind of person|in your opinion)\b`)
	many      = regexp.MustCompile(`(?i)^\s*(list|name|enumerate)\b|\b(how many|how often|what are|what were|which (\w+ )?\w+s\b|what (\w+ )?\w+[^s\W]s (does|do|did|has|have|had|are|were|is|was|in)\b|all (the|of|of the)|both|each|every|in common|what else|who all|where (all|has|have)|kinds of|types of|sorts of)\b`)
	timeWords = regexp.MustCompile(`(?i)^\s*(when|how long|since when|until when|at what time|on what date|on which (day|date))\b|\b(what|which) (date|day|month|year|time|week)\b|\bhow long ago\b`)
	whyWords  = regexp.MustCompile(`(?i)^\s*(why|how come)\b|\b(what (made|caused|led|motivated|prompted|inspired)|reasons?|because of what|cause of)\b`)
)

// KindOf reads a question's kind from its words, and from intent (what recall took it to ask for)
// where the words leave it open.
func KindOf(question, intent string) Kind {
	q := strings.TrimSpace(question)
	switch {
	case whyWords.MatchString(q):
		return Reason
	case timeWords.MatchString(q):
		return Time
	case openWords.MatchString(q):
		return Open
	case many.MatchString(q):
		return Several
	case intent == "why":
		return Reason
	case intent == "when":
		return Time
	}
	return Single
}
