package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory"
)

var recallTool = Tool{
	Name:  "recall",
	Title: "Recall",
	Description: "Find what the memory holds about a question. Call it before answering anything about the user, earlier " +
		"conversations, decisions or work. Gives dated lines with refs, in reading order, within a token budget; confident " +
		"false means that nothing stored answers. Without query: pinned and newest.",
	readOnly: true,
	Properties: []Property{
		{Name: "query", Type: "string", Description: "The question, in plain words, with names rather than pronouns"},
		{Name: "project", Type: "string", Description: "Namespace; \"*\" asks all"},
		{Name: "limit", Type: "integer", Description: "Most memories (10)"},
		{Name: "max_tokens", Type: "integer", Description: "Size of the text (2000)"},
		{Name: "since", Type: "string", Description: "Only what occurred from then: date, RFC 3339 or words"},
		{Name: "until", Type: "string", Description: "Only what occurred before; a date includes its day"},
		{Name: "as_of", Type: "string", Description: "What held at that time"},
		{Name: "speaker", Type: "string", Description: "Only what they said"},
		{Name: "session", Type: "string", Description: "Only this conversation"},
		{Name: "kind", Type: "string", Description: "Only this kind"},
		{Name: "tags", Type: "array", Description: "Having all of these"},
		{Name: "entities", Type: "array", Description: "About all of these (names or ids)"},
		{Name: "intent", Type: "string", Enum: Intents, Description: "What is asked for (auto)"},
		{Name: "relations", Type: "array", Description: "Graphs to walk, of temporal, semantic, causal, entity (all)"},
		{Name: "include_superseded", Type: "boolean", Description: "Also what was replaced"},
		{Name: "explain", Type: "boolean", Description: "Add how it was found"},
	},
	Output: `{"type":"object","properties":{"intent":{"type":"string"},"window":` + windowSchema + `,` +
		`"confident":{"type":"boolean"},"memories":` + memoriesSchema + `,"elided":{"type":"array"},"omitted":{"type":"integer"},` +
		`"tokens":{"type":"integer"},"degraded":` + stringsSchema + `,"project":{"type":"string"},"trace":{"type":"object"}},` +
		`"required":["intent","window","confident","memories","omitted","tokens","project"]}`,
	answer: recall,
}

func recall(ctx context.Context, e memory.Engine, c *call) (answer, error) {
	q := memory.Question{
		Query:             c.text("query"),
		Limit:             c.number("limit", maxLimit),
		MaxTokens:         c.number("max_tokens", maxTokens),
		Intent:            c.choice("intent", Intents),
		Relations:         c.choices("relations", Relations),
		IncludeSuperseded: c.flag("include_superseded"),
		Explain:           c.flag("explain"),
		Filter: memory.Filter{
			Since:    c.text("since"),
			Until:    c.text("until"),
			AsOf:     c.text("as_of"),
			Speaker:  c.text("speaker"),
			Session:  c.text("session"),
			Kind:     c.text("kind"),
			Tags:     c.list("tags"),
			Entities: c.list("entities"),
		},
		From: c.session,
	}
	if err := c.project(&q.Project, true); err != nil {
		return answer{}, err
	}
	return askRecall(ctx, e, q)
}

func askRecall(ctx context.Context, e memory.Engine, q memory.Question) (answer, error) {
	r, err := e.Recall(ctx, q)
	if err != nil {
		return answer{}, err
	}
	r.Memories = present(r.Memories)
	if r.Text == "" {
		r.Text = fallbackText("Nothing stored answers this.", r.Memories)
	}
	return answer{r.Text, recallAnswer{r, q}}, nil
}

// recallAnswer shrinks by asking again with half the budget: the text and the list stay one.
type recallAnswer struct {
	memory.Recollection
	question memory.Question
}

func (a recallAnswer) shrink(ctx context.Context, e memory.Engine) (answer, error) {
	a.question.MaxTokens = halved(a.question.MaxTokens, 2000)
	a.question.Limit = halved(a.question.Limit, max(10, len(a.Memories)))
	return askRecall(ctx, e, a.question)
}

// halved is half of n, or of its default where it is 0, and at least 1.
func halved(n, byDefault int) int {
	if n == 0 {
		n = byDefault
	}
	return max(n/2, 1)
}

// present is list, never nil: structured content says [] and not null.
func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// fallbackText is a plain text block for an engine that gave none.
func fallbackText(empty string, memories []memory.Memory) string {
	if len(memories) == 0 {
		return empty
	}
	var b strings.Builder
	for _, m := range memories {
		fmt.Fprintf(&b, "[%s] %s, %s, %s\n%s\n", m.Ref, m.OccurredAt, m.Speaker, m.Project, Fence(m.Content))
	}
	return b.String()
}

// Fence prints stored text as quoted lines, so that it can neither end its own quotation nor pass
// for one of our headers.
func Fence(content string) string {
	return "> " + strings.ReplaceAll(strings.ReplaceAll(content, "\r", "\n"), "\n", "\n> ")
}
