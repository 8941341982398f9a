package memory

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

func (f *fixture) offline() Options {
	o := f.opts
	o.Pebble = store.PebbleOptions{FS: f.fs}
	return o
}

func TestBackupAndRestore(t *testing.T) {
	f := filled(t)
	want := f.export(ExportOptions{Vectors: true})
	rep, err := f.Backup(ctx, "backups", 0)
	if err != nil || len(rep.Check.Problems) > 0 || rep.Check.Records == 0 {
		t.Fatal(rep, err)
	}
	f.say("What came after the backup")
	later := f.export(ExportOptions{Vectors: true})

	// Not over a store that holds something.
	o := f.offline()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Restore(ctx, "store", rep.Path, false, o)
	wantCode(t, err, CodeRefused, "--replace")
	f.Bank = nil
	f.reopen()
	if got := f.export(ExportOptions{Vectors: true}); got != later {
		t.Fatal("a refused restore changed the store")
	}

	// Where it is told to, the old one stays beside.
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := Restore(ctx, "store", rep.Path, true, o)
	if err != nil || r.Aside == "" {
		t.Fatal(r, err)
	}
	f.Bank = nil
	f.reopen()
	if d := cmp.Diff(want, f.export(ExportOptions{Vectors: true})); d != "" {
		t.Errorf("restored:\n%s", d)
	}
	old, err := Open(r.Aside, o)
	if err != nil {
		t.Fatal(err)
	}
	g := &fixture{t: t, Bank: old}
	if got := g.export(ExportOptions{Vectors: true}); got != later {
		t.Error("the store that was replaced is not beside as it was")
	}
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}

	// Into an empty folder.
	if r, err = Restore(ctx, "fresh", rep.Path, false, o); err != nil || r.Aside != "" {
		t.Fatal(r, err)
	}
	b, err := Open("fresh", o)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if d := cmp.Diff(want, (&fixture{t: t, Bank: b}).export(ExportOptions{Vectors: true})); d != "" {
		t.Errorf("restored:\n%s", d)
	}
	if _, err := Restore(ctx, "other", "nowhere", false, o); err == nil {
		t.Error("restored from nowhere")
	}
}

func TestBackupKeepsTheNewest(t *testing.T) {
	f := open(t)
	f.say("one")
	if err := store.MakeFolder("backups/not a backup", f.offline().Pebble); err != nil {
		t.Fatal(err)
	}
	if err := store.MakeFolder("backups/.partial-magma-20200101-000000", f.offline().Pebble); err != nil {
		t.Fatal(err)
	}
	var removed int
	for range 5 {
		f.clock.add(time.Minute)
		rep, err := f.Backup(ctx, "backups", 2)
		if err != nil {
			t.Fatal(err)
		}
		removed += len(rep.Removed)
	}
	have, err := store.Folders("backups", f.offline().Pebble)
	if err != nil || !cmp.Equal(have, []string{"magma-20250616-090400", "magma-20250616-090500", "not a backup"}) || removed != 3 {
		t.Errorf("%q, %v, %d removed", have, err, removed)
	}
	if _, err := f.Backup(ctx, "backups", 2); CodeOf(err) != CodeBusy {
		t.Errorf("two in one second: %v", err)
	}
}

func TestDamagedBackupIsNotRestored(t *testing.T) {
	f := filled(t)
	rep, err := f.Backup(ctx, "backups", 0)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, f.fs, rep.Path, ".log", 0.5)
	o := f.offline()
	want := f.export(ExportOptions{})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(ctx, "store", rep.Path, true, o); err == nil {
		t.Error("a damaged backup was restored")
	}
	f.Bank = nil
	f.reopen()
	if got := f.export(ExportOptions{}); got != want {
		t.Error("a failed restore changed the store")
	}
}

