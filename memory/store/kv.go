package store

import (
	"context"
	"errors"
	"iter"
)

// Row is one key with its value. Both slices are copies: the caller owns them.
type Row struct{ Key, Value []byte }

// Reader reads ordered keys. Keys compare as bytes.
type Reader interface {
	// Get returns a copy of the value of key, or ErrNotFound. A value that was set to nothing comes
	// back as an empty slice that is not nil.
	Get(key []byte) ([]byte, error)

	// Scan yields the rows of [lo, hi) in ascending order, as they were when the loop began; lo nil is
	// from the first key, hi nil is to the last. After an error, which comes with an empty Row, the loop
	// ends. The body may read, write and close the store; after Close the scan ends with ErrClosed.
	Scan(lo, hi []byte) iter.Seq2[Row, error]
}

// Snapshot reads the store as it was when the snapshot was taken. Close it: an open one keeps deleted
// bytes on disk. A second Close does nothing.
type Snapshot interface {
	Reader
	Close() error
}

// OpKind says what an Op does. The numbers are not written to disk.
type OpKind uint8

const (
	Set         OpKind = iota + 1 // Key gets Value
	Delete                        // Key goes; it need not be there
	DeleteRange                   // the keys of [Key, Value) go; an empty range is nothing
)

// Op is one change of a batch. Apply does not keep the slices.
type Op struct {
	Kind       OpKind
	Key, Value []byte
}

// KV is an ordered, transactional store: the whole of what a backend has to be. All methods may be
// called at once from many goroutines. storetest holds the contract as a test.
//
// What a backend may do besides is found by type assertion: Visitor, Sweeper, Eraser, Finder, Checkpointer, Sizer,
// Compacter, Syncer, Salvager.
type KV interface {
	Reader

	// Snapshot fixes the present state for reading.
	Snapshot() (Snapshot, error)

	// Apply makes all of ops true at once, in their order, or none of them. When it returns, readers see
	// the change; when the Commit's Wait returns nil, the change survives a crash. Batches become durable
	// in the order of their calls: a crash never keeps a later one without the earlier.
	Apply(ops []Op) (Commit, error)

	// Close ends the store: calls in progress finish, open scans and snapshots answer ErrClosed from then
	// on. What was applied is durable when Close returns nil. A second Close does nothing.
	Close() error
}

// Commit is a batch that was applied and is on its way to the disk.
type Commit interface {
	// Wait returns nil when the batch is durable. It may be called more than once, from any goroutine,
	// and should be called outside any lock: batches that wait together are synced together. After an
	// error it is unknown whether the batch is there once the store is opened again.
	Wait() error
}

// Visitor reads a range without copying.
type Visitor interface {
	// Visit calls f for each row of [lo, hi) in ascending order until f returns false. The slices are
	// valid during the call alone, and f must not use the store.
	Visit(lo, hi []byte, f func(key, value []byte) bool) error
}

// Span is the keys of [Lo, Hi); Hi nil is to the last key.
type Span struct{ Lo, Hi []byte }

// At is the span of one key alone.
func At(key []byte) Span { return Span{key, append(key[:len(key):len(key)], 0)} }

// Sweeper reads many places in one pass: far cheaper than a Get or a Scan for each of them.
type Sweeper interface {
	// Sweep calls f for each row of each span, until f returns false: i is the span's place in spans. Spans are
	// visited in ascending order of Lo, in whatever order they come. The slices are valid during the call alone,
	// and f must not use the store.
	Sweep(spans []Span, f func(i int, key, value []byte) bool) error
}

// Eraser makes deleted bytes leave the files.
type Eraser interface {
	// Erase rewrites every file that may hold a key or value of spans (none given: of any key) which was
	// deleted or overwritten before the call: tables, logs and manifest. It waits for the readers that
	// were open when it was called, since they need the old bytes, and fails when ctx ends first. It
	// cannot reach copies made earlier: checkpoints, backups, file-system snapshots, and flash cells.
	Erase(ctx context.Context, spans ...Span) error
}

// Finder looks for bytes in the files themselves.
type Finder interface {
	// FindBytes returns the names of the files in which one of the patterns occurs: in the raw bytes, and
	// in the decoded (decompressed, decrypted) blocks, where deleted and overwritten rows are still
	// seen. It reads every file, so it takes as long as reading the store does. The names are sorted.
	FindBytes(ctx context.Context, patterns [][]byte) ([]string, error)
}

// Checkpointer copies the store while it is used.
type Checkpointer interface {
	// Checkpoint makes dir, which must not exist, a store of its own with all that was applied before the
	// call. Files that never change are shared by hard link where the file system can.
	Checkpoint(dir string) error
}

// Sizer measures the store.
type Sizer interface {
	// DiskBytes is the sum of the sizes of the store's files, in bytes.
	DiskBytes() (int64, error)
}

// Compacter gives back the space of deleted rows.
type Compacter interface {
	// Compact merges what can be merged. Readers and writers go on meanwhile.
	Compact(ctx context.Context) error
}

// Syncer makes a bulk load cheap.
type Syncer interface {
	// ApplyUnsynced is Apply without asking for a sync: the change is visible, and durable after the next
	// Sync, or after a later Commit's Wait, since durability keeps the order of the calls.
	ApplyUnsynced(ops []Op) error
	// Sync returns nil when everything applied before the call is durable.
	Sync() error
}

// Salvager reads what damage has left.
type Salvager interface {
	// Salvage calls f for each row of [lo, hi) that can be read, in ascending order, and returns the spans
	// between them in which rows may be lost. It is for a store opened with PebbleOptions.Salvage; a row
	// that was deleted may come back where the damage took what deleted it. The slices are valid during the
	// call alone, and f must not use the store. An error is f's, or one that is no damage.
	Salvage(lo, hi []byte, f func(key, value []byte) error) (gaps []Span, err error)
}

// What callers branch on.
var (
	// From Get.
	ErrNotFound = errors.New("no such key")

	// From any call after Close.
	ErrClosed = errors.New("the store is closed")

	// From opening: another process, or another handle of this one, has the store.
	ErrLocked = errors.New("the store is in use")

	// From opening: a newer program wrote it. Nothing was touched.
	ErrNewerFormat = errors.New("the store was written by a newer version of this program")

	// From opening: the store is encrypted and the key is missing or another one, or a key was given and the
	// store is not encrypted. Nothing was touched.
	ErrKey = errors.New("wrong encryption key")

	// From any call: bytes on disk are not what was written. What is not touched by it stays readable.
	ErrCorrupt = errors.New("the store is damaged")

	// From any call: the disk is full or failed. The store takes no further call; what was durable is
	// there when it is opened again.
	ErrFault = errors.New("the disk failed")

	// From Apply and the like, on a store opened for reading alone.
	ErrReadOnly = errors.New("the store is open for reading only")
)
