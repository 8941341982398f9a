package memory

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
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
	if bt := in.question.Time.Between; bt[0] != "" && bt[1] != "" {
		note, list, err = b.between(ctx, in, &q, &out)
	} else if in.event, err = b.anchorWindow(in); err == nil {
		list, err = b.dates(in, q.Limit, &out)
		note = b.order(in, &out)
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

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// order does the arithmetic that a question asks for: which came first, how long.
func (b *Bank) order(in *inquiry, out *WhenAnswer) string {
	t := &in.question.Time
	if len(out.Answers) == 0 {
		return ""
	}
	switch {
	case t.WantsOrder && t.Order != 0:
		if t.Order > 0 {
			slices.SortStableFunc(out.Answers, func(x, y TimeAnswer) int { return compareStamps(y.Start, x.Start) })
			return "Latest first.\n"
		}
		slices.SortStableFunc(out.Answers, func(x, y TimeAnswer) int { return compareStamps(x.Start, y.Start) })
		return "Earliest first.\n"
	case t.WantsDuration:
		a := out.Answers[0]
		if iv, ok := intervalOf(TimeSpan{Start: a.Start, End: a.End, Grain: a.Grain}); ok && !iv.OpenStart {
			end := temporal.Interval{Start: in.ref, End: in.ref, Grain: temporal.Second}
			return fmt.Sprintf("From %s until now: %s.\n", temporal.Format(temporal.Interval{Start: iv.Start, End: iv.Start.AddDate(0, 0, 1), Grain: temporal.Day}), temporal.Elapsed(iv, end, t.Unit))
		}
	}
	return ""
}

func compareStamps(a, b *string) int {
	x, errX := time.Parse(time.RFC3339Nano, deref(a))
	y, errY := time.Parse(time.RFC3339Nano, deref(b))
	switch {
	case errX != nil && errY != nil:
		return 0
	case errX != nil:
		return -1
	case errY != nil:
		return 1
	}
	return x.Compare(y)
}

// between answers "how many weeks passed between A and B": the time of each, and the arithmetic.
func (b *Bank) between(ctx context.Context, in *inquiry, q *WhenQuestion, out *WhenAnswer) (string, []found, error) {
	var ivs []temporal.Interval
	var names []string
	var lists []found
	for _, part := range in.question.Time.Between {
		sub, err := b.inquire(ctx, q.Project, part, in.filter, q.Relations, false, &q.From)
		if err != nil {
			return "", nil, err
		}
		var one WhenAnswer
		list, err := b.dates(sub, 1, &one)
		sub.close(b)
		if err != nil {
			return "", nil, err
		}
		lists = append(lists, list...)
		if len(one.Answers) == 0 {
			continue
		}
		out.Answers = append(out.Answers, one.Answers[0])
		if iv, ok := intervalOf(TimeSpan{Start: one.Answers[0].Start, End: one.Answers[0].End, Grain: one.Answers[0].Grain}); ok {
			ivs, names = append(ivs, iv), append(names, oneLine(part, 60)+": "+one.Answers[0].Text)
		}
	}
	if len(ivs) != 2 {
		return "", lists, nil
	}
	x, y := ivs[0], ivs[1]
	if y.Start.Before(x.Start) {
		x, y = y, x
	}
	return fmt.Sprintf("%s; %s; between them: %s.\n", names[0], names[1], temporal.Elapsed(x, y, in.question.Time.Unit)), lists, nil
}

// fitWhen writes the text block: the answers, then the memories in time order.
func (b *Bank) fitWhen(out *WhenAnswer, in *inquiry, list []found, note string) {
	var head strings.Builder
	if len(out.Answers) == 0 {
		fmt.Fprintf(&head, "Nothing stored says when. Unknown is not never.\n")
	}
	head.WriteString(note)
	for _, a := range out.Answers {
		fmt.Fprintf(&head, "- %s (%s", a.Text, a.Basis)
		if a.Expression != "" {
			fmt.Fprintf(&head, ": %q", oneLine(a.Expression, 60))
		}
		fmt.Fprintf(&head, ", %.2f) [%s]\n", a.Confidence, refOf(a.Memory))
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
