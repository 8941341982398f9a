package attach

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/magma-mcp/magma-mcp/memory"
)

// watchdog ends a test that hangs. It is many times what anything here takes.
const watchdog = 30 * time.Second

func TestMain(m *testing.M) {
	if dir := os.Getenv("ATTACH_TEST_CHILD"); dir != "" {
		childMain(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), watchdog)
	t.Cleanup(cancel)
	return ctx
}

// start opens an engine whose socket lies in a folder of the test and waits until it is ready.
func start(t *testing.T, dir string, open func() (memory.Engine, io.Closer, error), o Options) *Engine {
	t.Helper()
	if o.RuntimeDir == "" {
		o.RuntimeDir = shortDir(t, dir)
	}
	e, err := Open(context.Background(), dir, open, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if err := e.Ready(testContext(t)); err != nil {
		t.Fatalf("not ready: %v", err)
	}
	return e
}

var runtimeOf = map[string]string{}

// shortDir is one folder per store for its socket; t.TempDir is too long on some machines.
func shortDir(t *testing.T, dir string) string {
	if runtimeOf[dir] == "" {
		d, err := os.MkdirTemp("", "magma")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(d) })
		runtimeOf[dir] = d
	}
	return runtimeOf[dir]
}

func role(t *testing.T, e *Engine, want string) {
	t.Helper()
	if s := e.State(); s.Role != want {
		t.Fatalf("role is %s (%s), want %s", s.Role, s.Err, want)
	}
}