// flip changes a byte in the largest file of a kind, at a share of its length.
func flip(t *testing.T, fs vfs.FS, dir, suffix string, at float64) string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	name, size := "", int64(0)
	for _, n := range names {
		if st, err := fs.Stat(fs.PathJoin(dir, n)); err == nil && strings.HasSuffix(n, suffix) && st.Size() > size {
			name, size = fs.PathJoin(dir, n), st.Size()
		}
	}
	if name == "" {
		t.Fatalf("no %s in %s", suffix, dir)
	}
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	raw[int(float64(len(raw))*at)] ^= 0x40
	w, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Write(raw)
	if err = errors.Join(err, w.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestBackupEvery(t *testing.T) {
	fs := vfs.NewMem()
	synctest.Test(t, func(t *testing.T) {
		b, err := Open("store", Options{Pebble: store.PebbleOptions{FS: fs}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Remember(ctx, Note{Content: "one"}); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- b.BackupEvery(t.Context(), "backups", time.Hour, 3) }()
		time.Sleep(10*time.Hour + time.Minute)
		have, err := Backups("backups", b.o)
		if err != nil || len(have) != 3 || have[2] != "magma-20000101-100000" {
			t.Errorf("%q, %v", have, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestSwapUnderFaults cuts a restore off at every file operation: what is there afterwards is the old store or the
// new one, whole, and never neither.
func TestSwapUnderFaults(t *testing.T) {
	f := filled(t)
	rep, err := f.Backup(ctx, "backups", 0)
	if err != nil {
		t.Fatal(err)
	}
	oldText := f.export(ExportOptions{Vectors: true})
	f.say("After the backup")
	newText := f.export(ExportOptions{Vectors: true})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	pristine := f.fs
	finished := false
	old, replaced := 0, 0
	for n := 1; !finished; n++ {
		if n > 2000 {
			t.Fatal("no end")
		}
		mem := copyFS(t, pristine)
		var count atomic.Int64
		faulty := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				if count.Add(1) >= int64(n) {
					return errorfs.ErrInjected
				}
			}
			return nil
		}))
		o := f.opts
		o.Pebble = store.PebbleOptions{FS: faulty}
		_, err := Restore(ctx, "store", rep.Path, true, o)
		finished = err == nil && count.Load() < int64(n)
		if testing.Short() && n%7 != 0 && !finished {
			continue
		}
		o.Pebble.FS = mem
		b, err := Open("store", o)
		if err != nil {
			t.Fatalf("cut off at write %d, the store does not open: %v", n, err)
		}
		switch got := (&fixture{t: t, Bank: b}).export(ExportOptions{Vectors: true}); got {
		case newText:
			old++
		case oldText:
			replaced++
		default:
			t.Fatalf("cut off at write %d, the store is neither:\n%s", n, got)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if old == 0 || replaced == 0 {
		t.Errorf("%d times the old store, %d times the new one", old, replaced)
	}
	t.Logf("cut off %d times before the swap, %d times in it or after", old, replaced)
	f.Bank = nil
	f.reopen()
}

// TestImportUnderFaults cuts an import off at writes all over it: the store opens and is sound, and importing again
// finishes it, with nothing twice.
func TestImportUnderFaults(t *testing.T) {
	text := filled(t).export(ExportOptions{Vectors: true})
	cuts := 0
	for n, done := 1, false; !done; n += 1 + n/8 {
		mem := vfs.NewMem()
		var count atomic.Int64
		faulty := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				if count.Add(1) >= int64(n) {
					return errorfs.ErrInjected
				}
			}
			return nil
		}))
		o := Options{Now: (&clock{t: time.Date(2025, 6, 16, 9, 0, 0, 0, time.UTC)}).now, NewID: NewIDs(1), Zone: time.UTC, Paused: true, Pebble: store.PebbleOptions{FS: faulty}}
		b, err := Open("store", o)
		if err == nil {
			_, err = b.Import(ctx, file("x", text), "x", ImportOptions{})
			err = errors.Join(err, b.Close())
		}
		if done = err == nil && count.Load() < int64(n); !done {
			cuts++
		}
		o.Pebble.FS = mem
		if b, err = Open("store", o); err != nil {
			t.Fatalf("cut off at write %d, the store does not open: %v", n, err)
		}
		f := &fixture{t: t, Bank: b}
		f.check()
		if rep := f.imported(text, ImportOptions{}); rep.Bad > 0 || rep.Conflicts > 0 || rep.Merged > 0 {
			t.Errorf("cut off at write %d, again: %+v", n, rep)
		}
		if got := f.export(ExportOptions{Vectors: true}); got != text {
			t.Fatalf("cut off at write %d, importing again gives another store", n)
		}
		f.check()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if cuts < 10 {
		t.Errorf("%d cuts alone", cuts)
	}
	t.Logf("cut off %d times", cuts)
}

func copyFS(t *testing.T, from *vfs.MemFS) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	if ok, err := vfs.Clone(from, to, "store", "store"); err != nil || !ok {
		t.Fatal(err)
	}
	if ok, err := vfs.Clone(from, to, "backups", "backups"); err != nil || !ok {
		t.Fatal(err)
	}
	return to
}

func TestRepair(t *testing.T) {
	build := func(t *testing.T) *fixture {
		f := open(t, paused)
		for i := range 400 {
			f.remember(Note{Content: fmt.Sprintf("Memory number %d says that part %d of the plan was mended by team %d, with %x to show for it.", i, i*7, i%13, store.Sum(fmt.Sprint(i))), Session: fmt.Sprint(i % 9)})
		}
		var long strings.Builder
		for i := range 60 {
			fmt.Fprintf(&long, "Ana: On day %d we looked at part %d of the plan and found it wanting in several ways.\nBo: I will mend it by Tuesday, and tell you what it took to do so.\n\n", i, i)
		}
		f.say(long.String())
		gone := f.say("The word xylophone is to be forgotten")
		if _, err := f.Forget(ctx, Choice{IDs: []string{gone.ID}}); err != nil {
			t.Fatal(err)
		}
		if c, ok := f.kv.(store.Compacter); ok {
			if err := c.Compact(ctx); err != nil {
				t.Fatal(err)
			}
		}
		return f
	}
	t.Run("sound", func(t *testing.T) {
		f := build(t)
		want := f.export(ExportOptions{})
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		rep, err := Repair(ctx, "store", f.offline())
		if err != nil || !rep.Sound || rep.Aside != "" {
			t.Errorf("%+v, %v", rep, err)
		}
		f.Bank = nil
		f.reopen()
		if f.export(ExportOptions{}) != want {
			t.Error("changed")
		}
	})
	kept := 0
	for _, at := range []float64{0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.999} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			f := build(t)
			before := map[string]bool{}
			for _, l := range strings.Split(f.export(ExportOptions{}), "\n") {
				before[l] = true
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			flip(t, f.fs, "store", ".sst", at)
			rep, err := Repair(ctx, "store", f.offline())
			if at > 0.99 { // where the table ends lies what finds its blocks
				wantCode(t, err, CodeStorage, "restore a backup")
				f.fs, f.Bank = vfs.NewMem(), nil
				f.reopen()
				return
			}
			if err != nil {
				t.Fatalf("%+v, %v", rep, err)
			}
			f.Bank = nil
			f.reopen()
			n := 0
			for _, l := range strings.Split(f.export(ExportOptions{}), "\n") {
				if l == "" || strings.Contains(l, lineHeader) {
					continue
				}
				loose := rep.Lost["wholes of long texts"] > 0 && (strings.Contains(l, "Ana: On day") || strings.Contains(l, "Bo: I will mend it")) // a segment by itself
				if n++; !before[l] && !strings.Contains(l, `"project":"recovered-1"`) && !loose {
					t.Errorf("a line that was not there: %s", firstWords(l, 300))
				}
				if strings.Contains(l, "xylophone") {
					t.Error("what was forgotten came back")
				}
			}
			kept += n
			if n < len(before)-2 && len(rep.Lost) == 0 && len(rep.Gaps) == 0 {
				t.Errorf("lost %d lines without a word: %+v", len(before)-2-n, rep)
			}
			if n < len(before)/3 {
				t.Errorf("%d of %d lines are left: %+v", n, len(before), rep)
			}
			if !rep.Sound {
				if ok, err := store.HasStore(rep.Aside, f.offline().Pebble); err != nil || !ok {
					t.Errorf("the damaged store is not beside: %+v", rep)
				}
			}
			t.Logf("%d of %d lines kept: %+v", n, len(before)-2, rep)
		})
	}
}

