package consolidatetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
)

// Canned is a chat model that reads well: it answers from a file what a good model would say of a small
// conversation (testdata/ollama). It finds the notes in a prompt by their words. It is safe for concurrent
// use.
type Canned struct {
	Story   []Turn
	answers cannedAnswers
}

// Turn is one memory of the conversation.
type Turn struct {
	Source  string    `json:"source"`
	Session string    `json:"session"`
	Speaker string    `json:"speaker"`
	At      time.Time `json:"at"`
	Text    string    `json:"text"`
}

type fields = map[string]any

type cannedAnswers struct {
	Entities       []fields `json:"entities"`
	Facts          []fields `json:"facts"`
	Relations      []fields `json:"relations"`
	Causes         []fields `json:"causes"`
	Because        []string `json:"because"`
	Contradictions []fields `json:"contradictions"`
}

// LoadCanned reads story.json and answers.json of a folder.
func LoadCanned(dir string) (*Canned, error) {
	c := &Canned{}
	for name, into := range map[string]any{"story.json": &c.Story, "answers.json": &c.answers} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(b, into); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return c, nil
}

var promptLine = regexp.MustCompile(`(?m)^\[([mc]\d+)\]( NEW)? [^:]*:\d\d[^:]*: (.*)$`)

// Reply is what it answers to a prompt.
func (c *Canned) Reply(_, user string) string {
	label := map[string]string{} // source -> label
	fresh := map[string]bool{}   // sources marked NEW
	var shown []Turn
	for _, m := range promptLine.FindAllStringSubmatch(user, -1) {
		i := slices.IndexFunc(c.Story, func(t Turn) bool { return strings.Join(strings.Fields(t.Text), " ") == m[3] })
		if i >= 0 {
			label[c.Story[i].Source] = m[1]
			fresh[c.Story[i].Source] = m[2] != ""
			shown = append(shown, c.Story[i])
		}
	}
	// relabel copies what is about notes that are shown, with labels for sources.
	relabel := func(list []fields, keys map[string]string, needs func(f fields) bool) []fields {
		out := []fields{}
		for _, f := range list {
			g := fields{}
			ok := needs(f)
			for k, v := range f {
				g[k] = v
			}
			for from, to := range keys {
				source, _ := f[from].(string)
				if label[source] == "" {
					ok = false
				}
				delete(g, from)
				g[to] = label[source]
			}
			if ok {
				out = append(out, g)
			}
		}
		return out
	}
	of := map[string]string{"source": "memory"}
	isFresh := func(keys ...string) func(fields) bool {
		return func(f fields) bool {
			return slices.ContainsFunc(keys, func(k string) bool { s, _ := f[k].(string); return fresh[s] })
		}
	}
	var answer any
	switch {
	case strings.Contains(user, "\nFirst: ") && strings.Contains(user, "\nSecond: "):
		_, second, _ := strings.Cut(user, "\nSecond: ")
		verdict := "only after"
		for _, b := range c.answers.Because {
			if strings.Contains(second, b) {
				verdict = "because"
			}
		}
		answer = fields{"verdict": verdict}
	case !strings.Contains(user, "] NEW "):
		first := ""
		if len(shown) > 0 {
			first = shown[0].Text
		}
		answer = fields{"summary": first, "keywords": []string{}, "links": []fields{}}
	default:
		// One answer for both questions: what was not asked for is not read.
		answer = fields{
			"entities":       relabel(c.answers.Entities, of, isFresh("source")),
			"facts":          relabel(c.answers.Facts, of, isFresh("source")),
			"relations":      relabel(c.answers.Relations, of, isFresh("source")),
			"dates":          []fields{},
			"summaries":      []fields{},
			"causes":         relabel(c.answers.Causes, map[string]string{"cause": "cause", "effect": "effect"}, isFresh("cause", "effect")),
			"contradictions": relabel(c.answers.Contradictions, map[string]string{"a": "a", "b": "b"}, isFresh("a", "b")),
		}
	}
	b, err := json.Marshal(answer)
	if err != nil {
		panic("consolidatetest: an answer cannot be written as JSON: " + err.Error())
	}
	return string(b)
}

// Name and Ask make it a consolidate.Chat.
func (c *Canned) Name(context.Context) (string, error) { return "canned", nil }

// Ask answers.
func (c *Canned) Ask(_ context.Context, p consolidate.Prompt) (string, error) {
	return c.Reply(p.System, p.User), nil
}

// ChatFunc is a chat model that is a function.
type ChatFunc func(ctx context.Context, p consolidate.Prompt) (string, error)

// Name and Ask make it a consolidate.Chat.
func (f ChatFunc) Name(context.Context) (string, error) { return "func", nil }

// Ask calls it.
func (f ChatFunc) Ask(ctx context.Context, p consolidate.Prompt) (string, error) { return f(ctx, p) }