func TestSecondProcessAttaches(t *testing.T) {
	dir := t.TempDir()
	a := start(t, dir, opener(dir), Options{})
	b := start(t, dir, func() (memory.Engine, io.Closer, error) {
		t.Error("the attached process opened the store")
		return nil, nil, errors.New("no")
	}, Options{})
	role(t, a, RoleOwner)
	role(t, b, RoleAttached)

	ctx := testContext(t)
	got, err := b.Remember(ctx, memory.Note{Content: "tea <&> \u2028 €"})
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "tea <&> \u2028 €" || got.SeenCount != 1 {
		t.Errorf("receipt %+v", got)
	}
	want, err := a.Recall(ctx, memory.Question{Query: "tea <&> \u2028 €"})
	if err != nil {
		t.Fatal(err)
	}
	crossed, err := b.Recall(ctx, memory.Question{Query: "tea <&> \u2028 €"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, crossed); d != "" || crossed.Text == "" {
		t.Errorf("an answer changed on its way (-owner +attached), text %q:\n%s", crossed.Text, d)
	}
	if s := a.State(); s.Attached != 1 {
		t.Errorf("owner counts %d attached, want 1", s.Attached)
	}
	if fi, err := os.Stat(a.State().Address); runtime.GOOS != "windows" && (err != nil || fi.Mode().Perm() != 0o600) {
		t.Errorf("socket: %v, %v", fi, err)
	}
}

func TestErrorsCross(t *testing.T) {
	dir := t.TempDir()
	start(t, dir, opener(dir), Options{})
	b := start(t, dir, opener(dir), Options{})
	ctx := testContext(t)
	if _, err := b.Remember(ctx, memory.Note{}); memory.CodeOf(err) != memory.CodeInvalid || err.Error() != "content is empty" {
		t.Errorf("empty: %v", err)
	}
	if _, err := b.Remember(ctx, memory.Note{Content: "a\xffb"}); memory.CodeOf(err) != memory.CodeInvalid {
		t.Errorf("bad UTF-8 crossed: %v", err)
	}
	if _, err := b.Remember(ctx, memory.Note{Content: "ok", Tags: []string{"\xff"}}); memory.CodeOf(err) != memory.CodeInvalid {
		t.Errorf("bad UTF-8 in a tag crossed: %v", err)
	}
	if _, err := b.Remember(ctx, memory.Note{Content: strings.Repeat("x", maxFrame)}); memory.CodeOf(err) != memory.CodeTooLarge {
		t.Errorf("a giant crossed: %v", err)
	}
	if _, err := b.Remember(ctx, memory.Note{Content: "panic"}); memory.CodeOf(err) != memory.CodeInternal {
		t.Errorf("panic: %v", err)
	}
	if _, err := b.Remember(ctx, memory.Note{Content: "after"}); err != nil {
		t.Errorf("after a panic: %v", err)
	}
	role(t, b, RoleAttached)
}

func TestCancelAndDeadlineReachTheOwner(t *testing.T) {
	dir := t.TempDir()
	begun, ended := make(chan bool, 2), make(chan error, 2)
	start(t, dir, func() (memory.Engine, io.Closer, error) {
		d, err := openDisk(dir, 0)
		d.recall = func(ctx context.Context, q memory.Question) (memory.Recollection, error) {
			_, has := ctx.Deadline()
			begun <- has
			<-ctx.Done()
			ended <- ctx.Err()
			return memory.Recollection{}, ctx.Err()
		}
		return d, d, err
	}, Options{Drain: time.Millisecond})
	b := start(t, dir, opener(dir), Options{Drain: time.Millisecond})

	ctx, cancel := context.WithCancel(testContext(t))
	got := make(chan error, 1)
	go func() {
		_, err := b.Recall(context.WithoutCancel(ctx), memory.Question{})
		_ = err
	}()
	<-begun // one that nobody cancels, ended by Close
	go func() {
		_, err := b.Recall(ctx, memory.Question{})
		got <- err
	}()
	<-begun
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("caller: %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("owner: %v", err)
	}

	ctx, cancel = context.WithTimeout(testContext(t), 50*time.Millisecond)
	defer cancel()
	if _, err := b.Recall(ctx, memory.Question{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("caller: %v", err)
	}
	if !<-begun {
		t.Error("the owner was not told of the deadline")
	}
}

func TestOwnerLeavesAndAnotherTakesOver(t *testing.T) {
	dir := t.TempDir()
	a := start(t, dir, opener(dir), Options{})
	b := start(t, dir, opener(dir), Options{})
	c := start(t, dir, opener(dir), Options{})
	ctx := testContext(t)
	changes, err := c.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Remember(ctx, memory.Note{Content: "one"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	for _, e := range []*Engine{b, c} {
		r, err := e.Recall(ctx, memory.Question{Query: "one"})
		if err != nil || len(r.Memories) != 1 {
			t.Fatalf("after the owner left: %+v, %v", r, err)
		}
	}
	if _, err := b.Remember(ctx, memory.Note{Content: "two"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Recall(ctx, memory.Question{}); memory.CodeOf(err) != memory.CodeClosed {
		t.Errorf("a closed engine answers %v", err)
	}
	var seen []string
	lost := false
	for ch := range changes {
		seen = append(seen, ch.IDs...)
		lost = lost || ch.Lost
		if len(seen) > 0 && seen[len(seen)-1] == "two" {
			break
		}
	}
	if d := cmp.Diff([]string{"one", "two"}, seen); d != "" || !lost {
		t.Errorf("changes across a take-over (lost marked: %v): %s", lost, d)
	}
}

func TestNewerVersionIsHandedTheStore(t *testing.T) {
	dir := t.TempDir()
	old := start(t, dir, opener(dir), Options{Version: "v1.2.0"})
	peer := start(t, dir, opener(dir), Options{Version: "v1.2.0"})
	ctx := testContext(t)
	if _, err := old.Remember(ctx, memory.Note{Content: "kept"}); err != nil {
		t.Fatal(err)
	}
	young := start(t, dir, opener(dir), Options{Version: "v1.10.0"})
	for young.State().Role != RoleOwner {
		if _, err := young.Recall(ctx, memory.Question{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []*Engine{old, peer, young} {
		r, err := e.Recall(ctx, memory.Question{Query: "kept"})
		if err != nil || len(r.Memories) != 1 {
			t.Fatalf("after the hand-over: %+v, %v", r, err)
		}
	}
	role(t, old, RoleAttached)
	role(t, peer, RoleAttached)
	// An older one attaches and does not ask.
	older := start(t, dir, opener(dir), Options{Version: "v1.1.0"})
	role(t, older, RoleAttached)
	role(t, young, RoleOwner)
}

func TestOpenReturnsAtOnceAndCallsAreBounded(t *testing.T) {
	dir := t.TempDir()
	hold := make(chan struct{})
	e, err := Open(context.Background(), dir, func() (memory.Engine, io.Closer, error) {
		<-hold
		return opener(dir)()
	}, Options{Patience: 20 * time.Millisecond, RuntimeDir: shortDir(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := testContext(t)
	if _, err := e.Recall(ctx, memory.Question{}); memory.CodeOf(err) != memory.CodeBusy {
		t.Errorf("while opening: %v", err)
	}
	close(hold)
	for memory.CodeOf(e.Ready(ctx)) == memory.CodeBusy {
	}
	if _, err := e.Recall(ctx, memory.Question{}); err != nil {
		t.Errorf("once open: %v", err)
	}
}

func TestFailureToOpenIsToldAndMended(t *testing.T) {
	dir := t.TempDir()
	fail := make(chan error, 1)
	fail <- memory.Errorf(memory.CodeFormat, "the store is of a newer version")
	e, err := Open(context.Background(), dir, func() (memory.Engine, io.Closer, error) {
		select {
		case err := <-fail:
			return nil, nil, err
		default:
			return opener(dir)()
		}
	}, Options{RuntimeDir: shortDir(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := testContext(t)
	_, err = e.Recall(ctx, memory.Question{})
	if memory.CodeOf(err) != memory.CodeFormat {
		t.Errorf("error lost its code: %v", err)
	}
	for err != nil {
		if ctx.Err() != nil {
			t.Fatal("never mended")
		}
		err = e.Ready(ctx)
	}
}

func TestOwnerThatDoesNotAnswerIsNamed(t *testing.T) {
	dir := t.TempDir()
	lock := flock.New(filepath.Join(dir, lockName))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer lock.Unlock()
	if err := writeOwner(dir, ownerFile{PID: 4711, Address: filepath.Join(dir, "none")}); err != nil {
		t.Fatal(err)
	}
	e, err := Open(context.Background(), dir, opener(dir), Options{Patience: 100 * time.Millisecond, RuntimeDir: shortDir(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := testContext(t)
	for {
		_, err = e.Recall(ctx, memory.Question{})
		if memory.CodeOf(err) != memory.CodeBusy {
			break
		}
	}
	if memory.CodeOf(err) != memory.CodeLocked || !strings.Contains(err.Error(), "process 4711") {
		t.Errorf("got %v", err)
	}
}

// A connection that breaks between commit and answer: the second try gets the first one's answer.
func TestBrokenConnectionWritesOnce(t *testing.T) {
	dir := t.TempDir()
	var d *disk
	a := start(t, dir, func() (memory.Engine, io.Closer, error) {
		var err error
		d, err = openDisk(dir, 0)
		return plain{d}, d, err // without Once: the journal alone has to do it
	}, Options{})
	b := start(t, dir, opener(dir), Options{})
	ctx := testContext(t)
	changes, _ := a.Watch(ctx)
	for range 20 {
		cut := make(chan struct{})
		go func() {
			defer close(cut)
			for c := range changes {
				if c.Kind != "remembered" {
					continue
				}
				o := a.holder.(*owned)
				o.mu.Lock()
				for g := range o.guests {
					g.Close()
				}
				o.mu.Unlock()
				return
			}
		}()
		if r, err := b.Remember(ctx, memory.Note{Content: "once"}); err != nil {
			t.Fatalf("%+v, %v", r, err)
		}
		<-cut
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.seen["once"]; n != 20 {
		t.Errorf("20 writes were done %d times", n)
	}
}

// plain hides Once.
type plain struct{ memory.Engine }

func TestNoProjectIsNotEveryProject(t *testing.T) {
	dir := t.TempDir()
	got := make(chan []string, 1)
	start(t, dir, func() (memory.Engine, io.Closer, error) {
		d, err := openDisk(dir, 0)
		d.recall = func(_ context.Context, q memory.Question) (memory.Recollection, error) {
			got <- q.From.Allowed
			return memory.Recollection{}, nil
		}
		return d, d, err
	}, Options{})
	b := start(t, dir, opener(dir), Options{})
	if _, err := b.Recall(testContext(t), memory.Question{From: memory.Session{Allowed: []string{}}}); err != nil {
		t.Fatal(err)
	}
	if a := <-got; a == nil {
		t.Error("an empty list of allowed projects arrived as all of them")
	}
}

func TestWarnings(t *testing.T) {
	for _, bad := range []string{"/home/a/Dropbox/mem", "/Users/a/Library/Mobile Documents/x", "/home/a/OneDrive - Work/mem", "/Users/a/Library/CloudStorage/Box-Box/mem"} {
		if len(Warnings(bad)) == 0 {
			t.Errorf("%s: no warning", bad)
		}
	}
	if w := Warnings("/home/dropboxer/mem"); len(w) != 0 && strings.Contains(w[0], "cloud") {
		t.Errorf("false alarm: %v", w)
	}
}

// Whatever connects to the socket and says nonsense, the owner goes on.
func TestNonsenseOnTheSocket(t *testing.T) {
	dir := t.TempDir()
	a := start(t, dir, opener(dir), Options{})
	hello := "\x00\x00\x00\x5d" + `{"kind":"hello","peer":{"protocol":1,"oldest":1,"version":"","pid":1,"instance":"0123456789"}}`
	for _, say := range []string{
		"", "\x00", "\xff\xff\xff\xff", "\x00\x00\x00\x02{}", "\x00\x00\x00\x05hello", "GET / HTTP/1.1\r\n\r\n",
		hello, hello + "\x00\x00\x00\x01x", hello + "\xff\xff\xff\xff", hello + "\x00\x00\x00\x15" + `{"kind":"call","id":1}`,
		strings.Replace(hello, `"protocol":1`, `"protocol":0`, 1),
	} {
		c, err := dialLocal(testContext(t), a.State().Address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, say); err != nil {
			t.Logf("%q: %v", say, err)
		}
		c.Close()
	}
	b := start(t, dir, opener(dir), Options{})
	role(t, b, RoleAttached)
	if _, err := b.Remember(testContext(t), memory.Note{Content: "still there"}); err != nil {
		t.Error(err)
	}
}

// A process that speaks a protocol from before the oldest that is understood is told what to do.
func TestTooOldProtocolIsRefused(t *testing.T) {
	dir := t.TempDir()
	a := start(t, dir, opener(dir), Options{Version: "v9.0.0"})
	c, err := dialLocal(testContext(t), a.State().Address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := &wire{Conn: c}
	if err := w.send(frame{Kind: kindHello, Peer: &peer{Protocol: oldestProtocol - 1}}); err != nil {
		t.Fatal(err)
	}
	f, err := w.receive()
	if err != nil || f.Fault == nil || f.Fault.Code != memory.CodeFormat || !strings.Contains(f.Fault.Text, "update it") {
		t.Errorf("%+v, %v", f, err)
	}
}
