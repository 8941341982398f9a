package memory

import (
	"sync"
	"sync/atomic"

	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// resident is a project's index, loaded once.
type resident struct {
	once  sync.Once
	shard atomic.Pointer[index.Shard]
	err   error // set by once
	used  uint64

	// Under Bank.write: while it is loading, what writers changed since.
	loading bool
	missed  []func(*index.Shard)
}

// shard is a project's index, loaded when first asked.
func (b *Bank) shard(p store.Project) (*index.Shard, error) {
	b.mu.Lock()
	r, ok := b.shards[p]
	if !ok {
		r = &resident{}
		b.shards[p] = r
	}
	b.clock++
	r.used = b.clock
	b.mu.Unlock()
	r.once.Do(func() {
		r.err = b.loadShard(p, r)
	})
	if r.err != nil {
		b.mu.Lock()
		if b.shards[p] == r {
			delete(b.shards, p)
		}
		b.mu.Unlock()
		return nil, r.err
	}
	b.evict(p)
	return r.shard.Load(), nil
}

// loaded is a project's index if it is in memory.
func (b *Bank) loaded(p store.Project) *index.Shard {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if r := b.shards[p]; r != nil {
		return r.shard.Load()
	}
	return nil
}

// evict drops the least recently asked projects while more is resident than allowed. keep stays.
func (b *Bank) evict(keep store.Project) {
	b.mu.Lock()
	defer b.mu.Unlock()
	total := 0
	for _, r := range b.shards {
		if s := r.shard.Load(); s != nil {
			total += s.Size()
		}
	}
	for total > b.o.ResidentDocs {
		var oldest store.Project
		found := false
		for p, r := range b.shards {
			if p != keep && r.shard.Load() != nil && (!found || r.used < b.shards[oldest].used) {
				oldest, found = p, true
			}
		}
		if !found {
			return
		}
		total -= b.shards[oldest].shard.Load().Size()
		delete(b.shards, oldest)
	}
}