func TestRepairWithoutTables(t *testing.T) {
	f := filled(t)
	p, _ := f.project("default")
	f.put(store.Op{Kind: store.Set, Key: store.ProjectKey(p), Value: []byte("a\x00b")}, store.Op{Kind: store.Delete, Key: store.SettingKey("format")})
	m := f.recall(Question{Query: "part 17 of the plan"}).Memories
	if len(m) == 0 {
		t.Fatal("nothing found")
	}
	f.put(store.Op{Kind: store.Delete, Key: store.RecordKey(p, f.id(m[0].ID))}) // a segment goes
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	rep, err := Repair(ctx, "store", f.offline())
	if err != nil {
		t.Fatal(err)
	}
	if len(rep.Named) != 1 || rep.Lost["project names"] != 1 || rep.Loose == 0 || rep.Lost["wholes of long texts"] != 1 {
		t.Errorf("%+v", rep)
	}
	f.Bank = nil
	f.reopen()
	if got := f.recall(Question{Query: "where is the router?", Project: rep.Named[0]}); !got.Confident {
		t.Errorf("not found after the repair: %+v", got)
	}
}

func TestRekey(t *testing.T) {
	f := filled(t)
	want := f.export(ExportOptions{Vectors: true})
	o := f.offline()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	keys := [][]byte{nil, []byte(strings.Repeat("a", 32)), []byte(strings.Repeat("b", 32)), nil}
	for i, key := range keys[1:] {
		o.Pebble.Key = keys[i]
		rep, err := Rekey(ctx, "store", key, o)
		if err != nil || rep.Encrypted != (key != nil) || rep.Check.Records == 0 {
			t.Fatal(rep, err)
		}
		if key != nil {
			if _, err := Open("store", o); err == nil {
				t.Fatal("opened with the old key")
			}
			if found := grep(t, f.fs, "store", "192.168.7.1"); len(found) > 0 {
				t.Errorf("plain text in %q", found)
			}
		}
		if dirs, err := store.Folders("store", o.Pebble); err != nil || len(dirs) > 0 {
			t.Errorf("left behind: %q, %v", dirs, err)
		}
		o.Pebble.Key = key
		b, err := Open("store", o)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, (&fixture{t: t, Bank: b}).export(ExportOptions{Vectors: true})); d != "" {
			t.Errorf("changed:\n%s", d)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		f.clock.add(time.Minute)
	}
	f.Bank = nil
	f.reopen()
}

