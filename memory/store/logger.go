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
// to try the same flush again at once and for ever. Ours:
//   - the store answers the fault to every call, and waits for nothing that Pebble may no longer do;
//   - the disk is frozen (fs.go): nothing written after the fault reaches it, so that what is there is what
//     a crash at that moment would have left, which Pebble recovers from;
//   - Pebble's background work that tries again is parked in the file system until Close lets it fail for
//     the last time. Where that does not hold it, its goroutine is ended and Pebble left as it stands.
type fault struct {
	down    chan struct{} // closed when err is set: the store has failed
	closing chan struct{} // closed by Close: parked work may fail now
	left    chan struct{} // closed when Pebble is left as it stands: its Close would wait for ever

	mu    sync.Mutex
	err   error
	tries int // background errors since the fault

	log  *slog.Logger
	hear func(error) // OnFault
}

func newFault(log *slog.Logger, hear func(error)) *fault {
	return &fault{down: make(chan struct{}), closing: make(chan struct{}), left: make(chan struct{}), log: log, hear: hear}
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

// Fatalf notes the fault and returns where Pebble hands the error on by itself afterwards: to our own
// calls, which look at the fault, and from a change of the manifest. Anything else is a state that Pebble
// takes for impossible: its goroutine ends here, deferred calls included.
func (l logger) Fatalf(format string, args ...any) {
	var cause error
	for _, a := range args {
		if err, ok := a.(error); ok {
			cause = err
		}
	}
	if cause == nil {
		cause = fmt.Errorf(format, args...)
	}
	l.set("keep the store", cause)
	if !called("memory/store.(*pebbleKV)", "memory/store.OpenPebble", ".UpdateVersionLocked") {
		l.leave()
		runtime.Goexit()
	}
}

// leave gives up on Pebble's own state.
func (f *fault) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.left:
	default:
		close(f.left)
	}
}

// maxTries is how often background work may fail after the fault before its goroutine is ended. Parked
// work fails once per job, at Close; more is a loop that the file system does not see.
const maxTries = 20

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

// listener turns Pebble's events into faults; wake is called when a flush or a compaction has ended, removed
// when a file has gone.
func (f *fault) listener(readOnly bool, wake, removed func()) *pebble.EventListener {
	return &pebble.EventListener{
		// A flush or compaction failed. Pebble tries again without a pause.
		BackgroundError: func(err error) {
			if errors.Is(err, errHurry) {
				return
			}
			if readOnly || called("collectTableStats", "calculateDiskAvailableBytes") {
				f.tell(storageError("look at the tables", err))
				return
			}
			f.set("rewrite the tables", err)
			f.mu.Lock()
			f.tries++
			loops := f.tries > maxTries
			f.mu.Unlock()
			if loops {
				f.leave()
				runtime.Goexit()
			}
		},
		// A block is not what was written. The read that met it fails; the rest of the store is as good as
		// before, so this alone is no reason to stop.
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			f.tell(fmt.Errorf("read %s: %w: %w", info.Path, ErrCorrupt, info.Details))
		},
		FlushEnd:      func(pebble.FlushInfo) { wake() },
		CompactionEnd: func(pebble.CompactionInfo) { wake() },

		TableDeleted:    func(pebble.TableDeleteInfo) { removed() },
		WALDeleted:      func(pebble.WALDeleteInfo) { removed() },
		ManifestDeleted: func(pebble.ManifestDeleteInfo) { removed() },
	}
}
