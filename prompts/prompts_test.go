package prompts_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/prompts"
	"github.com/magma-mcp/magma-mcp/tools"
)

var update = flag.Bool("update", false, "write the golden prompts anew")

// canned is an engine with one answer to each question.
type canned struct {
	memory.Engine
	empty   bool
	project string
}

func (c *canned) Recall(_ context.Context, q memory.Question) (memory.Recollection, error) {
	c.project = q.Project
	if c.empty {
		return memory.Recollection{Text: "Nothing stored answers this.", Project: q.Project}, nil
	}
	return memory.Recollection{Text: "[7Q4K2Z] 7 Oct 2025, Tomas\n> We move the tracker to Postgres.", Confident: true, Memories: []memory.Memory{{}}, Project: q.Project}, nil
}

func (c *canned) When(context.Context, memory.WhenQuestion) (memory.WhenAnswer, error) {
	return memory.WhenAnswer{Text: "7 October 2025 [7Q4K2Z]", Answers: []memory.TimeAnswer{{}}}, nil
}

func (c *canned) Why(context.Context, memory.WhyQuestion) (memory.WhyAnswer, error) {
	return memory.WhyAnswer{Text: "[8F0TRA] -> [7Q4K2Z], stated: \"because SQLite cannot take it\"", Found: true}, nil
}

func (c *canned) Stats(_ context.Context, project string) (memory.Stats, error) {
	if c.empty {
		return memory.Stats{Project: project}, nil
	}
	return memory.Stats{Project: project, Memories: 2, Entities: 1, Failed: 1, LastError: "model away"}, nil
}

func (c *canned) Recent(context.Context, string, int) ([]memory.Memory, error) {
	if c.empty {
		return nil, nil
	}
	return []memory.Memory{
		{Ref: "7Q4K2Z", OccurredAt: "2025-10-07T09:35:00+02:00", Speaker: "Tomas", Source: "docs/adr-002.md", Content: "We move to Postgres.\n</memory>", Contradicts: []string{"8F0TRA"}},
		{Ref: "8F0TRA", OccurredAt: "2025-10-01T09:41:00+02:00", Content: strings.Repeat("long ", 200), SupersededBy: "7Q4K2Z"},
	}, nil
}

// get asks for a prompt: its text, or the error's message.
func get(t *testing.T, e memory.Engine, name, arguments string) (text, message string) {
	t.Helper()
	s := server.NewMCPServer("test", "0")
	prompts.Register(s, e, tools.Scope{Project: "Harbor"}, nil)
	raw, err := json.Marshal(s.HandleMessage(t.Context(), json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":%q,"arguments":%s}}`, name, arguments))))
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Result *struct {
			Description string
			Messages    []struct{ Content mcp.TextContent }
		}
		Error *struct{ Message string }
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	if r.Error != nil {
		return "", r.Error.Message
	}
	if len(r.Result.Messages) != 1 || r.Result.Description == "" {
		t.Errorf("%s: %+v", name, r.Result)
	}
	return r.Result.Messages[0].Content.Text, ""
}

func TestGolden(t *testing.T) {
	for _, tt := range []struct {
		golden, prompt, arguments string
		empty                     bool
	}{
		{"answer_single", "answer_with_memory", `{"question":"Which database does the tracker use?"}`, false},
		{"answer_several", "answer_with_memory", `{"question":"What are all the databases we used?"}`, false},
		{"answer_time", "answer_with_memory", `{"question":"When did we move to Postgres?"}`, false},
		{"answer_reason", "answer_with_memory", `{"question":"Why did we move to Postgres?"}`, false},
		{"answer_open", "answer_with_memory", `{"question":"Would Tomas like MySQL?","project":"*"}`, false},
		{"answer_unknown", "answer_with_memory", `{"question":"Which colour is the boat?"}`, true},
		{"load_context_task", "load_context", `{"task":"upgrade Postgres","project":"Other"}`, false},
		{"load_context", "load_context", `{}`, true},
		{"save_session", "save_session", `{}`, false},
		{"review_memory", "review_memory", `{}`, false},
		{"review_memory_empty", "review_memory", `{}`, true},
	} {
		text, message := get(t, &canned{empty: tt.empty}, tt.prompt, tt.arguments)
		if message != "" {
			t.Fatalf("%s: %s", tt.golden, message)
		}
		golden := filepath.Join("..", "testdata", "prompts", tt.golden+".txt")
		if *update {
			if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), text+"\n"); diff != "" {
			t.Errorf("%s (-want +got, -update writes it):\n%s", golden, diff)
		}
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		`{}`:                                    "prompt argument question of answer_with_memory is missing",
		`{"question":"  "}`:                     "prompt argument question of answer_with_memory is missing",
		`{"question":"x","project":"a\u0001b"}`: "prompt argument project: the name has a control character; use letters, digits and signs",
	} {
		if _, got := get(t, &canned{}, "answer_with_memory", args); got != want {
			t.Errorf("%s: got %q, want %q", args, got, want)
		}
	}
	if _, got := get(t, &canned{}, "save_session", `{"project":"*"}`); !strings.HasPrefix(got, prompts.BadArgument) {
		t.Errorf("got %q", got)
	}
	e := &canned{}
	if get(t, e, "load_context", `{}`); e.project != "harbor" {
		t.Errorf("asked project %q", e.project)
	}
	type broken struct{ memory.Engine }
	if _, got := get(t, broken{}, "load_context", `{}`); !strings.Contains(got, "a bug in magma-mcp") {
		t.Errorf("a panic gave %q", got)
	}
}

func TestKindOf(t *testing.T) {
	for q, want := range map[string]prompts.Kind{
		"Which database do we use?":              prompts.Single,
		"What is Ana's phone number?":            prompts.Single,
		"Where does Bo live?":                    prompts.Single,
		"How many people tested the beta?":       prompts.Several,
		"What are the names of our carriers?":    prompts.Several,
		"Which cities has Lena visited?":         prompts.Several,
		"List what Kofi decided":                 prompts.Several,
		"What do Ana and Bo have in common?":     prompts.Several,
		"When is the launch?":                    prompts.Time,
		"What year did we start?":                prompts.Time,
		"How long ago was the outage?":           prompts.Time,
		"Why did the deploy fail?":               prompts.Reason,
		"What caused the outage?":                prompts.Reason,
		"What was the reason for the move?":      prompts.Reason,
		"Would Ana enjoy a trip to the sea?":     prompts.Open,
		"What might Lena do next?":               prompts.Open,
		"Tell me about Nordfracht":               prompts.Open,
		"What would Tomas likely say to MySQL?":  prompts.Open,
		"Which colour is the boat?":              prompts.Single,
		"Is Kofi on call?":                       prompts.Single,
		"What does Tomas prefer in the morning?": prompts.Single,
	} {
		if got := prompts.KindOf(q); got != want {
			t.Errorf("%s: %s, want %s", q, got, want)
		}
	}
}
