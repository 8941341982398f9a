package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// link is the store in another process.
type link struct {
	w       *wire
	owner   peer
	address string

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan frame
	gone    chan struct{} // closed when no further call may begin
	leaving bool
	asked   bool          // for the store: then it is ours to take
	yield   time.Duration // what the owner's bye asked for
	settled chan struct{} // closed when leaving and nothing waits
}

func (l *link) going() <-chan struct{} { return l.gone }

func (l *link) state() State {
	return State{Role: RoleAttached, PID: l.owner.PID, Version: l.owner.Version, Address: l.address}
}

// dial connects to the owner that owner.json names and greets it. A *memory.Error is a refusal; any
// other error means that nobody is there, now.
func (e *Engine) dial(asked *string) (*link, error) {
	of, err := readOwner(e.dir)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(e.ctx, greetWait)
	defer cancel()
	c, err := dialLocal(ctx, of.Address)
	if err != nil {
		return nil, err
	}
	l := &link{w: &wire{Conn: c}, address: of.Address, waiting: map[uint64]chan frame{}, gone: make(chan struct{}), settled: make(chan struct{})}
	if err := l.greet(e, asked); err != nil {
		c.Close()
		return nil, err
	}
	return l, nil
}

func (l *link) greet(e *Engine, asked *string) error {
	if err := checkPeer(l.w.Conn); err != nil {
		return err
	}
	if err := l.w.SetReadDeadline(time.Now().Add(greetWait)); err != nil {
		return err
	}
	if err := l.w.send(frame{Kind: kindHello, Peer: e.self()}); err != nil {
		return err
	}
	f, err := l.w.receive()
	if err != nil {
		return err
	}
	if f.Kind != kindWelcome || f.Peer == nil {
		return fmt.Errorf("the owner began with %q instead of a welcome", f.Kind)
	}
	l.owner = *f.Peer
	tooOld := l.owner.Protocol < oldestProtocol
	if (tooOld || newer(e.o.Version, l.owner.Version)) && *asked != l.owner.Instance {
		*asked, l.asked = l.owner.Instance, true
		if err := l.w.send(frame{Kind: kindHandover}); err != nil {
			return err
		}
	}
	switch {
	case f.Fault != nil:
		return f.Fault.err()
	case tooOld:
		return errors.New("the owner speaks an older protocol and was asked to hand over")
	}
	return l.w.SetReadDeadline(time.Time{})
}

// follow reads what the owner sends and passes changes to the hub, until the connection ends, or until
// ctx does and the calls under way have their answers (drain at most). It returns how long to leave the
// lock alone.
func (l *link) follow(ctx context.Context, h *hub, drain time.Duration) time.Duration {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		l.leave()
		l.mu.Unlock()
		t := time.NewTimer(drain)
		defer t.Stop()
		select {
		case <-l.settled:
		case <-t.C:
		}
		l.w.Close()
	})
	defer stop()
	defer l.w.Close()
	// ID 0 is the subscription; calls count from 1.
	if err := l.w.send(frame{Kind: kindWatch}); err != nil {
		return l.end()
	}
	for {
		f, err := l.w.receive()
		if err != nil {
			return l.end()
		}
		switch f.Kind {
		case kindAnswer, kindGoing:
			if ch := l.forget(f.ID); ch != nil {
				ch <- f
			}
		case kindChange:
			var c memory.Change
			if json.Unmarshal(f.Body, &c) == nil {
				h.send(c)
			}
		case kindBye:
			l.mu.Lock()
			if !l.asked {
				l.yield = time.Duration(f.Millis) * time.Millisecond
			}
			l.leave()
			l.mu.Unlock()
		}
	}
}

// leave refuses further calls; l.mu is held.
func (l *link) leave() {
	if !l.leaving {
		l.leaving = true
		close(l.gone)
		if len(l.waiting) == 0 {
			close(l.settled)
		}
	}
}

// forget takes a call out of those that wait and returns where its answer goes, nil if it left before.
func (l *link) forget(id uint64) chan frame {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := l.waiting[id]
	if ch != nil {
		delete(l.waiting, id)
		if l.leaving && len(l.waiting) == 0 {
			close(l.settled)
		}
	}
	return ch
}

// end tells every waiting call that its answer will not come.
func (l *link) end() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave()
	for _, ch := range l.waiting {
		close(ch)
	}
	if len(l.waiting) > 0 {
		clear(l.waiting)
		close(l.settled)
	}
	return l.yield
}

// begin sends a call and returns where its answer will come: one frame, or a close where it will not.
func (l *link) begin(f frame) (uint64, chan frame, error) {
	ch := make(chan frame, 1)
	l.mu.Lock()
	if l.leaving {
		l.mu.Unlock()
		return 0, nil, errGoing
	}
	l.next++
	f.ID = l.next
	l.waiting[f.ID] = ch
	l.mu.Unlock()
	if err := l.w.send(f); err != nil {
		l.forget(f.ID)
		if errors.Is(err, errFrameSize) {
			return 0, nil, memory.Errorf(memory.CodeTooLarge, "a request is over %d MiB: send less at once; nothing was stored", maxFrame>>20)
		}
		l.w.Close() // follow sees it and ends
		<-l.gone    // so that the retry does not come back here
		return 0, nil, errLost
	}
	return f.ID, ch, nil
}

// exchange is one call over the link: errLost where the connection ended first, errGoing where the owner
// did not begin it.
func exchange[In, Out any](ctx context.Context, l *link, v verb[In, Out], request string, in In) (Out, error) {
	var out Out
	if err := validUTF8(in); err != nil {
		return out, err
	}
	body, err := encode(in)
	if err != nil {
		return out, fmt.Errorf("encode a %s request: %w", v.name, err)
	}
	f := frame{Kind: kindCall, Verb: v.name, Request: request, Body: body}
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		if left <= 0 {
			return out, context.DeadlineExceeded
		}
		f.Millis = max(1, left.Milliseconds())
	}
	id, ch, err := l.begin(f)
	if err != nil {
		return out, err
	}
	select {
	case f, ok := <-ch:
		switch {
		case !ok:
			return out, errLost
		case f.Kind == kindGoing:
			<-l.gone // the bye is on its way, or the connection ends
			return out, errGoing
		case f.Fault != nil:
			return out, f.Fault.err()
		}
		if err := json.Unmarshal(f.Body, &out); err != nil {
			return out, memory.Errorf(memory.CodeInternal, "read the answer to %s from process %d: %w", v.name, l.owner.PID, err)
		}
		return out, nil
	case <-ctx.Done():
		l.forget(id)
		l.w.send(frame{Kind: kindCancel, ID: id}) // a failure here is a connection that ends anyway
		return out, ctx.Err()
	}
}

// ownerName names the process that owner.json speaks of, for an error.
func (e *Engine) ownerName() string {
	of, err := readOwner(e.dir)
	if err != nil {
		return "another process"
	}
	if host, _ := os.Hostname(); of.Host != "" && of.Host != host {
		return fmt.Sprintf("process %d on %s", of.PID, of.Host)
	}
	return fmt.Sprintf("process %d", of.PID)
}
