package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magma-mcp/magma-mcp/memory"
)

// Several processes on one store, as a user with several clients has them. Every server here is the real
// program in a process of its own, every client one of another make.

// fleet is one store and the servers on it.
type fleet struct {
	t       *testing.T
	dir     string // of the store
	env     []string
	project string
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	// Sockets have short paths: not below t.TempDir.
	sockets, err := os.MkdirTemp("", "magma")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(sockets) })
	home := t.TempDir()
	return &fleet{t: t, dir: filepath.Join(home, "store"), project: "shared", env: append(os.Environ(), asMain+"=1",
		"XDG_CONFIG_HOME="+home, "XDG_RUNTIME_DIR="+sockets, "TMPDIR="+sockets, "OLLAMA_HOST=127.0.0.1:1")}
}

func (f *fleet) command(args ...string) *exec.Cmd {
	f.t.Helper()
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"--data-dir", f.dir, "--project", f.project, "--zone", "UTC"}, args...)...)
	cmd.Env = f.env
	return cmd
}

// owner is the process that holds the store, 0 where none does.
func (f *fleet) owner() int {
	var of struct {
		PID int `json:"pid"`
	}
	b, err := os.ReadFile(filepath.Join(f.dir, "owner.json"))
	if err != nil || json.Unmarshal(b, &of) != nil {
		return 0
	}
	return of.PID
}

// party is a client and its server.
type party struct {
	f       *fleet
	kind    string // stdio, streamable or sse
	cmd     *exec.Cmd
	session *mcp.ClientSession
	exited  chan struct{}
	base    string // of an HTTP server
}

var served = regexp.MustCompile(`streamable=(http://[0-9.:]+)/mcp`)

// join starts a server and connects a client to it.
func (f *fleet) join(ctx context.Context, kind string) (*party, error) {
	p := &party{f: f, kind: kind, exited: make(chan struct{})}
	if kind == "stdio" {
		p.cmd = f.command()
		var err error
		p.session, err = mcp.NewClient(&mcp.Implementation{Name: kind, Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: p.cmd}, nil)
		close(p.exited) // the session waits for the process
		return p, err
	}
	p.cmd = f.command("serve", "--http", "127.0.0.1:0", "--no-token", "--log-level", "info")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	base := make(chan string, 1)
	go func() {
		defer close(p.exited)
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			if m := served.FindStringSubmatch(sc.Text()); m != nil {
				base <- m[1]
			}
		}
		p.cmd.Wait()
	}()
	select {
	case p.base = <-base:
	case <-p.exited:
		return nil, errors.New("the server ended at once")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	other, err := p.another(ctx, kind)
	if err != nil {
		return p, err
	}
	p.session = other.session
	return p, nil
}

// another is one more client of an HTTP server.
func (p *party) another(ctx context.Context, kind string) (*party, error) {
	hc := &http.Client{Transport: &http.Transport{}}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: p.base + "/mcp", HTTPClient: hc, MaxRetries: -1}
	if kind == "sse" {
		transport = &mcp.SSEClientTransport{Endpoint: p.base + "/sse", HTTPClient: hc}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: kind, Version: "1"}, nil).Connect(ctx, transport, nil)
	return &party{f: p.f, kind: kind, cmd: p.cmd, session: session, exited: p.exited, base: p.base}, err
}

// leave ends the client, and then its server as the client, or its service manager, would.
func (p *party) leave() {
	p.session.Close()
	if p.kind != "stdio" {
		p.cmd.Process.Signal(os.Interrupt)
	}
	<-p.exited
}

func (p *party) call(ctx context.Context, tool string, args map[string]any) (map[string]any, error) {
	res, err := p.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return nil, err
	}
	if res.IsError {
		return nil, fmt.Errorf("tool error: %s", res.Content[0].(*mcp.TextContent).Text)
	}
	out, _ := res.StructuredContent.(map[string]any)
	return out, nil
}

