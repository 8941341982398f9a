package memory

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// TestScale measures a store at sizes: MAGMA_SCALE=10000,100000,1000000 (memories), with MAGMA_LONG=1. Times
// are of the wall and of the processor (on a busy machine only the latter is comparable); background work is
// off, so that what is measured is the call. With MAGMA_SCALE_DIM=384 every memory has a vector of so many dimensions, and a
// question is embedded too. With MAGMA_SCALE_DIR=FOLDER the stores stay there, nothing is forgotten in them, and a second
// run, which finds them filled, shows what a process needs that only opens and asks. It fails where an index answers late
// beyond doubt, by processor time.
func TestScale(t *testing.T) {
	if !long {
		t.Skip("MAGMA_LONG is not 1")
	}
	sizes := os.Getenv("MAGMA_SCALE")
	if sizes == "" {
		sizes = "10000,100000"
	}
	dim := 0
	if d := os.Getenv("MAGMA_SCALE_DIM"); d != "" {
		if _, err := fmt.Sscan(d, &dim); err != nil {
			t.Fatalf("MAGMA_SCALE_DIM: %v", err)
		}
	}
	for _, s := range strings.Split(sizes, ",") {
		var n int
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatalf("MAGMA_SCALE: %v", err)
		}
		t.Run(fmt.Sprintf("memories=%d,dim=%d", n, dim), func(t *testing.T) {
			dir, keep := t.TempDir(), os.Getenv("MAGMA_SCALE_DIR")
			if keep != "" {
				dir = filepath.Join(keep, fmt.Sprintf("%d-%d", n, dim))
			}
			scale(t, dir, keep != "", n, dim)
		})
	}
}

// scattered is an embedder of no meaning: each word of a text adds a few numbers of its own, so that texts are
// alike by the words they share.
type scattered struct{ dim int }

func (e scattered) Space() embed.Space {
	return embed.Space{Provider: "test", Model: "scattered", Dimensions: e.dim}
}

func (e scattered) Chunks(text string) []string { return []string{text} }

func (e scattered) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := make([]float32, e.dim)
		for _, w := range strings.Fields(text) {
			h := fnv.New64a()
			h.Write([]byte(w))
			x := h.Sum64()
			for range 24 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
				v[x%uint64(e.dim)] += float32(int64(x>>32&1)*2 - 1)
			}
		}
		noise := uint32(len(text)) | 1 // real vectors cannot be compressed either
		for j := range v {
			noise = noise*1664525 + 1013904223
			v[j] += float32(noise>>8) / (1 << 26)
		}
		var sq float64
		for _, x := range v {
			sq += float64(x) * float64(x)
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(max(sq, 1)))
		}
		out[i] = v
	}
	return out, nil
}

// spell is how long something took, by the wall and by the processor.
type spell struct{ wall, cpu time.Duration }

func (s spell) String() string {
	return fmt.Sprintf("%s (cpu %s)", s.wall.Round(10*time.Microsecond), s.cpu.Round(10*time.Microsecond))
}

func timed(f func()) spell {
	at, cpu := time.Now(), cpuTime()
	f()
	return spell{time.Since(at), cpuTime() - cpu}
}

// variety asks what else is asked: windows of time, filters, and the other tools.
func variety(t *testing.T, b *Bank, talk *talker, at time.Time, n int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []struct {
		what string
		ask  func() error
	}{
		{"a month", func() error {
			_, err := b.Recall(ctx, Question{Query: "What happened to " + talk.word() + " in " + at.AddDate(0, 0, talk.r.IntN(1+n/1440)).Format("January 2006") + "?"})
			return err
		}},
		{"all years", func() error { _, err := b.Recall(ctx, Question{Query: "What happened since 2024?"}); return err }},
		{"one session", func() error {
			_, err := b.Recall(ctx, Question{Query: "What did Ana say about " + talk.word() + "?", Filter: Filter{Session: fmt.Sprint("s", talk.r.IntN(n/25))}})
			return err
		}},
		{"until noon", func() error {
			_, err := b.Recall(ctx, Question{Query: talk.word() + " " + talk.word(), Filter: Filter{Until: "2024-01-01T12:00:00Z"}})
			return err
		}},
		{"why", func() error {
			_, err := b.Why(ctx, WhyQuestion{Query: "Why did Ana like " + talk.word() + "?"})
			return err
		}},
		{"when", func() error {
			_, err := b.When(ctx, WhenQuestion{Query: "When did Bo see " + talk.word() + "?"})
			return err
		}},
		{"stats", func() error { _, err := b.Stats(ctx, ""); return err }},
	} {
		var l []spell
		for range 40 {
			l = append(l, timed(func() { must(q.ask()) }))
		}
		p50, p95 := quantiles(l)
		t.Logf("%s: p50 %v p95 %v", q.what, p50, p95)
	}
}

