package resources

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// The pages that ?format=md prints. Stored text stands in quoted lines, or on one line where it is a
// name: it can neither open a heading nor close its own quotation.

// line is stored text on one line, for a label.
func line(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "`", "'")), " ")
}

// fact adds "- name: value" unless the value is empty.
func fact(b *strings.Builder, name, value string) {
	if value != "" {
		fmt.Fprintf(b, "- %s: %s\n", name, value)
	}
}

func projectsPage(list []memory.ProjectInfo) string {
	var b strings.Builder
	b.WriteString("# Projects\n\n")
	if len(list) == 0 {
		b.WriteString("Nothing is remembered yet.\n")
		return b.String()
	}
	b.WriteString("| project | memories | from | to |\n|---|---:|---|---|\n")
	for _, p := range list {
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", strings.ReplaceAll(line(p.Project), "|", "\\|"), p.Memories, p.First, p.Last)
	}
	return b.String()
}

func statsPage(s memory.Stats) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Memory of %s\n\n", line(s.Project))
	fmt.Fprintf(&b, "- memories: %d (segments %d, episodes %d, topics %d, forgotten %d)\n", s.Memories, s.Segments, s.Episodes, s.Topics, s.Tombstones)
	fmt.Fprintf(&b, "- entities: %d\n", s.Entities)
	estimated := ""
	if s.SemanticEstimated {
		estimated = ", estimated"
	}
	fmt.Fprintf(&b, "- edges: temporal %d, causal %d, semantic %d%s, entity %d\n", s.Edges.Temporal, s.Edges.Causal, s.Edges.Semantic, estimated, s.Edges.Entity)
	fmt.Fprintf(&b, "- vectors: %d (%s", s.Vectors, s.Embedder.Provider)
	if s.Embedder.Model != "" {
		fmt.Fprintf(&b, " %s, %d dimensions", line(s.Embedder.Model), s.Embedder.Dimensions)
	}
	fmt.Fprintf(&b, ", %s)\n", s.Embedder.State)
	fmt.Fprintf(&b, "- background work: %d to embed, %d to consolidate, %d failed\n", s.Pending.Embedding, s.Pending.Consolidation, s.Failed)
	waiting := make([]string, 0, len(s.Waiting))
	for what := range s.Waiting {
		waiting = append(waiting, what)
	}
	slices.Sort(waiting)
	for _, what := range waiting {
		if w := s.Waiting[what]; w.Count > 0 {
			fmt.Fprintf(&b, "- waiting for %s: %d (%s)\n", what, w.Count, line(w.Reason))
		}
	}
	if s.Reindex != nil {
		fmt.Fprintf(&b, "- rebuilding: %d of %d\n", s.Reindex.Done, s.Reindex.Total)
	}
	fact(&b, "last error", line(s.LastError))
	for _, p := range s.Parked {
		fmt.Fprintf(&b, "- parked: %s of %s after %d tries: %s\n", p.Pass, p.ID, p.Tries, line(p.Reason))
	}
	fmt.Fprintf(&b, "- on disk: %.1f MB\n", float64(s.BytesOnDisk)/1e6)
	return b.String()
}

func recentPage(project string, list []memory.Memory) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Newest memories of %s\n\n", line(project))
	if len(list) == 0 {
		b.WriteString("Nothing is remembered here.\n")
	}
	for _, m := range list {
		entry(&b, m)
	}
	return b.String()
}

// entry prints one memory: a header line and its content quoted.
func entry(b *strings.Builder, m memory.Memory) {
	fmt.Fprintf(b, "**[%s]** %s", m.Ref, m.OccurredAt)
	for _, s := range []string{m.Speaker, m.Kind, m.Source} {
		if s != "" {
			b.WriteString(", " + line(s))
		}
	}
	if m.Pinned {
		b.WriteString(", pinned")
	}
	if m.SupersededBy != "" {
		b.WriteString(", superseded by " + m.SupersededBy)
	}
	b.WriteString("\n" + tools.Fence(m.Content) + "\n\n")
}

func timelinePage(t memory.Timeline) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Timeline of %s\n", line(t.Project))
	if t.Window != nil {
		fmt.Fprintf(&b, "\n%s\n", tools.Interval(t.Window.Start, t.Window.End, line(t.Window.Text)))
	}
	if len(t.Entries) == 0 {
		b.WriteString("\nNothing is remembered of that time.\n")
	}
	t.Days(func(day string, entries []memory.TimelineEntry) {
		if day != "" {
			fmt.Fprintf(&b, "\n## %s\n\n", day)
		}
		for _, e := range entries {
			fmt.Fprintf(&b, "- [%s] ", e.Ref)
			if e.Expression != "" {
				fmt.Fprintf(&b, "%q, %s: ", line(e.Expression), tools.Interval(e.Start, e.End, e.Grain))
			}
			if e.Speaker != "" {
				b.WriteString(line(e.Speaker) + ": ")
			}
			b.WriteString(line(e.Content) + "\n")
		}
	})
	if t.Omitted > 0 {
		fmt.Fprintf(&b, "\n%d more: narrow since and until.\n", t.Omitted)
	}
	return b.String()
}

