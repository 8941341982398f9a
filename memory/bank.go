package memory

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"golang.org/x/text/cases"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// Options are the settings of a Bank. The zero value works: Pebble in the folder, no embedder, the real clock.
type Options struct {
	// KV is the store; nil opens Pebble in the folder with Pebble's options below.
	KV     store.KV
	Pebble store.PebbleOptions
	// Embedder decides which embedder runs; nil is none, and words and graphs carry everything.
	// EmbedderFor makes it once the store is open, told the space of an Ollama model that the store's
	// vectors are in (zero: none); it is called where Embedder is nil.
	Embedder    embed.Provider
	EmbedderFor func(stay embed.Space) embed.Provider
	// Chat is the model that reads memories in the background; nil is none, and rules do what they can.
	Chat consolidate.Chat
	// Consolidation says how the background work is done; its Now and Logger are the Bank's where nil.
	Consolidation consolidate.Options
	// Paused does no background work: what is owed waits in the store.
	Paused bool
	// Expand gives the related words of a question's stem; nil is the program's own word table. ExactWords
	// switches them off.
	Expand     func(stem string) []query.Related
	ExactWords bool
	// Now is the clock, NewID makes an id of a time in Unix milliseconds; nil are the real ones.
	Now   func() time.Time
	NewID func(ms int64) graph.ID
	// Zone reads relative times of callers that name no zone; nil is the machine's.
	Zone *time.Location
	// Times are the conventions of the time model.
	Times temporal.Options
	// Tuning is the table of the query path; nil is query.Default.
	Tuning *query.Tuning
	// MaxContent bounds a memory's content in bytes; 0 is 1 MiB. More is refused, never cut.
	MaxContent int
	// QuestionTimeout bounds the embedding of a question; 0 is 250 ms.
	QuestionTimeout time.Duration
	// ResidentDocs is how many memories' indexes are kept in memory over all projects before the least
	// recently asked project is dropped; 0 is 2,000,000 (about 500 bytes each).
	ResidentDocs int
	// Inspect looks at a content before it is stored: what it names goes into the warnings, and a content
	// it returns is stored instead (masked); an error refuses the memory. nil stores everything.
	Inspect func(content string) (replaced string, warnings []string, err error)
	// DefaultProject is where a memory goes that names no project; "" is "default".
	DefaultProject string
	// Logger gets what happens, never a memory's text; nil discards.
	Logger *slog.Logger
}

// Bank is the memory: one store, many projects. It implements Engine. Open makes one; Close ends it.
type Bank struct {
	kv    store.KV
	o     Options
	times *temporal.Resolver
	fold  cases.Caser

	write sync.Mutex // one writer at a time; held over Apply, not over the wait for the sync
	// loads bounds how many indexes are loaded at once: each has what it reads in memory twice over.
	loads chan struct{}
	// below: guarded by write
	lastMS int64

	mu       sync.RWMutex // guards the tables below
	projects map[string]store.Project
	names    map[store.Project]string
	nextProj store.Project
	models   map[uint32]string
	shards   map[store.Project]*resident
	tallies  map[store.Project]tally
	clock    uint64

	analysts  sync.Pool
	watch     watchers
	closed    atomic.Bool
	requests  atomic.Uint64 // of attached processes, since opening
	calls     calls
	stop      context.CancelFunc
	slow      sync.WaitGroup
	back      background
	lastError atomic.Value // string
}

// Open opens or makes the store in dir. A store that another process owns is CodeLocked; one of a newer
// format, CodeFormat, and untouched.
func Open(dir string, o Options) (*Bank, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newIDs(rand.Reader)
	}
	if o.Zone == nil {
		o.Zone = time.Local
	}
	o.Zone = named(o.Zone)
	if o.ExactWords {
		o.Expand = nil
	} else if o.Expand == nil {
		o.Expand = relatedWords()
	}
	if o.Tuning == nil {
		t := query.Default()
		o.Tuning = &t
	}
	if o.MaxContent == 0 {
		o.MaxContent = 1 << 20
	}
	if o.QuestionTimeout == 0 {
		o.QuestionTimeout = 250 * time.Millisecond
	}
	if o.ResidentDocs == 0 {
		o.ResidentDocs = 2_000_000
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.DefaultProject == "" {
		o.DefaultProject = "default"
	}
	b := &Bank{o: o, kv: o.KV, times: temporal.New(o.Times), fold: cases.Fold(), projects: map[string]store.Project{}, names: map[store.Project]string{},
		models: map[uint32]string{}, loads: make(chan struct{}, loadsAtOnce), shards: map[store.Project]*resident{}, tallies: map[store.Project]tally{}}
	b.analysts.New = func() any { return &analyst{words: text.New(), questions: query.NewAnalyst(b.times, o.Expand)} }
	if b.kv == nil {
		if o.Pebble.Logger == nil {
			o.Pebble.Logger = o.Logger
		}
		fault := o.Pebble.OnFault
		o.Pebble.OnFault = func(err error) {
			b.lastError.Store(err.Error())
			if fault != nil {
				fault(err)
			}
		}
		if err := store.FinishSwap(dir, o.Pebble); err != nil { // of a restore or the like that was cut off
			return nil, storageError("opening the store", err)
		}
		kv, err := store.OpenPebble(dir, o.Pebble)
		if err != nil {
			return nil, storageError("opening the store", err)
		}
		b.kv = kv
	}
	if err := b.load(); err != nil {
		return nil, storageError("opening the store", errors.Join(err, b.kv.Close()))
	}
	if err := b.dropRequests(); err != nil {
		return nil, storageError("opening the store", errors.Join(err, b.kv.Close()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	if err := b.startSlow(ctx); err != nil {
		cancel()
		return nil, storageError("opening the store", errors.Join(err, b.kv.Close()))
	}
	return b, nil
}

// load reads the format and the small tables.
func (b *Bank) load() error {
	v, err := b.kv.Get(store.SettingKey("format"))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return b.create()
	case err != nil:
		return err
	}
	n, err := strconv.Atoi(string(v))
	if err != nil {
		return fmt.Errorf("%w: format number", store.ErrCorrupt)
	}
	if n > store.Format {
		return fmt.Errorf("%w: this store has format %d and this program knows up to %d; use the newer magma-mcp", store.ErrNewerFormat, n, store.Format)
	}
	lo, hi := store.ProjectsRange()
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		p := store.ProjectOf(row.Key)
		b.projects[string(row.Value)], b.names[p] = p, string(row.Value)
		b.nextProj = max(b.nextProj, p)
	}
	lo, hi = store.ModelsRange()
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		b.models[store.ModelOf(row.Key)] = string(row.Value)
	}
	return nil
}

