package eval

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/query"
)

// OpenBank opens the program's own memory as the store under measure, with these options.
func OpenBank(o memory.Options) func(context.Context, string) (Store, error) {
	return func(_ context.Context, dir string) (Store, error) {
		base := query.Default()
		if o.Tuning != nil {
			base = *o.Tuning
		}
		s := &bankStore{base: base, now: base}
		o := o
		o.Tuning = &s.now
		present := o.Now
		if present == nil {
			present = time.Now
		}
		o.Now = func() time.Time {
			if at := s.asked.Load(); at != nil {
				return *at
			}
			return present()
		}
		bank, err := memory.Open(dir, o)
		if err != nil {
			return nil, err
		}
		s.bank = bank
		return s, nil
	}
}

// bankStore is one bank whose table of weights is exchanged between settings. Questions are put one after
// another, so that an engine is good until the next setting is asked for.
type bankStore struct {
	bank *memory.Bank
	base query.Tuning
	now  query.Tuning

	asked atomic.Pointer[time.Time] // when the question is put; nil: now
}

func (s *bankStore) AskAt(at time.Time) {
	if at.IsZero() {
		s.asked.Store(nil)
		return
	}
	s.asked.Store(&at)
}

func (s *bankStore) Engine(set Setting) (memory.Engine, error) {
	t, err := tuned(s.base, set)
	if err != nil {
		return nil, err
	}
	s.now = t
	return s.bank, nil
}

func (s *bankStore) Close() error { return s.bank.Close() }

// tuned is the table with a setting's parts switched off.
func tuned(t query.Tuning, set Setting) (query.Tuning, error) {
	for _, part := range set.Off {
		switch part {
		case "words":
			t.Words, t.Window, t.Phrase = 0, 0, 0
		case "vector":
			t.Vector = 0
		case "window":
			t.Window = 0
		case "episode":
			t.Episode = 0
		case "phrase":
			t.Phrase = 0
		case "time":
			t.Time, t.Dated = 0, 0
		case "entity":
			t.Speaker, t.Named = 0, 0
		case "session":
			t.Session = 0
		case "reply":
			t.Reply = 0
		case "expand":
			t.Expand = 0
		case "diversity":
			t.Diversity = 0
		case "walk":
			t.NoWalk = true
		case "adaptive":
			t.Fixed = true
		default:
			return t, fmt.Errorf("setting %q: no part %q, use some of %v", set.Name, part, Parts)
		}
	}
	if set.Corrupt != "" {
		i := slices.Index(graphs, set.Corrupt)
		if i < 0 {
			return t, fmt.Errorf("setting %q: no graph %q", set.Name, set.Corrupt)
		}
		g := []graph.Graph{graph.Temporal, graph.Semantic, graph.Causal, graph.Entity}[i]
		t.Corrupt = query.Corruption{Graph: g, Share: float32(set.Share), Seed: set.Seed}
	}
	return t, nil
}

// Settle waits until no project has background work that can be done now.
func (s *bankStore) Settle(ctx context.Context) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		left := 0
		projects, err := s.bank.Projects(ctx)
		if err != nil {
			return err
		}
		for _, p := range projects {
			st, err := s.bank.Stats(ctx, p.Project)
			if err != nil {
				return err
			}
			left += st.Pending.Embedding + st.Pending.Consolidation
		}
		if left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d pieces of background work are left: %w", left, ctx.Err())
		case <-tick.C:
		}
	}
}
