package attach

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

const (
	// journalSize and journalAge bound the remembered answers of writes. A retry comes within the time
	// that a broken connection takes to be made again, milliseconds as a rule and Patience at most. An
	// answer is a receipt of about a kilobyte.
	journalSize = 4096
	journalAge  = 5 * time.Minute
)

// journal remembers the answers of recent writes by request id, so that a second try over another
// connection gets the answer of the first.
type journal struct {
	mu      sync.Mutex
	entries map[string]*entry
	order   []string // oldest first
}

type entry struct {
	done chan struct{}
	body json.RawMessage
	err  error
	at   time.Time
}

// once runs do for the first caller of a request and gives every later one its answer. What did not
// begin (errGoing, a caller that gave up while waiting) is forgotten, so that it can be tried.
func (j *journal) once(ctx context.Context, request string, do func() (json.RawMessage, error)) (json.RawMessage, error) {
	j.mu.Lock()
	if j.entries == nil {
		j.entries = map[string]*entry{}
	}
	if en := j.entries[request]; en != nil {
		j.mu.Unlock()
		select {
		case <-en.done:
			return en.body, en.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	en := &entry{done: make(chan struct{}), at: time.Now()}
	j.entries[request] = en
	j.order = append(j.order, request)
	j.trim(en.at)
	j.mu.Unlock()

	en.body, en.err = do()
	if errors.Is(en.err, errGoing) || errors.Is(en.err, context.Canceled) || errors.Is(en.err, context.DeadlineExceeded) {
		j.mu.Lock()
		delete(j.entries, request)
		j.mu.Unlock()
	}
	close(en.done)
	return en.body, en.err
}

// trim drops what is too old or too many. A write still under way is never dropped for its age: it is
// bounded by the calls that may be under way at once. j.mu is held.
func (j *journal) trim(now time.Time) {
	for len(j.order) > 0 {
		first := j.order[0]
		if en := j.entries[first]; en != nil && len(j.order) <= journalSize && now.Sub(en.at) < journalAge {
			return
		} else if en != nil {
			select {
			case <-en.done:
			default:
				return
			}
		}
		delete(j.entries, first)
		j.order = j.order[1:]
	}
}
