package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

var update = flag.Bool("update", false, "write the schema snapshots anew")

// fake is an engine that keeps what it was asked and answers what it was told to. Verbs it was given
// no answer for panic, as the nil interface does.
type fake struct {
	memory.Engine
	note     memory.Note
	question memory.Question
	why      memory.WhyQuestion
	when     memory.WhenQuestion
	choice   memory.Choice

	receipt memory.Receipt
	recall  func(memory.Question) (memory.Recollection, error)
	removal memory.Removal
	err     error
	ctxErr  error // of the context that Remember ran under
}

func (f *fake) Remember(ctx context.Context, n memory.Note) (memory.Receipt, error) {
	f.note, f.ctxErr = n, ctx.Err()
	f.receipt.Status = memory.StatusStored
	return f.receipt, f.err
}

func (f *fake) Recall(_ context.Context, q memory.Question) (memory.Recollection, error) {
	f.question = q
	if f.recall != nil {
		return f.recall(q)
	}
	return memory.Recollection{Intent: "general", Project: q.Project}, f.err
}

func (f *fake) Why(_ context.Context, q memory.WhyQuestion) (memory.WhyAnswer, error) {
	f.why = q
	return memory.WhyAnswer{Project: q.Project, Chains: []memory.Chain{{}}}, f.err
}

func (f *fake) When(_ context.Context, q memory.WhenQuestion) (memory.WhenAnswer, error) {
	f.when = q
	return memory.WhenAnswer{Project: q.Project}, f.err
}

func (f *fake) Forget(_ context.Context, c memory.Choice) (memory.Removal, error) {
	f.choice = c
	return f.removal, f.err
}

// call sends tools/call over mcp-go's message handling, arguments as raw JSON, and returns the result.
func call(t *testing.T, ctx context.Context, e memory.Engine, scope tools.Scope, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	s := server.NewMCPServer("test", "0")
	tools.Register(s, e, scope, slog.New(slog.DiscardHandler))
	msg := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments)
	raw, err := json.Marshal(s.HandleMessage(ctx, json.RawMessage(msg)))
	if err != nil {
		t.Fatal(err)
	}
	var resp struct {
		Result *mcp.CallToolResult `json:"result"`
		Error  any                 `json:"error"`
	}
	if err := json.Unmarshal(raw, &resp); err != nil {
		t.Fatal(err)
	}
	if resp.Result == nil {
		t.Fatalf("%s(%.100s) is a protocol error: %v", tool, arguments, resp.Error)
	}
	return resp.Result
}

func text(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.(mcp.TextContent).Text)
	}
	return b.String()
}

// faultOf is the line of a tool error; it fails the test where the result is none or not one line.
func faultOf(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	line := text(r)
	if !r.IsError || strings.Contains(line, "\n") || line == "" {
		t.Fatalf("want a tool error of one line, got isError=%v %q", r.IsError, line)
	}
	return line
}

