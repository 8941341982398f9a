package memory

import (
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
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

// faultyKV is a store of which a snapshot's scan has a fault of the program in it, once.
type faultyKV struct {
	store.KV
	armed atomic.Bool
}

type faultySnapshot struct {
	store.Snapshot
	k *faultyKV
}

func (k *faultyKV) Snapshot() (store.Snapshot, error) {
	s, err := k.KV.Snapshot()
	return faultySnapshot{s, k}, err
}

func (s faultySnapshot) Scan(lo, hi []byte) iter.Seq2[store.Row, error] {
	if s.k.armed.CompareAndSwap(true, false) {
		panic("a fault while a row is read")
	}
	return s.Snapshot.Scan(lo, hi)
}

// TestAFaultWhileLoadingCostsOneCall: the next question loads the index, nothing is kept for the load that failed, and
// a purge finds no snapshot left open.
func TestAFaultWhileLoadingCostsOneCall(t *testing.T) {
	f := open(t)
	gone := f.say("The anchor chain broke in the harbour.")
	f.say("The harbour master came aboard.")
	f.reopen()
	k := &faultyKV{KV: f.kv}
	f.kv = k
	ask := func() (err error) {
		defer func() {
			if p := recover(); p != nil { // as the tools do
				err = fmt.Errorf("fault: %v", p)
			}
		}()
		_, err = f.Recall(ctx, Question{Query: "anchor"})
		return err
	}
	k.armed.Store(true)
	if err := ask(); err == nil {
		t.Fatal("the fault did not show")
	}
	f.say("Said while no index is loaded.")
	for _, err := range []error{ask(), ask()} { // the first may tell of the load that failed
		if err != nil {
			t.Log(err)
		}
	}
	if err := ask(); err != nil {
		t.Fatalf("later questions fail: %v", err)
	}
	if got := f.first("said while no index"); got != "Said while no index is loaded." {
		t.Errorf("found %q", got)
	}
	f.kv = k.KV
	if out, err := f.Forget(ctx, Choice{IDs: []string{gone.ID}, Purge: true}); err != nil || !out.Purged {
		t.Errorf("purged %t, %v", out.Purged, err)
	}
}

// TestAnIndexStaysWhileItsMemoriesAreForgotten: another project's question does not evict it, so that all that goes
// is counted.
func TestAnIndexStaysWhileItsMemoriesAreForgotten(t *testing.T) {
	f := open(t, func(o *Options) { o.ResidentDocs = 1 })
	f.say("The anchor chain broke in the harbour.")
	f.remember(Note{Content: "Elsewhere the deploy key rusts.", Project: "other"})
	p, _ := f.project("default")
	release, err := f.pin(p)
	if err != nil {
		t.Fatal(err)
	}
	f.recall(Question{Query: "deploy", Project: "other"})
	if f.loaded(p) == nil {
		t.Error("an index in use was evicted")
	}
	release()
	f.recall(Question{Query: "deploy", Project: "other"})
	if f.loaded(p) != nil {
		t.Error("an index that nobody needs stays beyond what is allowed")
	}
}

// TestNamesAreReadByManyAtOnce: each reader gets the entity it asked for.
func TestNamesAreReadByManyAtOnce(t *testing.T) {
	f := open(t)
	f.say("Ana Silva met Bruno Costa in the harbour.")
	f.recall(Question{Query: "harbour"})
	names := []struct {
		name string
		want int
	}{{"Ana", 1}, {"Bruno", 1}, {"Silva", 1}, {"", 0}}
	var readers sync.WaitGroup
	for k := range 6 {
		readers.Go(func() {
			for i := range 500 {
				n := names[(i+k)%len(names)]
				if n.name == "" {
					n.name = fmt.Sprintf("walk%d%d", k, i)
				}
				if l, err := f.Entity(ctx, "default", n.name); err != nil || len(l) != n.want {
					t.Errorf("%s: %d entities, want %d; %v", n.name, len(l), n.want, err)
					return
				}
			}
		})
	}
	readers.Wait()
}
