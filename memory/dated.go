package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
)

// How a time is weighed. An answer's confidence is the product of these, each in [0, 1]: the place of its
// memory among those found, the share of the question's words that stand near the time, where the time comes
// from, and what speaks against it. Chosen on LoCoMo's development conversations conv-26, conv-30 and conv-41
// alone; the others are reported apart.
const (
	looked    = 10   // memories looked at; the right one is seldom further down
	rankPower = 0.5  // of the memory's score against the best's: below 1, since the clause decides between near ones
	bareMatch = 0.15 // of the score is given without any word of the question near the time

	// Where a question's word stands to the time: in its clause, sentence, memory, the turn it answers.
	inClause, inSentence, inMemory, inTurnLinked, inTurnNear = 1.0, 0.9, 0.7, 0.6, 0.25

	trustNamed    = 1.0 // a time that the memory names
	trustBegan    = 0.9 // counted back from a length: "for three years now"
	trustReply    = 0.8 // named by a turn that answers the one found
	trustOccurred = 0.5 // the day on which it was said

	besideDated   = 0.8  // of the day on which it was said, where the same speaker names a time beside it
	looseFit      = 0.6  // mostly outside of the window that is asked
	otherSpeaker  = 0.55 // said by somebody whom the question does not name
	aboutSpeaker  = 0.85 // that, but it names the one asked about
	otherTense    = 0.4  // a plan, where it is asked when it happened; and the other way round
	wished        = 0.6  // a question or a wish dates nothing by the day on which it was said
	misfit        = 0.3  // outside a window that may be meant otherwise
	clockOfDay    = 0.9  // finer than the day that is asked
	whenSaid      = 0.5  // a time named in words whose own time is asked
	agreement     = 0.15 // of another memory's confidence in the same time
	leastMatch    = 0.35 // share of the question's words without which nothing is dated
	leastUnknown  = 0.45 // the same, where one of its words stands nowhere in the project
	noise         = 0.1  // of the best: what is below is left out
	sameStatement = 0.85 // of the best undated statement: those above it may tell the same event
)

// dating is one time that may answer, on its way.
type dating struct {
	TimeAnswer
	iv    temporal.Interval
	score float64
	match float64 // of the question's words
	floor float64 // of match
	item  int     // place in the list found
	self  *found
	// length is set where it is a length rather than a place in time; iv is zero where nothing says when it was
	length bool
}

// dates answers one question: the best times of the best memories.
// It gives their memories and the times again as they were weighed.
func (b *Bank) dates(in *inquiry, limit int, out *WhenAnswer) ([]found, []dating, error) {
	all, err := b.datings(in)
	if err != nil {
		return nil, nil, err
	}
	var kept []found
	have := map[string]bool{}
	for _, d := range all {
		if len(out.Answers) == limit || d.score < noise*all[0].score {
			break
		}
		d.Confidence = round4(min(1, d.score))
		out.Answers = append(out.Answers, d.TimeAnswer)
		if !have[d.Memory] {
			have[d.Memory] = true
			kept = append(kept, *d.self)
		}
	}
	return kept, all, nil
}

// datings is the times of the memories found and of the turns that answer them, best first.
func (b *Bank) datings(in *inquiry) ([]dating, error) {
	var weights [4]float64
	weights[query.When] = 1
	in.request.Weights = &weights
	var rec Recollection
	list, err := b.search(in, looked, &rec)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var all []dating
	wants := map[*index.Shard]*wanted{}
	seen := map[string]bool{}
	for i := range list {
		seen[list[i].memory.ID] = true
	}
	for i := range list {
		f := &list[i]
		f.shard.RLock()
		w := wants[f.shard]
		if w == nil {
			w = in.want(f.shard)
			wants[f.shard] = w
		}
		rank := math.Pow(f.item.Score/list[0].item.Score, rankPower)
		t := b.tell(in, w, f)
		ds := t.datings(in, w, rank)
		if !t.dated {
			for _, g := range b.answering(f, seen) {
				for _, d := range b.tell(in, w, &g).datings(in, w, rank*trustReply) {
					if d.Basis != basisOccurred {
						ds = append(ds, d)
					}
				}
			}
		}
		f.shard.RUnlock()
		for _, d := range ds {
			d.item = i
			all = append(all, d)
		}
	}
	return in.settle(all), nil
}