func TestSchemas(t *testing.T) {
	all := tools.All()
	if len(all) != 5 {
		t.Fatalf("%d tools", len(all))
	}
	shown := 0
	for _, tool := range all {
		d := tool.Definition()
		raw, err := json.MarshalIndent(d, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("..", "testdata", "tools", d.Name+".json")
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, append(raw, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimSpace(strings.ReplaceAll(string(want), "\r\n", "\n")), string(raw)); diff != "" {
			t.Errorf("%s changed for clients; -update writes it (-want +got):\n%s", golden, diff)
		}

		// Limits of clients: a name that one of them refuses withholds all tools.
		if !regexp.MustCompile(`^[a-z]{1,40}$`).MatchString(d.Name) || len(d.Description) > 1024 {
			t.Errorf("%s: name or description is over what clients take", d.Name)
		}
		shown += len(d.Name) + len(d.Description) + len(tool.InputSchema())
		var in map[string]any
		if err := json.Unmarshal(tool.InputSchema(), &in); err != nil {
			t.Fatalf("%s: input schema: %v", d.Name, err)
		}
		for _, word := range []string{"anyOf", "oneOf", "allOf", "$ref", "$defs", "$schema"} {
			if strings.Contains(string(tool.InputSchema()), word) {
				t.Errorf("%s: input schema holds %s", d.Name, word)
			}
		}
		for name, p := range in["properties"].(map[string]any) {
			property := p.(map[string]any)
			if !regexp.MustCompile(`^[a-z_]{1,64}$`).MatchString(name) {
				t.Errorf("%s: property %q", d.Name, name)
			}
			switch property["type"] {
			case "string", "integer", "number", "boolean":
			case "array":
				if diff := cmp.Diff(map[string]any{"type": "string"}, property["items"]); diff != "" {
					t.Errorf("%s.%s: items: %s", d.Name, name, diff)
				}
			default:
				t.Errorf("%s.%s: type %v", d.Name, name, property["type"])
			}
			if property["description"] == "" {
				t.Errorf("%s.%s has no description", d.Name, name)
			}
		}
		outputSchema(t, d.Name)

		a := d.Annotations
		if a.ReadOnlyHint == nil || a.DestructiveHint == nil || a.IdempotentHint == nil || a.OpenWorldHint == nil {
			t.Fatalf("%s: an annotation is left to its default", d.Name)
		}
		reads := d.Name == "recall" || d.Name == "why" || d.Name == "when"
		if *a.ReadOnlyHint != reads || *a.DestructiveHint != (d.Name == "forget") || !*a.IdempotentHint || *a.OpenWorldHint {
			t.Errorf("%s: annotations are not true: %+v", d.Name, a)
		}
	}
	if shown/4 >= 2000 {
		t.Errorf("a model is shown %d tokens, at most 2,000 are allowed", shown/4)
	}
	s := server.NewMCPServer("test", "0")
	tools.Register(s, &fake{}, tools.Scope{}, nil)
	raw, _ := json.Marshal(s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)))
	if len(raw)/4 >= 4000 {
		t.Errorf("tools/list is %d tokens, at most 4,000 are allowed", len(raw)/4)
	}
	t.Logf("a model is shown %d tokens, tools/list is %d", shown/4, len(raw)/4)
}

