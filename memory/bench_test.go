package memory

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// talker makes sentences of a vocabulary with Zipf's distribution, as speech has: 20,000 words, names and
// dates among them.
type talker struct {
	r *rand.Rand
	z *rand.Zipf
}

func newTalker(seed uint64) *talker {
	r := rand.New(rand.NewPCG(seed, 1))
	return &talker{r, rand.NewZipf(r, 1.1, 4, 20000)}
}

var syllables = strings.Fields("ba ke lo mi nu ra se ti vo zu pan der fil gor hem jin")

func (t *talker) word() string {
	n := t.z.Uint64()
	var b strings.Builder
	for i := 0; i < 2 || n > 0; i++ {
		b.WriteString(syllables[n%16])
		n /= 16
	}
	return b.String()
}

func (t *talker) sentence() string {
	var w []string
	for range 12 + t.r.IntN(16) {
		w = append(w, t.word())
	}
	w = append(w, []string{"yesterday", "with Ana", "because of it", "in the garden", "last week", "and Bo"}[t.r.IntN(6)])
	return strings.Join(w, " ") + "."
}

func fillBench(b *testing.B, n int) *Bank {
	b.Helper()
	bank := openFilled(b, b.TempDir(), n)
	b.Cleanup(func() {
		if err := bank.Close(); err != nil {
			b.Error(err)
		}
	})
	return bank
}

func fillStore(b *testing.B, dir string, n int) {
	b.Helper()
	if err := openFilled(b, dir, n).Close(); err != nil {
		b.Fatal(err)
	}
}

func openFilled(b *testing.B, dir string, n int) *Bank {
	b.Helper()
	bank, err := Open(dir, Options{Zone: time.UTC, Paused: true})
	if err != nil {
		b.Fatal(err)
	}
	t := newTalker(1)
	at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range n {
		w, err := bank.prepare(&Note{Content: t.sentence(), Speaker: []string{"Ana", "Bo"}[i%2], Session: fmt.Sprint("s", i/25), OccurredAt: at.Add(time.Duration(i) * time.Minute).Format(time.RFC3339), Source: fmt.Sprint("D", i)})
		if err != nil {
			b.Fatal(err)
		}
		_, c, err := bank.commit(w) // the last sync covers all before it
		if err != nil {
			b.Fatal(err)
		}
		if i == n-1 {
			if err := c.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	}
	return bank
}

func BenchmarkRecall(b *testing.B) {
	for _, n := range []int{600, 5000, 50000} {
		b.Run(fmt.Sprintf("memories=%d", n), func(b *testing.B) {
			bank := fillBench(b, n)
			t := newTalker(2)
			q := func() string { return "What did Ana say about " + t.word() + " " + t.word() + " and " + t.word() + "?" }
			if _, err := bank.Recall(ctx, Question{Query: q()}); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			cpu := cpuTime()
			for b.Loop() {
				if _, err := bank.Recall(ctx, Question{Query: q()}); err != nil {
					b.Fatal(err)
				}
			}
			if cpu >= 0 { // comparable on a busy machine
				b.ReportMetric(float64(cpuTime()-cpu)/1e6/float64(b.N), "cpu-ms/op")
			}
		})
	}
}

// BenchmarkRemember is the whole fast path; BenchmarkBareBatch a synced batch of the same rows and nothing else.
func BenchmarkRemember(b *testing.B) {
	bank := fillBench(b, 1000)
	t := newTalker(3)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bank.Remember(ctx, Note{Content: t.sentence(), Speaker: "Ana", Session: "s"}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkBareBatch(b *testing.B) {
	bank := fillBench(b, 1000)
	t := newTalker(3)
	for b.Loop() {
		b.StopTimer()
		w, err := bank.prepare(&Note{Content: t.sentence(), Speaker: "Ana", Session: "s"})
		if err != nil {
			b.Fatal(err)
		}
		r := w.parts[0]
		r.ID = bank.o.NewID(time.Now().UnixMilli())
		ops := []store.Op{{Kind: store.Set, Key: store.RecordKey(1, r.ID), Value: r.Encode()}, {Kind: store.Set, Key: store.AnalysisKey(1, r.ID), Value: w.analyses[0].Encode()},
			{Kind: store.Set, Key: store.TailKey(1, r.ID), Value: []byte{}}, {Kind: store.Set, Key: store.HashKey(1, w.identity), Value: r.ID[:]}}
		b.StartTimer()
		c, err := bank.kv.Apply(ops)
		if err == nil {
			err = c.Wait()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstRecall opens a store and asks its first question: the project's index is loaded on the way.
func BenchmarkFirstRecall(b *testing.B) {
	for _, n := range []int{10000, 100000} {
		b.Run(fmt.Sprintf("memories=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			fillStore(b, dir, n)
			for b.Loop() {
				bank, err := Open(dir, Options{Zone: time.UTC, Paused: true})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := bank.Recall(ctx, Question{Query: "What did Ana say about the garden?"}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				b.ReportMetric(float64(m.HeapAlloc)/1e6, "heap-MB")
				if z, ok := bank.kv.(store.Sizer); ok {
					size, err := z.DiskBytes()
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(size)/float64(n), "disk-B/memory")
				}
				if err := bank.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