// grep looks for text in the files of a folder and those in it.
func grep(t *testing.T, fs vfs.FS, dir, text string) (found []string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		path := fs.PathJoin(dir, n)
		if st, err := fs.Stat(path); err == nil && st.IsDir() {
			found = append(found, grep(t, fs, path, text)...)
			continue
		}
		f, err := fs.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(f)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), text) {
			found = append(found, path)
		}
	}
	return found
}

func TestRetention(t *testing.T) {
	f := open(t)
	f.remember(Note{Content: "An error of the old deploy", Kind: "error"})
	f.remember(Note{Content: "We decided for Postgres", Kind: "decision"})
	f.remember(Note{Content: "A pinned error", Kind: "error", Pinned: true})
	f.remember(Note{Content: "An error elsewhere", Kind: "error", Project: "other"})
	f.clock.add(40 * 24 * time.Hour)
	f.remember(Note{Content: "A fresh error of the deploy, which happened long ago", Kind: "error", OccurredAt: "2001-01-01"})
	day := 24 * time.Hour
	if rep, err := f.Retain(ctx, nil); err != nil || rep.Total() != 0 {
		t.Fatal(rep, err)
	}
	rep, err := f.Retain(ctx, []Retention{{Project: "Default", Kind: "error", Age: 30 * day}, {Project: "*", Age: 365 * day}})
	if err != nil || !cmp.Equal(rep.Forgotten, map[string]int{"default": 1}) {
		t.Fatal(rep, err)
	}
	text := f.export(ExportOptions{})
	for s, want := range map[string]bool{"old deploy": false, "Postgres": true, "pinned error": true, "elsewhere": true, "fresh error": true} {
		if strings.Contains(text, s) != want {
			t.Errorf("%q kept: %v, want %v", s, !want, want)
		}
	}
	if !strings.Contains(text, `"reason":"retention"`) {
		t.Error("no tombstone")
	}
	rep, err = f.Retain(ctx, []Retention{{Project: "*", Age: time.Hour}})
	if err != nil || rep.Total() != 2 {
		t.Fatal(rep, err)
	}
	for _, bad := range []Retention{{Project: "*"}, {Age: day}, {Project: "a\nb", Age: day}} {
		if _, err := f.Retain(ctx, []Retention{bad}); CodeOf(err) != CodeInvalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
