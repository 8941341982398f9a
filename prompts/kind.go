package prompts

import (
	"regexp"

	"github.com/magma-mcp/magma-mcp/memory/query"
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

// supposes finds a question that no single memory can answer, because it asks what would be.
var supposes = regexp.MustCompile(`(?i)^\s*(would|could|might|should)\b|\b(what|who|how|which|where)( \w+)? (would|could|might)\b|\b(likely|probably|in your opinion|do you think)\b`)

// shared finds a question about what two have alike: one fact of each.
var shared = regexp.MustCompile(`(?i)\b(in common|both|each other|all of (them|us))\b`)

// KindOf reads a question's kind from its words, as the query path's own router reads them.
func KindOf(question string) Kind {
	r := query.RouteQuestion(question)
	switch {
	case r.Intent == query.Why:
		return Reason
	case r.Kind == query.Duration, r.Intent == query.When && r.Kind != query.Order:
		return Time
	case supposes.MatchString(question), r.Kind == query.Open:
		return Open
	case r.Kind == query.Several, shared.MatchString(question):
		return Several
	case r.Kind == query.Order, r.Intent == query.When:
		return Time
	}
	return Single
}
