package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/magma-mcp/magma-mcp/testdata/demo"
	"github.com/magma-mcp/magma-mcp/tools"
)

type demoCommand struct{}

// demoTimeout bounds the whole demo: it takes under a second, and shall not hang where a machine is
// too slow for that.
const demoTimeout = time.Minute

// Run starts this program as a server with an empty store of its own, talks to it as any MCP client
// would, and removes it all.
func (demoCommand) Run(a *app) (err error) {
	ctx, cancel := context.WithTimeout(a.ctx, demoTimeout)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "magma-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	pipe := transport.NewStdioWithOptions(self, nil, []string{"--data-dir", dir, "--project", "harbor", "--zone", "Europe/Stockholm", "--log-level", "error"})
	c := client.NewClient(pipe)
	if err := c.Start(ctx); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	d := &demonstration{app: a, client: c, refs: map[string]string{}}
	if err := d.show(ctx); err != nil {
		return err
	}
	return d.print("That was a server of its own on an empty store; both are gone now.\nTo have it for yourself: magma-mcp setup CLIENT, or see the README.")
}

// demonstration is one run: refs are the ids of what was remembered, by the conversation's keys.
type demonstration struct {
	*app
	client *client.Client
	refs   map[string]string
}

func (d *demonstration) show(ctx context.Context) error {
	hello, err := d.client.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_LEGACY_PROTOCOL_VERSION,
		ClientInfo:      mcp.Implementation{Name: "magma-mcp demo", Version: buildVersion()},
	}})
	if err != nil {
		return fmt.Errorf("greet the server: %w", err)
	}
	turns := demo.Conversation()
	if err := d.print(fmt.Sprintf("Connected to %s %s over a pipe, as any MCP client would be.\nIt is told what a software team said in October 2025, %d turns. The first three:\n",
		hello.ServerInfo.Name, hello.ServerInfo.Version, len(turns))); err != nil {
		return err
	}
	began := time.Now()
	for i, t := range turns {
		args := t.Arguments
		for _, name := range []string{"because_of", "supersedes"} {
			if keys, ok := args[name].([]any); ok {
				ids := make([]string, len(keys))
				for j, k := range keys {
					ids[j] = d.refs[k.(string)]
				}
				args[name] = ids
			}
		}
		answer, err := d.call(ctx, "remember", args, i < 3)
		if err != nil {
			return err
		}
		d.refs[t.Key] = answer["id"].(string)
	}
	if err := d.print(fmt.Sprintf("... and %d more; all of it is on disk after %d ms. Now one question of each kind.\n", len(turns)-3, time.Since(began).Milliseconds())); err != nil {
		return err
	}
	for _, ask := range []struct {
		tool string
		args map[string]any
	}{
		{"recall", map[string]any{"query": "Which database does the tracker use?", "limit": 3}},
		{"why", map[string]any{"query": "Why did the login deploy fail?"}},
		{"when", map[string]any{"query": "When did Lena give her talk in Gothenburg?"}},
		{"when", map[string]any{"query": "When is the public launch?"}},
		{"recall", map[string]any{"query": "How do I cook rice?", "limit": 2, "max_tokens": 200}},
	} {
		if _, err := d.call(ctx, ask.tool, ask.args, true); err != nil {
			return err
		}
	}
	if err := d.print("A number was pasted by mistake. Forgetting by a choice shows first what would go:\n"); err != nil {
		return err
	}
	preview, err := d.call(ctx, "forget", map[string]any{"source": "chat, pasted by mistake"}, true)
	if err != nil {
		return err
	}
	_, err = d.call(ctx, "forget", map[string]any{"confirm": preview["confirm"], "purge": true}, true)
	return err
}

// call calls a tool, prints the call and the answer to read where shown is set, and returns the
// structured answer. A tool error ends the demo.
func (d *demonstration) call(ctx context.Context, tool string, args map[string]any, shown bool) (map[string]any, error) {
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = tool, args
	result, err := d.client.CallTool(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", tool, err)
	}
	var text strings.Builder
	for _, c := range result.Content {
		if t, ok := c.(mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	if result.IsError {
		return nil, fmt.Errorf("%s: %s", tool, text.String())
	}
	var structured map[string]any
	if err := json.Unmarshal(result.RawStructuredContent, &structured); err != nil {
		return nil, fmt.Errorf("read the answer of %s: %w", tool, err)
	}
	if !shown {
		return structured, nil
	}
	line, err := callLine(tool, args)
	if err != nil {
		return nil, err
	}
	if err := d.print(line + "\n" + text.String()); err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(d.stdout)
	return structured, err
}

// callLine is a call as one line: the tool and its arguments in the order of its schema.
func callLine(name string, args map[string]any) (string, error) {
	var b strings.Builder
	b.WriteString(">>> " + name)
	for _, t := range tools.All() {
		if t.Name != name {
			continue
		}
		for _, p := range t.Properties {
			v, ok := args[p.Name]
			if !ok {
				continue
			}
			raw, err := json.Marshal(v)
			if err != nil {
				return "", fmt.Errorf("print the call: %w", err)
			}
			fmt.Fprintf(&b, " %s=%s", p.Name, raw)
		}
	}
	return b.String(), nil
}
