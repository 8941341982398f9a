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
