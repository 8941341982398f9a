package memory

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Every file operation under remember, forget, rebuild and purge fails in turn, and the power goes at every
// write: what was acknowledged is there, what was acknowledged as forgotten is not, and the store is clean.

// fate is what one told memory must be like afterwards.
type fate struct {
	word, id, project string
	acked             bool
	forgetting        bool // forget was called
	gone, purged      bool // and acknowledged
	seen              int  // acknowledged sightings
}

// scene plays one fixed history on a Bank and keeps what was acknowledged. A call that fails is passed over
// and the history goes on, as clients do.
type scene struct {
	mu     sync.Mutex
	fates  []*fate
	errors []error
}

func (s *scene) failed(err error) bool {
	if err != nil {
		s.errors = append(s.errors, err)
	}
	return err != nil
}

func (s *scene) tell(b *Bank, n Note, word string) *fate {
	f := &fate{word: word, project: n.Project}
	r, err := b.Remember(ctx, n)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fates = append(s.fates, f)
	if !s.failed(err) {
		f.id, f.acked, f.seen = r.ID, true, 1
	}
	return f
}

func (s *scene) forget(b *Bank, c Choice, of ...*fate) {
	s.mu.Lock()
	for _, f := range of {
		f.forgetting = true
	}
	s.mu.Unlock()
	r, err := b.Forget(ctx, c)
	if err == nil && r.Status == StatusPreview && r.Confirm != "" {
		r, err = b.Forget(ctx, Choice{Confirm: r.Confirm, Project: c.Project})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed(err) {
		return
	}
	for _, f := range of {
		f.gone, f.purged = true, r.Purged
	}
}

func (s *scene) play(b *Bank) {
	n := 0
	tell := func(change func(*Note)) *fate {
		n++
		word := fmt.Sprintf("zw%c%cak", 'a'+n/20, 'a'+n%20)
		note := Note{Content: "The " + word + " broke because of the frost.", Project: []string{"one", "two"}[n%2], Session: fmt.Sprint("s", n%3), Speaker: "Ana"}
		if change != nil {
			change(&note)
		}
		return s.tell(b, note, word)
	}
	var l []*fate
	for i := range 8 {
		l = append(l, tell(func(note *Note) {
			if i >= 4 && l[i-2].acked {
				note.BecauseOf, note.Supersedes = []string{l[i-2].id}, []string{l[i-4].id}
				if !l[i-4].acked {
					note.Supersedes = nil
				}
			}
		}))
	}
	long := tell(func(note *Note) {
		note.Content += strings.Repeat(" Nobody had seen it since the spring, and the others went on with their work in the yard.\n\n", 60)
	})
	if l[7].acked {
		if r, err := b.Remember(ctx, Note{Content: "The " + l[7].word + " broke because of the frost.", Project: l[7].project, Session: "s2", Speaker: "Ana", BecauseOf: nil}); !s.failed(err) && r.ID == l[7].id {
			s.mu.Lock()
			l[7].seen = r.SeenCount
			s.mu.Unlock()
		}
	}
	if l[1].acked && l[3].acked {
		s.forget(b, Choice{IDs: []string{l[1].id, l[3].id}, Project: l[1].project}, l[1], l[3])
	}
	s.forget(b, Choice{Query: long.word, Project: long.project}, long)
	s.failed(b.Rebuild(ctx, nil))
	l = append(l, tell(nil), tell(nil))
	if l[2].acked {
		s.forget(b, Choice{IDs: []string{l[2].id}, Project: l[2].project, Purge: true}, l[2])
	}
	tell(nil)
	tell(nil)
}

func openOn(fs vfs.FS) (*Bank, error) {
	c := &clock{t: time.Date(2025, 6, 16, 9, 0, 0, 0, time.UTC)}
	return Open("store", Options{Now: c.now, Zone: time.UTC, Paused: true, Pebble: store.PebbleOptions{FS: fs, MemtableBytes: 64 << 10, CacheBytes: 256 << 10}})
}

// judge opens what is left and holds it against what was acknowledged.
func (s *scene) judge(t *testing.T, how string, fs vfs.FS, fates []fate) {
	t.Helper()
	b, err := openOn(fs)
	if err != nil {
		t.Errorf("%s: %v", how, err)
		return
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Errorf("%s: close: %v", how, err)
		}
	}()
	rep, err := b.Check(ctx)
	if err != nil || len(rep.Problems) > 0 {
		t.Errorf("%s: check %v %v", how, err, rep.Problems)
	}
	for _, f := range fates {
		r, err := b.Recall(ctx, Question{Query: f.word, Project: f.project, IncludeSuperseded: true})
		if err != nil {
			t.Errorf("%s: recall: %v", how, err)
		}
		found := false
		for _, m := range r.Memories {
			found = found || strings.Contains(m.Content, f.word)
		}
		switch {
		case f.gone && found:
			t.Errorf("%s: %s is back", how, f.word)
		case f.acked && !f.forgetting && !found:
			t.Errorf("%s: %s (%s) is lost", how, f.word, f.id)
		}
		if f.acked && !f.gone {
			m, err := b.Get(ctx, f.project, f.id)
			if (err == nil) != found && !(err == nil && m.Segments != nil) {
				t.Errorf("%s: %s is found: %t, get: %v", how, f.word, found, err)
			}
			if err == nil && max(1, m.SeenCount) < f.seen {
				t.Errorf("%s: %s was seen %d times, %d are left", how, f.word, f.seen, m.SeenCount)
			}
		}
		if f.purged {
			if files, err := b.kv.(store.Finder).FindBytes(ctx, [][]byte{[]byte(f.word)}); err != nil || len(files) > 0 {
				t.Errorf("%s: %s was purged and lies in %v, %v", how, f.word, files, err)
			}
		}
	}
	if _, err := b.Remember(ctx, Note{Content: "and on it goes", Project: "one"}); err != nil {
		t.Errorf("%s: writing on: %v", how, err)
	}
}

