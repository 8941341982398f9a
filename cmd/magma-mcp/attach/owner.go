package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	"github.com/magma-mcp/magma-mcp/memory"
)

const (
	// handoverYield is how long everybody else leaves the lock to the newer process that asked for it.
	// It polls every few milliseconds; two seconds also covers a machine that is busy.
	handoverYield = 2 * time.Second

	// maxUnderWay bounds the calls of one attached process that run at once. The 65th client of an HTTP
	// server waits on its own side long before.
	maxUnderWay = 1024
)

// owned is the store in this process, and the socket on which others reach it.
type owned struct {
	e     *Engine
	ready chan struct{} // closed when engine is set
	gone  chan struct{} // closed when no further call may begin

	mu        sync.Mutex
	engine    memory.Engine
	leaving   bool
	underWay  int
	idle      chan struct{} // closed when leaving and nothing is under way
	guests    map[*wire]struct{}
	address   string
	listeners []net.Listener

	journal  journal
	handover chan struct{}  // closed when a newer process asked
	tasks    sync.WaitGroup // accept loop, guests and their calls
}

func (o *owned) going() <-chan struct{} { return o.gone }

func (o *owned) state() State {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := State{Role: RoleOwner, PID: os.Getpid(), Version: o.e.o.Version, Address: o.address, Attached: len(o.guests)}
	if o.engine == nil {
		s.Role = RoleOpening
	}
	return s
}

// enter waits for the store to be open and counts a call in; leave counts it out.
func (o *owned) enter(ctx context.Context) (eng memory.Engine, leave func(), err error) {
	patience := time.NewTimer(o.e.o.Patience)
	defer patience.Stop()
	select {
	case <-o.ready:
	case <-o.gone:
		return nil, nil, errGoing
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-patience.C:
		return nil, nil, memory.Errorf(memory.CodeBusy, "the store is still being opened after %v: try again", o.e.o.Patience)
	}
	if !o.begin() {
		return nil, nil, errGoing
	}
	return o.engine, o.leave, nil // engine was set before ready closed
}

// begin counts something in that departing waits for, unless it has begun.
func (o *owned) begin() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leaving {
		return false
	}
	o.underWay++
	return true
}

func (o *owned) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.underWay--; o.underWay == 0 && o.leaving {
		close(o.idle)
	}
}

// own opens the store and holds it until the engine closes or a newer process asks for it. The lock is
// held by the caller, before and after.
func (e *Engine) own() (handed bool, err error) {
	o := &owned{
		e: e, ready: make(chan struct{}), gone: make(chan struct{}), idle: make(chan struct{}),
		handover: make(chan struct{}), guests: map[*wire]struct{}{},
	}
	// Guests and their calls outlive the end of e.ctx by the time that draining takes.
	ctx, cancel := context.WithCancel(context.WithoutCancel(e.ctx))
	defer cancel()

	if err := o.listen(ctx); err != nil {
		// Still of use to this process; the others will say that they cannot reach it.
		e.o.Logger.Warn("no socket for other processes: they cannot share this store", "error", err)
	}
	e.set(o, nil)

	eng, closer, err := e.open()
	if err == nil {
		o.mu.Lock()
		o.engine = eng
		o.mu.Unlock()
		close(o.ready)
		e.o.Logger.Info("this process owns the store", "dir", e.dir, "pid", os.Getpid())
		if changes, werr := eng.Watch(ctx); werr == nil {
			// What happened before is unknown to who watches here.
			e.hub.send(memory.Change{At: time.Now(), Lost: true})
			o.tasks.Go(func() {
				for c := range changes {
					e.hub.send(c)
				}
			})
		}
		if handed = o.hold(ctx); handed {
			e.o.Logger.Info("handing the store over to a newer process")
		}
	}

	o.depart(handed, err != nil)
	cancel()
	o.mu.Lock()
	for _, ln := range o.listeners {
		ln.Close()
	}
	for g := range o.guests {
		g.Close()
	}
	o.mu.Unlock()
	o.tasks.Wait()
	if eng != nil && closer != nil {
		if cerr := closer.Close(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("close the store: %w", cerr))
		}
	}
	o.withdraw()
	return handed, err
}

