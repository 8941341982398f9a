package memory

import (
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// gatedKV is a store whose snapshots are read only once gate is open.
type gatedKV struct {
	store.KV
	once          sync.Once
	reached, gate chan struct{}
}

type gatedSnapshot struct {
	store.Snapshot
	k *gatedKV
}

func (k *gatedKV) Snapshot() (store.Snapshot, error) {
	s, err := k.KV.Snapshot()
	return gatedSnapshot{s, k}, err
}

func (s gatedSnapshot) Scan(lo, hi []byte) iter.Seq2[store.Row, error] {
	s.k.once.Do(func() { close(s.k.reached) })
	<-s.k.gate
	return s.Snapshot.Scan(lo, hi)
}

// TestWritersDoNotWaitForALoad: while a project's index is read, memories are stored in it and elsewhere, and the
// question that waits for the index sees them.
func TestWritersDoNotWaitForALoad(t *testing.T) {
	f := open(t)
	old := f.remember(Note{Content: "The anchor chain broke in the harbour.", Session: "s"})
	f.remember(Note{Content: "The harbour master came aboard.", Session: "s"})
	f.reopen()
	k := &gatedKV{KV: f.kv, reached: make(chan struct{}), gate: make(chan struct{})}
	f.kv = k
	defer func() { f.kv = k.KV }()
	var answer Recollection
	asked := make(chan error, 1)
	go func() {
		var err error
		answer, err = f.Recall(ctx, Question{Query: "What happened in the harbour with the anchor?", Limit: 10})
		asked <- err
	}()
	<-k.reached
	wrote := make(chan struct{})
	go func() {
		defer close(wrote)
		f.remember(Note{Content: "A new anchor was bought in the harbour.", Session: "s", Supersedes: []string{old.ID}})
		f.remember(Note{Content: "The harbour master came aboard.", Session: "s", Tags: []string{"visit"}})
		f.remember(Note{Content: "Elsewhere an anchor rusts.", Project: "other"})
	}()
	select {
	case <-wrote:
	case <-time.After(20 * time.Second):
		t.Fatal("writers wait for an index that is being loaded")
	}
	close(k.gate)
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range answer.Memories {
		got = append(got, m.Content)
	}
	all := strings.Join(got, "\n")
	if !strings.Contains(all, "new anchor") || strings.Contains(all, "chain broke") || strings.Contains(all, "Elsewhere") {
		t.Errorf("the answer is\n%s\nwant the new memory, and not what it supersedes", all)
	}
	tagged, err := f.Recall(ctx, Question{Query: "harbour", Filter: Filter{Tags: []string{"visit"}}})
	if err != nil || len(tagged.Memories) != 1 {
		t.Errorf("%d memories with the tag that came meanwhile, %v", len(tagged.Memories), err)
	}
}
