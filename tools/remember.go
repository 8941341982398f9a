package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

var rememberTool = Tool{
	Name:  "remember",
	Title: "Remember",
	Description: "Store one memory durably, in its own words. Call it when the user states a fact, preference, decision, " +
		"plan, event or error worth knowing later, or corrects one (name the old one in supersedes). One fact or turn per call, with names rather than pronouns. " +
		"Not for secrets, nor for what recall gave you.",
	Properties: []Property{
		{Name: "content", Type: "string", Required: true, Description: "The text to keep, as it was said"},
		{Name: "project", Type: "string", Description: "Namespace; the default one if left out"},
		{Name: "occurred_at", Type: "string", Description: "When it was said or happened: RFC 3339, a date, or words (\"last Friday\"). Default now. \"yesterday\" in content is read from here"},
		{Name: "speaker", Type: "string", Description: "Who said it"},
		{Name: "session", Type: "string", Description: "Conversation it belongs to"},
		{Name: "kind", Type: "string", Description: "fact, event, decision, preference, task, error or your own word"},
		{Name: "entities", Type: "array", Description: "People, things, places it is about"},
		{Name: "tags", Type: "array", Description: "Labels to filter by"},
		{Name: "source", Type: "string", Description: "Where it comes from: file, URL, commit, turn id"},
		{Name: "because_of", Type: "array", Description: "Ids or refs of memories that led to this one"},
		{Name: "supersedes", Type: "array", Description: "Ids or refs of memories this one replaces"},
		{Name: "valid_from", Type: "string", Description: "When it begins to hold"},
		{Name: "valid_until", Type: "string", Description: "When it stops holding"},
		{Name: "pinned", Type: "boolean", Description: "Always among the first shown"},
		{Name: "idempotency_key", Type: "string", Description: "Makes a retry the same write"},
	},
	Output: `{"type":"object","properties":{"id":{"type":"string"},"ref":{"type":"string"},"project":{"type":"string"},` +
		`"status":{"type":"string","enum":["stored","duplicate"]},"seen_count":{"type":"integer"},` +
		`"occurred_at":{"type":"string"},"recorded_at":{"type":"string"},` +
		`"times":` + timesSchema + `,"entities":` + stringsSchema + `,"segments":` + stringsSchema + `,` +
		`"pending":` + stringsSchema + `,"warnings":` + stringsSchema + `},` +
		`"required":["id","ref","project","status","seen_count","occurred_at","recorded_at"]}`,
	answer: remember,
}

func remember(ctx context.Context, e memory.Engine, c *call) (answer, error) {
	note := memory.Note{
		Content:        c.required("content", "the text to remember"),
		OccurredAt:     c.text("occurred_at"),
		Speaker:        c.text("speaker"),
		Session:        c.text("session"),
		Kind:           c.text("kind"),
		Entities:       c.list("entities"),
		Tags:           c.list("tags"),
		Source:         c.text("source"),
		BecauseOf:      c.list("because_of"),
		Supersedes:     c.list("supersedes"),
		ValidFrom:      c.text("valid_from"),
		ValidUntil:     c.text("valid_until"),
		Pinned:         c.flag("pinned"),
		IdempotencyKey: c.text("idempotency_key"),
		From:           c.session,
	}
	if err := c.project(&note.Project, false); err != nil {
		return answer{}, err
	}
	receipt, err := e.Remember(ctx, note)
	if err != nil {
		return answer{}, err
	}
	return answer{ReceiptText(receipt), receiptAnswer{receipt}}, nil
}

// project reads the project property into *into, after which every complaint is told.
func (c *call) project(into *string, wildcard bool) error {
	arg := c.text("project")
	if err := c.err(); err != nil {
		return err
	}
	name, err := c.scope.ProjectFor(arg, wildcard)
	*into = name
	return err
}

