package resources

import (
	"fmt"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory"
)

// Summaries and titles are words of memories, or a model's: they stand on one line each.

// episodeLine prints an episode as one entry of a list.
func episodeLine(b *strings.Builder, e *memory.EpisodeInfo) {
	fmt.Fprintf(b, "- **%s** %s to %s", line(e.Title), e.Start, e.End)
	if e.Session != "" {
		b.WriteString(", session " + line(e.Session))
	}
	fmt.Fprintf(b, ", %s", memory.Counted(len(e.MemoryIDs)))
	if e.Open {
		b.WriteString(", not over yet")
	}
	fmt.Fprintf(b, ", id %s\n", e.ID)
	if e.Summary != "" {
		fmt.Fprintf(b, "  %s\n", line(e.Summary))
	}
}

func episodesPage(l memory.EpisodeList) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Episodes of %s\n\n", line(l.Project))
	if len(l.Episodes) == 0 {
		b.WriteString("None are known here yet.\n")
	}
	for i := range l.Episodes {
		episodeLine(&b, &l.Episodes[i])
	}
	if l.Omitted > 0 {
		fmt.Fprintf(&b, "\n%d earlier ones: raise limit, or ask for one session.\n", l.Omitted)
	}
	return b.String()
}

func episodePage(project string, e memory.EpisodeInfo) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Episode: %s\n\n", line(e.Title))
	fact(&b, "id", e.ID)
	fact(&b, "project", line(project))
	fact(&b, "session", line(e.Session))
	fact(&b, "from", e.Start)
	fact(&b, "to", e.End)
	if e.Open {
		b.WriteString("- it is not over yet\n")
	}
	fact(&b, "keywords", line(strings.Join(e.Keywords, ", ")))
	fact(&b, "summary", line(e.Summary))
	fact(&b, "summary by", line(e.By))
	if e.Topic != "" {
		fact(&b, "topic", fmt.Sprintf("%s (%s)", line(e.Topic), e.TopicID))
	}
	b.WriteString("\n")
	for _, m := range e.Memories {
		entry(&b, m)
	}
	return b.String()
}

func topicsPage(project string, list []memory.TopicInfo, omitted int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Topics of %s\n\n", line(project))
	if len(list) == 0 {
		b.WriteString("None are known here yet.\n")
	}
	for _, t := range list {
		fmt.Fprintf(&b, "- **%s**: %d episodes of %d sessions, %s, %s to %s, id %s\n", line(t.Name), t.EpisodeCount, len(t.Sessions), memory.Counted(t.MemoryCount), t.Start, t.End, t.ID)
	}
	if omitted > 0 {
		fmt.Fprintf(&b, "\n%d earlier ones: raise limit.\n", omitted)
	}
	return b.String()
}

func topicPage(project string, list []memory.TopicInfo) string {
	var b strings.Builder
	for _, t := range list {
		fmt.Fprintf(&b, "# Topic: %s\n\n", line(t.Name))
		fact(&b, "id", t.ID)
		fact(&b, "project", line(project))
		fact(&b, "keywords", line(strings.Join(t.Keywords, ", ")))
		fact(&b, "from", t.Start)
		fact(&b, "to", t.End)
		for _, l := range t.Links {
			fact(&b, line(l.Kind), fmt.Sprintf("%s (%s), by %s", line(l.Other), l.OtherID, line(l.By)))
			for _, e := range l.Evidence {
				fmt.Fprintf(&b, "  - %q (%s)\n", line(e.Quote), e.Memory)
			}
		}
		b.WriteString("\n")
		for i := range t.Episodes {
			episodeLine(&b, &t.Episodes[i])
		}
		b.WriteString("\n")
	}
	return b.String()
}
