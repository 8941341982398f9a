package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A client of another make, the official Go SDK's, drives everything that the server offers: over a
// pipe to a real process, and over both HTTP transports, in every protocol version.

var protocolVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// program is this test binary as magma-mcp, with a store of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(self, append([]string{"--data-dir", filepath.Join(dir, "mémoire store"), "--project", "My-App", "--zone", "UTC"}, args...)...)
	cmd.Env = append(os.Environ(), asMain+"=1", "XDG_CONFIG_HOME="+dir, "OLLAMA_HOST=127.0.0.1:1")
	return cmd
}

func TestSDKOverStdio(t *testing.T) {
	for _, version := range protocolVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			cmd := program(t)
			var log bytes.Buffer
			cmd.Stderr = &log
			drive(t, version, &mcp.CommandTransport{Command: cmd})
			if strings.Contains(log.String(), "panic") || strings.Contains(log.String(), "level=ERROR") {
				t.Errorf("the server's log:\n%s", log.String())
			}
		})
	}
}

// bearer adds a token to each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// serveHTTP starts the server over HTTP and returns its address and a client that has its token.
func serveHTTP(t *testing.T) (base string, client *http.Client) {
	t.Helper()
	cmd := program(t, "serve", "--http", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			select {
			case lines <- s.Text():
			default:
			}
		}
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("stopped by a signal, it ended with %v", err)
		}
	})
	var token string
	for line := range lines {
		if m := regexp.MustCompile(`file="?([^"]+)"?$`).FindStringSubmatch(line); m != nil {
			raw, err := os.ReadFile(m[1])
			if err != nil {
				t.Fatal(err)
			}
			token = strings.TrimSpace(string(raw))
		}
		if m := regexp.MustCompile(`streamable=(\S+)/mcp`).FindStringSubmatch(line); m != nil {
			return m[1], &http.Client{Transport: bearer(token)}
		}
	}
	t.Fatal("the server did not say where it listens")
	return "", nil
}

func TestSDKOverHTTP(t *testing.T) {
	for _, version := range protocolVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			base, client := serveHTTP(t)
			drive(t, version, &mcp.StreamableClientTransport{Endpoint: base + "/mcp", HTTPClient: client})
		})
	}
	t.Run("sse", func(t *testing.T) {
		t.Parallel()
		base, client := serveHTTP(t)
		drive(t, "2024-11-05", &mcp.SSEClientTransport{Endpoint: base + "/sse", HTTPClient: client})
	})
}

