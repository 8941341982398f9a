// Package tools offers a memory to a model as five MCP tools: what does an agent call, and what does
// it get back?
//
// Each tool has a file of its own name: its schema, written by hand and flat, its output schema, and
// the handler that reads the arguments leniently (arguments.go), asks the engine and prints the
// answer. Who asks, for which project and with which rights, arrives in the context as a Scope, so
// that one registered server serves a stdio session and many HTTP tokens alike.
//
// A fault is a tool error of one line and never a protocol error; a panic below is one too. No answer
// is over MaxAnswer bytes.
package tools

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/memory"
)

// Tool is one tool as a client sees it, and what answers it. Properties is the source of the input
// schema, of the lenient reading and of the command line's flags.
type Tool struct {
	Name        string
	Title       string
	Description string
	Properties  []Property
	// Output is the output schema, a JSON object.
	Output string

	readOnly, destructive bool
	answer                func(context.Context, memory.Engine, *call) (answer, error)
}

// Property is one argument of a tool. Type is "string", "integer", "boolean" or "array" (of strings).
type Property struct {
	Name, Type, Description string
	Required                bool
	Enum                    []string
}

// answer is what a tool says: the text block, and the value that is marshalled as structured content.
type answer struct {
	text       string
	structured any
}

// All is the five tools, in the order of the contract.
func All() []Tool {
	return []Tool{rememberTool, recallTool, whyTool, whenTool, forgetTool}
}

// Definition is the tool as tools/list shows it.
func (t Tool) Definition() mcp.Tool {
	yes, no := true, false
	destructive, readOnly := &no, &no
	if t.destructive {
		destructive = &yes
	}
	if t.readOnly {
		readOnly = &yes
	}
	return mcp.Tool{
		Name:            t.Name,
		Title:           t.Title,
		Description:     t.Description,
		RawInputSchema:  t.InputSchema(),
		RawOutputSchema: json.RawMessage(t.Output),
		Annotations: mcp.ToolAnnotation{
			Title:           t.Title,
			ReadOnlyHint:    readOnly,
			DestructiveHint: destructive,
			// The same call again changes nothing more: a repeated memory is a duplicate, what is
			// forgotten stays forgotten, and the others only read.
			IdempotentHint: &yes,
			// All of it happens in the store: no other system is touched.
			OpenWorldHint: &no,
		},
	}
}

// InputSchema is the flat JSON schema of the tool's arguments, properties in their given order.
func (t Tool) InputSchema() json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	var required []string
	for i, p := range t.Properties {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(p.Name)...)
		b = append(b, `:{"type":`...)
		b = append(b, quote(p.Type)...)
		if p.Type == "array" {
			b = append(b, `,"items":{"type":"string"}`...)
		}
		if len(p.Enum) > 0 {
			b = append(b, `,"enum":`...)
			b = append(b, quote(p.Enum)...)
		}
		b = append(b, `,"description":`...)
		b = append(b, quote(p.Description)...)
		b = append(b, '}')
		if p.Required {
			required = append(required, p.Name)
		}
	}
	b = append(b, '}')
	if len(required) > 0 {
		b = append(b, `,"required":`...)
		b = append(b, quote(required)...)
	}
	return append(b, '}')
}

func quote(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("tools: a schema constant does not marshal: " + err.Error())
	}
	return b
}

// Register adds the five tools to s. e may block until its store is open; log gets faults that are
// this program's own (nil: none). defaults is the Scope of a call whose context carries none.
func Register(s *server.MCPServer, e memory.Engine, defaults Scope, log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for _, t := range All() {
		s.AddTool(t.Definition(), handler(t, e, defaults, log))
	}
}
