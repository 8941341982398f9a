package attach

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// protocol is what this program speaks, oldestProtocol the oldest it still understands.
	protocol       = 1
	oldestProtocol = 1

	// maxFrame bounds one request or answer. Content is at most 1 MiB unless configured larger, and an
	// answer repeats it a few hundred times at the very most; JSON escapes can multiply it by six.
	maxFrame = 64 << 20

	// writeWait is how long one frame may take to leave. A peer that reads nothing for so long is
	// stopped or stuck, and its connection is dropped; it will attach again when it wakes.
	writeWait = 10 * time.Second

	// greetWait bounds the handshake. The owner answers it before it opens the store.
	greetWait = 3 * time.Second
)

// The kinds of frame.
const (
	kindHello    = "hello"    // attaching -> owner, first: who I am
	kindWelcome  = "welcome"  // owner -> attaching: who owns; Fault is set where the two cannot talk
	kindHandover = "handover" // attaching -> owner: I am newer, give me the store
	kindBye      = "bye"      // owner -> attached: I am going; Millis: leave the lock alone for so long
	kindCall     = "call"
	kindCancel   = "cancel" // the caller of ID gave up
	kindAnswer   = "answer"
	kindGoing    = "going" // in place of an answer: not begun, ask my successor
	kindWatch    = "watch"
	kindChange   = "change"
)

// frame is everything that crosses the socket. Unused fields are left out.
type frame struct {
	Kind string `json:"kind"`
	// ID pairs an answer with its call on one connection.
	ID uint64 `json:"id,omitempty"`
	// Request names a write across connections and owners.
	Request string `json:"request,omitempty"`
	Verb    string `json:"verb,omitempty"`
	// Millis is how long the caller still waits, 0 for ever.
	Millis int64           `json:"ms,omitempty"`
	Body   json.RawMessage `json:"body,omitempty"`
	Fault  *fault          `json:"fault,omitempty"`
	// Peer is set in hello and welcome.
	Peer *peer `json:"peer,omitempty"`
}

// peer says who is at one end.
type peer struct {
	Protocol int    `json:"protocol"`
	Oldest   int    `json:"oldest"`
	Version  string `json:"version,omitempty"`
	PID      int    `json:"pid"`
	Instance string `json:"instance"`
}

// wire is one connection. Sends are safe for concurrent use; receives are for one goroutine.
type wire struct {
	net.Conn
	mu sync.Mutex // one frame at a time
}

// send writes one frame. An error means that the connection is of no more use, but for errFrameSize,
// which is found before anything was written.
func (w *wire) send(f frame) error {
	var b bytes.Buffer
	b.Write([]byte{0, 0, 0, 0})
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		return fmt.Errorf("encode a %s frame: %w", f.Kind, err)
	}
	n := b.Len() - 4
	if n > maxFrame {
		return errFrameSize
	}
	binary.BigEndian.PutUint32(b.Bytes(), uint32(n))
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return err
	}
	if _, err := w.Write(b.Bytes()); err != nil {
		w.Close() // half a frame may be out
		return err
	}
	return nil
}

// receive reads one frame.
func (w *wire) receive() (frame, error) {
	var f frame
	var head [4]byte
	if _, err := io.ReadFull(w.Conn, head[:]); err != nil {
		return f, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return f, errFrameSize
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(w.Conn, body); err != nil {
		return f, err
	}
	if err := json.Unmarshal(body, &f); err != nil {
		return f, fmt.Errorf("read a frame: %w", err)
	}
	return f, nil
}

// encode is JSON as frames carry it.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
