// Package foreign answers: what did another program remember, who said it, and when?
//
// It reads the files of other memory servers and the exported conversations of chat programs, each format
// into one stream of Notes, and tells formats apart by looking. It stores nothing and opens nothing but
// what it is given. What it reads may be hostile: no name in a file becomes a path, nothing is expanded,
// lines, entries and nesting are bounded, and what cannot be read is a *Problem with its place, after
// which the rest goes on.
//
// The same file gives the same Notes, so that Note.Source, with the content, tells a Note that was taken in before.
package foreign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
)

// Note is one thing that another program kept. Strings are valid UTF-8; "" is unknown.
type Note struct {
	Content string
	Speaker string
	Session string
	Kind    string
	// Source names the place it comes from: stable, and with the content unique within its program.
	Source string
	// OccurredAt is RFC 3339 with an offset, or a date (2006-01-02).
	OccurredAt string
	Entities   []string
	Tags       []string
	// Line is the line, or the number of the entry in a file without lines, from 1.
	Line int
}

// Format names a kind of file. The strings are what a command line takes.
type Format string

const (
	KnowledgeGraph Format = "knowledge-graph" // the reference memory server's JSONL
	Mem0           Format = "mem0"            // mem0 and OpenMemory, JSON
	Markdown       Format = "markdown"        // notes, those of basic-memory among them
	ClaudeCode     Format = "claude-code"     // session JSONL
	ChatGPT        Format = "chatgpt"         // conversations.json
	Claude         Format = "claude"          // conversations.json
)

// Formats is all of them.
var Formats = []Format{KnowledgeGraph, Mem0, Markdown, ClaudeCode, ChatGPT, Claude}

// Names lists the formats for a message.
func Names() string {
	var l []string
	for _, f := range Formats {
		l = append(l, string(f))
	}
	return strings.Join(l, ", ")
}

// Problem is a part of a file that cannot be read; the rest can.
type Problem struct {
	Line int // or the number of the entry
	Why  string
}

func (p *Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Why) }

const (
	// maxLine bounds a line of JSONL: sessions hold whole files and pictures in one.
	maxLine = 64 << 20
	// maxEntry bounds an entry of a JSON array: the longest conversations seen have some ten megabytes.
	maxEntry = 128 << 20
	// maxDocument bounds a Markdown file: the largest content that a memory can have.
	maxDocument = 8 << 20
)

// Read yields the Notes of a file in order. An error that is no *Problem ends it. name is the file's, with
// slashes, as Source shows it.
func Read(f Format, name string, r io.Reader) iter.Seq2[Note, error] {
	return func(yield func(Note, error) bool) {
		var err error
		in := bufio.NewReader(r)
		out := &sink{yield: yield}
		switch f {
		case KnowledgeGraph:
			err = eachLine(in, out, knowledgeGraph)
		case ClaudeCode:
			err = eachLine(in, out, claudeCode)
		case Mem0:
			err = eachEntry(in, out, mem0, "results", "memories", "relations")
		case ChatGPT:
			err = eachEntry(in, out, chatGPT, "conversations")
		case Claude:
			err = eachEntry(in, out, claude, "conversations")
		case Markdown:
			err = markdown(in, name, out)
		default:
			err = fmt.Errorf("%q is no format; known are %s", f, Names())
		}
		if err != nil && !out.done {
			yield(Note{}, err)
		}
	}
}

// sink passes Notes on until the reader has had enough.
type sink struct {
	yield func(Note, error) bool
	line  int
	done  bool
}

// note passes one on; one without content is nothing.
func (s *sink) note(n Note) {
	if n.Content = strings.TrimRight(n.Content, "\r\n"); s.done || strings.TrimSpace(n.Content) == "" {
		return
	}
	n.Line = s.line
	s.done = !s.yield(n, nil)
}

func (s *sink) problem(format string, args ...any) {
	if !s.done {
		s.done = !s.yield(Note{}, &Problem{s.line, fmt.Sprintf(format, args...)})
	}
}

// Detect tells the format by a file's name and first bytes; "" is none that is known.
func Detect(name string, head []byte) Format {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		return Markdown
	}
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte(bom)))
	if len(head) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(head))
	switch head[0] {
	case '[':
		if _, err := d.Token(); err != nil {
			return ""
		}
		return entryFormat(keysOf(d))
	case '{':
		keys := keysOf(d)
		for _, k := range []string{"results", "memories", "relations"} {
			if _, ok := keys[k]; ok {
				return Mem0
			}
		}
		if _, ok := keys["conversations"]; ok {
			at := bytes.Index(head, []byte(`"conversations"`))
			if i := bytes.IndexByte(head[at:], '['); i >= 0 {
				d := json.NewDecoder(bytes.NewReader(head[at+i+1:]))
				return entryFormat(keysOf(d))
			}
		}
		return lineFormat(head)
	}
	return ""
}

// keysOf is the keys of the object that comes next, as far as the bytes go, with those values that are strings.
func keysOf(d *json.Decoder) map[string]string {
	keys := map[string]string{}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return keys
	}
	for d.More() {
		t, err := d.Token()
		k, ok := t.(string)
		if err != nil || !ok {
			return keys
		}
		keys[k] = ""
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return keys
		}
		var s string
		if json.Unmarshal(v, &s) == nil {
			keys[k] = s
		}
	}
	return keys
}

func entryFormat(keys map[string]string) Format {
	has := func(k string) bool { _, ok := keys[k]; return ok }
	switch {
	case has("mapping"):
		return ChatGPT
	case has("chat_messages"):
		return Claude
	case has("uuid") && has("name") && has("created_at"):
		return Claude
	case has("memory"), has("content") && has("id"), has("text") && has("id"):
		return Mem0
	case has("title") && has("create_time"):
		return ChatGPT
	}
	return ""
}

// lineFormat looks at the first lines, since a session may begin with lines of another kind.
func lineFormat(head []byte) Format {
	for i, line := range bytes.SplitN(head, []byte("\n"), 50) {
		if i == 49 {
			break
		}
		keys := keysOf(json.NewDecoder(bytes.NewReader(line)))
		has := func(k string) bool { _, ok := keys[k]; return ok }
		switch keys["type"] {
		case "entity", "relation":
			return KnowledgeGraph
		case "summary":
			if has("leafUuid") {
				return ClaudeCode
			}
		}
		switch {
		case has("entityType"), has("relationType"):
			return KnowledgeGraph
		case has("sessionId") && has("type"):
			return ClaudeCode
		}
	}
	return ""
}
