package store_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// words makes text that compresses as text does.
func words(rng *rand.Rand, n int) []byte {
	var b bytes.Buffer
	for b.Len() < n {
		w := rng.IntN(3000)
		fmt.Fprintf(&b, "%c%c%c%s ", 'a'+w%26, 'a'+w/26%26, 'a'+w/676, "aeioutionsing"[w%9:w%9+w%4])
	}
	return b.Bytes()[:n]
}

// memory is the batch of one memory: 12 keys, 2.4 kB.
func memory(rng *rand.Rand, n int) []store.Op {
	key := func(space byte, parts ...uint64) []byte {
		k := append(make([]byte, 0, 32), space, 0, 0, 0, 1)
		for _, p := range parts {
			k = binary.BigEndian.AppendUint64(k, p)
		}
		return k
	}
	id := uint64(n)
	ops := []store.Op{
		{Kind: store.Set, Key: key('r', id), Value: words(rng, 1200)},
		{Kind: store.Set, Key: key('t', id*977, id), Value: nil},
		{Kind: store.Set, Key: key('f', id%7, id), Value: nil},
		{Kind: store.Set, Key: key('d', id), Value: words(rng, 500)},
	}
	for i := range 8 {
		ops = append(ops, store.Op{Kind: store.Set, Key: key('p', (id*31+uint64(i)*7919)%5000, id), Value: words(rng, 60)})
	}
	return ops
}

func benchStore(b *testing.B, o store.PebbleOptions) store.KV {
	dir := b.TempDir()
	kv := open(b, dir, o)
	b.Cleanup(func() {
		if err := kv.Close(); err != nil {
			b.Error(err)
		}
	})
	return kv
}

// BenchmarkWrite is one memory in a synced batch.
func BenchmarkWrite(b *testing.B) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		b.Run(name+"/keys=12/bytes=2400", func(b *testing.B) {
			kv := benchStore(b, store.PebbleOptions{Key: key})
			rng := rand.New(rand.NewPCG(1, 1))
			batches := make([][]store.Op, 500)
			for i := range batches {
				batches[i] = memory(rng, i)
			}
			b.ResetTimer()
			for i := range b.N {
				c, err := kv.Apply(batches[i%len(batches)])
				if err == nil {
					err = c.Wait()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("bare/keys=12/bytes=2400", func(b *testing.B) { // Pebble as it comes, for comparison
		db, err := pebble.Open(b.TempDir(), &pebble.Options{FormatMajorVersion: store.PebbleFormat, MemTableSize: 16 << 20, Logger: quiet{}})
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		rng := rand.New(rand.NewPCG(1, 1))
		batches := make([][]store.Op, 500)
		for i := range batches {
			batches[i] = memory(rng, i)
		}
		b.ResetTimer()
		for i := range b.N {
			batch := db.NewBatch()
			for _, op := range batches[i%len(batches)] {
				if err := batch.Set(op.Key, op.Value, nil); err != nil {
					b.Fatal(err)
				}
			}
			if err := batch.Commit(pebble.Sync); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("unsynced/keys=12/bytes=2400", func(b *testing.B) {
		kv := benchStore(b, store.PebbleOptions{})
		rng := rand.New(rand.NewPCG(1, 1))
		batches := make([][]store.Op, 500)
		for i := range batches {
			batches[i] = memory(rng, i)
		}
		b.ResetTimer()
		for i := range b.N {
			if err := kv.(store.Syncer).ApplyUnsynced(batches[i%len(batches)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWriters is the same from 16 goroutines.
func BenchmarkWriters(b *testing.B) {
	for name, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		b.Run(name+"/writers=16", func(b *testing.B) {
			kv := benchStore(b, store.PebbleOptions{Key: key})
			b.SetParallelism(8) // times GOMAXPROCS
			b.RunParallel(func(pb *testing.PB) {
				rng := rand.New(rand.NewPCG(rand.Uint64(), 1))
				ops := memory(rng, rng.IntN(1<<30))
				for pb.Next() {
					c, err := kv.Apply(ops)
					if err == nil {
						err = c.Wait()
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkRead reads stores of 10,000 memories, compacted, larger than the cache is asked to hold.
func BenchmarkRead(b *testing.B) {
	const n = 10000
	for name, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		fs := vfs.NewMem()
		kv, err := store.OpenPebble("db", store.PebbleOptions{FS: fs, Key: key})
		if err != nil {
			b.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range n {
			if err := kv.(store.Syncer).ApplyUnsynced(memory(rng, i)); err != nil {
				b.Fatal(err)
			}
		}
		if err := kv.(store.Compacter).Compact(b.Context()); err != nil {
			b.Fatal(err)
		}
		size, err := kv.(store.Sizer).DiskBytes()
		if err != nil {
			b.Fatal(err)
		}
		all := []byte{'p', 0, 0, 0, 2}
		b.Run(fmt.Sprintf("%s/get/memories=%d", name, n), func(b *testing.B) {
			b.ReportMetric(float64(size)/n, "B/memory")
			for i := range b.N {
				k := memoryKey(uint64(i*7919) % n)
				if _, err := kv.Get(k); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%s/absent/memories=%d", name, n), func(b *testing.B) {
			for i := range b.N {
				if _, err := kv.Get(append(memoryKey(uint64(i*7919)%n), 0)); err == nil {
					b.Fatal("there")
				}
			}
		})
		b.Run(fmt.Sprintf("%s/scan/rows=%d", name, 8*n), func(b *testing.B) {
			for range b.N {
				rows := 0
				for _, err := range kv.Scan([]byte{'p'}, all) {
					if err != nil {
						b.Fatal(err)
					}
					rows++
				}
				if rows != 8*n {
					b.Fatal(rows)
				}
			}
		})
		b.Run(fmt.Sprintf("%s/visit/rows=%d", name, 8*n), func(b *testing.B) {
			for range b.N {
				rows := 0
				if err := kv.(store.Visitor).Visit([]byte{'p'}, all, func(_, _ []byte) bool { rows++; return true }); err != nil {
					b.Fatal(err)
				}
				if rows != 8*n {
					b.Fatal(rows)
				}
			}
		})
		b.Run(fmt.Sprintf("%s/scan/rows=16of%d", name, 8*n), func(b *testing.B) {
			for i := range b.N {
				lo := binary.BigEndian.AppendUint64([]byte{'p', 0, 0, 0, 1}, uint64(i%5000))
				hi := binary.BigEndian.AppendUint64([]byte{'p', 0, 0, 0, 1}, uint64(i%5000+1))
				for _, err := range kv.Scan(lo, hi) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		if err := kv.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

func memoryKey(id uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{'r', 0, 0, 0, 1}, id)
}