// settle ranks the times: what other memories agree with gains, what is said twice stands once, and of
// several undated statements of one thing the first said it.
func (in *inquiry) settle(all []dating) []dating {
	if !slices.ContainsFunc(all, func(d dating) bool { return d.match >= d.floor }) {
		return nil
	}
	first := -1
	said := 0.0
	for i := range all {
		if all[i].Basis == basisOccurred {
			said = max(said, all[i].score)
		}
	}
	for i := range all {
		d := &all[i]
		if d.Basis != basisOccurred || d.score < sameStatement*said {
			continue
		}
		if first < 0 || d.iv.Start.Before(all[first].iv.Start) {
			first = i
		}
	}
	if first >= 0 && in.question.Time.Order <= 0 {
		all[first].score = max(all[first].score, said)
		all[first].score *= 1.01
	}
	order := func(x, y dating) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.item, y.item), cmp.Compare(x.Memory, y.Memory), x.iv.Start.Compare(y.iv.Start))
	}
	slices.SortStableFunc(all, order)
	place := map[string]int{}
	var out []dating
	for _, d := range all {
		k := deref(d.Start) + "/" + deref(d.End)
		if d.iv.IsZero() {
			k = strings.ToLower(d.Text)
		}
		if i, ok := place[k]; ok {
			if out[i].Memory != d.Memory && out[i].Basis != basisOccurred && d.Basis != basisOccurred {
				out[i].score = min(1, out[i].score+agreement*d.score)
			}
			continue
		}
		place[k] = len(out)
		out = append(out, d)
	}
	slices.SortStableFunc(out, order)
	return out
}

func (b *Bank) timeAnswer(f *found, m *temporal.Mention) TimeAnswer {
	if m.IsZero() { // a length without a place in time
		words := strings.TrimPrefix(strings.TrimPrefix(m.Text, "for "), "For ")
		return TimeAnswer{Grain: m.Length.Grain.String(), Text: words, Basis: basisStated, Expression: m.Text, Memory: f.record.ID.String(), Source: f.record.Source}
	}
	sp := span(m.Text, m.Interval)
	basis := basisResolved
	if m.Absolute {
		basis = basisStated
	}
	return TimeAnswer{Start: sp.Start, End: sp.End, Grain: sp.Grain, Text: temporal.Describe(*m, localTime(f.record)), Basis: basis, Expression: m.Text,
		Memory: f.record.ID.String(), Source: f.record.Source}
}

// occurredAnswer is the memory's own time: the day on which it was said or happened, or the span it was given.
func occurredAnswer(f *found) (TimeAnswer, temporal.Interval) {
	t := localTime(f.record)
	iv := dayOf(t)
	if f.record.Until != nil {
		if g, err := temporal.ParseGrain(f.record.Grain); err == nil {
			iv = temporal.Interval{Start: t, End: f.record.Until.Time(), Grain: g}
		}
	}
	sp := span("", iv)
	return TimeAnswer{Start: sp.Start, End: sp.End, Grain: sp.Grain, Text: temporal.Format(iv), Basis: basisOccurred, Memory: f.record.ID.String(),
		Source: f.record.Source}, iv
}

// answering is the two turns after a memory without a time of its own, where they point back and name one:
// "we just did it yesterday".
func (b *Bank) answering(f *found, seen map[string]bool) []found {
	var out []found
	for k := 1; k <= 2; k++ {
		o, ok := f.shard.Neighbour(f.item.Doc, k)
		if !ok || f.shard.Docs[o].Flags&index.Dated == 0 || seen[f.shard.Docs[o].ID.String()] {
			continue
		}
		r, st, err := b.get(f.shard.Project, f.shard.Docs[o].ID)
		if err != nil || !pointsBack(r.Content) {
			continue
		}
		g := found{shard: f.shard, item: query.Item{Doc: o, Score: f.item.Score}, record: r, state: st}
		g.memory = b.show(f.shard.Project, f.shard, r, st)
		out = append(out, g)
	}
	return out
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
