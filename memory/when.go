package memory

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/query"
)

const defaultAnswers = 5

// Basis of a time answer.
const (
	basisResolved = "resolved"
	basisStated   = "stated"
	basisOccurred = "occurred_at"
)

// When finds the time of something: intervals that answer, best first, each with its basis and its memory.
func (b *Bank) When(ctx context.Context, q WhenQuestion) (WhenAnswer, error) {
	done, err := b.enter(ctx)
	if err != nil {
		return WhenAnswer{}, err
	}
	defer done()
	if strings.TrimSpace(q.Query) == "" {
		return WhenAnswer{}, Errorf(CodeInvalid, "query: it is empty; say what the time of is asked for")
	}
	if q.Limit, err = clampLimit(q.Limit, defaultAnswers); err != nil {
		return WhenAnswer{}, err
	}
	in, err := b.inquire(ctx, q.Project, q.Query, Filter{Since: q.Since, Until: q.Until, AsOf: q.AsOf}, q.Relations, false, &q.From)
	if err != nil {
		return WhenAnswer{}, err
	}
	defer in.close(b)
	out := WhenAnswer{Project: in.project, Answers: []TimeAnswer{}, Memories: []Memory{}, Degraded: in.degraded, Window: windowOf(&in.question.Time)}
	var note string
	var list []found
	in.eitherSide()
	if bt := in.question.Time.Between; bt[0] != "" && bt[1] != "" {
		note, list, err = b.between(ctx, in, &q, &out)
	} else if in.event, err = b.anchorWindow(in); err == nil {
		var best []dating
		if in.event != nil {
			in.event.narrow(in)
		}
		list, best, err = b.dates(in, q.Limit, &out)
		note = in.reckon(best, &out)
		if in.event != nil && len(out.Answers) > 0 {
			note = in.event.say() + note
		}
	}
	if err != nil {
		return out, storageError("looking for the time", err)
	}
	b.fitWhen(&out, in, list, note)
	return out, nil
}

// fitWhen writes the text block: the answers, then the memories in time order.
func (b *Bank) fitWhen(out *WhenAnswer, in *inquiry, list []found, note string) {
	var head strings.Builder
	if len(out.Answers) == 0 {
		fmt.Fprintf(&head, "Nothing stored says when. Unknown is not never.\n")
	}
	head.WriteString(note)
	ref := refs{}
	for i := range list {
		ref[list[i].memory.ID] = list[i].memory.Ref
	}
	for _, a := range out.Answers {
		fmt.Fprintf(&head, "- %s (%s", a.Text, a.Basis)
		if a.Expression != "" {
			fmt.Fprintf(&head, ": %q", oneLine(a.Expression, 60))
		}
		fmt.Fprintf(&head, ", %.2f) [%s]\n", a.Confidence, ref.of(a.Memory))
	}
	if len(list) > 0 {
		rec := Recollection{Intent: query.When.String(), Confident: true, Degraded: out.Degraded, Project: out.Project, Memories: []Memory{}}
		b.fit(&rec, in, list, max(50, defaultTokens-tokens(head.String())))
		head.WriteString(rec.Text)
		out.Memories = rec.Memories
	}
	out.Text = head.String()
	for i := range out.Answers {
		out.Answers[i].Confidence = math.Min(1, out.Answers[i].Confidence)
	}
}
