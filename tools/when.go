package tools

import (
	"context"

	"github.com/magma-mcp/magma-mcp/memory"
)

var whenTool = Tool{
	Name:  "when",
	Title: "When",
	Description: "The time of something as dates, relative words (\"last week\") already resolved, best answer first. Call it " +
		"for when, what date, how long ago. No answer means unknown, not never.",
	readOnly: true,
	Properties: []Property{
		{Name: "query", Type: "string", Required: true, Description: "What happened, in plain words"},
		{Name: "project", Type: "string", Description: "Namespace; \"*\" asks all"},
		{Name: "since", Type: "string", Description: "As in recall"},
		{Name: "until", Type: "string", Description: "As in recall"},
		{Name: "as_of", Type: "string", Description: "As in recall"},
		{Name: "limit", Type: "integer", Description: "Most answers (5)"},
		{Name: "relations", Type: "array", Description: "As in recall"},
	},
	Output: `{"type":"object","properties":{"answers":{"type":"array","items":{"type":"object","properties":{` +
		`"start":` + startSchema + `,"end":` + endSchema + `,"grain":{"type":"string"},` +
		`"text":{"type":"string"},"basis":{"type":"string","enum":["resolved","stated","occurred_at"]},"expression":{"type":"string"},` +
		`"memory":{"type":"string"},"source":{"type":"string"},"confidence":{"type":"number"}},` +
		`"required":["start","end","grain","text","basis","memory","confidence"]}},"memories":` + briefMemoriesSchema + `,` +
		`"window":` + windowSchema + `,"degraded":` + stringsSchema + `,"project":{"type":"string"}},` +
		`"required":["answers","memories","window","project"]}`,
	answer: when,
}

func when(ctx context.Context, e memory.Engine, c *call) (answer, error) {
	q := memory.WhenQuestion{
		Query:     c.required("query", "what to date, in plain words"),
		Since:     c.text("since"),
		Until:     c.text("until"),
		AsOf:      c.text("as_of"),
		Limit:     c.number("limit", maxLimit),
		Relations: c.choices("relations", Relations),
		From:      c.session,
	}
	if err := c.project(&q.Project, true); err != nil {
		return answer{}, err
	}
	return askWhen(ctx, e, q)
}

func askWhen(ctx context.Context, e memory.Engine, q memory.WhenQuestion) (answer, error) {
	r, err := e.When(ctx, q)
	if err != nil {
		return answer{}, err
	}
	r.Answers, r.Memories = present(r.Answers), present(r.Memories)
	if r.Text == "" {
		r.Text = fallbackText("No stored time answers this: unknown, which is not never.", r.Memories)
	}
	return answer{r.Text, whenAnswer{r, q}}, nil
}

type whenAnswer struct {
	memory.WhenAnswer
	question memory.WhenQuestion
}

func (a whenAnswer) shrink(ctx context.Context, e memory.Engine) (answer, error) {
	a.question.Limit = halved(a.question.Limit, max(5, len(a.Answers)))
	return askWhen(ctx, e, a.question)
}
