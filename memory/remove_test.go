package memory

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// many stores n memories of three sessions: "early" is the first third, "odd" and "even" take turns after it.
func (f *fixture) many(n int, project string) (ids []string) {
	f.t.Helper()
	for i := range n {
		session := "early"
		if i >= n/3 {
			session = []string{"even", "odd"}[i%2]
		}
		w, err := f.prepare(&Note{Content: fmt.Sprintf("Number %d is painted on the barrel.", i), Session: session, Project: project, Source: "S" + fmt.Sprint(i%2), Tags: []string{"barrel"}})
		if err != nil {
			f.t.Fatal(err)
		}
		r, _, err := f.commit(w)
		if err != nil {
			f.t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

// left is the ids of the records of a project, from its rows.
func (f *fixture) left(project string) (ids []string) {
	f.t.Helper()
	p, _ := f.project(project)
	lo, hi := store.RecordRange(p)
	for row, err := range f.kv.Scan(lo, hi) {
		if err != nil {
			f.t.Fatal(err)
		}
		ids = append(ids, store.IDOf(row.Key).String())
	}
	return ids
}

// TestForgetManyTakesJustThose forgets sessions that are a run of memories and ones that lie between others, over
// several batches, with rows of every kind under them.
func TestForgetManyTakesJustThose(t *testing.T) {
	f := open(t)
	const n = 2*removeBatch + 3*shortRun
	other := f.many(40, "other")
	ids := f.many(n, "")
	p, _ := f.project("default")
	m := uint32(7)
	f.models[m] = `{"model":"test","dimensions":2}`
	f.put(store.Op{Kind: store.Set, Key: store.ModelKey(m), Value: []byte(f.models[m])})
	var ops []store.Op
	for i, s := range ids {
		id := f.id(s)
		ops = append(ops, store.Op{Kind: store.Set, Key: store.VectorKey(p, m, id, uint16(i%3)), Value: store.EncodeVector(1, []float32{1, 2})})
		if i%5 == 0 {
			ops = append(ops, store.Op{Kind: store.Set, Key: store.ParkedKey(store.PassModel, p, id), Value: (&store.Job{}).Encode()},
				store.Op{Kind: store.Set, Key: store.StateKey(p, id), Value: (&store.State{Tags: []string{"late"}}).Encode()})
		}
	}
	f.put(ops...)
	forget := func(c Choice, want []string) Removal {
		t.Helper()
		before := f.left("default")
		r, err := f.Forget(ctx, c)
		if err != nil || r.Count != len(want) {
			t.Fatalf("preview of %+v: %d, want %d; %v", c, r.Count, len(want), err)
		}
		if r, err = f.Forget(ctx, Choice{Confirm: r.Confirm}); err != nil || r.Count != len(want) || !r.Verified || r.Removed.Vectors != len(want) {
			t.Fatalf("%+v: %+v, %v; want %d", c, r.Removed, err, len(want))
		}
		if r.Forgotten[0].ID != want[0] {
			t.Errorf("the answer begins with %s, want the oldest, %s", r.Forgotten[0].ID, want[0])
		}
		after := slices.DeleteFunc(before, func(id string) bool { return slices.Contains(want, id) })
		if got := f.left("default"); !slices.Equal(got, after) {
			t.Errorf("%d are left, want %d", len(got), len(after))
		}
		f.check()
		return r
	}
	every := func(from, step int) (l []string) {
		for i := from; i < n; i += step {
			l = append(l, ids[i])
		}
		return l
	}
	early := ids[:n/3]
	odd := slices.DeleteFunc(every(1, 2), func(id string) bool { return slices.Contains(early, id) })
	forget(Choice{Session: "odd"}, odd)
	if r := forget(Choice{Session: "early"}, early); r.Removed.Queue < len(early)/5 {
		t.Errorf("%d rows of work went, want %d and more", r.Removed.Queue, len(early)/5)
	}
	if got := f.left("other"); !slices.Equal(got, other) {
		t.Errorf("%d memories are left of another project, want %d", len(got), len(other))
	}
	f.reopen()
	forget(Choice{Source: "S0"}, slices.DeleteFunc(every(0, 2), func(id string) bool { return slices.Contains(early, id) }))
	if got := f.left("default"); len(got) != 0 {
		t.Errorf("%d are left", len(got))
	}
	for row, err := range f.kv.Scan(nil, nil) { // nothing but tombstones and refs under any of them
		if err != nil {
			t.Fatal(err)
		}
		if row.Key[0] == 'x' || row.Key[0] == 't' || row.Key[0] == 'h' && len(row.Value) == 16 && slices.Contains(other, graph.ID(row.Value).String()) {
			continue
		}
		for _, s := range ids {
			if id := f.id(s); bytes.Contains(row.Key, id[:]) || bytes.Contains(row.Value, id[:]) {
				t.Fatalf("a row %q is left under %s", row.Key[:1], s)
			}
		}
	}
}

// TestVerifiedIsHonest: any row that is still found under a forgotten id makes verified false.
func TestVerifiedIsHonest(t *testing.T) {
	f := open(t)
	p, s := store.Project(1), f.say("The kettle is on the stove.")
	f.say("The stove is in the kitchen.")
	id := f.id(s.ID)
	f.models[3] = "{}"
	record, _, err := f.get(p, id)
	if err != nil {
		t.Fatal(err)
	}
	hash := store.HashKey(p, identity(record, record.Content, []*store.Analysis{f.analyze(record)}))
	before, err := f.kv.Get(hash)
	if err != nil || graph.ID(before) != id {
		t.Fatalf("%x, %v: not the duplicate row", before, err)
	}
	if _, err := f.Forget(ctx, Choice{IDs: []string{s.ID}}); err != nil {
		t.Fatal(err)
	}
	g := &removing{b: f.Bank, project: p, out: &Removal{}, gone: []graph.ID{id}, hashes: [][]byte{hash}}
	verified := func() bool {
		t.Helper()
		ok, err := g.verify([]graph.ID{id})
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	if !verified() {
		t.Fatal("not verified, and nothing is left")
	}
	keys := map[string][]byte{"record": store.RecordKey(p, id), "analysis": store.AnalysisKey(p, id), "state": store.StateKey(p, id), "duplicate": hash,
		"vector": store.VectorKey(p, 3, id, 2), "basis": store.BasisKey(p, id, store.PassModel, store.Sum("x"))}
	for pass := store.PassEmbed; pass <= store.PassEpisode; pass++ {
		keys[fmt.Sprint("queue ", pass)], keys[fmt.Sprint("parked ", pass)] = store.QueueKey(pass, p, id), store.ParkedKey(pass, p, id)
	}
	for name, k := range keys {
		f.put(store.Op{Kind: store.Set, Key: k, Value: id[:]})
		if verified() {
			t.Errorf("verified with a row of %s left", name)
		}
		f.put(store.Op{Kind: store.Delete, Key: k})
	}
	tomb, err := f.kv.Get(store.TombstoneKey(p, id))
	if err != nil {
		t.Fatal(err)
	}
	f.put(store.Op{Kind: store.Delete, Key: store.TombstoneKey(p, id)})
	if verified() {
		t.Error("verified without a tombstone")
	}
	f.put(store.Op{Kind: store.Set, Key: store.TombstoneKey(p, id), Value: tomb})
	sh, err := f.shard(p)
	if err != nil {
		t.Fatal(err)
	}
	sh.Lock()
	sh.Add(record, nil, f.analyze(record))
	sh.Unlock()
	if verified() {
		t.Error("verified while the index finds it")
	}
	sh.Lock()
	sh.Remove(id)
	sh.Unlock()
	if !verified() {
		t.Error("not verified at the end")
	}
}

// TestForgetOnceGoesOn: the power goes at every write of a forgetting of several batches, and whoever asked asks
// again: all of what was chosen goes, nothing else, and the answer is that of a forgetting that was not cut.
func TestForgetOnceGoesOn(t *testing.T) {
	const n = 2*removeBatch + 50
	base := vfs.NewCrashableMem()
	f := &fixture{t: t, fs: base, clock: &clock{t: time.Date(2025, 6, 16, 9, 0, 0, 0, time.UTC)}}
	f.opts = Options{Now: f.clock.now, NewID: NewIDs(1), Zone: time.UTC, Paused: true}
	f.reopen()
	f.many(n, "")
	kept := f.remember(Note{Content: "This one stays.", Session: "other"})
	p, err := f.Forget(ctx, Choice{Tags: []string{"barrel"}, Reason: "moved out"})
	if err != nil || p.Count != n {
		t.Fatalf("%d, %v", p.Count, err)
	}
	halfway := 0
	crashes := f.cutEverywhere(2, func(b *Bank) error {
		_, err := b.ForgetOnce(ctx, "r1", Choice{Confirm: p.Confirm})
		return err
	}, func(k int64, g *fixture) {
		if l := len(g.left("default")); l > 1 && l < n+1 {
			halfway++
		}
		out, err := g.ForgetOnce(ctx, "r1", Choice{Confirm: p.Confirm})
		if err != nil || out.Status != StatusForgotten || out.Count != n || out.Removed.Memories != n || !out.Verified || len(out.Forgotten) != previewShown || out.Forgotten[0].ID != p.Forgotten[0].ID {
			t.Fatalf("cut at write %d: %s %d %+v %t, %v", k, out.Status, out.Count, out.Removed, out.Verified, err)
		}
		if l := g.left("default"); !slices.Equal(l, []string{kept.ID}) {
			t.Fatalf("cut at write %d: %d are left", k, len(l))
		}
		again, err := g.ForgetOnce(ctx, "r1", Choice{Confirm: p.Confirm})
		if err != nil || again.Removed != out.Removed || again.Count != n {
			t.Fatalf("cut at write %d, asked a third time: %+v, %v", k, again, err)
		}
		id := g.id(p.Forgotten[0].ID)
		project, _ := g.project("default")
		v, err := g.kv.Get(store.TombstoneKey(project, id))
		if err != nil || !strings.Contains(string(v), "moved out") {
			t.Fatalf("cut at write %d: the tombstone lacks its reason: %q, %v", k, v, err)
		}
		lo, hi := store.ConfirmRange()
		for range g.kv.Scan(lo, hi) {
			t.Fatalf("cut at write %d: the list of what was to go is still there", k)
		}
	})
	t.Logf("%d crashes survived, %d of them halfway", crashes, halfway)
	if halfway < 2 {
		t.Errorf("only %d crashes halfway: the forgetting is too small", halfway)
	}
}

func withFS(o Options, fs vfs.FS) Options {
	o.Pebble = store.PebbleOptions{FS: fs}
	return o
}