func memoryPage(m memory.Memory) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Memory [%s]\n\n%s\n\n", m.Ref, tools.Fence(m.Content))
	fact(&b, "summary", line(m.Summary))
	fact(&b, "id", m.ID)
	fact(&b, "project", line(m.Project))
	fact(&b, "occurred", strings.TrimSpace(m.OccurredAt+" "+m.OccurredGrain))
	fact(&b, "recorded", m.RecordedAt)
	fact(&b, "speaker", line(m.Speaker))
	fact(&b, "kind", line(m.Kind))
	fact(&b, "session", line(m.Session))
	fact(&b, "source", line(m.Source))
	fact(&b, "written by", line(m.WrittenBy))
	fact(&b, "tags", line(strings.Join(m.Tags, ", ")))
	fact(&b, "entities", line(strings.Join(m.Entities, ", ")))
	if m.SeenCount > 1 {
		fact(&b, "seen", fmt.Sprintf("%d times", m.SeenCount))
	}
	for _, t := range m.Times {
		fact(&b, "time", fmt.Sprintf("%q = %s", line(t.Text), tools.Interval(t.Start, t.End, t.Grain)))
	}
	if m.Valid != nil {
		fact(&b, "valid from", m.Valid.From)
		fact(&b, "valid until", m.Valid.Until)
	}
	fact(&b, "because of", strings.Join(m.BecauseOf, ", "))
	fact(&b, "supersedes", strings.Join(m.Supersedes, ", "))
	fact(&b, "superseded by", m.SupersededBy)
	fact(&b, "contradicts", strings.Join(m.Contradicts, ", "))
	fact(&b, "part of", m.PartOf)
	fact(&b, "segments", strings.Join(m.Segments, ", "))
	fact(&b, "pending", strings.Join(m.Pending, ", "))
	return b.String()
}

func entitiesPage(project string, list []memory.EntityInfo) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Entities of %s\n\n", line(project))
	if len(list) == 0 {
		b.WriteString("None are known here.\n")
	}
	for _, e := range list {
		fmt.Fprintf(&b, "- **%s**", line(e.Name))
		if e.Type != "" {
			fmt.Fprintf(&b, " (%s)", line(e.Type))
		}
		fmt.Fprintf(&b, ": %d mentions", e.Mentions)
		if e.Ambiguous {
			b.WriteString(", may be several")
		}
		fmt.Fprintf(&b, ", id %s\n", e.ID)
	}
	return b.String()
}

func entityPage(project string, list []memory.EntityInfo) string {
	var b strings.Builder
	for _, e := range list {
		fmt.Fprintf(&b, "# %s\n\n", line(e.Name))
		fact(&b, "id", e.ID)
		fact(&b, "project", line(project))
		fact(&b, "type", line(e.Type))
		fact(&b, "mentions", fmt.Sprint(e.Mentions))
		fact(&b, "first", e.First)
		fact(&b, "last", e.Last)
		if e.Ambiguous {
			b.WriteString("- several of this name cannot be told apart yet\n")
		}
		for _, a := range e.Aliases {
			fact(&b, "also called", fmt.Sprintf("%s (%s)", line(a.Name), line(a.Origin)))
		}
		for _, f := range e.Facts {
			fact(&b, "fact", fmt.Sprintf("%s %s %s (%s)", line(f.Subject), line(f.Predicate), line(f.Object), f.Memory))
		}
		for _, r := range e.Relations {
			fact(&b, "relationship", fmt.Sprintf("%s %s (%s)", line(r.Relation), line(r.Other), r.Memory))
		}
		b.WriteString("\n")
		for _, m := range e.Memories {
			entry(&b, m)
		}
	}
	return b.String()
}

func graphPage(g memory.Graph) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Graph of %s\n\n%d nodes, %d edges", line(g.Project), len(g.Nodes), len(g.Edges))
	if g.Omitted > 0 {
		fmt.Fprintf(&b, ", %d more not shown", g.Omitted)
	}
	b.WriteString("\n")
	label := map[string]string{}
	for _, n := range g.Nodes {
		short := n.Ref
		if short == "" {
			short = n.ID
		}
		label[n.ID] = fmt.Sprintf("[%s] %s", short, line(n.Label))
	}
	name := func(id string) string { return cmp.Or(label[id], id) }
	for _, graph := range tools.Relations {
		heading := false
		for _, e := range g.Edges {
			if e.Graph != graph {
				continue
			}
			if !heading {
				fmt.Fprintf(&b, "\n## %s\n\n", graph)
				heading = true
			}
			fmt.Fprintf(&b, "- %s -%s-> %s", name(e.From), e.Relation, name(e.To))
			if e.Origin != "" {
				fmt.Fprintf(&b, " (%s, %.2f)", e.Origin, e.Confidence)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
