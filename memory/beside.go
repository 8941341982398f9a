package memory

import (
	"fmt"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/temporal"
)

// otherEvent is the event that a question names to say where its own lies ("after the road trip"), and when
// that was.
type otherEvent struct {
	words    string
	relation string // before, after, since, until, in
	answer   TimeAnswer
	ref      string // of the answer's memory
	iv       temporal.Interval
	unknown  bool // nothing stored dates it: the question's other words answer, less surely
}

// anchorWindow resolves the other event of a question ("after the road trip") through the best time that is
// stored of it; nil where the question names none. Where nothing stored dates the event, its time is unknown.
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
	if err != nil {
		return nil, err
	}
	if len(ds) == 0 || ds[0].match < anchorMatch {
		return &otherEvent{words: t.Anchor, relation: t.Relation, unknown: true}, nil
	}
	e := &otherEvent{words: t.Anchor, relation: t.Relation, answer: ds[0].TimeAnswer, ref: ds[0].self.record.Ref(), iv: ds[0].iv}
	return e, nil
}

// narrow makes the asked side of the event the question's window, a signal for the search. recall does without:
// there the memories around the event are evidence too (mean reciprocal rank on the development conversations
// .660 before, .657 as it is, .652 with the window).
func (e *otherEvent) narrow(in *inquiry) {
	if e.unknown {
		return
	}
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
	switch {
	case e.unknown:
		return true
	case iv.Start.Equal(e.iv.Start) && iv.End.Equal(e.iv.End):
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
	if e.unknown {
		return fmt.Sprintf("Nothing stored says when %q was; what follows may lie on its other side.\n", oneLine(e.words, 60))
	}
	return fmt.Sprintf("Taking %q as %s [%s].\n", oneLine(e.words, 60), e.answer.Text, e.ref)
}

// searchBeside is search, for a question that may name another event or ask for what held before: the side of
// the event is then the window, and what was superseded comes before what superseded it.
func (b *Bank) searchBeside(in *inquiry, limit int, out *Recollection) ([]found, error) {
	weights := in.request.Weights
	e, err := b.anchorWindow(in)
	if err != nil {
		return nil, err
	}
	in.event, in.request.Weights = e, weights
	list, err := b.search(in, limit, out)
	if e != nil && !e.unknown {
		e.behind(list)
		out.Window = &Window{Text: e.relation + " " + e.words}
		if e.relation == "after" || e.relation == "since" {
			out.Window.Start = e.answer.Start
		} else if e.relation == "before" || e.relation == "until" {
			out.Window.End = e.answer.Start
		} else {
			out.Window.Start, out.Window.End = e.answer.Start, e.answer.End
		}
	}
	if in.filter.AsOf == "" && asksHistory(in.question.Text) {
		oldFirst(list)
	}
	return list, err
}

// behind puts the event itself after the best memory of its asked side that holds words of the question: it is
// where to look from, not what is asked.
func (e *otherEvent) behind(list []found) {
	if len(list) == 0 || list[0].memory.ID != e.answer.Memory {
		return
	}
	for i := 1; i < len(list); i++ {
		if list[i].item.Words > 0 && e.holds(&list[i]) {
			first := list[i]
			copy(list[1:i+1], list[:i])
			list[0] = first
			return
		}
	}
}

// holds reports whether a memory was said, or names a time, on the asked side of the event.
func (e *otherEvent) holds(f *found) bool {
	_, iv := occurredAnswer(f)
	if e.fits(iv) {
		return true
	}
	f.shard.RLock()
	defer f.shard.RUnlock()
	for _, t := range f.shard.Docs[f.item.Doc].Times {
		if !t.Duration && e.fits(temporal.Interval{Start: time.Unix(t.Start, 0), End: time.Unix(t.End, 0)}) {
			return true
		}
	}
	return false
}

// oldFirst moves what was superseded before what supersedes it.
func oldFirst(list []found) {
	for i := range list {
		for j := i + 1; j < len(list); j++ {
			if list[j].state.SupersededBy == list[i].record.ID {
				old := list[j]
				copy(list[i+1:j+1], list[i:j])
				list[i] = old
				break
			}
		}
	}
}
