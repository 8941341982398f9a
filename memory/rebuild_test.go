package memory

import (
	"bytes"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/store/storetest"
)

// rebuiltRows is the rows of a project that a rebuild makes.
func (f *fixture) rebuiltRows(p store.Project) map[string]string {
	f.t.Helper()
	rows := map[string]string{}
	for _, rng := range store.DerivedSpaces(p) {
		for row, err := range f.kv.Scan(rng[0], rng[1]) {
			if err != nil {
				f.t.Fatal(err)
			}
			rows[string(row.Key)] = string(row.Value)
		}
	}
	return rows
}

// TestRebuildCrash cuts the power at every write of a rebuild of several batches: no row that answered before is
// missing afterwards, and a second rebuild ends where one that was not cut does.
func TestRebuildCrash(t *testing.T) {
	base := vfs.NewCrashableMem()
	f := &fixture{t: t, fs: base, clock: &clock{t: time.Date(2025, 6, 16, 9, 0, 0, 0, time.UTC)}}
	f.opts = Options{Now: f.clock.now, NewID: NewIDs(1), Zone: time.UTC, Paused: true}
	f.reopen()
	f.many(rebuildBatch, "")
	p, _ := f.project("default")
	first := f.say("The gate is green.")
	f.remember(Note{Content: "The gate is blue.", Supersedes: []string{first.ID}})
	back := f.say("The gate is green.") // a value that flips back: its duplicate row is the newer's
	if back.ID == first.ID {
		t.Fatal("no second memory")
	}
	f.say(longText(40, "zeppelin"))
	gone := f.say("Nobody is to know.")
	if _, err := f.Forget(ctx, Choice{IDs: []string{gone.ID}}); err != nil {
		t.Fatal(err)
	}
	sound := f.rebuiltRows(p)
	// Rows of no memory, one that lies, and one that is missing: what a rebuild is for.
	var stray graph.ID
	stray[0], stray[15] = 1, 7
	missing := store.AnalysisKey(p, f.id(back.ID))
	f.put(store.Op{Kind: store.Set, Key: store.AnalysisKey(p, stray), Value: []byte{}}, store.Op{Kind: store.Set, Key: store.TailKey(p, stray), Value: []byte{}},
		store.Op{Kind: store.Set, Key: store.HashKey(p, store.Sum("nothing")), Value: stray[:]}, store.Op{Kind: store.Delete, Key: missing})
	between := 0
	crashes := f.cutEverywhere(3, func(b *Bank) error { return b.Rebuild(ctx, nil) }, func(k int64, g *fixture) {
		rows := g.rebuiltRows(p)
		for key, v := range sound {
			if got, ok := rows[key]; got != v && (ok || !bytes.Equal([]byte(key), missing)) {
				t.Fatalf("cut at write %d: a row %q is %t there, and not as it was", k, key[:1], ok)
			}
		}
		if len(rows) > len(sound) && rows[string(missing)] != "" {
			between++
		}
		if r, err := g.Remember(ctx, Note{Content: "The gate is green."}); err != nil || r.ID != back.ID {
			t.Fatalf("cut at write %d: told again: %s %s, %v", k, r.Status, r.ID, err)
		}
		if err := g.Rebuild(ctx, nil); err != nil {
			t.Fatal(err)
		}
		if got := g.rebuiltRows(p); fmt.Sprint(got) != fmt.Sprint(sound) {
			t.Fatalf("cut at write %d: a second rebuild makes %d rows, want %d", k, len(got), len(sound))
		}
	})
	t.Logf("%d crashes survived, %d of them between what is written and what goes", crashes, between)
	if crashes < 6 {
		t.Errorf("only %d crashes: the rebuild is too small", crashes)
	}
}

// sick is a store in which the analyses of a project cannot be read until they are deleted as a range.
type sick struct {
	store.KV
	lo, hi []byte
	healed bool
}

func (s *sick) Scan(lo, hi []byte) iter.Seq2[store.Row, error] {
	if !s.healed && bytes.Equal(lo, s.lo) {
		return func(yield func(store.Row, error) bool) { yield(store.Row{}, store.ErrCorrupt) }
	}
	return s.KV.Scan(lo, hi)
}

func (s *sick) Apply(ops []store.Op) (store.Commit, error) {
	for _, op := range ops {
		s.healed = s.healed || op.Kind == store.DeleteRange && bytes.Equal(op.Key, s.lo) && bytes.Equal(op.Value, s.hi)
	}
	return s.KV.Apply(ops)
}

// TestRebuildOverDamage: what was derived and cannot be read is made anew from the records that can.
func TestRebuildOverDamage(t *testing.T) {
	kv := &sick{KV: storetest.NewMap(), healed: true}
	kv.lo, kv.hi = store.AnalysisRange(1)
	f := open(t, func(o *Options) { o.KV = kv })
	f.say("The gate is green.")
	want := f.rebuiltRows(1)
	kv.healed = false
	if err := f.Rebuild(ctx, nil); err != nil || !kv.healed {
		t.Fatal(kv.healed, err)
	}
	if got := f.rebuiltRows(1); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

// TestCheckReadsEveryRow: damage is told of wherever it lies, also among rows that belong to no memory.
func TestCheckReadsEveryRow(t *testing.T) {
	kv := &sickest{KV: storetest.NewMap()}
	f := open(t, func(o *Options) { o.KV = kv })
	f.say("The gate is green.")
	kv.key = store.RequestKey(store.Sum("request", "r1"))
	f.put(store.Op{Kind: store.Set, Key: kv.key, Value: []byte("{}")})
	kv.sick = true
	_, err := f.Check(ctx)
	wantCode(t, err, CodeStorage, "damaged")
	kv.sick = false
	code := store.ConfirmKey(store.Sum("confirm", "x"))
	f.put(store.Op{Kind: store.Set, Key: code, Value: []byte{0xff}})
	if rep, err := f.Check(ctx); err != nil || len(rep.Problems) != 1 {
		t.Errorf("%v, %v", rep.Problems, err)
	}
	f.put(store.Op{Kind: store.Delete, Key: code})
}

// TestDamagedAnswersDoNotKeepAStoreShut: what can be read stays readable.
func TestDamagedAnswersDoNotKeepAStoreShut(t *testing.T) {
	kv := &sick{KV: storetest.NewMap(), healed: true}
	kv.lo, kv.hi = store.RequestRange()
	o := Options{KV: kv, Zone: time.UTC, Paused: true}
	b, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.RememberOnce(ctx, "r1", Note{Content: "The gate is green."}); err != nil {
		t.Fatal(err)
	}
	kv.healed = false
	again, err := Open("", o)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := again.Recall(ctx, Question{Query: "gate"}); err != nil || len(r.Memories) != 1 {
		t.Errorf("%+v, %v", r.Memories, err)
	}
	for _, b := range []*Bank{b, again} {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// sickest is a store one row of which cannot be read.
type sickest struct {
	store.KV
	key  []byte
	sick bool
}

func (s *sickest) Snapshot() (store.Snapshot, error) {
	snap, err := s.KV.Snapshot()
	return &sickSnapshot{snap, s}, err
}

type sickSnapshot struct {
	store.Snapshot
	of *sickest
}

func (s *sickSnapshot) Scan(lo, hi []byte) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for row, err := range s.Snapshot.Scan(lo, hi) {
			if s.of.sick && bytes.Equal(row.Key, s.of.key) {
				row, err = store.Row{}, store.ErrCorrupt
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}