// hold keeps the store until the engine closes (false) or a newer process asks for it (true). Meanwhile
// it looks after the socket: temporary folders are swept of what is old, by some systems also of sockets,
// and a process that started then could neither reach the owner nor be it.
func (o *owned) hold(ctx context.Context) (handed bool) {
	t := time.NewTicker(o.e.o.socketCheck)
	defer t.Stop()
	for {
		select {
		case <-o.e.ctx.Done():
			return false
		case <-o.handover:
			return true
		case <-t.C:
			o.mu.Lock()
			path := o.address
			o.mu.Unlock()
			if path == "" {
				continue
			}
			if sweptAway(path) {
				if err := o.listen(ctx); err != nil {
					o.e.o.Logger.Warn("the socket for other processes was removed and cannot be made again", "error", err)
				}
			}
		}
	}
}

// depart refuses further calls, tells the guests, and waits for what is under way.
func (o *owned) depart(handed, failed bool) {
	o.mu.Lock()
	o.leaving = true
	close(o.gone)
	if o.underWay == 0 {
		close(o.idle)
	}
	bye := frame{Kind: kindBye}
	if handed {
		bye.Millis = handoverYield.Milliseconds()
	}
	guests := make([]*wire, 0, len(o.guests))
	for g := range o.guests {
		guests = append(guests, g)
	}
	o.mu.Unlock()
	if failed {
		return
	}
	var telling sync.WaitGroup
	for _, g := range guests {
		// A guest that cannot be told, since it is stopped, sees the connection end.
		telling.Go(func() { g.send(bye) })
	}
	told := make(chan struct{})
	o.tasks.Go(func() { telling.Wait(); close(told) })
	wait := func(what <-chan struct{}, most time.Duration) bool {
		t := time.NewTimer(most)
		defer t.Stop()
		select {
		case <-what:
			return true
		case <-t.C:
			return false
		}
	}
	if !wait(o.idle, o.e.o.Drain) {
		o.e.o.Logger.Warn("calls still under way are cut off", "after", o.e.o.Drain)
	}
	wait(told, time.Second)
}

// accept serves every process that connects, until the listener closes.
func (o *owned) accept(ctx context.Context, ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			if ctx.Err() == nil && !errors.Is(err, net.ErrClosed) {
				o.e.o.Logger.Error("accept another process", "error", err)
				o.e.pause(pollMax) // out of file descriptors, mostly: they may come back
				if o.e.ctx.Err() == nil {
					continue
				}
			}
			return
		}
		o.tasks.Go(func() {
			w := &wire{Conn: c}
			defer w.Close()
			if err := o.serve(ctx, w); err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
				o.e.o.Logger.Debug("an attached process went", "error", err)
			}
		})
	}
}

// serve speaks with one attached process until it goes.
func (o *owned) serve(ctx context.Context, w *wire) error {
	if err := checkPeer(w.Conn); err != nil {
		return err
	}
	if err := w.SetReadDeadline(time.Now().Add(greetWait)); err != nil {
		return err
	}
	hello, err := w.receive()
	if err != nil {
		return err
	}
	if hello.Kind != kindHello || hello.Peer == nil {
		return fmt.Errorf("a process began with %q instead of a greeting", hello.Kind)
	}
	welcome := frame{Kind: kindWelcome, Peer: o.e.self()}
	if hello.Peer.Protocol < oldestProtocol {
		welcome.Fault = &fault{memory.CodeFormat, fmt.Sprintf("the store is in use by magma-mcp %s (process %d), which no longer understands this older version: update it, or close the newer one", o.e.o.Version, os.Getpid())}
	}
	if err := w.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if err := w.send(welcome); err != nil {
		return err
	}
	o.mu.Lock()
	if o.leaving {
		o.mu.Unlock()
		return w.send(frame{Kind: kindBye})
	}
	o.guests[w] = struct{}{}
	o.mu.Unlock()

	guest, cancel := context.WithCancel(ctx)
	var (
		calls sync.WaitGroup
		slots = make(chan struct{}, maxUnderWay)
		mu    sync.Mutex
		stops = map[uint64]context.CancelFunc{}
	)
	defer func() {
		cancel()
		calls.Wait()
		o.mu.Lock()
		delete(o.guests, w)
		o.mu.Unlock()
	}()
	for {
		f, err := w.receive()
		if err != nil {
			return err
		}
		switch f.Kind {
		case kindCall, kindWatch:
			// A write is finished even when its caller goes: the journal has the answer for the second try.
			base := guest
			if f.Kind == kindCall && f.Request != "" {
				base = ctx
			}
			var callCtx context.Context
			var stop context.CancelFunc
			if f.Millis > 0 {
				callCtx, stop = context.WithTimeout(base, time.Duration(f.Millis)*time.Millisecond)
			} else {
				callCtx, stop = context.WithCancel(base)
			}
			mu.Lock()
			stops[f.ID] = stop
			mu.Unlock()
			slots <- struct{}{}
			var changes <-chan memory.Change
			if f.Kind == kindWatch {
				changes = o.e.hub.watch(callCtx)
			}
			calls.Go(func() {
				defer func() {
					<-slots
					mu.Lock()
					delete(stops, f.ID)
					mu.Unlock()
					stop()
				}()
				if f.Kind == kindWatch {
					// The subscription stands; what happened before it is unknown to the guest.
					c, ok := memory.Change{At: time.Now(), Lost: true}, true
					for ok {
						body, err := encode(c)
						if err != nil || w.send(frame{Kind: kindChange, ID: f.ID, Body: body}) != nil {
							return
						}
						c, ok = <-changes
					}
					return
				}
				if !o.begin() {
					w.send(frame{Kind: kindGoing, ID: f.ID})
					return
				}
				defer o.leave() // after the answer is out
				answer := o.answer(callCtx, f)
				if err := w.send(answer); errors.Is(err, errFrameSize) {
					w.send(frame{Kind: kindAnswer, ID: f.ID, Fault: &fault{memory.CodeTooLarge, fmt.Sprintf("the answer of %s is over %d MiB: ask for less", f.Verb, maxFrame>>20)}})
				}
			})
		case kindCancel:
			mu.Lock()
			if stop := stops[f.ID]; stop != nil {
				stop()
			}
			mu.Unlock()
		case kindHandover:
			if hello.Peer.Protocol > protocol || newer(hello.Peer.Version, o.e.o.Version) {
				o.mu.Lock()
				select {
				case <-o.handover:
				default:
					close(o.handover)
				}
				o.mu.Unlock()
			}
		}
	}
}