// ReceiptText is the answer to remember for a model or a person to read.
func ReceiptText(r memory.Receipt) string {
	var b strings.Builder
	if r.Status == memory.StatusDuplicate {
		fmt.Fprintf(&b, "Known already as [%s] in project %q, seen %d times; dated %s.", r.Ref, r.Project, r.SeenCount, r.OccurredAt)
	} else {
		fmt.Fprintf(&b, "Stored as [%s] in project %q, dated %s.", r.Ref, r.Project, r.OccurredAt)
	}
	for i, t := range r.Times {
		switch {
		case i == 0:
			b.WriteString("\nTimes understood: ")
		case i == textItems:
			fmt.Fprintf(&b, " and %d more", len(r.Times)-i)
		default:
			b.WriteString("; ")
		}
		if i == textItems {
			break
		}
		fmt.Fprintf(&b, "%q = %s", t.Text, Interval(t.Start, t.End, t.Grain))
	}
	if len(r.Entities) > 0 {
		b.WriteString("\nEntities: " + strings.Join(r.Entities[:min(len(r.Entities), textItems)], ", "))
		if n := len(r.Entities) - textItems; n > 0 {
			fmt.Fprintf(&b, " and %d more", n)
		}
	}
	if n := len(r.Segments); n > 0 {
		fmt.Fprintf(&b, "\nSplit into %d events of one memory.", n)
	}
	if len(r.Pending) > 0 {
		b.WriteString("\nFollows in the background: " + strings.Join(r.Pending, ", "))
	}
	for _, w := range r.Warnings {
		b.WriteString("\nWarning: " + oneLine(w))
	}
	return b.String()
}

// textItems is how many times or entities a receipt's text names: it is read by a model that has the
// content before it already; structured content holds them all.
const textItems = 12

// Interval prints the half-open [start, end) of a grain in few words, for a person or a model: a day as
// its date, a month by its name, whole days with the last one included, an open end as such.
func Interval(start, end *string, grain string) string {
	s, sOK := instant(start)
	e, eOK := instant(end)
	midnight := func(t time.Time) bool { return t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 }
	point := func(t time.Time) string {
		if midnight(t) {
			return t.Format(time.DateOnly)
		}
		return strings.TrimSuffix(t.Format(time.DateTime), ":00")
	}
	switch {
	case !sOK && !eOK:
		return "an unknown time"
	case !sOK:
		return "before " + point(e)
	case !eOK:
		return "from " + point(s)
	case !midnight(s) || !midnight(e):
		if grain == "minute" || grain == "second" {
			return point(s)
		}
		return point(s) + " to " + point(e)
	}
	last := e.AddDate(0, 0, -1)
	switch {
	case !last.After(s):
		return point(s)
	case s.Day() == 1 && s.AddDate(0, 1, 0).Equal(e):
		return s.Format("January 2006")
	case s.YearDay() == 1 && s.AddDate(1, 0, 0).Equal(e):
		return s.Format("2006")
	}
	return point(s) + " to " + point(last)
}

// instant reads an RFC 3339 time in its own offset.
func instant(s *string) (time.Time, bool) {
	if s == nil {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, *s)
	return t, err == nil
}

// receiptAnswer cuts its lists where they make the answer too long, and says so: a text of a
// megabyte can hold a hundred thousand dates.
type receiptAnswer struct{ memory.Receipt }

func (r receiptAnswer) shrink(context.Context, memory.Engine) (answer, error) {
	r.Warnings = append([]string(nil), r.Warnings...)
	cut := func(list int, name string) int {
		keep := list / 2
		if keep < list {
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s: %d of %d shown, the memory has them all", name, keep, list))
		}
		return keep
	}
	switch {
	case len(r.Times) >= len(r.Entities) && len(r.Times) >= len(r.Segments):
		r.Times = r.Times[:cut(len(r.Times), "times")]
	case len(r.Entities) >= len(r.Segments):
		r.Entities = r.Entities[:cut(len(r.Entities), "entities")]
	default:
		r.Segments = r.Segments[:cut(len(r.Segments), "segments")]
	}
	return answer{ReceiptText(r.Receipt), r}, nil
}
