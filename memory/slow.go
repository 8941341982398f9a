package memory

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/builtin"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// The slow path. Package consolidate knows what the background work is; the files slow*.go are its hands in
// the store: slow_store.go keeps the queue and settles outcomes, slow_read.go shows memories to the passes,
// slow_vectors.go keeps vector spaces and embeds questions, slow_derived.go brings what was found into
// answers, slow_stats.go says how it is going.

// background is what runs beside the calls of a Bank: the embedding provider, the worker, and its thinking.
type background struct {
	provider embed.Provider
	worker   *consolidate.Worker
	rows     *backlog
	words    *builtin.Terms // nil: the built-in embedder is not wanted
	nudged   atomic.Bool
}

// startSlow starts the three goroutines of a Bank; they end with ctx, and Close waits for them.
func (b *Bank) startSlow(ctx context.Context) error {
	rows, err := newBacklog(b)
	if err != nil {
		return err
	}
	p := b.o.Embedder
	if p == nil && b.o.EmbedderFor != nil {
		p = b.o.EmbedderFor(rows.stay())
	}
	if p == nil {
		p = embed.None()
	}
	o := b.o.Consolidation
	if o.Now == nil {
		o.Now = b.o.Now
	}
	if o.Logger == nil {
		o.Logger = b.o.Logger
	}
	told := o.Changed
	o.Changed = func(project string, rows []consolidate.Derived) {
		b.watch.send(Change{Kind: "consolidated", Project: project, At: b.o.Now()})
		if told != nil {
			told(project, rows)
		}
	}
	b.back.provider, b.back.rows = p, rows
	if b.back.words, err = wordVectors(p); err != nil {
		return err
	}
	b.back.worker = consolidate.NewWorker(rows, storedOnly{p}, b.o.Chat, o)
	b.runSlow(ctx, "embedding", p.Run)
	if !b.o.Paused {
		b.runSlow(ctx, "consolidation", b.back.worker.Run)
		b.runSlow(ctx, "consolidation by a model", b.back.worker.Think)
	}
	return nil
}

func (b *Bank) runSlow(ctx context.Context, name string, run func(context.Context) error) {
	b.slow.Go(func() {
		if err := run(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
			b.lastError.Store(name + " stopped: " + err.Error())
			b.o.Logger.Error("background work stopped", "work", name, "error", err)
		}
	})
}

// nudgePause gathers writes before the worker is woken: it looks at a session's last episode as a whole, so
// that work on every turn of a burst is mostly work done again.
const nudgePause = 200 * time.Millisecond

// wake tells the worker that something is owed.
func (b *Bank) wake() {
	b.back.rows.floors.lower()
	if !b.o.Paused && b.back.nudged.CompareAndSwap(false, true) {
		time.AfterFunc(nudgePause, func() {
			b.back.nudged.Store(false)
			b.back.worker.Wake()
		})
	}
}

// enqueue owes new memories to the passes, and says what a receipt calls pending: the rules' bookkeeping
// changes nothing that is found, so it is not among it.
func (b *Bank) enqueue(ops []store.Op, p store.Project, parts []*store.Record) ([]store.Op, []string) {
	passes := []store.Pass{store.PassRules}
	var pending []string
	if b.owesVectors() {
		passes = append(passes, store.PassEmbed)
		pending = append(pending, "embedding")
	}
	if b.o.Chat != nil {
		passes = append(passes, store.PassModel)
		pending = append(pending, "consolidation")
	}
	owed := (&store.Job{}).Encode()
	for _, r := range parts {
		if len(r.Segments) > 0 {
			continue // its segments are what is found
		}
		for _, pass := range passes {
			k := store.QueueKey(pass, p, r.ID)
			b.back.rows.floors.note(pass, k)
			ops = append(ops, store.Op{Kind: store.Set, Key: k, Value: owed})
		}
	}
	return ops, pending
}

// owesVectors reports whether a new memory is owed vectors: where a space is to be filled, and where a server
// is expected but away. Before the first space is opened nothing need be owed, since opening it owes all.
func (b *Bank) owesVectors() bool {
	e, state, _ := storedOnly{b.back.provider}.Current()
	return e != nil || state == embed.Away || b.back.rows.aimed()
}

// close ends an inquiry.
func (in *inquiry) close(b *Bank) {
	b.analysts.Put(in.analyst)
	in.end()
}

// Settle works off what is owed until nothing more can be done now, or ctx ends. What waits for a provider
// that is away, or for its time, is left.
func (b *Bank) Settle(ctx context.Context) error {
	done, err := b.enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	return storageError("working off what is owed", b.back.worker.Drain(ctx))
}

// floors remember for each pass the first key of its queue that may still be there, so that a look does not
// step over the remains of what was done. Who owes work notes the key before, and lowers the floors after it
// was applied.
type floors struct {
	mu    sync.Mutex
	key   map[store.Pass][]byte
	noted map[store.Pass][]byte
	gen   uint64
}

// from is where to look, nil for the beginning, and a token for raise.
func (f *floors) from(pass store.Pass) ([]byte, uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.key[pass], f.gen
}

// raise notes that nothing stands before key, unless something was owed since from.
func (f *floors) raise(pass store.Pass, key []byte, gen uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if gen == f.gen {
		if f.key == nil {
			f.key = map[store.Pass][]byte{}
		}
		f.key[pass] = bytes.Clone(key)
	}
}

// note remembers a key that will be owed.
func (f *floors) note(pass store.Pass, key []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.noted == nil {
		f.noted = map[store.Pass][]byte{}
	}
	if have, ok := f.noted[pass]; !ok || bytes.Compare(key, have) < 0 {
		f.noted[pass] = bytes.Clone(key)
	}
}

// lower takes the noted keys into the floors: they were applied.
func (f *floors) lower() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gen++
	for pass, key := range f.noted {
		if have, ok := f.key[pass]; ok && bytes.Compare(key, have) < 0 {
			f.key[pass] = key
		}
	}
	clear(f.noted)
}