// answer runs one call, or finds its answer in the journal.
func (o *owned) answer(ctx context.Context, f frame) frame {
	run, ok := o.e.verbs[f.Verb]
	if !ok {
		return frame{Kind: kindAnswer, ID: f.ID, Fault: &fault{memory.CodeInvalid,
			fmt.Sprintf("the process that owns the store (magma-mcp %s) does not know %q: close it, or use the same version", o.e.o.Version, f.Verb)}}
	}
	do := func() (json.RawMessage, error) {
		eng, leave, err := o.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		return guarded(o.e, f.Verb, func() (json.RawMessage, error) { return run(ctx, eng, f.Request, f.Body) })
	}
	var body json.RawMessage
	var err error
	if f.Request == "" {
		body, err = do()
	} else {
		body, err = o.journal.once(ctx, f.Request, do)
	}
	switch {
	case errors.Is(err, errGoing):
		return frame{Kind: kindGoing, ID: f.ID}
	case err != nil:
		return frame{Kind: kindAnswer, ID: f.ID, Fault: toFault(err)}
	}
	return frame{Kind: kindAnswer, ID: f.ID, Body: body}
}

func (e *Engine) self() *peer {
	return &peer{Protocol: protocol, Oldest: oldestProtocol, Version: e.o.Version, PID: os.Getpid(), Instance: e.instance}
}

// newer compares two release versions; what is not one is never newer.
func newer(a, b string) bool {
	return semver.IsValid(a) && semver.IsValid(b) && semver.Compare(a, b) > 0
}

// listen binds the socket, says where it is, and accepts. The lock is held, so whatever lies there is stale.
func (o *owned) listen(ctx context.Context) error {
	address, err := localAddress(o.e.dir, o.e.o.RuntimeDir, o.e.instance)
	if err != nil {
		return err
	}
	if old, err := readOwner(o.e.dir); err == nil && old.Address != address && filepath.Base(old.Address) == filepath.Base(address) {
		unlinkLocal(old.Address) // the same store, another runtime folder
	}
	ln, err := listenLocal(address)
	if err != nil {
		return err
	}
	o.mu.Lock()
	o.address = address
	o.listeners = append(o.listeners, ln)
	o.mu.Unlock()
	o.tasks.Go(func() { o.accept(ctx, ln) })
	host, _ := os.Hostname() // "" says as much as an error would
	return writeOwner(o.e.dir, ownerFile{Address: address, PID: os.Getpid(), Host: host, Version: o.e.o.Version, Instance: o.e.instance})
}

// withdraw takes the socket and its address away. The lock is still held.
func (o *owned) withdraw() {
	o.mu.Lock()
	path := o.address
	o.mu.Unlock()
	if path != "" {
		unlinkLocal(path)
		os.Remove(filepath.Join(o.e.dir, ownerName))
	}
}
