package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tailscale/hujson"

	"github.com/magma-mcp/magma-mcp/memory"
)

var update = flag.Bool("update", false, "write the golden files anew")

func place(os string) Place {
	env := map[string]string{}
	p := Place{OS: os, Home: "/home/ann", Getenv: func(k string) string { return env[k] }}
	switch os {
	case "darwin":
		p.Home = "/Users/ann"
	case "windows":
		p.Home = `C:\Users\Ann Ü`
		env["APPDATA"] = `C:\Users\Ann Ü\AppData\Roaming`
	}
	return p
}

func program(p Place) Server {
	s := Server{Name: "magma", Command: "/usr/local/bin/magma-mcp"}
	if p.OS == "windows" {
		s.Command = `C:\Program Files\magma\magma-mcp.exe`
	}
	return s
}

// Every client on every system: paths and whole contents, from nothing.
func TestGolden(t *testing.T) {
	for _, system := range []string{"linux", "darwin", "windows"} {
		var ar txtar.Archive
		for _, id := range Clients() {
			p := place(system)
			files, _, err := Plan(id, p, program(p), Choice{Rule: true, Hooks: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				out, err := f.Edit(nil)
				if err != nil {
					t.Fatalf("%s %s: %v", id, f.Path, err)
				}
				if f.What == "rule" { // the same text each time
					head, _, _ := strings.Cut(string(out), ruleBegin)
					out = []byte(head + "(the rule)\n")
				}
				ar.Files = append(ar.Files, txtar.File{Name: id + " " + f.What + " " + f.Path, Data: out})
			}
		}
		golden := filepath.Join("..", "..", "..", "testdata", "setup", system+".txtar")
		if *update {
			if err := os.WriteFile(golden, txtar.Format(&ar), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(txtar.Format(&ar))); d != "" {
			t.Errorf("%s (go test -update writes it anew):\n%s", system, d)
		}
	}
}

// The cases of testdata/setup/keep.txtar: what is there stays, to the byte.
func TestKeepsWhatIsThere(t *testing.T) {
	path := filepath.Join("..", "..", "..", "testdata", "setup", "keep.txtar")
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p := place("linux")
	for i := 0; i+1 < len(ar.Files); i += 2 {
		before, after := ar.Files[i], &ar.Files[i+1]
		id, what, _ := strings.Cut(before.Name, " ")
		what, _, _ = strings.Cut(what, " ")
		files, _, err := Plan(id, p, program(p), Choice{Rule: true, Hooks: true})
		if err != nil {
			t.Fatal(err)
		}
		f := files[slices.IndexFunc(files, func(f File) bool { return f.What == what })]
		for _, crlf := range []bool{false, true} {
			in, want := before.Data, after.Data
			if crlf {
				in, want = bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n")), bytes.ReplaceAll(want, []byte("\n"), []byte("\r\n"))
				in, want = append(slices.Clone(bom), in...), append(slices.Clone(bom), want...)
			}
			got, err := f.Edit(in)
			if err != nil {
				t.Errorf("%s: %v", before.Name, err)
				continue
			}
			if *update && !crlf {
				after.Data, want = got, got
			}
			if d := cmp.Diff(string(want), string(got)); d != "" {
				t.Errorf("%s (crlf %v):\n%s", before.Name, crlf, d)
			}
			if again, err := f.Edit(got); err != nil || !bytes.Equal(again, got) {
				t.Errorf("%s: a second time changes it: %v\n%s", before.Name, err, cmp.Diff(string(got), string(again)))
			}
			back, err := f.Remove(got)
			if err != nil {
				t.Errorf("%s: undo: %v", before.Name, err)
			}
			if !strings.Contains(before.Name, "old entry") && !sameMeaning(id, what, in, back) {
				t.Errorf("%s: undone it is\n%s", before.Name, cmp.Diff(string(in), string(back)))
			}
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// sameMeaning compares what two files mean, an empty list or object being the same as none.
func sameMeaning(id, what string, a, b []byte) bool {
	if what == "rule" {
		return bytes.Equal(bytes.TrimSpace(a), bytes.TrimSpace(b))
	}
	read := func(text []byte) (m map[string]any) {
		text = bytes.TrimPrefix(text, bom)
		if id == "codex" {
			toml.Unmarshal(text, &m)
			return m
		}
		if len(bytes.TrimSpace(text)) == 0 {
			return map[string]any{}
		}
		std, err := hujson.Standardize(slices.Clone(text))
		if err != nil {
			return nil
		}
		json.Unmarshal(std, &m)
		for k, v := range m {
			if o, ok := v.(map[string]any); ok && len(o) == 0 {
				delete(m, k)
			}
		}
		return m
	}
	return reflect.DeepEqual(read(a), read(b))
}

func TestBrokenSettingsAreRefused(t *testing.T) {
	p := place("linux")
	for id, broken := range map[string]string{
		"claude-desktop": `{"mcpServers": `,
		"cursor":         `[]`,
		"vscode":         `{"servers": [1]}`,
		"zed":            `{"context_servers": "x"}`,
		"codex":          "[mcp_servers\n",
		"gemini":         "\x00",
	} {
		files, _, err := Plan(id, p, program(p), Choice{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := files[0].Edit([]byte(broken)); err == nil {
			t.Errorf("%s: %q became %q", id, broken, out)
		}
	}
	files, _, _ := Plan("codex", p, program(p), Choice{})
	if out, err := files[0].Edit([]byte("mcp_servers = { magma = { command = \"x\" }, other = { command = \"y\" } }\n")); err == nil {
		t.Errorf("an inline table became %q", out)
	}
	if _, _, err := Plan("emacs", p, program(p), Choice{}); err == nil {
		t.Error("an unknown client is planned")
	}
	for _, name := range []string{"Claude Desktop", "claude_code", "VS Code", "codex", "Gemini"} {
		if _, _, err := Plan(name, p, program(p), Choice{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestState(t *testing.T) {
	p := Place{OS: runtime.GOOS, Home: t.TempDir(), Getenv: func(string) string { return "" }}
	for _, id := range Clients() {
		want := func(s Server, state string) {
			t.Helper()
			if path, got := State(id, p, s); got != state {
				t.Errorf("%s (%s): %s, want %s", id, path, got, state)
			}
		}
		s := program(p)
		want(s, "not there")
		files, _, _ := Plan(id, p, s, Choice{})
		path := files[0].Path
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		other := "{ \"a\": 1 }\n\n"
		if id == "codex" {
			other = "a = 1\n\n"
		}
		if err := os.WriteFile(path, []byte(other), 0o644); err != nil {
			t.Fatal(err)
		}
		want(s, "not set up")
		if _, err := Do(files, false); err != nil {
			t.Fatal(err)
		}
		want(s, "set up")
		s.Args = []string{"--project", "x"}
		want(s, "set up otherwise")
		if err := os.WriteFile(path, []byte("{["), 0o644); err != nil {
			t.Fatal(err)
		}
		want(s, "unreadable")
	}
}

func TestDoAndUndo(t *testing.T) {
	home := t.TempDir()
	p := Place{OS: runtime.GOOS, Home: home, Getenv: func(string) string { return "" }}
	settings := filepath.Join(home, "real.json")
	old := "{\n  // mine\n  \"model\": \"x\",\n}\n"
	if err := os.WriteFile(settings, []byte(old), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(home, ".claude", "settings.json")
	if runtime.GOOS == "windows" {
		link, settings = settings, link // links need a privilege there, and modes mean nothing: a plain file
		if err := os.Rename(link, settings); err != nil {
			t.Fatal(err)
		}
		link = settings
	} else if err := os.Symlink(settings, link); err != nil {
		t.Fatal(err)
	}
	files, _, err := Plan("claude-code", p, program(p), Choice{Rule: true, Hooks: true})
	if err != nil {
		t.Fatal(err)
	}
	tree := func() map[string]string {
		m := map[string]string{}
		filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				b, _ := os.ReadFile(path)
				m[strings.TrimPrefix(path, home)] = string(b)
			}
			return err
		})
		return m
	}
	before := tree()
	if ch, err := Do(files, true); err != nil || len(ch) != 3 {
		t.Fatal(ch, err)
	}
	if d := cmp.Diff(before, tree()); d != "" {
		t.Errorf("a dry run wrote:\n%s", d)
	}
	for range 2 { // the second time nothing is left to do
		if _, err := Do(files, false); err != nil {
			t.Fatal(err)
		}
	}
	if fi, err := os.Lstat(link); runtime.GOOS != "windows" && (err != nil || fi.Mode()&os.ModeSymlink == 0) {
		t.Errorf("the symbolic link was replaced: %v %v", fi, err)
	}
	if fi, err := os.Stat(settings); runtime.GOOS != "windows" && (err != nil || fi.Mode().Perm() != 0o640) {
		t.Errorf("mode: %v %v", fi, err)
	}
	if b, err := os.ReadFile(link + backupSuffix); err != nil || string(b) != old {
		t.Errorf("copy: %q %v", b, err)
	}
	ch, err := Do(files, false)
	if err != nil || slices.ContainsFunc(ch, func(c Change) bool { return c.Action != "none" }) {
		t.Errorf("a third time: %v %v", ch, err)
	}
	if _, err := Undo(files, false); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, tree()); d != "" {
		t.Errorf("undone it is not what it was:\n%s", d)
	}

	// Changed in between: those changes stay.
	if _, err := Do(files, false); err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(settings)
	if err := os.WriteFile(settings, bytes.Replace(b, []byte(`"x"`), []byte(`"y"`), 1), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Undo(files, false); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(settings); !strings.Contains(string(b), `"y"`) || strings.Contains(string(b), "magma") || !strings.Contains(string(b), "// mine") {
		t.Errorf("undone after a change: %s", b)
	}
}

// noted is an engine that keeps what it is told.
type noted struct {
	memory.Engine
	notes []memory.Note
	asked []memory.Question
	err   error
}

func (n *noted) Remember(_ context.Context, note memory.Note) (memory.Receipt, error) {
	n.notes = append(n.notes, note)
	return memory.Receipt{}, n.err
}

func (n *noted) Recall(_ context.Context, q memory.Question) (memory.Recollection, error) {
	n.asked = append(n.asked, q)
	if n.err != nil {
		return memory.Recollection{}, n.err
	}
	if q.Project == "empty" {
		return memory.Recollection{}, nil
	}
	return memory.Recollection{Text: "[7Q4K2Z] \"quoted\" <&>", Memories: make([]memory.Memory, 1)}, nil
}

func TestClaudeCodeHooks(t *testing.T) {
	transcript := filepath.Join(t.TempDir(), "t.jsonl")
	lines := `{"type":"summary","summary":"x"}
{"type":"user","uuid":"u1","timestamp":"2026-11-29T10:00:00Z","message":{"role":"user","content":"first request"}}
{"type":"assistant","uuid":"a1","timestamp":"2026-11-29T10:00:05Z","message":{"role":"assistant","content":[{"type":"text","text":"first answer"}]}}
{"type":"user","uuid":"u2","timestamp":"2026-11-29T10:01:00Z","message":{"role":"user","content":[{"type":"text","text":"why does the build fail?"},{"type":"text","text":"<system-reminder>recalled: secret context</system-reminder>"}]}}
{"type":"assistant","uuid":"a2","timestamp":"2026-11-29T10:01:05Z","message":{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","name":"Bash","input":{"command":"make"}}]}}
{"type":"user","uuid":"u3","timestamp":"2026-11-29T10:01:06Z","message":{"role":"user","content":[{"type":"tool_result","content":"huge output"}]}}
{"type":"user","uuid":"m","isMeta":true,"timestamp":"2026-11-29T10:01:07Z","message":{"role":"user","content":"Caveat: meta"}}
{"type":"assistant","uuid":"s","isSidechain":true,"message":{"content":[{"type":"text","text":"a subagent"}]}}
{"type":"assistant","uuid":"a3","timestamp":"2026-11-29T10:01:20Z","message":{"role":"assistant","content":[{"type":"text","text":"A header was missing; I added it."}]}}
{"type":"user","uuid":"u4","message":{"role":"user","content":"<command-name>/clear</command-name>"}}
{"half a line`
	if err := os.WriteFile(transcript, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	input, _ := json.Marshal(map[string]any{"session_id": "abc", "transcript_path": transcript, "hook_event_name": "Stop", "stop_hook_active": true})
	var eng noted
	if err := ClaudeCodeStop(t.Context(), &eng, "app", bytes.NewReader(input)); err != nil {
		t.Fatal(err)
	}
	common := memory.Note{Project: "app", Session: "claude-code-abc", Tags: []string{"claude-code"}, From: memory.Session{Client: "claude-code"}}
	request, outcome := common, common
	request.Content, request.Speaker, request.Kind, request.OccurredAt, request.Source = "why does the build fail?", "user", "task", "2026-11-29T10:01:00Z", "claude-code:u2"
	outcome.Content, outcome.Speaker, outcome.Kind, outcome.OccurredAt, outcome.Source = "A header was missing; I added it.", "assistant", "event", "2026-11-29T10:01:20Z", "claude-code:a3"
	if d := cmp.Diff([]memory.Note{request, outcome}, eng.notes); d != "" {
		t.Errorf("saved:\n%s", d)
	}

	var out bytes.Buffer
	if err := ClaudeCodeStart(t.Context(), &eng, "app", strings.NewReader(`{"session_id":"abc","source":"startup"}`), &out); err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Out struct {
			Event   string `json:"hookEventName"`
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil || answer.Out.Event != "SessionStart" || !strings.HasSuffix(answer.Out.Context, `[7Q4K2Z] "quoted" <&>`) {
		t.Errorf("start: %s %v", out.Bytes(), err)
	}
	if q := eng.asked[0]; q.Query != "" || q.Project != "app" || q.MaxTokens != contextTokens {
		t.Errorf("asked %+v", q)
	}
	out.Reset()
	if err := ClaudeCodeStart(t.Context(), &eng, "empty", strings.NewReader(`{}`), &out); err != nil || out.Len() > 0 {
		t.Errorf("an empty memory says %q, %v", &out, err)
	}
	eng.err = errors.New("no")
	if err := ClaudeCodeStop(t.Context(), &eng, "app", bytes.NewReader(input)); err == nil {
		t.Error("a failure to save is hidden")
	}
	if err := ClaudeCodeStop(t.Context(), &eng, "app", strings.NewReader("not JSON")); err == nil {
		t.Error("bad input is accepted")
	}
}
