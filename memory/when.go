package memory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
	"github.com/magma-mcp/magma-mcp/memory/text"
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
	defer b.analysts.Put(in.analyst)
	out := WhenAnswer{Project: in.project, Answers: []TimeAnswer{}, Memories: []Memory{}, Degraded: in.degraded, Window: windowOf(&in.question.Time)}
	var note string
	var list []found
	if bt := in.question.Time.Between; bt[0] != "" && bt[1] != "" {
		note, list, err = b.between(ctx, in, &q, &out)
	} else {
		list, err = b.dates(in, q.Limit, &out)
		note = b.order(in, &out)
	}
	if err != nil {
		return out, storageError("looking for the time", err)
	}
	b.fitWhen(&out, in, list, note)
	return out, nil
}

// dates answers one question: the best times of the best memories.
func (b *Bank) dates(in *inquiry, limit int, out *WhenAnswer) ([]found, error) {
	var w [4]float64
	w[query.When] = 1
	in.request.Weights = &w
	var rec Recollection
	list, err := b.search(in, max(8, limit), &rec)
	if err != nil || !rec.Confident && in.coverage < datedCoverage {
		return nil, err // what shares no informative word with the question does not date it
	}
	type scored struct {
		TimeAnswer
		score float64
		at    int
	}
	var all []scored
	for i := range list[:min(8, len(list))] {
		f := &list[i]
		f.shard.RLock()
		answers := b.answersOf(in, f)
		f.shard.RUnlock()
		for _, a := range answers {
			s := f.item.Score * a.Confidence
			a.Confidence = round4(s)
			all = append(all, scored{a, s, i})
		}
	}
	slices.SortStableFunc(all, func(x, y scored) int { return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.at, y.at)) })
	seen := map[string]bool{}
	used := map[int]bool{}
	for _, a := range all {
		k := deref(a.Start) + "/" + deref(a.End)
		if seen[k] {
			continue
		}
		seen[k] = true
		if len(out.Answers) < limit && a.score >= 0.1*all[0].score { // a tenth of the best is noise
			out.Answers = append(out.Answers, a.TimeAnswer)
			used[a.at] = true
		}
	}
	var kept []found
	for i := range list {
		if used[i] {
			kept = append(kept, list[i])
		}
	}
	return kept, nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// datedCoverage is the share of a question's informative words that has to be stored for a date to be given at
// all. It is lower than what recall calls confident: an answer of when carries its own confidence.
const datedCoverage = 0.15

// How much a time is trusted, by where it comes from. Chosen on LoCoMo's development conversations
// (conv-26, conv-30, conv-41): a time that the matching clause itself names, before one of another clause,
// before one that a later turn gives, before the day on which it was said.
const (
	trustClause   = 1.0
	trustMemory   = 0.85
	trustReply    = 0.7
	trustOccurred = 0.6
)

// answersOf is the times that a memory gives for a question; the caller holds the shard's RLock.
func (b *Bank) answersOf(in *inquiry, f *found) []TimeAnswer {
	a := b.analysisOf(f.shard.Project, f.record)
	wantsLength := in.question.Time.WantsDuration
	var out []TimeAnswer
	sentences := text.Sentences(f.record.Content)
	bestClause := 0.0
	type cand struct {
		t     *store.Time
		match float64
	}
	var cands []cand
	for i := range a.Times {
		t := &a.Times[i]
		if t.Duration != wantsLength && t.Duration {
			continue
		}
		m := in.clauseMatch(f.record.Content, sentences, t)
		cands = append(cands, cand{t, m})
		bestClause = max(bestClause, m)
	}
	for _, c := range cands {
		trust := trustMemory
		if c.match >= bestClause {
			trust = trustClause
		}
		if wantsLength && !c.t.Duration {
			trust *= 0.6
		}
		if c.t.Grain < uint8(temporal.Day) {
			trust *= 0.9 // a clock time of an event whose day was asked
		}
		out = append(out, b.timeAnswer(f, c.t, trust))
	}
	if len(out) == 0 {
		if x, ok := b.datedByReply(in, f); ok {
			out = append(out, x)
		}
		out = append(out, occurredAnswer(f))
	}
	return out
}

