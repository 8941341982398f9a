package main

import (
	"fmt"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// The commands that look at a store and print the resource of the same name.

type timelineCommand struct {
	Since string `placeholder:"WHEN" help:"Only from then: a date, RFC 3339 or words."`
	Until string `placeholder:"WHEN" help:"Only before; a date includes its day."`
	Limit int    `placeholder:"N" help:"Most entries (200)."`
	JSON  bool   `name:"json" help:"Print the structured answer for programs."`
}

func (c *timelineCommand) Run(a *app) error {
	if c.Limit < 0 {
		return usageError{fmt.Errorf("--limit: %d came; a number from 1 is allowed", c.Limit)}
	}
	return a.look("timeline", c.JSON, func(o *opened, project string) (any, string, error) {
		t, err := o.engine.Timeline(a.ctx, memory.TimelineQuery{Project: project, Since: c.Since, Until: c.Until, Limit: c.Limit, From: o.scope.Session(a.ctx)})
		if t.Entries == nil {
			t.Entries = []memory.TimelineEntry{}
		}
		return t, timelineText(t), err
	})
}

type statsCommand struct {
	JSON bool `name:"json" help:"Print the structured answer for programs."`
}

func (c *statsCommand) Run(a *app) error {
	return a.look("stats", c.JSON, func(o *opened, project string) (any, string, error) {
		s, err := o.engine.Stats(a.ctx, project)
		return s, statsText(s), err
	})
}

type projectsCommand struct {
	JSON bool `name:"json" help:"Print the structured answer for programs."`
}

func (c *projectsCommand) Run(a *app) error {
	return a.look("projects", c.JSON, func(o *opened, _ string) (any, string, error) {
		list, err := o.engine.Projects(a.ctx)
		if list == nil {
			list = []memory.ProjectInfo{}
		}
		return map[string]any{"projects": list}, projectsText(list), err
	})
}

// look opens the store, asks, prints as JSON or as text, and closes it.
func (a *app) look(doing string, asJSON bool, ask func(*opened, string) (any, string, error)) (err error) {
	o, err := a.open()
	if err != nil {
		return err
	}
	defer func() {
		if closing := o.close(); err == nil {
			err = closing
		}
	}()
	project, err := o.scope.ProjectFor("", false)
	if err != nil {
		return err
	}
	value, text, err := ask(o, project)
	if err != nil {
		return a.fault(doing, err)
	}
	if asJSON {
		return a.printJSON(value)
	}
	return a.print(text)
}

// oneLine is stored text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func timelineText(t memory.Timeline) string {
	if len(t.Entries) == 0 {
		return fmt.Sprintf("Nothing is remembered of that time in project %q.", t.Project)
	}
	var b strings.Builder
	t.Days(func(day string, entries []memory.TimelineEntry) {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if day != "" {
			b.WriteString(day + "\n")
		}
		for _, e := range entries {
			fmt.Fprintf(&b, "  [%s] ", e.Ref)
			if e.Expression != "" {
				fmt.Fprintf(&b, "(%q, %s) ", oneLine(e.Expression), tools.Interval(e.Start, e.End, e.Grain))
			}
			b.WriteString(said(oneLine(e.Speaker), oneLine(e.Content)) + "\n")
		}
	})
	if t.Omitted > 0 {
		fmt.Fprintf(&b, "%d more: narrow --since and --until, or raise --limit.\n", t.Omitted)
	}
	return b.String()
}

func said(speaker, content string) string {
	if speaker == "" {
		return content
	}
	return speaker + ": " + content
}

func statsText(s memory.Stats) string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("project", "%s", s.Project)
	row("memories", "%d (%d segments, %d episodes, %d topics, %d forgotten)", s.Memories, s.Segments, s.Episodes, s.Topics, s.Tombstones)
	row("entities", "%d", s.Entities)
	row("edges", "temporal %d, causal %d, semantic %d, entity %d", s.Edges.Temporal, s.Edges.Causal, s.Edges.Semantic, s.Edges.Entity)
	row("vectors", "%d", s.Vectors)
	row("embedder", "%s", strings.TrimSpace(fmt.Sprintf("%s %s (%s)", s.Embedder.Provider, s.Embedder.Model, s.Embedder.State)))
	row("background", "%d to embed, %d to consolidate, %d failed", s.Pending.Embedding, s.Pending.Consolidation, s.Failed)
	for _, what := range []string{"embedding", "consolidation"} {
		if w, ok := s.Waiting[what]; ok && w.Count > 0 {
			row("waiting", "%d for %s: %s", w.Count, what, oneLine(w.Reason))
		}
	}
	if s.LastError != "" {
		row("last error", "%s", oneLine(s.LastError))
	}
	row("on disk", "%.1f MB", float64(s.BytesOnDisk)/1e6)
	return b.String()
}

func projectsText(list []memory.ProjectInfo) string {
	if len(list) == 0 {
		return "Nothing is remembered yet."
	}
	width := len("project")
	for _, p := range list {
		width = max(width, len([]rune(p.Project)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s  memories  from        to\n", width, "project")
	day := func(s string) string { return s[:min(10, len(s))] }
	for _, p := range list {
		fmt.Fprintf(&b, "%-*s  %8d  %-10s  %s\n", width, p.Project, p.Memories, day(p.First), day(p.Last))
	}
	return b.String()
}

type versionCommand struct{}

func (versionCommand) Run(a *app) error { return a.print("magma-mcp " + buildVersion()) }
