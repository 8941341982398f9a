package consolidate

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed"
)

// Options is how the worker works. The zero value works.
type Options struct {
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nobody is told
	// Batch is how many memories are embedded in one step; 0 is 64 (see embed.DefaultBatch).
	Batch int
	// MaxTries is how often work may fail before it is parked; 0 is 5: with the pauses below that is half
	// an hour, longer than anything that passes by itself takes.
	MaxTries int
	// Retry is the pause after a first failure, doubled with each further one; 0 is one minute.
	Retry time.Duration
	// MaxCalls is how many times a day the chat model may be asked; 0 is 500, about two hours of a laptop's
	// processor with a model of 3 to 4 billion parameters. Negative: without limit.
	MaxCalls int
	// Compose is the text of a memory that is embedded; nil is Compose.
	Compose func(Memory) string
	// Episodes is where episodes end; its zero value has the measured defaults.
	Episodes SplitOptions
	// Changed, if set, is told after a step that wrote something, with the memories concerned.
	Changed func(project string, rows []Derived)
}

// Compose is what of a memory is embedded: its words, after the name of who said them, since questions
// name people.
func Compose(m Memory) string {
	if m.Speaker == "" {
		return m.Text
	}
	return m.Speaker + ": " + m.Text
}

func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Compose == nil {
		o.Compose = Compose
	}
	o.Batch = cmp.Or(o.Batch, embed.DefaultBatch)
	o.MaxTries = cmp.Or(o.MaxTries, 5)
	o.Retry = cmp.Or(o.Retry, time.Minute)
	o.MaxCalls = cmp.Or(o.MaxCalls, 500)
	o.Episodes.setDefaults()
}

// Worker works off the queue. It starts no goroutine: its owner runs Run, and Think where there is a chat
// model, each in one of its own.
type Worker struct {
	store    Store
	provider embed.Provider
	chat     Chat // nil: no model
	opts     Options
	gate     gate
	wake     chan struct{}         // one slot: there may be work for Run
	think    chan struct{}         // the same for Think
	step     sync.Mutex            // one step of embed and rules work at a time (Run, Drain)
	thought  sync.Mutex            // one step of model work at a time (Think, Drain)
	fill     fill                  // what the embed pass remembers, under step
	lands    map[string]*landscape // what the rules pass knows of a project, under step

	mu      sync.Mutex
	stale   map[string]bool // projects whose landscape is to be read anew
	waiting map[Pass]string
	lastErr string
	dropped int
}

// NewWorker makes a worker. chat may be nil.
func NewWorker(s Store, p embed.Provider, chat Chat, o Options) *Worker {
	o.setDefaults()
	return &Worker{
		store: s, provider: p, chat: chat, opts: o,
		wake: make(chan struct{}, 1), think: make(chan struct{}, 1),
		waiting: map[Pass]string{}, stale: map[string]bool{}, lands: map[string]*landscape{},
	}
}

// Wake tells the worker that something was queued. It never blocks.
func (w *Worker) Wake() {
	for _, c := range []chan struct{}{w.wake, w.think} {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Forgot tells the worker that memories of a project were forgotten, and with them maybe episodes. For each
// episode that went, one of its other memories is to be owed to the Rules pass again.
func (w *Worker) Forgot(project string) {
	w.mu.Lock()
	w.stale[project] = true
	w.mu.Unlock()
	w.Wake()
}

// Begin says that a tool call is being answered, until the returned function is called (once or more).
func (w *Worker) Begin() (end func()) { return w.gate.begin() }

// Status is how the worker is doing.
type Status struct {
	// Waiting says for each pass that has work but cannot do it now, why. Work of a pass that is not in
	// the map can be done: it is pending.
	Waiting map[Pass]string
	// LastError is the last failure, "" if there was none.
	LastError string
	// Dropped counts what models said that was not in the words they were shown.
	Dropped int
}

// Status never waits.
func (w *Worker) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Status{Waiting: maps.Clone(w.waiting), LastError: w.lastErr, Dropped: w.dropped}
}

func (w *Worker) wait(p Pass, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if reason == "" {
		delete(w.waiting, p)
	} else {
		w.waiting[p] = reason
	}
}

func (w *Worker) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lastErr = err.Error()
}

