package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory"
)

var forgetTool = Tool{
	Name:  "forget",
	Title: "Forget",
	Description: "Remove memories for good, only when the user wants it. By ids (or refs) it acts at once. Any other choice " +
		"removes nothing yet: it gives a preview and a confirm code; show it to the user, then call again with confirm.",
	destructive: true,
	Properties: []Property{
		{Name: "ids", Type: "array", Description: "Ids or refs to remove now"},
		{Name: "query", Type: "string", Description: "Choose those holding every word of this"},
		{Name: "project", Type: "string", Description: "Namespace; the default one if left out"},
		{Name: "speaker", Type: "string", Description: "Choose by who said it"},
		{Name: "session", Type: "string", Description: "Choose by conversation"},
		{Name: "source", Type: "string", Description: "Choose by source"},
		{Name: "tags", Type: "array", Description: "Choose those having all of these"},
		{Name: "written_by", Type: "string", Description: "Choose by the client that stored it"},
		{Name: "since", Type: "string", Description: "Choose what occurred from then"},
		{Name: "until", Type: "string", Description: "Choose what occurred before"},
		{Name: "everything", Type: "boolean", Description: "Choose the whole project"},
		{Name: "confirm", Type: "string", Description: "Code of a preview: removes what it showed"},
		{Name: "purge", Type: "boolean", Description: "Also wipe the bytes from the disk"},
		{Name: "reason", Type: "string", Description: "Why, for the record"},
	},
	Output: `{"type":"object","properties":{"status":{"type":"string","enum":["forgotten","preview"]},"forgotten":{"type":"array",` +
		`"items":{"type":"object","properties":{"id":{"type":"string"},"ref":{"type":"string"},"words":{"type":"string"}},"required":["id","ref"]}},` +
		`"count":{"type":"integer"},"confirm":{"type":"string"},"removed":{"type":"object","properties":{"memories":{"type":"integer"},` +
		`"vectors":{"type":"integer"},"postings":{"type":"integer"},"edges":{"type":"integer"},"entities":{"type":"integer"},"queue":{"type":"integer"}},` +
		`"required":["memories","vectors","postings","edges","entities","queue"]},"verified":{"type":"boolean"},"purged":{"type":"boolean"},` +
		`"project":{"type":"string"}},"required":["status","forgotten","count","removed","verified","purged","project"]}`,
	answer: forget,
}

func forget(ctx context.Context, e memory.Engine, c *call) (answer, error) {
	choice := memory.Choice{
		IDs:        c.list("ids"),
		Query:      c.text("query"),
		Speaker:    c.text("speaker"),
		Session:    c.text("session"),
		Source:     c.text("source"),
		Tags:       c.list("tags"),
		WrittenBy:  c.text("written_by"),
		Since:      c.text("since"),
		Until:      c.text("until"),
		Everything: c.flag("everything"),
		Confirm:    strings.TrimSpace(c.text("confirm")),
		Purge:      c.flag("purge"),
		Reason:     c.text("reason"),
		From:       c.session,
	}
	if !c.chosen() && len(c.complaints) == 0 {
		c.complain("ids: missing; give ids or refs, a choice (query, speaker, session, source, tags, written_by, since, until), everything, or the confirm code of a preview")
	}
	if err := c.project(&choice.Project, false); err != nil && !c.codeAlone(choice) {
		return answer{}, err
	}
	if c.codeAlone(choice) {
		choice.Project = ""
	}
	r, err := e.Forget(ctx, choice)
	if err != nil {
		return answer{}, err
	}
	r.Forgotten = present(r.Forgotten)
	if r.Text == "" {
		r.Text = removalText(r)
	}
	return answer{r.Text, removalAnswer{r}}, nil
}

// codeAlone reports whether the call brings a confirm code and names no project: the code knows its own.
// A token that is tied to projects and has a default one keeps to that.
func (c *call) codeAlone(choice memory.Choice) bool {
	tied := c.scope.Allowed != nil && c.scope.Project != ""
	return len(c.complaints) == 0 && choice.Confirm != "" && c.value("project") == nil && !tied
}

// chosen reports whether the call says what to forget.
func (c *call) chosen() bool {
	for _, name := range []string{"query", "speaker", "session", "source", "written_by", "since", "until", "confirm"} {
		if strings.TrimSpace(c.text(name)) != "" {
			return true
		}
	}
	return len(c.list("ids")) > 0 || len(c.list("tags")) > 0 || c.flag("everything")
}

// removalText is a plain answer to forget for an engine that gave none.
func removalText(r memory.Removal) string {
	var b strings.Builder
	if r.Status == memory.StatusPreview {
		fmt.Fprintf(&b, "%d would be forgotten in project %q; nothing is removed yet.", r.Count, r.Project)
		if r.Confirm != "" {
			fmt.Fprintf(&b, " To remove them call forget with confirm: %q.", r.Confirm)
		}
	} else {
		fmt.Fprintf(&b, "%d forgotten in project %q.", r.Count, r.Project)
	}
	for _, f := range r.Forgotten {
		fmt.Fprintf(&b, "\n[%s] %s", f.Ref, oneLine(f.Words))
	}
	return b.String()
}

// removalAnswer halves the list of what went where it is too long; the count stays.
type removalAnswer struct{ memory.Removal }

func (a removalAnswer) shrink(context.Context, memory.Engine) (answer, error) {
	a.Forgotten = a.Forgotten[:len(a.Forgotten)/2]
	a.Text = removalText(a.Removal) + "\n(list shortened)"
	return answer{a.Text, a}, nil
}
