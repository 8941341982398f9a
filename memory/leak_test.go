package memory

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/builtin"
)

// leaks fails the test if a goroutine that was begun in it is still there.
func leaks(t *testing.T) {
	old := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(old); err != nil {
			t.Error(err)
		}
	})
}

// A Bank that was closed leaves nothing running: after work, with a watcher that never read, after a call
// that was given up, and when it could not be opened.
func TestClosedLeavesNothing(t *testing.T) {
	e, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	leaks(t)
	for range 3 {
		b, err := Open(t.TempDir(), Options{Embedder: embed.Fixed(e), Zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Watch(ctx); err != nil {
			t.Fatal(err)
		}
		for i := range 40 {
			if _, err := b.Remember(ctx, Note{Content: fmt.Sprintf("Note %d of the garden, because it rained yesterday.", i), Session: "s"}); err != nil {
				t.Fatal(err)
			}
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := b.Recall(ended, Question{Query: "garden"}); err == nil {
			t.Error("a call whose context had ended was answered")
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	dir := t.TempDir()
	b, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); CodeOf(err) != CodeLocked {
		t.Errorf("opened twice: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// TestEverythingAtOnce calls every method of an Engine from many goroutines while memories come and go; run
// with the race detector it shows that no two of them touch one thing at once.
func TestEverythingAtOnce(t *testing.T) {
	e, err := builtin.New()
	if err != nil {
		t.Fatal(err)
	}
	leaks(t)
	b, err := Open(t.TempDir(), Options{Embedder: embed.Fixed(e), Zone: time.UTC, ResidentDocs: 60}) // so small that projects are dropped and loaded meanwhile
	if err != nil {
		t.Fatal(err)
	}
	rounds := 60
	if long {
		rounds = 1000
	}
	watching, stop := context.WithCancel(ctx)
	changes, err := b.Watch(watching)
	if err != nil {
		t.Fatal(err)
	}
	var wg, watcher sync.WaitGroup
	heard := 0
	watcher.Go(func() {
		for range changes {
			heard++
		}
	})
	var mu sync.Mutex
	ids := map[string][]string{}
	some := func(p string, i int) string {
		mu.Lock()
		defer mu.Unlock()
		if l := ids[p]; len(l) > 0 {
			return l[i%len(l)]
		}
		return ""
	}
	bad := func(what string, err error) {
		switch CodeOf(err) {
		case "", CodeNotFound, CodeExpired: // what was forgotten meanwhile
		default:
			t.Errorf("%s: %v", what, err)
		}
	}
	run := func(f func(i int, p string)) {
		wg.Go(func() {
			for i := range rounds {
				f(i, fmt.Sprint("p", i%3))
			}
		})
	}
	for w := range 2 {
		run(func(i int, p string) {
			n := Note{Content: fmt.Sprintf("Klara %d of worker %d moved the ladder because the shed leaked yesterday.", i, w), Project: p, Session: "s", Tags: []string{"t"}, Speaker: "Ana"}
			if id := some(p, i); id != "" && i%5 == 0 {
				n.BecauseOf = []string{id}
			} else if id != "" && i%7 == 0 {
				n.Supersedes = []string{id}
			}
			r, err := b.Remember(ctx, n)
			bad("remember", err)
			if err == nil {
				mu.Lock()
				ids[p] = append(ids[p], r.ID)
				mu.Unlock()
			}
		})
	}
	run(func(i int, p string) {
		if id := some(p, i/2); id != "" && i%3 == 0 {
			_, err := b.Forget(ctx, Choice{IDs: []string{id}, Project: p})
			bad("forget", err)
		}
	})
	run(func(i int, p string) {
		if i%20 != 7 {
			return
		}
		r, err := b.Forget(ctx, Choice{Query: fmt.Sprintf("Klara %d", i), Project: p})
		bad("preview", err)
		if r.Confirm != "" {
			_, err = b.Forget(ctx, Choice{Confirm: r.Confirm, Project: p, Purge: i%40 == 7})
			bad("confirm", err)
		}
	})
	run(func(i int, p string) {
		r, err := b.Recall(ctx, Question{Query: "Who moved the ladder?", Project: []string{p, "*"}[i%2], Explain: i%3 == 0})
		bad("recall", err)
		if strings.Contains(r.Text, "\x00") {
			t.Error("a text with a zero byte")
		}
		_, err = b.Recall(ctx, Question{Project: p, IncludeSuperseded: true})
		bad("recall of nothing", err)
	})
	run(func(i int, p string) {
		_, err := b.Why(ctx, WhyQuestion{Query: "Why did Klara move the ladder?", Project: p})
		bad("why", err)
		if id := some(p, i); id != "" {
			_, err = b.Why(ctx, WhyQuestion{ID: id, Project: p})
			bad("why of one", err)
		}
		_, err = b.When(ctx, WhenQuestion{Query: "When did the shed leak?", Project: p})
		bad("when", err)
	})
	run(func(i int, p string) {
		_, err := b.Projects(ctx)
		bad("projects", err)
		_, err = b.Stats(ctx, p)
		bad("stats", err)
		_, err = b.Recent(ctx, p, 20)
		bad("recent", err)
		_, err = b.Timeline(ctx, TimelineQuery{Project: p})
		bad("timeline", err)
	})
	run(func(i int, p string) {
		if id := some(p, i*3); id != "" {
			_, err := b.Get(ctx, p, id)
			bad("get", err)
		}
		_, err := b.Entities(ctx, p)
		bad("entities", err)
		_, err = b.Entity(ctx, p, "Klara")
		bad("entity", err)
		_, err = b.Graph(ctx, GraphQuery{Project: p, Depth: 2})
		bad("graph", err)
		_, err = b.Episodes(ctx, EpisodeQuery{Project: p})
		bad("episodes", err)
		_, err = b.Topics(ctx, p)
		bad("topics", err)
	})
	run(func(i int, p string) {
		switch i % 20 {
		case 3:
			bad("rebuild", b.Rebuild(ctx, nil))
		case 8:
			rep, err := b.Check(ctx)
			bad("check", err)
			if len(rep.Problems) > 0 {
				t.Errorf("meanwhile: %v", rep.Problems)
			}
		case 13:
			_, err := b.Export(ctx, io.Discard, ExportOptions{Vectors: true})
			bad("export", err)
		case 17:
			_, err := b.RememberOnce(ctx, fmt.Sprint("request", i), Note{Content: fmt.Sprintf("Once %d", i), Project: p})
			bad("remember once", err)
		}
	})
	wg.Wait()
	if err := b.Settle(ctx); err != nil {
		t.Error(err)
	}
	rep, err := b.Check(ctx)
	if err != nil || len(rep.Problems) > 0 {
		t.Errorf("afterwards: %v %v", err, rep.Problems)
	}
	var before, after bytes.Buffer
	for _, to := range []*bytes.Buffer{&before, &after} {
		if _, err := b.Export(ctx, to, ExportOptions{}); err != nil {
			t.Error(err)
		}
		if err := b.Rebuild(ctx, nil); err != nil {
			t.Error(err)
		}
	}
	if !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Error("a rebuild changed what is exported")
	}
	stop()
	watcher.Wait()
	if heard == 0 {
		t.Error("nothing was heard of the changes")
	}
	t.Logf("%d records, %d changes heard", rep.Records, heard)
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