// idle is how long the worker sleeps when nothing wakes it: what was put off becomes due meanwhile. A
// minute is the shortest pause that is ever set.
const idle = time.Minute

// Run works on vectors, episodes and topics until ctx ends; then it returns nil. An error of the store
// ends it: the store is broken.
func (w *Worker) Run(ctx context.Context) error {
	return w.loop(ctx, w.wake, w.advance)
}

// Think works on what needs the chat model until ctx ends. Without a chat model it only waits.
func (w *Worker) Think(ctx context.Context) error {
	return w.loop(ctx, w.think, w.ponder)
}

// loop does steps while there is work, and sleeps while there is none.
func (w *Worker) loop(ctx context.Context, wake <-chan struct{}, step func(context.Context) (bool, error)) error {
	for {
		changed := w.provider.Changed()
		more, err := step(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case more:
			continue
		}
		timer := time.NewTimer(idle)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// Drain works until nothing more can be done now, and returns. What waits for a provider, or for its time,
// is left. It may be called beside Run.
func (w *Worker) Drain(ctx context.Context) error {
	for {
		more, err := w.advance(ctx)
		if err != nil {
			return err
		}
		deeper, err := w.ponder(ctx)
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !more && !deeper {
			return nil
		}
	}
}

// advance does one step of the embed pass and one of the rules pass, and says whether it got anywhere.
func (w *Worker) advance(ctx context.Context) (bool, error) {
	w.step.Lock()
	defer w.step.Unlock()
	embedded, err := w.embedStep(ctx)
	if err != nil || ctx.Err() != nil {
		return false, err
	}
	ruled, err := w.rulesStep(ctx)
	return embedded || ruled, err
}

// later is a job after a failure: put off, or parked once it failed too often.
func (w *Worker) later(o *Outcome, j Job, reason string) {
	j.Tries++
	j.Reason = reason
	if j.Tries >= w.opts.MaxTries {
		o.Parked = append(o.Parked, j)
		w.opts.Logger.Warn("consolidation gave up", "pass", j.Pass.String(), "memory", j.Memory.String(), "tries", j.Tries, "reason", reason)
		return
	}
	j.NotBefore = w.opts.Now().Add(w.opts.Retry << (j.Tries - 1))
	o.Later = append(o.Later, j)
}

// gate lets tool calls go first.
type gate struct {
	mu     sync.Mutex
	calls  int
	free   chan struct{} // closed while no call is being answered
	cancel context.CancelCauseFunc
}

// errYield ends a batch of vectors that stands in a tool call's way.
var errYield = errors.New("a tool call comes first")

func (g *gate) begin() func() {
	g.mu.Lock()
	if g.calls == 0 {
		g.free = make(chan struct{})
	}
	g.calls++
	if g.cancel != nil {
		g.cancel(errYield)
		g.cancel = nil
	}
	g.mu.Unlock()
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.calls--; g.calls == 0 {
			close(g.free)
		}
	})
}

// pass waits until no tool call is being answered.
func (g *gate) pass(ctx context.Context) error {
	for {
		g.mu.Lock()
		calls, free := g.calls, g.free
		g.mu.Unlock()
		if calls == 0 {
			return ctx.Err()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-free:
		}
	}
}

// yielding is a context for work that the next tool call may end. stop must be called.
func (g *gate) yielding(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	g.mu.Lock()
	if g.calls > 0 {
		cancel(errYield)
	} else {
		g.cancel = cancel
	}
	g.mu.Unlock()
	return ctx, func() {
		g.mu.Lock()
		g.cancel = nil
		g.mu.Unlock()
		cancel(nil)
	}
}
