package main

import (
	"fmt"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory"
)

type topicsCommand struct {
	Topic string `arg:"" optional:"" help:"An id, a name or a keyword: its episodes and links. Without it all topics are listed."`
	JSON  bool   `name:"json" help:"Print the structured answer for programs."`
}

func (c *topicsCommand) Run(a *app) error {
	return a.look("topics", c.JSON, func(o *opened, project string) (any, string, error) {
		var list []memory.TopicInfo
		var err error
		if c.Topic == "" {
			list, err = o.engine.Topics(a.ctx, project)
		} else {
			list, err = o.engine.Topic(a.ctx, project, c.Topic)
		}
		if list == nil {
			list = []memory.TopicInfo{}
		}
		return map[string]any{"project": project, "topics": list}, topicsText(list, project), err
	})
}

func topicsText(list []memory.TopicInfo, project string) string {
	if len(list) == 0 {
		return fmt.Sprintf("No such topic in project %q. Topics are found in the background, in what two sessions or more have in common.", project)
	}
	day := func(s string) string { return s[:min(10, len(s))] }
	var b strings.Builder
	for _, t := range list {
		fmt.Fprintf(&b, "%s: %d episodes of %d sessions, %s, %s to %s (%s)\n", oneLine(t.Name), t.EpisodeCount, len(t.Sessions), memory.Counted(t.MemoryCount), day(t.Start), day(t.End), t.ID)
		for _, l := range t.Links {
			fmt.Fprintf(&b, "  %s: %s (%s)\n", l.Kind, oneLine(l.Other), l.OtherID)
		}
		for _, e := range t.Episodes {
			fmt.Fprintf(&b, "  %s %s: %s\n", day(e.Start), oneLine(e.Session), oneLine(e.Summary))
		}
	}
	return b.String()
}
