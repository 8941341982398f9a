package attach

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/magma-mcp/magma-mcp/memory"
)

const (
	lockName  = "owner.lock"
	ownerName = "owner.json"

	// maxLost is how many connections a call may lose before it is given up: an owner dies once now and
	// then; four in a row under one call is the call's own doing, and trying on would take down a fifth.
	maxLost = 4

	// pollMin and pollMax pace the attempts to take the lock or reach its owner while neither works. An
	// owner that dies is noticed by its connection, so this only fills the gap until a successor listens.
	pollMin = 2 * time.Millisecond
	pollMax = 250 * time.Millisecond
)

// Options of Open. The zero value works.
type Options struct {
	// Version of this program as runtime/debug or the release gives it (v1.2.3). A process whose version
	// is newer than the owner's asks it to hand over; versions that cannot be compared never ask.
	Version string
	Logger  *slog.Logger // nil: discards
	// Patience is how long a call waits for the store to be there: opened, attached or taken over.
	// 0: 30 seconds, which leaves room for a crash recovery and stays below clients' own time limits.
	Patience time.Duration
	// Drain is how long an owner that goes lets calls under way finish. 0: 10 seconds.
	Drain time.Duration
	// RuntimeDir is where the socket lies; "" is the platform's.
	RuntimeDir string
	// Verbs are further operations for Do.
	Verbs map[string]Verb

	// socketCheck is how often an owner looks whether its socket is still there; 0: a minute.
	socketCheck time.Duration
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.Drain == 0 {
		o.Drain = 10 * time.Second
	}
	if o.socketCheck == 0 {
		o.socketCheck = time.Minute
	}
	return o
}

// Engine is a memory.Engine on a store that other processes may own: local while this process holds the
// lock, remote while another does.
type Engine struct {
	o        Options
	dir      string
	open     func() (memory.Engine, io.Closer, error)
	verbs    map[string]serve
	instance string
	count    atomic.Uint64
	hub      hub

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // run returned

	mu       sync.Mutex
	holder   holder        // nil while there is none
	fail     error         // why there is none, where that is known and waiting is of no use
	changed  chan struct{} // closed and made anew with every change of the two above
	closing  bool
	closeErr error
}

// holder is where calls go at the moment: *owned or *link.
type holder interface {
	// going is closed once no further call may begin.
	going() <-chan struct{}
	state() State
}

// The roles of a process.
const (
	RoleOpening  = "opening"  // neither yet, or not any more
	RoleOwner    = "owner"    // this process holds the store
	RoleAttached = "attached" // another one does
	RoleFailed   = "failed"   // Err says why
	RoleClosed   = "closed"
)

// State says how this process reaches the store, for doctor and logs.
type State struct {
	Role string `json:"role"`
	// PID and Version are the owner's.
	PID      int    `json:"pid,omitempty"`
	Version  string `json:"version,omitempty"`
	Address  string `json:"address,omitempty"`  // of the socket
	Attached int    `json:"attached,omitempty"` // other processes attached to this owner
	Err      string `json:"error,omitempty"`
}

// Open returns at once; a goroutine of its own takes or reaches the store in dir, calling open (in this
// process, holding the lock) where it becomes the owner, and again after each later take-over. Calls
// block until that is done, for Options.Patience at most, then answer memory.CodeBusy. The engine that
// open returns is closed through its io.Closer before the lock is let go.
//
// The end of ctx is a Close: calls under way finish. The caller calls Close in any case.
func Open(ctx context.Context, dir string, open func() (memory.Engine, io.Closer, error), o Options) (*Engine, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("data directory %q: %w", dir, err)
	}
	var id [8]byte
	rand.Read(id[:])
	e := &Engine{
		o: o.withDefaults(), dir: abs, open: open, verbs: verbTable(o.Verbs),
		instance: hex.EncodeToString(id[:]), done: make(chan struct{}), changed: make(chan struct{}),
	}
	e.ctx, e.cancel = context.WithCancel(ctx)
	go e.run()
	return e, nil
}

// Close lets calls under way finish (Options.Drain), closes the store where this process owns it, and
// lets the lock go. It may be called twice.
func (e *Engine) Close() error {
	e.cancel()
	<-e.done
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closeErr
}

// State is how the store is reached now.
func (e *Engine) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closing:
		return State{Role: RoleClosed}
	case e.holder != nil:
		return e.holder.state()
	case e.fail != nil:
		return State{Role: RoleFailed, Err: e.fail.Error()}
	}
	return State{Role: RoleOpening}
}

