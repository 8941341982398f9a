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
	pins  int // under Bank.mu: how many need it to stay

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
		r.err = errCutOff // unless it comes to an end
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

// pin loads a project's index and keeps it until release is called.
func (b *Bank) pin(p store.Project) (release func(), err error) {
	if _, err := b.shard(p); err != nil {
		return nil, err
	}
	b.mu.Lock()
	r := b.shards[p]
	if r != nil {
		r.pins++
	}
	b.mu.Unlock()
	if r == nil || r.shard.Load() == nil {
		return b.pin(p) // it went in between
	}
	return func() {
		b.mu.Lock()
		r.pins--
		b.mu.Unlock()
	}, nil
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
			if p != keep && r.pins == 0 && r.shard.Load() != nil && (!found || r.used < b.shards[oldest].used) {
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
