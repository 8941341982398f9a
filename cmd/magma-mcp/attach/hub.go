package attach

import (
	"context"
	"sync"

	"github.com/magma-mcp/magma-mcp/memory"
)

// watchBuffer is how many changes wait for a slow reader before the oldest is dropped. A burst of
// remembers from eight clients is a few dozen; more means that the reader has stopped.
const watchBuffer = 256

// hub hands every change to every watcher of this process, whichever process the changes came from.
type hub struct {
	mu     sync.Mutex
	subs   map[chan memory.Change]struct{}
	closed bool
}

// watch adds a watcher until ctx ends or the hub closes; then the channel is closed.
func (h *hub) watch(ctx context.Context) <-chan memory.Change {
	ch := make(chan memory.Change, watchBuffer)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || ctx.Err() != nil {
		close(ch)
		return ch
	}
	if h.subs == nil {
		h.subs = map[chan memory.Change]struct{}{}
	}
	h.subs[ch] = struct{}{}
	context.AfterFunc(ctx, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, ok := h.subs[ch]; ok {
			delete(h.subs, ch)
			close(ch)
		}
	})
	return ch
}

// send never blocks. Where a buffer is full the oldest change gives way, and the newest says so.
func (h *hub) send(c memory.Change) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for ch := range h.subs {
		c := c
		for {
			select {
			case ch <- c:
			default:
				select {
				case <-ch:
				default:
				}
				c.Lost = true
				continue
			}
			break
		}
	}
}

func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for ch := range h.subs {
		close(ch)
	}
	clear(h.subs)
}

// Watch is memory.Engine's. It goes on across a change of owner; a Change with Lost set and no kind
// tells that one took place, since what happened in between is unknown.
func (e *Engine) Watch(ctx context.Context) (<-chan memory.Change, error) {
	return e.hub.watch(ctx), nil
}