// residentPeak is the most memory that this process has had, in bytes; 0 where the system does not say.
func residentPeak() int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb := 0
	fmt.Sscan(rest, &kb)
	return kb << 10
}

// quantiles are the middle and the 95th of a hundred, each of the two clocks by itself.
func quantiles(l []spell) (p50, p95 spell) {
	var wall, cpu []time.Duration
	for _, s := range l {
		wall, cpu = append(wall, s.wall), append(cpu, s.cpu)
	}
	slices.Sort(wall)
	slices.Sort(cpu)
	at := func(q int) spell { i := (len(l) - 1) * q / 100; return spell{wall[i], cpu[i]} }
	return at(50), at(95)
}

func scale(t *testing.T, dir string, kept bool, n, dim int) {
	o := Options{Zone: time.UTC, Paused: true}
	if dim > 0 {
		o.Embedder = embed.Fixed(scattered{dim})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := os.Stat(dir)
	filledBefore := kept && err == nil
	b, err := Open(dir, o)
	must(err)
	talk := newTalker(1)
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	note := func(i int) *Note {
		return &Note{Content: talk.sentence(), Speaker: []string{"Ana", "Bo"}[i%2], Session: fmt.Sprint("s", i/25), OccurredAt: at.Add(time.Duration(i) * time.Minute).Format(time.RFC3339), Source: fmt.Sprint("D", i)}
	}
	if !filledBefore {
		filled := timed(func() {
			for i := range n {
				w, err := b.prepare(note(i))
				must(err)
				_, _, err = b.commit(w) // the last sync covers all before it
				must(err)
			}
		})
		t.Logf("filled %v", filled)
	}
	if dim > 0 {
		t.Logf("background work %v", timed(func() { must(b.Settle(ctx)) }))
	}
	must(b.Close())
	opened := timed(func() { b, err = Open(dir, o); must(err) })
	first := timed(func() { _, err := b.Recall(ctx, Question{Query: "What did Ana say about the garden?"}); must(err) })
	var recalls, remembers []spell
	for range 200 {
		q := "What did Ana say about " + talk.word() + " " + talk.word() + " and " + talk.word() + "?"
		recalls = append(recalls, timed(func() { _, err := b.Recall(ctx, Question{Query: q}); must(err) }))
	}
	for i := range 200 {
		x := note(n + i)
		remembers = append(remembers, timed(func() { _, err := b.Remember(ctx, *x); must(err) }))
	}
	peak := residentPeak()
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	size, err := b.kv.(store.Sizer).DiskBytes()
	must(err)
	p50, p95 := quantiles(recalls)
	w50, w95 := quantiles(remembers)
	t.Logf("open %v, first recall %v; recall p50 %v p95 %v; remember p50 %v p95 %v; heap %d MB, resident at most %d MB, disk %d B a memory",
		opened, first, p50, p95, w50, w95, m.HeapAlloc>>20, peak>>20, size/int64(n))
	variety(t, b, talk, at, n)
	if kept {
		must(b.Close())
		return
	}
	forget := func(what string, c Choice, want int) {
		t.Helper()
		took := timed(func() {
			r, err := b.Forget(ctx, c)
			must(err)
			if r.Count != want {
				t.Errorf("%s: %d memories, want %d", what, r.Count, want)
			}
			r, err = b.Forget(ctx, Choice{Confirm: r.Confirm})
			must(err)
			if r.Count != want || !r.Verified {
				t.Errorf("%s: %d forgotten, verified %t, want %d", what, r.Count, r.Verified, want)
			}
		})
		t.Logf("forget %s, %d memories: %v", what, want, took)
	}
	forget("a session", Choice{Session: "s3"}, 25)
	forget("half", Choice{Until: at.Add(time.Duration(n/2) * time.Minute).Format(time.RFC3339)}, n/2-25)
	forget("everything", Choice{Everything: true}, n-n/2+200)
	t.Logf("compacted %v", timed(func() { must(b.kv.(store.Compacter).Compact(ctx)) }))
	left, err := b.kv.(store.Sizer).DiskBytes()
	must(err)
	t.Logf("%d B on disk of %d", left, size)
	if left > size/2+64<<20 {
		t.Errorf("%d of %d B are left on disk after everything was forgotten", left, size)
	}
	must(b.Close())
	// By processor time, twice the budget of the wall clock: a busy machine makes caches cold.
	for size, budget := range map[int]time.Duration{10_000: 4, 100_000: 12, 1_000_000: 80} {
		if n == size && p50.cpu > 2*budget*time.Millisecond {
			t.Errorf("recall p50 takes %s of processor time, the budget is %d ms", p50.cpu, budget)
		}
	}
}
