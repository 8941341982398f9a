package ollamatest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest/tinymodel"
)

// The environment of tests against a real server:
//
//	MAGMA_TEST_OLLAMA  URL of a running server to use; "off": none; "build": build one if it is not there.
//	                   Unset: one that was built before (run-real-ollama.sh build), else the tests skip.
//	MAGMA_TEST_MODEL   names of installed models, separated by commas: an embedding model, a chat model, or
//	                   both. The tests that hold for any model then run with these on the server at
//	                   OLLAMA_HOST, Ollama's own port by default.
//	REAL_OLLAMA_DIR    where the built server is kept.
const (
	envServer = "MAGMA_TEST_OLLAMA"
	envModel  = "MAGMA_TEST_MODEL"
)

//go:embed run-real-ollama.sh
var script []byte

// Server is a real Ollama server on this machine, without models of its own.
type Server struct {
	URL string

	pid   int // of the server; 0: it is not ours
	stdin io.WriteCloser
	done  chan struct{} // closed when the script has ended
	log   *bytes.Buffer // of the script; read after done

	mu   sync.Mutex
	made map[string]bool // models that are there, by name and content
}

var shared struct {
	once   sync.Once
	server *Server
	skip   string
}

// Real is a server that the tests of a package share. It skips the test where there is none, and says why.
// The server ends with the test process.
func Real(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.skip = start(nil) })
	if shared.server == nil {
		t.Skip("no real Ollama server: " + shared.skip)
	}
	return shared.server
}

// Private is a server of this test's own, which it may kill. env are further settings ("OLLAMA_MAX_QUEUE=1").
// It ends with the test.
func Private(t testing.TB, env ...string) *Server {
	t.Helper()
	s, skip := start(append([]string{}, env...))
	if s == nil {
		t.Skip("no real Ollama server: " + skip)
	}
	t.Cleanup(s.Stop)
	return s
}

// binary is where the script keeps the server.
func binary() string {
	dir := os.Getenv("REAL_OLLAMA_DIR")
	if dir == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return ""
			}
			cache = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(cache, "magma-mcp", "real-ollama")
	}
	return filepath.Join(dir, "ollama-v0.17.4")
}

// start starts a server, or says why not. A private one is always started anew.
func start(env []string) (*Server, string) {
	given := os.Getenv(envServer)
	switch {
	case given == "off":
		return nil, envServer + "=off"
	case strings.HasPrefix(given, "http") && env == nil:
		return &Server{URL: strings.TrimSuffix(given, "/"), made: map[string]bool{}}, ""
	case runtime.GOOS != "linux":
		return nil, "it is built on Linux alone; set " + envServer + " to the URL of one"
	}
	if _, err := os.Stat(binary()); err != nil && given != "build" {
		return nil, "it is not built; run memory/embed/ollamatest/run-real-ollama.sh build"
	}
	dir, err := os.MkdirTemp("", "run-real-ollama")
	if err != nil {
		return nil, err.Error()
	}
	path := filepath.Join(dir, "run-real-ollama.sh")
	if err := os.WriteFile(path, script, 0o700); err != nil {
		return nil, err.Error()
	}
	cmd := exec.Command("bash", path, "serve")
	cmd.Env = append(os.Environ(), env...)
	s := &Server{done: make(chan struct{}), log: &bytes.Buffer{}, made: map[string]bool{}}
	cmd.Stderr = s.log
	var out io.ReadCloser
	if s.stdin, err = cmd.StdinPipe(); err == nil {
		if out, err = cmd.StdoutPipe(); err == nil {
			err = cmd.Start()
		}
	}
	if err != nil {
		return nil, err.Error()
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n') // a build can take minutes
	go func() {
		_, _ = io.Copy(io.Discard, lines) // until it ends
		_ = cmd.Wait()                    // it is killed by the end of its input, or ends by itself
		_ = os.RemoveAll(dir)
		close(s.done)
	}()
	if err != nil {
		<-s.done
		return nil, "it cannot be built or started: " + strings.TrimSpace(s.log.String())
	}
	url, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
	s.URL = url
	s.pid, err = strconv.Atoi(pid)
	if err != nil {
		s.Stop()
		return nil, "its process number cannot be read"
	}
	return s, ""
}

// Stop ends the server and waits until it has. It may be called twice.
func (s *Server) Stop() {
	if s.stdin == nil {
		return
	}
	_ = s.stdin.Close() // closed twice is fine
	<-s.done
}

// Kill ends the server's process at once, as a crash does. Its runners end with Stop.
func (s *Server) Kill() error { return kill(s.pid) }

func kill(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// KillRunners ends the processes that hold the models and says how many there were.
func (s *Server) KillRunners() (int, error) {
	children, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, path := range children {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		// "pid (name) state ppid ..."; the name may hold blanks.
		rest := string(stat[bytes.LastIndexByte(stat, ')')+1:])
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(s.pid) {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err != nil {
			return n, err
		}
		if err := kill(pid); err == nil {
			n++
		}
	}
	return n, nil
}

// Embedder makes sure that the server has a tiny embedding model of this name, and that it is this one.
func (s *Server) Embedder(t testing.TB, name string, e tinymodel.Embedder, settings ...tinymodel.Settings) {
	t.Helper()
	s.create(t, name, fmt.Sprintf("%+v", e), func() []byte { return e.GGUF().Bytes() }, settings)
}

// Chat makes sure that the server has a tiny chat model of this name, and that it is this one.
func (s *Server) Chat(t testing.TB, name string, c tinymodel.Chat, settings ...tinymodel.Settings) {
	t.Helper()
	if len(settings) == 0 {
		settings = []tinymodel.Settings{{}}
	}
	if settings[0].Template == "" {
		settings[0].Template = tinymodel.ChatTemplate
	}
	s.create(t, name, fmt.Sprintf("%+v", c), func() []byte { return c.GGUF().Bytes() }, settings)
}

func (s *Server) create(t testing.TB, name, what string, file func() []byte, settings []tinymodel.Settings) {
	t.Helper()
	var with tinymodel.Settings
	if len(settings) > 0 {
		with = settings[0]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s\x00%s\x00%+v", name, what, with)
	if s.made[key] {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := tinymodel.Create(ctx, s.URL, name, file(), with); err != nil {
		t.Fatal(err)
	}
	for k := range s.made {
		if strings.HasPrefix(k, name+"\x00") {
			delete(s.made, k) // replaced
		}
	}
	s.made[key] = true
}

// Models are the real models that a developer named, "" where there is none of the kind, and the server
// they are on. It skips the test where none is named.
func Models(t testing.TB) (url, embedding, chat string) {
	t.Helper()
	names := os.Getenv(envModel)
	if names == "" {
		t.Skip("no real model is named: set " + envModel + ", for example to nomic-embed-text,llama3.2")
	}
	url = cmp.Or(os.Getenv("OLLAMA_HOST"), "http://127.0.0.1:11434")
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/show", strings.NewReader(fmt.Sprintf(`{"model":%q}`, name)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s is set, but no server answers: %v", envModel, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := cmp.Or(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		switch {
		case resp.StatusCode != http.StatusOK:
			t.Fatalf("model %s: %s", name, resp.Status)
		case bytes.Contains(body, []byte(`"embedding"`)):
			embedding = name
		default:
			chat = name
		}
	}
	return url, embedding, chat
}