func TestBankFaults(t *testing.T) {
	for _, mode := range []string{"once", "for good", "disk full"} {
		t.Run(mode, func(t *testing.T) {
			every := int64(37)
			if long {
				every = 1
			}
			faults, told := 0, 0
			for k := 1 + rand.Int64N(every); ; k += every {
				hit, errs := bankFault(t, mode, k)
				if t.Failed() {
					t.Fatalf("%s, operation %d", mode, k)
				}
				if !hit {
					break
				}
				faults++
				told += errs
			}
			t.Logf("%d faults injected, %d calls failed with a clear error", faults, told)
			if faults < 4 || told == 0 {
				t.Errorf("%d faults, %d errors: the history is too small", faults, told)
			}
		})
	}
}

func bankFault(t *testing.T, mode string, k int64) (hit bool, errs int) {
	mem := vfs.NewCrashableMem()
	var count atomic.Int64
	var off, did atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if off.Load() {
			return nil
		}
		if mode == "disk full" {
			switch op.Kind {
			case errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpFilePreallocate, errorfs.OpMkdirAll, errorfs.OpLink:
				if count.Add(1) >= max(1, k/3) {
					did.Store(true)
					return syscall.ENOSPC
				}
			}
			return nil
		}
		if n := count.Add(1); n == k || n > k && mode == "for good" {
			did.Store(true)
			return errorfs.ErrInjected
		}
		return nil
	}))
	s := &scene{}
	b, err := openOn(fs)
	if err == nil {
		s.play(b)
		_ = b.Close() // says what was met; the second opening is what counts
	} else {
		s.failed(err)
	}
	for _, err := range s.errors {
		code := CodeOf(err)
		if code == CodeInternal || code == "" || strings.Contains(err.Error(), "zw") || strings.Contains(err.Error(), "\n") {
			t.Errorf("error of code %q: %v", code, err)
		}
	}
	off.Store(true)
	fates := s.now()
	s.judge(t, "after a crash", mem.CrashClone(vfs.CrashCloneCfg{}), fates)
	s.judge(t, "after closing", mem, fates)
	return did.Load(), len(s.errors)
}

// now is a copy of the fates.
func (s *scene) now() []fate {
	s.mu.Lock()
	defer s.mu.Unlock()
	var l []fate
	for _, f := range s.fates {
		l = append(l, *f)
	}
	return l
}

func TestBankCrash(t *testing.T) {
	every := int64(23)
	if long {
		every = 1
	}
	survived := 0
	for k := 1 + rand.Int64N(every); ; k += every {
		mem := vfs.NewCrashableMem()
		s := &scene{}
		var count atomic.Int64
		var clones []vfs.FS
		var then []fate
		fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && count.Add(1) == k {
				then = s.now()
				for _, percent := range []int{0, 50, 100} {
					clones = append(clones, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(uint64(k), 2))}))
				}
			}
			return nil
		}))
		b, err := openOn(fs)
		if err != nil {
			t.Fatal(err)
		}
		s.play(b)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if len(s.errors) > 0 {
			t.Fatal(s.errors)
		}
		for i, fs := range clones {
			s.judge(t, fmt.Sprintf("power cut at write %d, way %d", k, i), fs, then)
			survived++
		}
		if t.Failed() || len(clones) == 0 {
			break
		}
	}
	t.Logf("%d crashes survived", survived)
	if survived < 10 {
		t.Errorf("only %d crashes: the history is too small", survived)
	}
}
