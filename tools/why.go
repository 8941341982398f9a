package tools

import (
	"context"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory"
)

var whyTool = Tool{
	Name:  "why",
	Title: "Why",
	Description: "The causes of an event or decision as chains, each step with the words that state it. Call it for why, " +
		"what led to, what caused. found false means that no reason is stored, and the rest are only the closest memories.",
	readOnly: true,
	Properties: []Property{
		{Name: "query", Type: "string", Description: "What to explain, in plain words; or give id"},
		{Name: "id", Type: "string", Description: "Id or ref of the memory to explain"},
		{Name: "project", Type: "string", Description: "Namespace; \"*\" asks all"},
		{Name: "depth", Type: "integer", Description: "Longest chain (3)"},
		{Name: "limit", Type: "integer", Description: "Most memories (10)"},
		{Name: "max_tokens", Type: "integer", Description: "Size of the text (2000)"},
		{Name: "relations", Type: "array", Description: "As in recall"},
	},
	Output: `{"type":"object","properties":{"found":{"type":"boolean"},"chains":{"type":"array","items":{"type":"object","properties":{` +
		`"steps":{"type":"array","items":{"type":"object","properties":{"cause":{"type":"string"},"effect":{"type":"string"},` +
		`"origin":{"type":"string","enum":["stated","inferred"]},"confidence":{"type":"number"},"evidence":{"type":"string"},` +
		`"evidence_memory":{"type":"string"}},"required":["cause","effect","origin","confidence","evidence","evidence_memory"]}}},` +
		`"required":["steps"]}},"memories":` + briefMemoriesSchema + `,"degraded":` + stringsSchema + `,"project":{"type":"string"}},` +
		`"required":["found","chains","memories","project"]}`,
	answer: why,
}

func why(ctx context.Context, e memory.Engine, c *call) (answer, error) {
	q := memory.WhyQuestion{
		Query:     c.text("query"),
		ID:        strings.TrimSpace(c.text("id")),
		Depth:     c.number("depth", maxDepth),
		Limit:     c.number("limit", maxLimit),
		MaxTokens: c.number("max_tokens", maxTokens),
		Relations: c.choices("relations", Relations),
		From:      c.session,
	}
	if strings.TrimSpace(q.Query) == "" && q.ID == "" {
		c.complain("query or id: missing; give what to explain, or the id or ref of a memory")
	}
	if err := c.project(&q.Project, true); err != nil {
		return answer{}, err
	}
	return askWhy(ctx, e, q)
}

func askWhy(ctx context.Context, e memory.Engine, q memory.WhyQuestion) (answer, error) {
	r, err := e.Why(ctx, q)
	if err != nil {
		return answer{}, err
	}
	r.Chains, r.Memories = present(r.Chains), present(r.Memories)
	for i := range r.Chains {
		r.Chains[i].Steps = present(r.Chains[i].Steps)
	}
	if r.Text == "" {
		r.Text = fallbackText("No stored reason was found.", r.Memories)
	}
	return answer{r.Text, whyAnswer{r, q}}, nil
}

type whyAnswer struct {
	memory.WhyAnswer
	question memory.WhyQuestion
}

func (a whyAnswer) shrink(ctx context.Context, e memory.Engine) (answer, error) {
	a.question.MaxTokens = halved(a.question.MaxTokens, 2000)
	a.question.Limit = halved(a.question.Limit, max(10, len(a.Memories)))
	return askWhy(ctx, e, a.question)
}