// Ready waits until the store is reached, as a call would.
func (e *Engine) Ready(ctx context.Context) error {
	for {
		h, err := e.current(ctx)
		if err != nil {
			return err
		}
		o, ok := h.(*owned)
		if !ok {
			return nil
		}
		select {
		case <-o.ready:
			return nil
		case <-o.gone: // the opening failed, or it went at once
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// set makes h (or, with a nil h, fail) what calls see.
func (e *Engine) set(h holder, fail error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.holder, e.fail = h, fail
	close(e.changed)
	e.changed = make(chan struct{})
}

// current waits for a holder that takes calls.
func (e *Engine) current(ctx context.Context) (holder, error) {
	var patience <-chan time.Time
	for {
		e.mu.Lock()
		h, fail, changed, closing := e.holder, e.fail, e.changed, e.closing
		e.mu.Unlock()
		if closing {
			return nil, memory.Errorf(memory.CodeClosed, "magma-mcp is shutting down")
		}
		if h != nil {
			select {
			case <-h.going():
			default:
				return h, nil
			}
		} else if fail != nil {
			return nil, fail
		}
		if patience == nil {
			t := time.NewTimer(e.o.Patience)
			defer t.Stop()
			patience = t.C
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-patience:
			return nil, memory.Errorf(memory.CodeBusy, "the store is still being opened after %v: try again; `magma-mcp doctor` says what holds it up", e.o.Patience)
		}
	}
}

// invoke runs one verb where the store is, and again where the holder went before it answered.
func invoke[In, Out any](ctx context.Context, e *Engine, v verb[In, Out], in In) (Out, error) {
	var zero Out
	request := ""
	for lost := 0; ; {
		h, err := e.current(ctx)
		if err != nil {
			return zero, err
		}
		var out Out
		switch h := h.(type) {
		case *owned:
			eng, leave, err := h.enter(ctx)
			if errors.Is(err, errGoing) {
				continue
			}
			if err != nil {
				return zero, err
			}
			defer leave()
			return guarded(e, v.name, func() (Out, error) { return v.run(ctx, eng, request, in) })
		case *link:
			if v.write && request == "" {
				request = e.instance + "-" + strconv.FormatUint(e.count.Add(1), 10)
			}
			out, err = exchange(ctx, h, v, request, in)
		}
		switch {
		case errors.Is(err, errGoing):
		case errors.Is(err, errLost):
			if lost++; lost >= maxLost {
				return zero, memory.Errorf(memory.CodeBusy, "%s was cut off %d times by a process that went away: try again", v.name, lost)
			}
		default:
			return out, err
		}
	}
}

// run takes the lock or attaches, for as long as the engine lives.
func (e *Engine) run() {
	defer close(e.done)
	defer e.hub.close()
	lock := flock.New(filepath.Join(e.dir, lockName), flock.SetPermissions(0o600))
	var (
		wait     = pollMin
		yield    time.Time // leave the lock alone until then
		asked    string    // the owner that was asked to hand over
		failures int       // openings that failed in a row
		since    = time.Now()
	)
	for e.ctx.Err() == nil {
		if time.Now().After(yield) {
			taken, err := e.take(lock)
			if taken {
				var handed bool
				handed, err = e.own()
				if uerr := lock.Unlock(); uerr != nil {
					err = errors.Join(err, fmt.Errorf("let the lock of %s go: %w", e.dir, uerr))
				}
				if e.ctx.Err() != nil {
					e.finish(err)
					return
				}
				if handed {
					e.set(nil, nil)
					yield, since, failures = time.Now().Add(handoverYield), time.Now(), 0
					continue
				}
			}
			if err != nil {
				// Say so at once, and try again later: a disk gets space, a lock of an older program goes.
				failures++
				e.set(nil, err)
				e.o.Logger.Error("open the store", "dir", e.dir, "error", err)
				e.pause(min(time.Duration(failures)*250*time.Millisecond, 5*time.Second))
				since = time.Now()
				continue
			}
		}
		l, err := e.dial(&asked)
		if err == nil {
			failures = 0
			e.set(l, nil)
			e.o.Logger.Info("attached to the store's owner", "pid", l.owner.PID, "version", l.owner.Version)
			yield = time.Now().Add(l.follow(e.ctx, &e.hub, e.o.Drain))
			wait, since, asked = pollMin, time.Now(), ""
			// The link stays the holder, refusing calls, until another is there.
			continue
		}
		var fatal *memory.Error
		if errors.As(err, &fatal) {
			e.set(nil, fatal)
		} else if time.Since(since) > e.o.Patience/2 {
			e.set(nil, memory.Errorf(memory.CodeLocked, "the store in %s is held by %s, which does not answer: end that process, or wait and try again", e.dir, e.ownerName()))
			wait = pollMax
		}
		e.pause(wait)
		wait = min(wait*2, pollMax)
	}
	e.finish(nil)
}

func (e *Engine) finish(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.holder, e.closing, e.closeErr = nil, true, err
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *Engine) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-e.ctx.Done():
	}
}

// take tries the lock once.
func (e *Engine) take(lock *flock.Flock) (bool, error) {
	if err := os.MkdirAll(e.dir, 0o700); err != nil {
		return false, memory.Errorf(memory.CodeStorage, "make the data directory: %w", err)
	}
	taken, err := lock.TryLock()
	if err != nil {
		return false, memory.Errorf(memory.CodeStorage, "lock the store in %s: %w", e.dir, err)
	}
	return taken, nil
}