// Four clients of different kinds under load; whichever process owns the store is killed again and again.
func TestOwnersKilledUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers and kills them")
	}
	const kills = 6
	f := newFleet(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a watchdog: it takes about ten seconds
	defer cancel()
	var (
		mu     sync.Mutex
		acked  = map[string]string{} // id -> content
		faults = map[string][]string{}
		pids   = map[int]int{} // process -> client
		killed = map[int]bool{}
		stop   atomic.Bool
		acks   = make(chan int, 1<<16) // which client got one
	)
	kinds := []string{"stdio", "streamable", "sse", "stdio"}
	client := func(n int) {
		name := fmt.Sprintf("client %d (%s)", n, kinds[n])
		complain := func(doing string, err error) {
			mu.Lock()
			defer mu.Unlock()
			faults[name] = append(faults[name], fmt.Sprintf("%s: %v", doing, err))
		}
		var p *party
		for i := 0; !stop.Load() && ctx.Err() == nil; i++ {
			if p == nil {
				var err error
				if p, err = f.join(ctx, kinds[n]); err != nil {
					complain("start", err)
					return
				}
				mu.Lock()
				pids[p.cmd.Process.Pid] = n
				mu.Unlock()
			}
			dead := func() bool {
				mu.Lock()
				defer mu.Unlock()
				return killed[p.cmd.Process.Pid]
			}
			content := fmt.Sprintf("Client %d noted number %d on its list.", n, i)
			out, err := p.call(ctx, "remember", map[string]any{"content": content, "source": fmt.Sprintf("c%d/%d", n, i)})
			if err == nil {
				id, _ := out["id"].(string)
				mu.Lock()
				acked[id] = content
				mu.Unlock()
				if out["status"] != "stored" || out["seen_count"] != float64(1) {
					t.Errorf("%s: status %v, seen %v: a write that was tried again happened twice", name, out["status"], out["seen_count"])
				}
				acks <- n
				if i%3 == 0 {
					_, err = p.call(ctx, []string{"recall", "why", "when"}[i/3%3], map[string]any{"query": fmt.Sprintf("What number did client %d note?", n)})
				}
			}
			if err != nil && dead() {
				p.session.Close()
				<-p.exited
				p = nil // as a client does: start the server again
			} else if err != nil {
				complain("a call", err)
			}
		}
		if p != nil {
			p.leave()
		}
	}
	var clients sync.WaitGroup
	for n := range kinds {
		clients.Go(func() { client(n) })
	}
	next := func(n int, not int) {
		t.Helper()
		for n > 0 {
			select {
			case c := <-acks:
				if c != not {
					n--
				}
			case <-ctx.Done():
				mu.Lock()
				defer mu.Unlock()
				t.Fatalf("no progress; %v", faults)
			}
		}
	}
	var worst time.Duration
	for range kills {
		next(40, -1)
		var owner, n int
		for found := false; !found; { // between two owners there is none
			owner = f.owner()
			mu.Lock()
			n, found = pids[owner]
			found = found && !killed[owner]
			killed[owner] = killed[owner] || found
			mu.Unlock()
			if ctx.Err() != nil {
				t.Fatal("nobody owns the store")
			}
		}
		proc, err := os.FindProcess(owner)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		proc.Kill()
		for len(acks) > 0 { // those from before
			<-acks
		}
		next(4, n)
		worst = max(worst, time.Since(began))
	}
	next(40, -1)
	stop.Store(true)
	clients.Wait()

	mu.Lock()
	defer mu.Unlock()
	total := 0
	for name, list := range faults {
		total += len(list)
		if len(list) > 1 {
			t.Errorf("%s saw %d errors: %s", name, len(list), list)
		}
	}
	for _, name := range []string{"owner.json"} {
		if _, err := os.Stat(filepath.Join(f.dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left behind", name)
		}
	}
	bank, err := memory.Open(f.dir, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer bank.Close()
	all, err := bank.Recent(ctx, f.project, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, m := range all {
		times[m.Content]++
	}
	for id, content := range acked {
		m, err := bank.Get(ctx, f.project, id)
		if err != nil || m.Content != content || times[content] != 1 {
			t.Errorf("acknowledged %q: %v, stored %d times", content, err, times[content])
		}
	}
	t.Logf("%d acknowledged, %d owners killed, %d errors seen by clients, longest take-over %v: %v", len(acked), kills, total, worst.Round(time.Millisecond), faults)
	if worst > 20*time.Second { // the aim is two seconds on a quiet machine
		t.Errorf("a take-over took %v", worst)
	}
}

// Eight clients with 200 mixed calls each, and 64 clients of one HTTP server: no error, a bounded p99.
func TestManyClientsMixed(t *testing.T) {
	if testing.Short() {
		t.Skip("starts eight servers")
	}
	for _, c := range []struct {
		name            string
		clients, calls  int
		serversOfTheirs bool
	}{{"eight processes", 8, 200, true}, {"64 over HTTP", 64, 25, false}} {
		t.Run(c.name, func(t *testing.T) {
			f := newFleet(t)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			var shared *party
			if !c.serversOfTheirs {
				var err error
				if shared, err = f.join(ctx, "streamable"); err != nil {
					t.Fatal(err)
				}
				defer shared.leave()
			}
			var mu sync.Mutex
			var took []time.Duration
			var wg sync.WaitGroup
			for n := range c.clients {
				wg.Go(func() {
					var p *party
					var err error
					if shared != nil {
						p, err = shared.another(ctx, []string{"streamable", "sse"}[n%2])
					} else {
						p, err = f.join(ctx, []string{"stdio", "streamable", "sse"}[n%3])
					}
					if err != nil {
						t.Errorf("client %d: %v", n, err)
						return
					}
					if shared != nil {
						defer p.session.Close()
					} else {
						defer p.leave()
					}
					for i := range c.calls {
						tool, args := "remember", map[string]any{"content": fmt.Sprintf("Client %d met person %d at the harbour.", n, i)}
						if i%2 == 1 {
							tool, args = []string{"recall", "why", "when"}[i%3], map[string]any{"query": fmt.Sprintf("Whom did client %d meet?", n)}
						}
						began := time.Now()
						if _, err := p.call(ctx, tool, args); err != nil {
							t.Errorf("client %d, call %d, %s: %v", n, i, tool, err)
							return
						}
						mu.Lock()
						took = append(took, time.Since(began))
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if len(took) == 0 {
				return
			}
			slices.Sort(took)
			p50, p99 := took[len(took)/2], took[len(took)*99/100]
			t.Logf("%d calls of %d clients: p50 %v, p99 %v", len(took), c.clients, p50.Round(time.Millisecond), p99.Round(time.Millisecond))
			if p99 > 10*time.Second {
				t.Errorf("p99 is %v", p99)
			}
		})
	}
}

// Start and stop, two at a time: no socket, no lock and no process is left.
func TestCyclesLeaveNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts 100 servers")
	}
	f := newFleet(t)
	for i := range 50 {
		var pair []*exec.Cmd
		for range 2 {
			cmd := f.command()
			cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":{"content":"cycle %d"}}}`+"\n", i))
			var out strings.Builder
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pair = append(pair, cmd)
		}
		for _, cmd := range pair {
			if err := cmd.Wait(); err != nil || !strings.Contains(cmd.Stdout.(*strings.Builder).String(), `"seen_count"`) {
				t.Fatalf("cycle %d: %v, %s", i, err, cmd.Stdout)
			}
		}
	}
	left, _ := filepath.Glob(filepath.Join(strings.TrimPrefix(f.env[len(f.env)-2], "TMPDIR="), "*", "*.sock"))
	if len(left) > 0 || f.owner() != 0 {
		t.Errorf("left behind: %v, owner %d", left, f.owner())
	}
	lock := flock.New(filepath.Join(f.dir, "owner.lock"))
	if ok, err := lock.TryLock(); !ok || err != nil {
		t.Errorf("the lock is held: %v", err)
	}
	lock.Unlock()
}
