package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// fault is the first error after which a store takes no further call. It is shared by the store, its
// logger and its file system.
//
// Pebble's own answer to such an error is to end the process (Logger.Fatalf), to panic with locks held, or
// to try the same flush again at once and for ever. Ours has three parts:
//   - the disk is frozen (fs.go): nothing written after the fault reaches it, so that what is there is what
//     a crash at that moment would have left, which Pebble recovers from;
//   - Pebble's background goroutine that met the fault ends there (stopHere), with its deferred unlocks;
//   - the store answers ErrFault to every call, waits for nothing that Pebble may no longer do, and never
//     calls Pebble's Close: what it holds in memory is left to the process's end.
type fault struct {
	mu   sync.Mutex
	err  error
	down chan struct{} // closed when err is set

	log  *slog.Logger
	hear func(error) // OnFault
}

func newFault(log *slog.Logger, hear func(error)) *fault {
	return &fault{down: make(chan struct{}), log: log, hear: hear}
}

// get returns the fault, nil while all is well.
func (f *fault) get() error {
	select {
	case <-f.down:
		return f.err
	default:
		return nil
	}
}

// set notes err as the fault unless there is one, and returns the one that counts.
func (f *fault) set(doing string, err error) error {
	f.mu.Lock()
	if f.err != nil {
		f.mu.Unlock()
		return f.err
	}
	f.err = storageError(doing, err)
	close(f.down)
	f.mu.Unlock()
	f.tell(f.err)
	return f.err
}

// tell reports an error that leaves the store in use.
func (f *fault) tell(err error) {
	f.log.Error("store fault", "error", err)
	if f.hear != nil {
		f.hear(err)
	}
}

// storageError words an error of the backend: ErrCorrupt or ErrFault, with the cause. Keys hold no text
// of a memory, so none can come in by the cause.
func storageError(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrCorrupt), errors.Is(err, ErrFault), errors.Is(err, ErrClosed), errors.Is(err, ErrKey),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", doing, err)
	case pebble.IsCorruptionError(err):
		return fmt.Errorf("%s: %w: %w", doing, ErrCorrupt, err)
	case errors.Is(err, pebble.ErrReadOnly):
		return fmt.Errorf("%s: %w", doing, ErrReadOnly)
	}
	return fmt.Errorf("%s: %w: %w", doing, ErrFault, err)
}

// logger hands Pebble's messages to slog, and never ends the process.
type logger struct {
	*fault
}

func (l logger) Infof(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("pebble: " + fmt.Sprintf(format, args...))
	}
}

func (l logger) Errorf(format string, args ...any) {
	l.log.Warn("pebble: " + fmt.Sprintf(format, args...))
}

// Fatalf does not return to a goroutine of Pebble's own. To a call of ours it returns: there Pebble hands
// the error on by itself (Open), or has nothing more to do (Apply), and we ask the fault afterwards.
func (l logger) Fatalf(format string, args ...any) {
	var cause error
	for _, a := range args {
		if err, ok := a.(error); ok {
			cause = err
		}
	}
	if cause == nil {
		cause = errors.New(fmt.Sprintf(format, args...))
	}
	l.set("keep the store", cause)
	stopHere()
}

// stopHere ends the calling goroutine, deferred calls included, if it is one of Pebble's own.
func stopHere() {
	if !called("memory/store.(*pebbleKV)", "memory/store.OpenPebble") {
		runtime.Goexit()
	}
}

// called says whether a function whose name has one of the parts is on the stack of this goroutine.
func called(parts ...string) bool {
	pcs := make([]uintptr, 64)
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs)
		frames := runtime.CallersFrames(pcs[:n])
		for {
			frame, more := frames.Next()
			for _, part := range parts {
				if strings.Contains(frame.Function, part) {
					return true
				}
			}
			if !more {
				break
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// listener turns Pebble's events into faults; wake is called when a flush or a compaction has ended.
func (f *fault) listener(readOnly bool, wake func()) *pebble.EventListener {
	return &pebble.EventListener{
		// A flush or compaction failed. Pebble would try again without a pause.
		BackgroundError: func(err error) {
			if readOnly || called("collectTableStats", "loadTableStats", "calculateDiskAvailableBytes") {
				f.tell(storageError("look at the tables", err))
				return
			}
			f.set("rewrite the tables", err)
			stopHere()
		},
		// A block is not what was written. The read that met it fails; the rest of the store is as good as
		// before, so this alone is no reason to stop.
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			f.tell(fmt.Errorf("read %s: %w: %w", info.Path, ErrCorrupt, info.Details))
		},
		FlushEnd:      func(pebble.FlushInfo) { wake() },
		CompactionEnd: func(pebble.CompactionInfo) { wake() },
	}
}
