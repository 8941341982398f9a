package memory

import (
	"fmt"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/temporal"
)

// otherEvent is the event that a question names to say where its own lies ("after the road trip"), and when
// that was.
type otherEvent struct {
	words    string
	relation string // before, after, since, until, in
	answer   TimeAnswer
	iv       temporal.Interval
}

// anchorWindow resolves the other event of a question ("after the road trip") through the best time that is
// stored of it; nil where the question names none, or none is known well enough.
func (b *Bank) anchorWindow(in *inquiry) (*otherEvent, error) {
	t := &in.question.Time
	if t.Anchor == "" || t.Window != nil || strings.TrimSpace(t.Anchor) == strings.TrimSpace(in.question.Text) {
		return nil, nil
	}
	sub := *in
	sub.question = in.analyst.questions.Read(t.Anchor, in.ref)
	sub.question.Time.Anchor = ""
	sub.request.Question = sub.question
	sub.vectors, sub.event = nil, nil
	ds, err := b.datings(&sub)
	if err != nil || len(ds) == 0 || ds[0].match < anchorMatch {
		return nil, err
	}
	e := &otherEvent{words: t.Anchor, relation: t.Relation, answer: ds[0].TimeAnswer, iv: ds[0].iv}
	e.narrow(in)
	return e, nil
}

// narrow makes the asked side of the event the question's window, a signal for the search.
func (e *otherEvent) narrow(in *inquiry) {
	q := *in.question
	switch e.relation {
	case "after", "since":
		if !e.iv.OpenStart {
			q.Start, q.Windowed = e.iv.Start.Unix(), true
		}
	case "before", "until":
		if !e.iv.OpenStart {
			q.End, q.Windowed = e.iv.Start.Unix(), true
		}
	default:
		if !e.iv.OpenStart && !e.iv.OpenEnd {
			q.Start, q.End, q.Windowed = e.iv.Start.Unix(), e.iv.End.Unix(), true
		}
	}
	in.question, in.request.Question = &q, &q
}

// anchorMatch is the share of the other event's words that its memory has to hold: a wrong event hides the right answers.
const anchorMatch = 0.5

// fits reports whether a time lies on the asked side of the event.
func (e *otherEvent) fits(iv temporal.Interval) bool {
	if iv == e.iv {
		return false
	}
	switch e.relation {
	case "after", "since":
		return !iv.OpenStart && (e.iv.OpenStart || !iv.Start.Before(e.iv.Start))
	case "before", "until":
		return !e.iv.OpenStart && (iv.OpenStart || iv.Start.Before(e.iv.Start))
	}
	return iv.Overlaps(e.iv)
}

// say tells the reader which event was meant.
func (e *otherEvent) say() string {
	return fmt.Sprintf("Taking %q as %s [%s].\n", oneLine(e.words, 60), e.answer.Text, refOf(e.answer.Memory))
}
