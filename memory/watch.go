package memory

import (
	"context"
	"sync"
)

// watchers are those who want to hear of changes. A slow one loses changes, and is told so.
type watchers struct {
	mu     sync.Mutex
	list   map[*watcher]struct{}
	closed bool
}

type watcher struct {
	c    chan Change
	lost bool
}

// watchBuffer is how many changes wait for a slow reader: a burst of writes of a few seconds.
const watchBuffer = 256

// Watch sends what changes until ctx ends.
func (b *Bank) Watch(ctx context.Context) (<-chan Change, error) {
	w := &watcher{c: make(chan Change, watchBuffer)}
	b.watch.mu.Lock()
	defer b.watch.mu.Unlock()
	if b.watch.closed {
		return nil, Errorf(CodeClosed, "the memory is closed; start magma-mcp again")
	}
	if b.watch.list == nil {
		b.watch.list = map[*watcher]struct{}{}
	}
	b.watch.list[w] = struct{}{}
	context.AfterFunc(ctx, func() { b.watch.drop(w) })
	return w.c, nil
}

func (ws *watchers) drop(w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if _, ok := ws.list[w]; ok {
		delete(ws.list, w)
		close(w.c)
	}
}

func (ws *watchers) send(c Change) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.list {
		c.Lost = w.lost
		select {
		case w.c <- c:
			w.lost = false
		default:
			w.lost = true
		}
	}
}

func (ws *watchers) close() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.closed = true
	for w := range ws.list {
		delete(ws.list, w)
		close(w.c)
	}
}
