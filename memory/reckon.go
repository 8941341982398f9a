package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/temporal"
)

// reckon does the arithmetic that a question asks for: how long, how long ago, which of several was first.
// It gives the line that says so and may put the answers into another order.
func (in *inquiry) reckon(best []dating, out *WhenAnswer) string {
	t := &in.question.Time
	if len(out.Answers) == 0 {
		return ""
	}
	switch {
	case t.WantsDuration:
		return in.howLong(&best[0])
	case t.WantsOrder && t.Order != 0:
		// only among those that answer nearly as well: the earliest of what merely shares a word answers nothing
		n := 0
		for n < len(out.Answers) && n < len(best) && best[n].score >= sameEvent*best[0].score {
			n++
		}
		slices.SortStableFunc(out.Answers[:n], func(x, y TimeAnswer) int {
			if t.Order > 0 {
				x, y = y, x
			}
			return compareStamps(x.Start, y.Start)
		})
		if n > 1 && t.Order > 0 {
			return "Latest first.\n"
		} else if n > 1 {
			return "Earliest first.\n"
		}
	}
	return ""
}

// sameEvent is the share of the best answer's score above which another may be another time of the same thing.
const sameEvent = 0.7

// howLong says how long something took, lasts, or is ago.
func (in *inquiry) howLong(d *dating) string {
	t := &in.question.Time
	now := temporal.Interval{Start: in.ref, End: in.ref, Grain: temporal.Second}
	iv := d.iv
	said := temporal.Interval{Start: localTime(d.self.record), Grain: temporal.Second}
	since := func() string {
		return fmt.Sprintf("From %s until now: %s.\n", strings.TrimPrefix(d.Text, "since "), temporal.Elapsed(iv, now, in.unit(iv.Start, in.ref)))
	}
	switch {
	case d.length && iv.IsZero():
		return fmt.Sprintf("Length: %s.\n", d.Text)
	case t.Ago:
		if iv.OpenStart {
			return ""
		}
		return since()
	case iv.OpenStart:
		return ""
	case iv.OpenEnd:
		return since()
	case d.length && in.goesOn():
		s := temporal.Elapsed(iv, said, in.unit(iv.Start, said.Start))
		if n := temporal.Elapsed(iv, now, in.unit(iv.Start, in.ref)); n != s {
			s += fmt.Sprintf("; if it still goes on, %s by now", n)
		}
		return fmt.Sprintf("Until it was said, on %s: %s.\n", temporal.Format(dayOf(said.Start)), s)
	case in.goesOn():
		return since()
	}
	end := temporal.Interval{Start: iv.End, End: iv.End, Grain: temporal.Second}
	return fmt.Sprintf("Length: %s.\n", temporal.Elapsed(iv, end, in.unit(iv.Start, iv.End)))
}

// goesOn reports whether the question speaks of what still lasts: "how long has".
func (in *inquiry) goesOn() bool {
	on := false
	for _, w := range strings.Fields(strings.ToLower(in.question.Text)) {
		switch strings.Trim(w, "?.,!") {
		case "did", "was", "were", "had", "last", "lasted", "took", "take":
			return false
		case "has", "have", "is", "are", "been":
			on = true
		}
	}
	return on
}

// unit is the unit that the question names, else one in which the length is a small number.
func (in *inquiry) unit(a, b time.Time) temporal.Grain {
	if u := in.question.Time.Unit; u != temporal.Day || strings.Contains(strings.ToLower(in.question.Text), "day") {
		return u
	}
	if b.Before(a) {
		a, b = b, a
	}
	switch {
	case a.AddDate(1, 0, 0).Compare(b) <= 0:
		return temporal.Year
	case a.AddDate(0, 2, 0).Compare(b) <= 0:
		return temporal.Month
	case a.AddDate(0, 0, 14).Compare(b) <= 0:
		return temporal.Week
	case a.AddDate(0, 0, 1).Compare(b) > 0:
		return temporal.Hour
	}
	return temporal.Day
}

func dayOf(t time.Time) temporal.Interval {
	start := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())
	return temporal.Interval{Start: start, End: start.AddDate(0, 0, 1), Grain: temporal.Day}
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

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

var auxiliary = wordSet("did do does was were is are has have had will")

// eitherSide reads "did A happen before B or after": the time of both is asked, and which was first.
func (in *inquiry) eitherSide() {
	t := &in.question.Time
	for _, end := range []string{" or after", " or before", " or later", " or earlier"} {
		other, ok := strings.CutSuffix(strings.ToLower(t.Anchor), end)
		at := strings.Index(in.question.Text, t.Anchor)
		if !ok || at < 0 {
			continue
		}
		asked := strings.TrimSpace(in.question.Text[:at])
		asked = strings.TrimSpace(strings.TrimSuffix(asked, t.Relation))
		if verb, rest, ok := strings.Cut(asked, " "); ok && auxiliary[strings.ToLower(verb)] {
			asked = rest
		}
		t.Between = [2]string{asked, t.Anchor[:len(other)]}
		t.Anchor, t.WantsOrder, t.Order = "", true, -1
	}
}

// between answers a question about two events, "how many weeks passed between A and B", "which came first":
// the time of each, and the arithmetic. Of an event that nothing stored dates it says so.
func (b *Bank) between(ctx context.Context, in *inquiry, q *WhenQuestion, out *WhenAnswer) (string, []found, error) {
	t := &in.question.Time
	var times []dating
	var names, missing []string
	var lists []found
	for _, part := range t.Between {
		sub, err := b.inquire(ctx, q.Project, part, in.filter, q.Relations, in.superseded, &q.From)
		if err != nil {
			return "", nil, err
		}
		var one WhenAnswer
		list, best, err := b.dates(sub, 1, &one)
		sub.close(b)
		if err != nil {
			return "", nil, err
		}
		if len(best) == 0 {
			missing = append(missing, oneLine(part, 60))
			continue
		}
		lists = append(lists, list...)
		out.Answers = append(out.Answers, one.Answers[0])
		times, names = append(times, best[0]), append(names, oneLine(part, 60))
	}
	if len(missing) > 0 {
		if len(times) == 0 {
			return "", nil, nil
		}
		return fmt.Sprintf("%s: %s. Nothing stored says when %q was, so the two cannot be compared.\n", names[0], times[0].Text, missing[0]), lists, nil
	}
	x, y := 0, 1
	if times[1].iv.Start.Before(times[0].iv.Start) {
		x, y = 1, 0
	}
	line := fmt.Sprintf("%s: %s; %s: %s. ", names[x], times[x].Text, names[y], times[y].Text)
	same := times[x].iv.Overlaps(times[y].iv)
	switch {
	case t.WantsDuration:
		line += fmt.Sprintf("Between them: %s.\n", temporal.Elapsed(times[x].iv, times[y].iv, in.unit(times[x].iv.Start, times[y].iv.Start)))
	case same:
		line += "The two overlap: which was first is not certain.\n"
	case t.Order > 0:
		line += fmt.Sprintf("The later: %s.\n", names[y])
	default:
		line += fmt.Sprintf("The first: %s.\n", names[x])
	}
	if t.WantsOrder {
		slices.SortStableFunc(out.Answers, func(a, b TimeAnswer) int {
			if t.Order > 0 {
				a, b = b, a
			}
			return compareStamps(a.Start, b.Start)
		})
	}
	return line, lists, nil
}