// outputSchema compiles the output schema of a tool.
func outputSchema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	for _, tool := range tools.All() {
		if tool.Name != name {
			continue
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(tool.Output))
		if err != nil {
			t.Fatalf("%s: output schema: %v", name, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(name, doc); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile(name)
		if err != nil {
			t.Fatalf("%s: output schema: %v", name, err)
		}
		return s
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func valid(t *testing.T, tool string, r *mcp.CallToolResult) {
	t.Helper()
	if r.IsError {
		t.Fatalf("%s failed: %s", tool, text(r))
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.RawStructuredContent))
	if err != nil {
		t.Fatal(err)
	}
	if err := outputSchema(t, tool).Validate(doc); err != nil {
		t.Errorf("%s: structured content is not valid: %v\n%s", tool, err, r.RawStructuredContent)
	}
	if text(r) == "" {
		t.Errorf("%s: no text", tool)
	}
}

func TestEmptyAnswersAreValid(t *testing.T) {
	ctx := t.Context()
	valid(t, "remember", call(t, ctx, &fake{}, tools.Scope{}, "remember", `{"content":"x"}`))
	valid(t, "recall", call(t, ctx, &fake{}, tools.Scope{}, "recall", `{}`))
	valid(t, "why", call(t, ctx, &fake{}, tools.Scope{}, "why", `{"query":"x"}`))
	valid(t, "when", call(t, ctx, &fake{}, tools.Scope{}, "when", `{"query":"x"}`))
	f := &fake{removal: memory.Removal{Status: memory.StatusPreview}}
	valid(t, "forget", call(t, ctx, f, tools.Scope{}, "forget", `{"query":"x"}`))
	f.removal.Status = memory.StatusForgotten
	valid(t, "forget", call(t, ctx, f, tools.Scope{}, "forget", `{"ids":["7Q4K2Z"]}`))
}

func TestLenientArguments(t *testing.T) {
	want := memory.Question{Query: "5", Project: "my-app", Limit: 5, MaxTokens: 300, Intent: "why",
		Relations: []string{"causal", "entity"}, IncludeSuperseded: true, Explain: true,
		Filter: memory.Filter{Session: "12", Tags: []string{"a", "b"}, Entities: []string{"Ana"}}}
	for name, args := range map[string]string{
		"plain":   `{"query":"5","project":"my-app","limit":5,"max_tokens":300,"intent":"why","relations":["causal","entity"],"include_superseded":true,"explain":true,"session":"12","tags":["a","b"],"entities":["Ana"]}`,
		"strings": `{"query":5,"project":" My-App ","limit":"5","max_tokens":" 3e2 ","intent":"WHY","relations":"causal, entity","include_superseded":"true","explain":1,"session":12,"tags":"[\"a\",\"b\"]","entities":"Ana"}`,
		"nulls":   `{"query":"5","project":"MY-APP","limit":5.0,"max_tokens":"300.0","intent":"Why","relations":["Causal","entity"],"include_superseded":"yes","explain":"True","session":"12","since":null,"speaker":"","tags":["a",null,"b",""],"entities":["Ana"],"unknown":{"deep":[1]}}`,
		"twice":   `"{\"query\":\"5\",\"project\":\"my-app\",\"limit\":5,\"max_tokens\":300,\"intent\":\"why\",\"relations\":[\"causal\",\"entity\"],\"include_superseded\":true,\"explain\":true,\"session\":\"12\",\"tags\":[\"a\",\"b\"],\"entities\":[\"Ana\"]}"`,
	} {
		f := &fake{}
		valid(t, "recall", call(t, t.Context(), f, tools.Scope{}, "recall", args))
		if diff := cmp.Diff(want, f.question); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	f := &fake{}
	valid(t, "recall", call(t, t.Context(), f, tools.Scope{}, "recall", `null`))
	valid(t, "recall", call(t, t.Context(), f, tools.Scope{}, "recall", `{"limit":0,"max_tokens":99999999999999999999,"tags":"[not json"}`))
	if f.question.Limit != 0 || f.question.MaxTokens != tools.MaxAnswer/4 || !cmp.Equal(f.question.Tags, []string{"[not json"}) {
		t.Errorf("got %+v", f.question)
	}
}

func TestComplaints(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"remember", `{}`, "content: missing; give the text to remember"},
		{"remember", `{"content":["a"]}`, "content: a list came; a string is allowed"},
		{"remember", `{"content":"a","tags":{"x":1}}`, "tags: an object came; a list of strings is allowed"},
		{"remember", `{"content":"a","because_of":[["x"]]}`, "because_of[0]: a list came; a string is allowed"},
		{"remember", `{"content":"a","pinned":"maybe"}`, `pinned: "maybe" came; true or false is allowed`},
		{"remember", `{"content":"a","project":"*"}`, `project: "*" asks all projects, which only recall, why and when can; name one project`},
		{"remember", `{"content":"a","project":"a\u0001b"}`, "project: the name has a control character; use letters, digits and signs"},
		{"remember", `{"content":"a","project":"` + strings.Repeat("x", 129) + `"}`, "project: the name has 129 characters; at most 128"},
		{"recall", `{"limit":"many","explain":7}`, `limit: "many" came; a whole number from 1 to 1000 is allowed; explain: 7 came; true or false is allowed`},
		{"recall", `{"limit":5.5}`, "limit: 5.5 came; a whole number from 1 to 1000 is allowed"},
		{"recall", `{"limit":-1}`, "limit: -1 came; a whole number from 1 to 1000 is allowed"},
		{"recall", `{"intent":"who"}`, `intent: "who" came; allowed are auto, why, when, entity, general`},
		{"recall", `{"relations":["causal","friend"]}`, `relations: "friend" came; allowed are temporal, semantic, causal, entity`},
		{"recall", `[1]`, "arguments: a list came; an object with named arguments is allowed"},
		{"recall", `"text"`, "arguments: a string came; an object with named arguments is allowed"},
		{"remember", `{"content":"a","tags":[[],[],[],[],[],[],[]]}`, "tags[0]: a list came; a string is allowed; tags[1]: a list came; a string is allowed; tags[2]: a list came; a string is allowed; tags[3]: a list came; a string is allowed; tags[4]: a list came; a string is allowed; and 2 more"},
		{"why", `{}`, "query or id: missing; give what to explain, or the id or ref of a memory"},
		{"when", `{"query":null}`, "query: missing; give what to date, in plain words"},
		{"forget", `{"reason":"x","purge":true}`, "ids: missing; give ids or refs, a choice (query, speaker, session, source, tags, written_by, since, until), everything, or the confirm code of a preview"},
		{"forget", `{"everything":true,"project":"*"}`, `project: "*" asks all projects, which only recall, why and when can; name one project`},
		{"remember", `{"content":"a \ud800 b"}`, "arguments: a lone surrogate (half of a \\u pair); send the text as valid UTF-8"},
		{"remember", `{"content":"\udc00\ud800"}`, "arguments: a lone surrogate (half of a \\u pair); send the text as valid UTF-8"},
		{"remember", `{"content":"\ud83dx"}`, "arguments: a lone surrogate (half of a \\u pair); send the text as valid UTF-8"},
		{"remember", "{\"content\":\"\xff\xfe\"}", "arguments: bytes that are not valid UTF-8; send the text as valid UTF-8"},
	} {
		f := &fake{}
		if got := faultOf(t, call(t, t.Context(), f, tools.Scope{}, c.tool, c.args)); got != c.want {
			t.Errorf("%s(%s)\n got %s\nwant %s", c.tool, c.args, got, c.want)
		}
		if f.note.Content != "" {
			t.Errorf("%s(%s) reached the engine", c.tool, c.args)
		}
	}
}

func TestTextComesThroughByteForByte(t *testing.T) {
	for _, s := range []string{"a\u0000b", "\U0001F600 caf\u00e9 cafe\u0301", "\u202eright to left", "line\r\nline\ttab", `back\slash "quote" <html> & \ud800`, "\ufffd"} {
		f := &fake{}
		args, _ := json.Marshal(map[string]string{"content": s})
		valid(t, "remember", call(t, t.Context(), f, tools.Scope{}, "remember", string(args)))
		if f.note.Content != s {
			t.Errorf("got %q, want %q", f.note.Content, s)
		}
	}
	f := &fake{} // a pair of escapes is one character
	valid(t, "remember", call(t, t.Context(), f, tools.Scope{}, "remember", `{"content":"\ud83d\ude00"}`))
	if f.note.Content != "\U0001F600" {
		t.Errorf("got %q", f.note.Content)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{memory.Errorf(memory.CodeNotFound, "id 7Q4K2Z is\nunknown"), "id 7Q4K2Z is; unknown"},
		{fmt.Errorf("wrapped: %w", memory.Errorf(memory.CodeBusy, "try again")), "try again"},
		{context.DeadlineExceeded, "recall: took too long; try again, or ask for less"},
		{errors.New("open /secret/path: secret"), "recall: internal fault; magma-mcp's log on standard error says more, and `magma-mcp doctor` checks the store"},
	} {
		if got := faultOf(t, call(t, t.Context(), &fake{err: c.err}, tools.Scope{}, "recall", `{"query":"x"}`)); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	var log bytes.Buffer
	s := server.NewMCPServer("test", "0")
	f := &fake{recall: func(memory.Question) (memory.Recollection, error) { panic("the user's secret") }}
	tools.Register(s, f, tools.Scope{}, slog.New(slog.NewTextHandler(&log, nil)))
	raw, _ := json.Marshal(s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"recall","arguments":{"query":"x"}}}`)))
	if !strings.Contains(string(raw), `"isError":true`) || !strings.Contains(log.String(), "panic") {
		t.Errorf("a panic gave %s, logged %q", raw, log.String())
	}
	if strings.Contains(string(raw)+log.String(), "secret") {
		t.Error("a panic's value, which may be a memory, was shown")
	}
}

func TestScope(t *testing.T) {
	f := &fake{}
	local := tools.Scope{Project: "Here", Zone: "Asia/Kolkata"}
	valid(t, "remember", call(t, t.Context(), f, local, "remember", `{"content":"x"}`))
	if f.note.Project != "here" || f.note.From.Zone != "Asia/Kolkata" {
		t.Errorf("got %+v", f.note)
	}
	valid(t, "remember", call(t, t.Context(), f, tools.Scope{}, "remember", `{"content":"x"}`))
	if f.note.Project != tools.DefaultProject {
		t.Errorf("got project %q", f.note.Project)
	}
	token := tools.WithScope(t.Context(), tools.Scope{Client: "phone", Allowed: []string{"acme", "team/"}, RequireProject: true})
	valid(t, "remember", call(t, token, f, local, "remember", `{"content":"x","project":"Team/Ana"}`))
	if f.note.Project != "team/ana" || f.note.From.Client != "phone" {
		t.Errorf("got %+v", f.note)
	}
	for _, project := range []string{"acme2", "team", "other"} {
		got := faultOf(t, call(t, token, f, local, "remember", `{"content":"x","project":"`+project+`"}`))
		if !strings.Contains(got, "this token may not see") {
			t.Errorf("%s: %s", project, got)
		}
	}
	if got := faultOf(t, call(t, token, f, local, "recall", `{}`)); !strings.Contains(got, "project: missing") {
		t.Error(got)
	}
	valid(t, "recall", call(t, token, f, local, "recall", `{"project":"*"}`))
	if diff := cmp.Diff([]string{"acme", "team/"}, f.question.From.Allowed); diff != "" {
		t.Errorf("* asks more than the token may see: %s", diff)
	}
	readOnly := tools.WithScope(t.Context(), tools.Scope{ReadOnly: true})
	for tool, args := range map[string]string{"remember": `{"content":"x"}`, "forget": `{"everything":true}`} {
		if got := faultOf(t, call(t, readOnly, f, local, tool, args)); got != tool+": this token may read and not write" {
			t.Error(got)
		}
	}
	valid(t, "recall", call(t, readOnly, f, local, "recall", `{}`))
}

func TestInterval(t *testing.T) {
	at := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	for _, c := range []struct{ start, end, grain, want string }{
		{"2025-10-05T00:00:00+02:00", "2025-10-06T00:00:00+02:00", "day", "2025-10-05"},
		{"2025-09-15T00:00:00+02:00", "2025-09-22T00:00:00+02:00", "week", "2025-09-15 to 2025-09-21"},
		{"2025-09-01T00:00:00Z", "2025-10-01T00:00:00Z", "month", "September 2025"},
		{"2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "year", "2024"},
		{"2025-10-14T14:05:00Z", "2025-10-14T14:06:00Z", "minute", "2025-10-14 14:05"},
		{"2025-10-14T14:05:09Z", "2025-10-14T14:05:10Z", "second", "2025-10-14 14:05:09"},
		{"2025-10-14T12:00:00Z", "2025-10-14T13:00:00Z", "hour", "2025-10-14 12:00 to 2025-10-14 13:00"},
		{"2025-10-29T00:00:00Z", "", "day", "from 2025-10-29"},
		{"", "2025-11-01T00:00:00Z", "month", "before 2025-11-01"},
		{"", "", "", "an unknown time"},
		{"2025-03-30T00:00:00+01:00", "2025-03-31T00:00:00+02:00", "day", "2025-03-30"}, // the clock goes forward
	} {
		if got := tools.Interval(at(c.start), at(c.end), c.grain); got != c.want {
			t.Errorf("[%s, %s) %s: %q, want %q", c.start, c.end, c.grain, got, c.want)
		}
	}
}

// A confirm code alone is enough, wherever the preview was made.
func TestConfirmCodeKnowsItsProject(t *testing.T) {
	f := &fake{removal: memory.Removal{Status: memory.StatusForgotten}}
	for scope, want := range map[*tools.Scope]string{
		{Project: "here"}:                            "",
		{RequireProject: true}:                       "",
		{Project: "here", Allowed: []string{"here"}}: "here",
	} {
		f.choice.Project = "unset"
		valid(t, "forget", call(t, t.Context(), f, *scope, "forget", `{"confirm":"ABC","project":null}`))
		if f.choice.Project != want || f.choice.Confirm != "ABC" {
			t.Errorf("%+v: got %+v", *scope, f.choice)
		}
	}
	valid(t, "forget", call(t, t.Context(), f, tools.Scope{Project: "here"}, "forget", `{"confirm":"ABC","project":"There"}`))
	if f.choice.Project != "there" {
		t.Errorf("got %q", f.choice.Project)
	}
}

func TestWritesOutliveTheirCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := &fake{}
	valid(t, "remember", call(t, ctx, f, tools.Scope{}, "remember", `{"content":"x"}`))
	if f.ctxErr != nil {
		t.Error("remember ran under a cancelled context")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	size := func(r *mcp.CallToolResult) int { raw, _ := json.Marshal(r); return len(raw) }
	big := strings.Repeat("<\u00e9>", 5000)
	f := &fake{recall: func(q memory.Question) (memory.Recollection, error) {
		r := memory.Recollection{Project: q.Project}
		for range q.Limit {
			r.Memories = append(r.Memories, memory.Memory{ID: "01", Content: big})
			r.Text += big
		}
		return r, nil
	}}
	r := call(t, t.Context(), f, tools.Scope{}, "recall", `{"limit":100}`)
	valid(t, "recall", r)
	if n := size(r); n > tools.MaxAnswer || f.question.Limit < 2 {
		t.Errorf("%d bytes with limit %d", n, f.question.Limit)
	}
	f.recall = func(memory.Question) (memory.Recollection, error) {
		return memory.Recollection{Text: strings.Repeat(big, 20)}, nil
	}
	if got := faultOf(t, call(t, t.Context(), f, tools.Scope{}, "recall", `{}`)); !strings.Contains(got, "over 1 MiB") {
		t.Error(got)
	}
	day := "2024-01-01T00:00:00Z"
	for range 100_000 {
		f.receipt.Times = append(f.receipt.Times, memory.TimeSpan{Text: "today", Start: &day, End: &day, Grain: "day"})
	}
	r = call(t, t.Context(), f, tools.Scope{}, "remember", `{"content":"x"}`)
	valid(t, "remember", r)
	if n := size(r); n > tools.MaxAnswer || !strings.Contains(text(r), "times: ") {
		t.Errorf("%d bytes: %s", n, text(r))
	}
	for i := range 50_000 {
		f.removal.Forgotten = append(f.removal.Forgotten, memory.Forgotten{ID: fmt.Sprint(i), Ref: "x", Words: "y"})
	}
	f.removal.Status = memory.StatusForgotten
	if r = call(t, t.Context(), f, tools.Scope{}, "forget", `{"ids":["a"]}`); size(r) > tools.MaxAnswer {
		t.Error(size(r))
	}
	valid(t, "forget", r)
}

// Whatever arguments come, the answer is valid or a fault of one line, and what reaches the engine is
// valid UTF-8.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{`{}`, `{"content":"x","tags":"[1,[2]]"}`, `{"limit":"1e999","query":5}`, `[]`, `"{}"`, `null`, `{"pinned":{}}`,
		`{"ids":[null,"","a"],"confirm":0}`, `{"content":"\ud83d\ude00","content":"b"}`, `{"depth":-0.0,"relations":",,"}`, `{"project":"*"}`, `{"query":"\u0000"}`} {
		for i := range 5 {
			f.Add(i, seed)
		}
	}
	f.Fuzz(func(t *testing.T, which int, arguments string) {
		all := tools.All()
		tool := all[((which%len(all))+len(all))%len(all)]
		e := &fake{removal: memory.Removal{Status: memory.StatusPreview}}
		text, structured, err := tool.Call(t.Context(), e, tools.Scope{}, json.RawMessage(arguments))
		if err != nil {
			line := tools.FaultLine(slog.New(slog.DiscardHandler), tool.Name, err)
			if memory.CodeOf(err) == memory.CodeInternal || line == "" || strings.Contains(line, "\n") || len(line) > 2000 {
				t.Errorf("%s(%q): %v %q", tool.Name, arguments, err, line)
			}
			return
		}
		if text == "" || !json.Valid(structured) {
			t.Errorf("%s(%q): %q %s", tool.Name, arguments, text, structured)
		}
		for _, s := range []string{e.note.Content, e.question.Query, e.why.Query, e.when.Query, e.choice.Query} {
			if !utf8.ValidString(s) {
				t.Errorf("%s(%q) let %q through", tool.Name, arguments, s)
			}
		}
	})
}