func (b *Bank) create() error {
	// A store that has rows but no format number is not ours.
	for _, err := range b.kv.Scan(nil, nil) {
		if err != nil {
			return err
		}
		return fmt.Errorf("%w: there is data here that magma-mcp did not write", store.ErrCorrupt)
	}
	c, err := b.kv.Apply([]store.Op{{Kind: store.Set, Key: store.SettingKey("format"), Value: []byte(strconv.Itoa(store.Format))}})
	if err != nil {
		return err
	}
	return c.Wait()
}

// Close ends the memory: it lets calls under way finish, stops the background work and closes the store.
// A second Close does nothing.
func (b *Bank) Close() error {
	if b.closed.Swap(true) {
		return nil
	}
	b.stop()
	b.calls.drain()
	b.slow.Wait()
	b.watch.close()
	return b.kv.Close()
}

// enter begins a call; the function it returns ends it.
func (b *Bank) enter(ctx context.Context) (func(), error) {
	if b.closed.Load() {
		return nil, Errorf(CodeClosed, "the memory is closed; start magma-mcp again")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !b.calls.begin() {
		return nil, Errorf(CodeClosed, "the memory is closed; start magma-mcp again")
	}
	return b.calls.end, nil
}

// calls counts the calls under way. A WaitGroup does not do: one call may begin while Close waits for the last.
type calls struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when none is left; nil until drain
}

func (c *calls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.n++
	return true
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.closed {
		close(c.idle)
	}
}

// drain lets no further call begin and waits for those under way.
func (c *calls) drain() {
	c.mu.Lock()
	c.closed, c.idle = true, make(chan struct{})
	if c.n == 0 {
		close(c.idle)
	}
	c.mu.Unlock()
	<-c.idle
}

// storageError turns an error of the store into one for the caller.
func storageError(doing string, err error) error {
	var e *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, store.ErrLocked):
		return Errorf(CodeLocked, "%s: another process has it: %w", doing, err)
	case errors.Is(err, store.ErrNewerFormat):
		return Errorf(CodeFormat, "%s: %w", doing, err)
	case errors.Is(err, store.ErrClosed):
		return Errorf(CodeClosed, "the memory is closed; start magma-mcp again: %w", err)
	case errors.Is(err, store.ErrKey):
		return Errorf(CodeStorage, "%s: set store.key_file, store.keyring or MAGMA_KEY to the key it was encrypted with: %w", doing, err)
	case errors.Is(err, store.ErrCorrupt):
		return Errorf(CodeStorage, "%s: the store is damaged; run `magma-mcp check`, then `magma-mcp repair`: %w", doing, err)
	}
	return Errorf(CodeStorage, "%s: %w", doing, err)
}

// newIDs makes ULIDs of random tails from r.
func newIDs(r io.Reader) func(int64) graph.ID {
	var mu sync.Mutex
	return func(ms int64) graph.ID {
		mu.Lock()
		defer mu.Unlock()
		return graph.ID(ulid.MustNew(uint64(ms), r))
	}
}

// NewIDs returns a source of ids for tests and for replaying: the same seed gives the same ids for the
// same times.
func NewIDs(seed uint64) func(int64) graph.ID {
	var mu sync.Mutex
	n := seed
	return func(ms int64) graph.ID {
		mu.Lock()
		defer mu.Unlock()
		var id ulid.ULID
		_ = id.SetTime(uint64(ms))
		n++
		x := n * 0x9E3779B97F4A7C15 // a fixed odd multiplier spreads the counter over the tail
		x ^= x >> 29
		binary.BigEndian.PutUint64(id[8:], x*0xBF58476D1CE4E5B9)
		return graph.ID(id)
	}
}

// id makes the next id: later than every id this process made, so that id order is the order of writing.
// The caller holds write.
func (b *Bank) id(now time.Time) graph.ID {
	ms := max(now.UnixMilli(), 0)
	if ms <= b.lastMS {
		ms = b.lastMS + 1
	}
	b.lastMS = ms
	return b.o.NewID(ms)
}
