package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/pelletier/go-toml/v2"
	"github.com/tailscale/hujson"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/setup"
	"github.com/magma-mcp/magma-mcp/memory"
)

// examine runs the doctor in this process and returns what it prints and its exit code.
func examine(t *testing.T, dir string, args ...string) (findings []finding, out string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), append([]string{"--data-dir", dir, "doctor", "--json"}, args...), strings.NewReader(""), &stdout, &stderr)
	var answer struct {
		OK       bool      `json:"ok"`
		DataDir  string    `json:"data_dir"`
		Findings []finding `json:"findings"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		t.Fatalf("%v: %s %s", err, &stdout, &stderr)
	}
	if abs, _ := filepath.Abs(dir); answer.DataDir != abs {
		t.Errorf("data_dir is %q, want %q", answer.DataDir, abs)
	}
	if answer.OK != (code == exitOK) {
		t.Errorf("ok is %v and the exit code %d", answer.OK, code)
	}
	return answer.Findings, stdout.String(), code
}

// found is the first finding of a check in a state.
func found(list []finding, check, state string) (finding, bool) {
	for _, f := range list {
		if f.Check == check && f.State == state {
			return f, true
		}
	}
	return finding{}, false
}

func clean(t *testing.T) {
	home := t.TempDir()
	for k, v := range map[string]string{"HOME": home, "USERPROFILE": home, "APPDATA": home, "XDG_CONFIG_HOME": home, "XDG_RUNTIME_DIR": "", "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": "",
		"OLLAMA_HOST": "127.0.0.1:1", "MAGMA_CONFIG": "", "MAGMA_DATA_DIR": "", "MAGMA_PROJECT": ""} {
		t.Setenv(k, v)
	}
}

func TestDoctorTriesItOut(t *testing.T) {
	clean(t)
	dir := filepath.Join(t.TempDir(), "store with ü")
	for range 2 { // the second time in a store that has been used
		list, out, code := examine(t, dir)
		if code != exitOK {
			t.Fatalf("exit code %d: %s", code, out)
		}
		for _, want := range []string{"folder", "store", "projects", "work", "try"} {
			if _, ok := found(list, want, findingOK); !ok {
				t.Errorf("no good word about %s: %s", want, out)
			}
		}
		if f, ok := found(list, "ollama", findingNote); !ok || f.Advice == "" {
			t.Errorf("an Ollama that is not there: %+v", f)
		}
	}
	bank, err := memory.Open(dir, memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer bank.Close()
	if s, err := bank.Stats(t.Context(), doctorProject); err != nil || s.Memories != 0 {
		t.Errorf("the doctor leaves %d memories behind, %v", s.Memories, err)
	}

	var text bytes.Buffer
	if code := run(t.Context(), []string{"--data-dir", t.TempDir(), "doctor"}, strings.NewReader(""), &text, &bytes.Buffer{}); code != exitOK || !strings.Contains(text.String(), "The memory works.") {
		t.Errorf("exit code %d: %s", code, &text)
	}
}

func TestDoctorFindsFaults(t *testing.T) {
	clean(t)
	t.Run("folder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		list, out, code := examine(t, filepath.Join(file, "below"))
		if f, ok := found(list, "folder", findingBad); code != exitFault || !ok || f.Advice == "" {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("tokens", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("no permission bits here")
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "http-token"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
		list, out, code := examine(t, dir)
		if f, ok := found(list, "http", findingBad); code != exitFault || !ok || !strings.Contains(f.Found, "other users") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("format", func(t *testing.T) {
		dir := t.TempDir()
		examine(t, dir)
		manifests, _ := filepath.Glob(filepath.Join(dir, "MANIFEST-*"))
		for _, m := range manifests {
			if err := os.WriteFile(m, []byte("broken"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		list, out, code := examine(t, dir)
		if f, ok := found(list, "store", findingBad); code != exitFault || !ok || f.Advice == "" {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("an Ollama that never answers", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		t.Setenv("OLLAMA_HOST", ln.Addr().String())
		began := time.Now()
		list, out, code := examine(t, t.TempDir())
		if _, ok := found(list, "ollama", findingNote); code != exitOK || !ok {
			t.Errorf("exit code %d: %s", code, out)
		}
		if took := time.Since(began); took > 30*time.Second { // two seconds and a little
			t.Errorf("it took %v", took)
		}
	})
	t.Run("another process", func(t *testing.T) {
		f := newFleet(t)
		p, err := f.join(t.Context(), "stdio")
		if err != nil {
			t.Fatal(err)
		}
		defer p.leave()
		for _, env := range f.env[len(f.env)-4:] {
			k, v, _ := strings.Cut(env, "=")
			t.Setenv(k, v)
		}
		if _, err := p.call(t.Context(), "remember", map[string]any{"content": "something"}); err != nil {
			t.Fatal(err)
		}
		list, out, code := examine(t, f.dir)
		if s, ok := found(list, "store", findingOK); code != exitOK || !ok || !strings.Contains(s.Found, "open in process") {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
}

// What setup writes starts the real server: each client's file is read as that client reads it.
func TestSetupStartsTheServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server for each client")
	}
	for _, id := range setup.Clients() {
		t.Run(id, func(t *testing.T) {
			clean(t)
			home, err := os.UserHomeDir()
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(home, "my memories")
			var out, log bytes.Buffer
			args := []string{"--data-dir", dir, "--project", "Böoks", "setup", id}
			if code := run(t.Context(), args, strings.NewReader(""), &out, &log); code != exitOK {
				t.Fatalf("exit code %d: %s", code, &log)
			}
			path, _, err := setup.Snippet(id, setup.Place{OS: runtime.GOOS, Home: home, Getenv: os.Getenv}, setup.Server{Name: setup.DefaultName})
			if err != nil {
				t.Fatal(err)
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var settings map[string]any
			if id == "codex" {
				err = toml.Unmarshal(raw, &settings)
			} else if raw, err = hujson.Standardize(raw); err == nil {
				err = json.Unmarshal(raw, &settings)
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			list := map[string]string{"vscode": "servers", "zed": "context_servers", "codex": "mcp_servers"}[id]
			if list == "" {
				list = "mcpServers"
			}
			servers, _ := settings[list].(map[string]any)
			entry, ok := servers[setup.DefaultName].(map[string]any)
			if !ok {
				t.Fatalf("no entry in %s", raw)
			}
			cmd := newFleet(t).command()
			cmd.Path, cmd.Args = entry["command"].(string), []string{entry["command"].(string)}
			for _, a := range entry["args"].([]any) {
				cmd.Args = append(cmd.Args, a.(string))
			}
			env, _ := entry["env"].(map[string]any)
			for k, v := range env {
				cmd.Env = append(cmd.Env, k+"="+v.(string))
			}
			cmd.Dir = "/" // as a desktop does
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c, err := mcp.NewClient(&mcp.Implementation{Name: id, Version: "1"}, nil).Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
			if err != nil {
				t.Fatalf("start %q: %v", cmd.Args, err)
			}
			defer c.Close()
			res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "remember", Arguments: map[string]any{"content": "from " + id}})
			if err != nil || res.IsError || res.StructuredContent.(map[string]any)["project"] != "böoks" {
				t.Errorf("remember: %+v, %v", res, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "owner.json")); err != nil {
				t.Errorf("the store is elsewhere: %v", err)
			}
			out.Reset()
			if code := run(t.Context(), append(args, "--undo"), strings.NewReader(""), &out, &log); code != exitOK {
				t.Errorf("undo: %s", &log)
			}
			if _, err := os.Stat(path); err == nil {
				t.Errorf("undone, %s is still there", path)
			}
		})
	}
}

// One session's end is the next one's beginning.
func TestHooksOnTheCommandLine(t *testing.T) {
	clean(t)
	dir := t.TempDir()
	transcript := filepath.Join(t.TempDir(), "t.jsonl")
	lines := `{"type":"user","uuid":"u1","timestamp":"2026-11-29T10:00:00Z","message":{"role":"user","content":"Please move the login page to Svelte."}}
{"type":"assistant","uuid":"a1","timestamp":"2026-11-29T10:05:00Z","message":{"role":"assistant","content":[{"type":"text","text":"The login page is on Svelte now; the old template is gone."}]}}
`
	if err := os.WriteFile(transcript, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	hook := func(event string) string {
		t.Helper()
		input, err := json.Marshal(map[string]any{"session_id": "s1", "transcript_path": transcript})
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"--data-dir", dir, "--project", "site", "hook", "claude-code", event}, bytes.NewReader(input), &stdout, &stderr); code != exitOK {
			t.Fatalf("%s: exit code %d: %s", event, code, &stderr)
		}
		return stdout.String()
	}
	if out := hook("start"); out != "" {
		t.Errorf("an empty memory says %q", out)
	}
	for range 3 { // a client's retries
		if out := hook("stop"); out != "" {
			t.Errorf("stop prints %q", out)
		}
	}
	var answer struct {
		Out struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(hook("start")), &answer); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"move the login page to Svelte", "old template is gone", "claude-code:a1"} {
		if strings.Count(answer.Out.Context, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, answer.Out.Context)
		}
	}
}
