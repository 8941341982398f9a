package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory/query"
)

// What a question may cost in a large project (Tuning.InFull and Closely), shown on a small one with small bounds.

func boundedBank(t *testing.T, inFull, closely int) *fixture {
	t.Helper()
	return open(t, func(o *Options) {
		tuning := query.Default()
		tuning.InFull, tuning.Closely = inFull, closely
		o.Tuning = &tuning
	})
}

func (f *fixture) leading(q Question) string {
	f.t.Helper()
	r, err := f.Recall(ctx, q)
	if err != nil {
		f.t.Fatal(err)
	}
	if len(r.Memories) == 0 {
		return ""
	}
	return slices.MaxFunc(r.Memories, func(a, b Memory) int { return cmp.Compare(a.Score, b.Score) }).Content // they come in reading order
}

func TestBoundedQuestionFindsWhatItsRareWordsName(t *testing.T) {
	whole, bounded := boundedBank(t, 1<<20, 1<<20), boundedBank(t, 16, 8)
	for _, f := range []*fixture{whole, bounded} {
		talk := newTalker(7)
		for i := range 300 {
			text := talk.sentence()
			if i%25 == 12 {
				text = fmt.Sprintf("The lighthouse keeper told Ana about whale number %d in the garden.", i)
			}
			f.remember(Note{Content: text, Speaker: []string{"Ana", "Bo"}[i%2], Session: fmt.Sprint("s", i/25)})
		}
	}
	for i := 12; i < 300; i += 25 {
		q := Question{Query: fmt.Sprintf("What did the lighthouse keeper tell in the garden about whale %d?", i)}
		want := fmt.Sprintf("whale number %d ", i)
		if got := whole.leading(q); !strings.Contains(got, want) {
			t.Fatalf("unbounded: %q", got)
		}
		if got := bounded.leading(q); !strings.Contains(got, want) {
			t.Errorf("bounded: %q, want that with %q", got, want)
		}
	}
}

// TestBoundedQuestionSeesPastWhatIsHidden: the best of a question are all superseded, and what is not is far down.
func TestBoundedQuestionSeesPastWhatIsHidden(t *testing.T) {
	f := boundedBank(t, 4, 16)
	talk := newTalker(3)
	for i := range 400 {
		f.remember(Note{Content: talk.sentence(), Session: fmt.Sprint("s", i/20)})
	}
	var last string
	for i := range 60 {
		n := Note{Content: fmt.Sprintf("The deploy key of the staging gateway is number %d.", i), Session: "deploy"}
		if last != "" {
			n.Supersedes = []string{last}
		}
		last = f.remember(n).ID
	}
	f.remember(Note{Content: "Somebody lost a key.", Session: "elsewhere"})
	r, err := f.Recall(ctx, Question{Query: "Which is the deploy key of the staging gateway?", Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range r.Memories {
		got = append(got, m.Content)
	}
	if !slices.Contains(got, "The deploy key of the staging gateway is number 59.") || !slices.Contains(got, "Somebody lost a key.") {
		t.Errorf("got %q; want the one that stands and the other key", got)
	}
}

// TestScratchIsCleanBetweenQuestions: a run leaves nothing behind for the next, whatever the bounds.
func TestScratchIsCleanBetweenQuestions(t *testing.T) {
	for _, bound := range []int{8, 1 << 20} {
		f := boundedBank(t, bound, bound)
		talk := newTalker(5)
		for i := range 200 {
			f.remember(Note{Content: talk.sentence(), Speaker: []string{"Ana", "Bo"}[i%2], Session: fmt.Sprint("s", i/20),
				OccurredAt: fmt.Sprintf("2024-%02d-11", 1+i%12)})
		}
		ask := func() (out []Recollection) {
			for _, q := range []string{"What did Ana say about " + talk.word() + "?", "What happened in March 2024?", "Why was Bo in the garden?"} {
				r, err := f.Recall(ctx, Question{Query: q, Limit: 40})
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, r)
			}
			return out
		}
		talk = newTalker(6)
		first := ask()
		for range 20 {
			ask()
		}
		talk = newTalker(6)
		if d := gocmp.Diff(first, ask()); d != "" {
			t.Errorf("bounds %d: the same questions answer otherwise later:\n%s", bound, d)
		}
	}
}

// TestForgottenOnesTakeNoPlaceInAWindow: the same store answers the same once it is loaded again.
func TestForgottenOnesTakeNoPlaceInAWindow(t *testing.T) {
	f := boundedBank(t, 1<<20, 64)
	var ids []string
	for i := range 300 {
		ids = append(ids, f.remember(Note{Content: fmt.Sprintf("Gravel number %d.", i), OccurredAt: "2024-05-01"}).ID)
	}
	for i := range 40 {
		f.remember(Note{Content: fmt.Sprintf("The deploy key of gateway %d.", i), Session: fmt.Sprint("in", i), OccurredAt: "2023-05-01"})
	}
	for i := range 60 {
		f.remember(Note{Content: fmt.Sprintf("Somebody had a long word with the others about the gateway and much besides %d.", i), Session: fmt.Sprint("out", i), OccurredAt: "2024-08-01"})
	}
	f.recall(Question{Query: "gateway"})
	if _, err := f.Forget(ctx, Choice{IDs: ids}); err != nil {
		t.Fatal(err)
	}
	q := Question{Query: "What was the gateway before 2024?", Limit: 60, MaxTokens: 20000}
	live := f.recall(q)
	f.reopen()
	if d := gocmp.Diff(f.recall(q), live); d != "" {
		t.Errorf("the same store answers otherwise after a restart (-loaded +live):\n%s", d)
	}
}

// TestOmittedCountsWhatMayBeFound: not what is superseded, and a long text once.
func TestOmittedCountsWhatMayBeFound(t *testing.T) {
	found := func(f *fixture) int {
		r := f.recall(Question{Query: "deploy key", Limit: 5})
		return len(r.Memories) + len(r.Elided) + r.Omitted
	}
	f := boundedBank(t, 1<<20, 64)
	last := ""
	for i := range 200 {
		n := Note{Content: fmt.Sprintf("A remark of many other words, of rope and sail and tide and wind, and the key number %d too.", i), Session: fmt.Sprint("old", i)}
		if last != "" {
			n.Supersedes = []string{last}
		}
		last = f.remember(n).ID
	}
	for i := range 80 {
		f.remember(Note{Content: fmt.Sprintf("The deploy key of gateway %d.", i), Session: fmt.Sprint("new", i)})
	}
	if n := found(f); n != 81 {
		t.Errorf("%d memories are said to be found, 81 may be", n)
	}
	f = boundedBank(t, 1<<20, 32)
	var long strings.Builder
	for i := range 150 {
		fmt.Fprintf(&long, "Paragraph %d tells of rope and sail and tide and wind, of weather, of cooks and of charts, and of the key in the end, of many other things besides that nobody wants to hear about at all.\n\n", i)
	}
	if rec := f.say(long.String()); len(rec.Segments) < 10 {
		t.Fatalf("%d segments", len(rec.Segments))
	}
	for i := range 40 {
		f.remember(Note{Content: fmt.Sprintf("The deploy key of gateway %d.", i), Session: fmt.Sprint("new", i)})
	}
	if n := found(f); n > 41 {
		t.Errorf("%d memories are said to be found, 41 may be", n)
	}
}