// clauseMatch is the share of the question's words that the sentence of a time holds.
func (in *inquiry) clauseMatch(content string, sentences [][2]int, t *store.Time) float64 {
	for _, s := range sentences {
		if int(t.From) < s[0] || int(t.From) >= s[1] {
			continue
		}
		n, hit := 0, 0
		have := map[string]bool{}
		for _, k := range in.analyst.words.Tokens(content[s[0]:s[1]]) {
			have[k.Term] = true
		}
		for i := range in.question.Terms {
			q := &in.question.Terms[i]
			if q.Of >= 0 || q.Name {
				continue
			}
			n++
			if have[q.Stem] {
				hit++
			}
		}
		if n == 0 {
			return 0
		}
		return float64(hit) / float64(n)
	}
	return 0
}

func (b *Bank) timeAnswer(f *found, t *store.Time, trust float64) TimeAnswer {
	words := slice(f.record.Content, t.From, t.To)
	iv := interval(t)
	sp := span(words, iv)
	basis := basisResolved
	if t.Absolute {
		basis = basisStated
	}
	m := temporal.Mention{From: int(t.From), To: int(t.To), Text: words, Interval: iv, Absolute: t.Absolute, Approx: t.Approx, Duration: t.Duration, Tense: t.Tense}
	return TimeAnswer{Start: sp.Start, End: sp.End, Grain: sp.Grain, Text: temporal.Describe(m, f.record.At.Time()), Basis: basis, Expression: words,
		Memory: f.record.ID.String(), Source: f.record.Source, Confidence: trust}
}

// occurredAnswer is the memory's own time: the day on which it was said or happened, or the span it was given.
func occurredAnswer(f *found) TimeAnswer {
	t := f.record.At.Time()
	iv := temporal.Interval{Start: time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location()), Grain: temporal.Day}
	iv.End = iv.Start.AddDate(0, 0, 1)
	if f.record.Until != nil {
		if g, err := temporal.ParseGrain(f.record.Grain); err == nil {
			iv = temporal.Interval{Start: t, End: f.record.Until.Time(), Grain: g}
		}
	}
	sp := span("", iv)
	return TimeAnswer{Start: sp.Start, End: sp.End, Grain: sp.Grain, Text: temporal.Format(iv), Basis: basisOccurred, Memory: f.record.ID.String(),
		Source: f.record.Source, Confidence: trustOccurred}
}

// datedByReply looks at the two turns after a memory that names no time: "we just did it yesterday".
func (b *Bank) datedByReply(in *inquiry, f *found) (TimeAnswer, bool) {
	for k := 1; k <= 2; k++ {
		o, ok := f.shard.Neighbour(f.item.Doc, k)
		if !ok || f.shard.Docs[o].Flags&index.Dated == 0 {
			continue
		}
		r, st, err := b.get(f.shard.Project, f.shard.Docs[o].ID)
		if err != nil {
			continue
		}
		a := b.analysisOf(f.shard.Project, r)
		for i := range a.Times {
			t := &a.Times[i]
			// A reply that dates what was said before looks back and points to it.
			if t.Duration || t.Tense > 0 || !pointsBack(r.Content) || t.Grain < uint8(temporal.Day) {
				continue
			}
			g := *f
			g.record, g.state = r, st
			return b.timeAnswer(&g, t, trustReply), true
		}
	}
	return TimeAnswer{}, false
}

// pointsBack reports whether a text speaks of something named before it.
func pointsBack(s string) bool {
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch w {
		case "it", "this", "that", "them", "one", "there":
			return true
		}
	}
	return false
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
		b.analysts.Put(sub.analyst)
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
