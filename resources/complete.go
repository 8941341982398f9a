package resources

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// Completer completes what is typed for a resource template or a prompt: project names, names of entities and
// topics, refs of recent memories. It is mcp-go's completion provider for both.
type Completer struct {
	Engine   memory.Engine
	Defaults tools.Scope
}

// mostCompletions is the protocol's own limit of one answer. completionTimeout: a person is typing.
const (
	mostCompletions   = 100
	completionTimeout = time.Second
)

// CompletePromptArgument completes a prompt's project.
func (c Completer) CompletePromptArgument(ctx context.Context, _ string, arg mcp.CompleteArgument, cc mcp.CompleteContext) (*mcp.Completion, error) {
	return c.complete(ctx, arg, cc)
}

// CompleteResourceArgument completes a template's variables.
func (c Completer) CompleteResourceArgument(ctx context.Context, _ string, arg mcp.CompleteArgument, cc mcp.CompleteContext) (*mcp.Completion, error) {
	return c.complete(ctx, arg, cc)
}

// complete lists the values that begin with what was typed, then those that hold it. Whatever goes
// wrong is an empty list: completion is a convenience.
func (c Completer) complete(ctx context.Context, arg mcp.CompleteArgument, cc mcp.CompleteContext) (*mcp.Completion, error) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	scope := tools.ScopeFrom(ctx, c.Defaults)
	typed := strings.ToLower(arg.Value)
	var begin, hold []string
	offer := func(value string) {
		switch lower := strings.ToLower(value); {
		case strings.HasPrefix(lower, typed):
			begin = append(begin, value)
		case strings.Contains(lower, typed):
			hold = append(hold, value)
		}
	}
	if arg.Name == "project" {
		projects, err := c.Engine.Projects(ctx)
		if err == nil {
			for _, p := range projects {
				if scope.Allows(p.Project) {
					offer(p.Project)
				}
			}
		}
	} else if project, err := scope.ProjectFor(cc.Arguments["project"], false); err == nil {
		switch arg.Name {
		case "name", "around", "entities":
			if list, err := c.Engine.Entities(ctx, project); err == nil {
				for _, e := range list {
					offer(e.Name)
				}
			}
		case "topic":
			if list, err := c.Engine.Topics(ctx, project); err == nil {
				for _, t := range list {
					offer(t.Name)
				}
			}
		case "id":
			if list, err := c.Engine.Recent(ctx, project, mostCompletions); err == nil {
				for _, m := range list {
					offer(m.Ref)
				}
			}
		}
	}
	slices.Sort(begin)
	slices.Sort(hold)
	values := slices.Compact(append(begin, hold...))
	out := &mcp.Completion{Values: values, Total: len(values)}
	if len(values) > mostCompletions {
		out.Values, out.HasMore = values[:mostCompletions], true
	}
	return out, nil
}