// drive connects and uses every tool, resource and prompt.
func drive(t *testing.T, version string, transport mcp.Transport) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	updated, listChanged, progress := make(chan string, 100), make(chan struct{}, 100), make(chan struct{}, 100)
	client := mcp.NewClient(&mcp.Implementation{Name: "sdk-test", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) {
			select {
			case listChanged <- struct{}{}:
			default:
			}
		},
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress <- struct{}{} },
	})
	s, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	d := &driver{T: t, ctx: ctx, session: s, schemas: map[string]*jsonschema.Schema{}}
	hello := s.InitializeResult()
	if !strings.Contains(hello.Instructions, "call recall") || hello.ServerInfo.Name != "magma-mcp" {
		t.Errorf("hello: %+v", hello)
	}
	d.readSchemas()

	if err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: "memory://my-app/recent"}); err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	d.tools()
	select {
	case uri := <-updated:
		if uri != "memory://my-app/recent" {
			t.Errorf("update of %s", uri)
		}
	case <-ctx.Done():
		t.Error("no resource update came")
	}
	select {
	case <-listChanged:
	case <-ctx.Done():
		t.Error("a new project did not change the list of resources")
	}
	d.resources()
	d.prompts()

	call := &mcp.CallToolParams{Name: "recall", Arguments: map[string]any{"query": "x"}, Meta: mcp.Meta{}}
	call.SetProgressToken("p1")
	if _, err := s.CallTool(ctx, call); err != nil {
		t.Error(err)
	}
	select {
	case <-progress:
	case <-ctx.Done():
		t.Error("no progress came")
	}
	if err := s.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: "memory://my-app/recent"}); err != nil {
		t.Errorf("unsubscribe: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// driver is one session under test.
type driver struct {
	*testing.T
	ctx     context.Context
	session *mcp.ClientSession
	schemas map[string]*jsonschema.Schema
}

func (d *driver) readSchemas() {
	d.Helper()
	list, err := d.session.ListTools(d.ctx, nil)
	if err != nil || len(list.Tools) != 5 {
		d.Fatalf("tools/list: %v, %v", list, err)
	}
	for _, tool := range list.Tools {
		doc, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			d.Fatal(err)
		}
		parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
		if err != nil {
			d.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(tool.Name, parsed); err != nil {
			d.Fatal(err)
		}
		if d.schemas[tool.Name], err = c.Compile(tool.Name); err != nil {
			d.Fatal(err)
		}
	}
}

// call calls a tool and returns its structured content, checked against the schema, and its text.
func (d *driver) call(tool string, args map[string]any) (structured map[string]any, text string) {
	d.Helper()
	r, err := d.session.CallTool(d.ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		d.Fatalf("%s(%v): %v", tool, args, err)
	}
	for _, c := range r.Content {
		text += c.(*mcp.TextContent).Text
	}
	if r.IsError {
		d.Fatalf("%s(%v): %s", tool, args, text)
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		d.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		d.Fatal(err)
	}
	if err := d.schemas[tool].Validate(doc); err != nil {
		d.Errorf("%s(%v) is not valid: %v\n%s", tool, args, err, raw)
	}
	if text == "" {
		d.Errorf("%s(%v) says nothing", tool, args)
	}
	return doc.(map[string]any), text
}

// fault calls a tool that has to answer with a tool error of one line.
func (d *driver) fault(tool string, args map[string]any, want string) {
	d.Helper()
	r, err := d.session.CallTool(d.ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		d.Errorf("%s(%v) is a protocol error: %v", tool, args, err)
		return
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if !r.IsError || strings.Contains(text, "\n") || !strings.Contains(text, want) {
		d.Errorf("%s(%v): isError %v, %q; want %q", tool, args, r.IsError, text, want)
	}
}

func (d *driver) tools() {
	// Emptiness first: an unknown project is empty, not an error.
	empty, _ := d.call("recall", map[string]any{"query": "anything", "project": "nowhere"})
	if len(empty["memories"].([]any)) != 0 || empty["confident"] != false {
		d.Errorf("an unknown project: %v", empty)
	}
	d.call("why", map[string]any{"query": "anything"})
	d.call("when", map[string]any{"query": "anything"})
	d.call("recall", nil)

	first, _ := d.call("remember", map[string]any{"content": "SQLite locked up under load yesterday.", "occurred_at": "2025-10-06T10:00:00Z",
		"speaker": "Tomas", "session": "load-test", "source": "docs/load.md", "tags": []string{"db"}, "entities": "SQLite"})
	second, _ := d.call("remember", map[string]any{"content": "We move the tracker to Postgres, because SQLite locked up under load.", "occurred_at": "2025-10-07",
		"speaker": "Tomas", "kind": "decision", "because_of": first["ref"], "pinned": "true"})
	again, text := d.call("remember", map[string]any{"content": "SQLite locked up under load yesterday.", "occurred_at": "2025-10-06T10:00:00Z",
		"speaker": "Tomas", "session": "load-test", "source": "docs/load.md"})
	if again["status"] != "duplicate" || again["id"] != first["id"] || !strings.Contains(text, "Known already") {
		d.Errorf("the same again: %v", again)
	}
	if first["project"] != "my-app" || first["status"] != "stored" || len(first["times"].([]any)) != 1 {
		d.Errorf("remember: %v", first)
	}

	found, text := d.call("recall", map[string]any{"query": "Which database do we move the tracker to?", "explain": true})
	if !strings.Contains(text, "Postgres") || !strings.Contains(text, second["ref"].(string)) || found["trace"] == nil {
		d.Errorf("recall: %s", text)
	}
	for _, m := range found["memories"].([]any) {
		if m := m.(map[string]any); m["written_by"] != "sdk-test" {
			d.Errorf("written_by %v", m["written_by"])
		}
	}
	d.call("recall", map[string]any{"since": "2025-10-07", "project": "*", "limit": 1, "max_tokens": 100, "intent": "general", "relations": []string{"entity"}})
	reason, _ := d.call("why", map[string]any{"query": "Why do we move to Postgres?", "depth": "2"})
	if reason["found"] != true || len(reason["chains"].([]any)) == 0 {
		d.Errorf("why: %v", reason)
	}
	d.call("why", map[string]any{"id": second["ref"]})
	date, _ := d.call("when", map[string]any{"query": "When did SQLite lock up?"})
	if answers := date["answers"].([]any); len(answers) == 0 || !strings.HasPrefix(answers[0].(map[string]any)["start"].(string), "2025-10-05") {
		d.Errorf("when: %v", date["answers"])
	}

	third, _ := d.call("remember", map[string]any{"content": "This was pasted by mistake.", "source": "oops"})
	preview, _ := d.call("forget", map[string]any{"source": "oops"})
	if preview["status"] != "preview" || preview["confirm"] == nil {
		d.Fatalf("forget: %v", preview)
	}
	gone, _ := d.call("forget", map[string]any{"confirm": preview["confirm"]})
	if gone["status"] != "forgotten" || gone["verified"] != true {
		d.Errorf("forget: %v", gone)
	}
	d.call("forget", map[string]any{"ids": third["id"]})

	d.fault("remember", map[string]any{}, "content: missing")
	d.fault("remember", map[string]any{"content": strings.Repeat("x", 1<<20+1)}, "")
	d.fault("remember", map[string]any{"content": "x", "because_of": "000000"}, "because_of")
	d.fault("recall", map[string]any{"since": "the 45th of Smarch"}, "since")
	d.fault("why", map[string]any{"id": "000000"}, "000000")
	d.fault("when", map[string]any{}, "query: missing")
	d.fault("forget", map[string]any{"ids": []string{"000000"}}, "000000")
	d.fault("forget", map[string]any{"confirm": "nonsense"}, "confirm")
}

func (d *driver) resources() {
	list, err := d.session.ListResources(d.ctx, nil)
	if err != nil || len(list.Resources) < 5 {
		d.Fatalf("resources/list: %v, %v", list, err)
	}
	templates, err := d.session.ListResourceTemplates(d.ctx, nil)
	if err != nil || len(templates.ResourceTemplates) != 11 {
		d.Fatalf("resources/templates/list: %v, %v", templates, err)
	}
	uris := []string{"memory://My-App/timeline?until=2026&since=2024-01-01", "memory://my-app/graph", "memory://my-app/entities/SQLite", "memory://my-app/graph?around=SQLite&depth=2", "memory://my-app/episodes", "memory://my-app/topics"}
	for _, r := range list.Resources {
		uris = append(uris, r.URI)
	}
	var recent struct{ Memories []struct{ ID, Ref string } }
	if err := json.Unmarshal([]byte(d.read("memory://my-app/recent")), &recent); err != nil || len(recent.Memories) != 2 {
		d.Fatalf("recent: %v, %v", recent, err)
	}
	uris = append(uris, "memory://my-app/memories/"+recent.Memories[0].ID, "memory://my-app/memories/"+strings.ToLower(recent.Memories[1].Ref))
	for _, uri := range uris {
		if text := d.read(uri); !json.Valid([]byte(text)) {
			d.Errorf("%s is not JSON: %s", uri, text)
		}
		sep := "?"
		if strings.Contains(uri, "?") {
			sep = "&"
		}
		if page := d.read(uri + sep + "format=md"); !strings.HasPrefix(page, "# ") {
			d.Errorf("%s as a page: %s", uri, page)
		}
	}
	_, err = d.session.ReadResource(d.ctx, &mcp.ReadResourceParams{URI: "memory://my-app/memories/000000"})
	var wire *jsonrpc.Error
	want := int64(-32002)
	if d.session.InitializeResult().ProtocolVersion >= "2026-07-28" {
		want = -32602
	}
	if !errors.As(err, &wire) || wire.Code != want {
		d.Errorf("an unknown memory: %v, want code %d", err, want)
	}
	if d.session.InitializeResult().ProtocolVersion < "2025-03-26" {
		return // completion has no capability before
	}
	done, err := d.session.Complete(d.ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "memory://{project}/entities/{name}"},
		Argument: mcp.CompleteParamsArgument{Name: "name", Value: "sql"},
		Context:  &mcp.CompleteContext{Arguments: map[string]string{"project": "my-app"}},
	})
	if err != nil || len(done.Completion.Values) != 1 || !strings.EqualFold(done.Completion.Values[0], "SQLite") {
		d.Errorf("completion: %+v, %v", done, err)
	}
}

func (d *driver) read(uri string) string {
	d.Helper()
	r, err := d.session.ReadResource(d.ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		d.Fatalf("read %s: %v", uri, err)
	}
	return r.Contents[0].Text
}

func (d *driver) prompts() {
	list, err := d.session.ListPrompts(d.ctx, nil)
	if err != nil || len(list.Prompts) != 4 {
		d.Fatalf("prompts/list: %v, %v", list, err)
	}
	for name, args := range map[string]map[string]string{
		"answer_with_memory": {"question": "Why do we move to Postgres?"},
		"load_context":       {"task": "tune Postgres", "project": "my-app"},
		"save_session":       nil,
		"review_memory":      {"project": "MY-APP"},
	} {
		r, err := d.session.GetPrompt(d.ctx, &mcp.GetPromptParams{Name: name, Arguments: args})
		if err != nil {
			d.Errorf("%s: %v", name, err)
			continue
		}
		text := r.Messages[0].Content.(*mcp.TextContent).Text
		if !strings.Contains(text, "my-app") {
			d.Errorf("%s: %s", name, text)
		}
	}
	_, err = d.session.GetPrompt(d.ctx, &mcp.GetPromptParams{Name: "answer_with_memory"})
	var wire *jsonrpc.Error
	if !errors.As(err, &wire) || wire.Code != jsonrpc.CodeInvalidParams {
		d.Errorf("a required argument that is missing: %v", err)
	}
}
