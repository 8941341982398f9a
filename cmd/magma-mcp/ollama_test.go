package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// talker speaks to a server over its pipes, one request at a time.
type talker struct {
	*testing.T
	in  io.WriteCloser
	out *bufio.Reader
	n   int
}

func talkTo(t *testing.T, cmd *exec.Cmd) *talker {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // it ends with its input
	})
	return &talker{T: t, in: in, out: bufio.NewReader(out)}
}

// ask sends a request and returns its structured content and how long it took.
func (k *talker) ask(method, params string) (map[string]any, time.Duration) {
	k.Helper()
	k.n++
	began := time.Now()
	fmt.Fprintf(k.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", k.n, method, params)
	for {
		line, err := k.out.ReadString('\n')
		if err != nil {
			k.Fatal(err)
		}
		took := time.Since(began)
		var r struct {
			ID     int
			Result *struct {
				StructuredContent map[string]any
				IsError           bool
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.ID == k.n && (r.Result == nil || r.Result.IsError) {
			k.Fatalf("%s %s: %v: %s", method, params, err, line)
		}
		if r.ID == k.n {
			return r.Result.StructuredContent, took
		}
	}
}

func (k *talker) call(tool, arguments string) (map[string]any, time.Duration) {
	k.Helper()
	return k.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// With a port that accepts and never answers where Ollama should be, the program greets at once, every tool
// answers in time and says what is missing. Run with -v for the figures; the watchdogs are at ten times the
// contract's 300 ms and 250 ms, and at three times its 3 s, for busy machines.
func TestOllamaThatNeverAnswers(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() // nobody ever accepts: the system does, and that is all
	deaf := program(t)
	deaf.Env = append(deaf.Env, "OLLAMA_HOST="+ln.Addr().String())
	plain := program(t)
	config := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(config, []byte("[embedding]\nprovider = \"none\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain.Env = append(plain.Env, "MAGMA_CONFIG="+config)
	var both [2]*talker
	for i, cmd := range []*exec.Cmd{deaf, plain} {
		began := time.Now()
		both[i] = talkTo(t, cmd)
		both[i].ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
		took := time.Since(began)
		t.Logf("initialize %s after the start of the process", took)
		if took > 10*300*time.Millisecond {
			t.Errorf("initialize took %s", took)
		}
	}
	const longest = 3 * 3 * time.Second
	var recalls [2][]time.Duration
	for round := range 10 {
		for i, k := range both {
			_, took := k.call("remember", fmt.Sprintf(`{"content":"The heron of year %d nests behind the boiler house."}`, 2000+round))
			worst := took
			got, took := k.call("recall", `{"query":"Where does the heron nest?"}`)
			recalls[i] = append(recalls[i], took)
			worst = max(worst, took)
			for _, tool := range []string{"why", "when"} {
				_, took := k.call(tool, `{"query":"Why does the heron nest behind the boiler house?"}`)
				worst = max(worst, took)
			}
			if worst > longest {
				t.Errorf("a call took %s", worst)
			}
			if n := len(got["memories"].([]any)); n == 0 {
				t.Error("nothing was found by words")
			}
			degraded := fmt.Sprint(got["degraded"])
			if says := strings.Contains(degraded, "embedding: ollama"); says != (i == 0) {
				t.Errorf("degraded: %s", degraded)
			}
		}
	}
	// The probe's two seconds over, it is known to be away.
	for began := time.Now(); ; {
		got, took := both[0].call("recall", `{"query":"Where does the heron nest?"}`)
		if took > longest {
			t.Errorf("a call took %s", took)
		}
		if strings.Contains(fmt.Sprint(got["degraded"]), "ollama unreachable") {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("still degraded %v", got["degraded"])
		}
	}
	for i := range recalls {
		slices.Sort(recalls[i])
	}
	mid := len(recalls[0]) / 2
	t.Logf("recall, median of %d: %s with a deaf Ollama, %s without one", len(recalls[0]), recalls[0][mid], recalls[1][mid])
	if more := recalls[0][mid] - recalls[1][mid]; more > 10*250*time.Millisecond {
		t.Errorf("recall takes %s longer", more)
	}
}
