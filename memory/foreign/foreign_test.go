package foreign

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

const samples = "../../testdata/foreign"

// show writes what comes out of a file for a person to read.
func show(f Format, name string, r io.Reader) string {
	var b strings.Builder
	for n, err := range Read(f, name, r) {
		var bad *Problem
		if errors.As(err, &bad) {
			fmt.Fprintf(&b, "%d: PROBLEM %s\n", bad.Line, bad.Why)
			continue
		}
		if err != nil {
			fmt.Fprintf(&b, "ERROR %v\n", err)
			continue
		}
		fmt.Fprintf(&b, "%d: %q\n", n.Line, n.Content)
		for _, x := range []struct{ what, value string }{{"speaker", n.Speaker}, {"session", n.Session}, {"kind", n.Kind}, {"source", n.Source}, {"at", n.OccurredAt},
			{"entities", strings.Join(n.Entities, " | ")}, {"tags", strings.Join(n.Tags, " | ")}} {
			if x.value != "" {
				fmt.Fprintf(&b, "   %s: %s\n", x.what, x.value)
			}
		}
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, want := range map[string]Format{"memory.jsonl": KnowledgeGraph, "mem0.json": Mem0, "openmemory.json": Mem0, "claude-code.jsonl": ClaudeCode, "chatgpt.json": ChatGPT,
		"claude.json": Claude, "notes/Search rewrite.md": Markdown, "notes/2025-05-20.md": Markdown, "notes/latin1.md": Markdown} {
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(filepath.Join(samples, name))
			if err != nil {
				t.Fatal(err)
			}
			if got := Detect(name, raw[:min(len(raw), 400)]); got != want {
				t.Errorf("detected as %q, want %q", got, want)
			}
			got := show(want, name, bytes.NewReader(raw))
			if again := show(want, name, bytes.NewReader(raw)); again != got {
				t.Error("the same file gave other notes")
			}
			golden := filepath.Join(samples, strings.NewReplacer("/", "-", " ", "-").Replace(name)+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			saved, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(saved), got); d != "" {
				t.Error(d)
			}
			crlf := strings.ReplaceAll(string(raw), "\n", "\r\n")
			if d := cmp.Diff(got, show(want, name, strings.NewReader("\xef\xbb\xbf"+crlf))); d != "" {
				t.Errorf("with CRLF and a byte-order mark:\n%s", d)
			}
		})
	}
}

func TestDetect(t *testing.T) {
	for head, want := range map[string]Format{
		"":                                  "",
		"\x00\x01":                          "",
		"hello":                             "",
		"{}":                                "",
		"[]":                                "",
		"[1,2]":                             "",
		`{"hello":"world"}`:                 "",
		`[{"id":"1","memory":"x"}]`:         Mem0,
		`{"memories":[`:                     Mem0,
		`[{"title":"x","create_time":1,"ma`: ChatGPT,
		`[{"uuid":"1","name":"` + strings.Repeat("x", 300) + `","created_at":"2025`: Claude,
		`{"conversations":[{"mapping":{}`:                                           ChatGPT,
		`{"entityType":"x","name":"y","observations":[]}`:                           KnowledgeGraph,
	} {
		if got := Detect("x", []byte(head)); got != want {
			t.Errorf("%.40q is taken for %q, want %q", head, got, want)
		}
	}
	if got := Detect("A.MD", nil); got != Markdown {
		t.Errorf("A.MD is taken for %q", got)
	}
}

func TestSources(t *testing.T) {
	names := func(s *Source) (out []string) {
		for f, err := range s.Files() {
			if err != nil {
				t.Fatal(err)
			}
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			raw, err := io.ReadAll(r)
			if err = errors.Join(err, r.Close()); err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %v %d", f.Name, f.Alone, len(raw)))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return out
	}
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, n := range []string{"conversations.json", "../../../etc/evil.md", "chat.html", "dir/"} {
		f, err := w.Create(n)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(n, "/") {
			if _, err := f.Write([]byte("[]")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{"a/b.md": {Data: []byte("x")}, "a/.git/c.md": {Data: []byte("x")}, "a/d.txt": {Data: []byte("x")}, "a/link.md": {Mode: os.ModeSymlink, Data: []byte("b.md")}, "one.jsonl": {Data: []byte("xy")},
		"export.zip": {Data: archive.Bytes()}, "broken.zip": {Data: []byte("PK")}}
	for name, want := range map[string][]string{
		"a":          {"b.md false 1"},
		"one.jsonl":  {"one.jsonl true 2"},
		"export.zip": {"../../../etc/evil.md false 2", "conversations.json false 2"},
	} {
		s, err := Open(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, names(s)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for _, name := range []string{"nowhere", "broken.zip", "../x"} {
		if _, err := Open(fsys, name); err == nil {
			t.Errorf("opened %s", name)
		}
	}
}

// TestHostile reads what wants to eat memory or time.
func TestHostile(t *testing.T) {
	deep := strings.Repeat(`[`, 1<<20)
	laughs := "---\na: &a [x,x,x]\nb: &b [*a,*a,*a]\nc: [*b,*b]\ntags: *c\n---\ntext"
	for name, c := range map[string]struct {
		f     Format
		text  string
		notes int
		bad   int
	}{
		"deep list":      {ChatGPT, deep, 0, 1},
		"deep in skip":   {Mem0, `{"x":` + deep, 0, 1},
		"deep line":      {KnowledgeGraph, `{"type":"entity","name":"x","observations":` + deep + "\n" + `{"type":"entity","name":"ok","observations":["fine"]}`, 1, 1},
		"laughs":         {Markdown, laughs, 1, 0},
		"no end":         {Markdown, "---\n" + strings.Repeat("a: b\n", 10000), 1, 0},
		"many headings":  {Markdown, strings.Repeat("###### x\n", 10000), 0, 0},
		"a parent chain": {ChatGPT, `[{"mapping":{` + chain(20000) + `}}]`, 20000, 0},
		"cut":            {Claude, `[{"uuid":"x","chat_messages":[{"sender":"human","text":"hi"}]},{"uuid"`, 1, 1},
		"too large":      {Markdown, strings.Repeat("x", maxDocument+1), 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			notes, bad := 0, 0
			for _, err := range Read(c.f, "x", strings.NewReader(c.text)) {
				var p *Problem
				switch {
				case errors.As(err, &p):
					bad++
				case err != nil:
					t.Fatal(err)
				default:
					notes++
				}
			}
			if notes != c.notes || bad != c.bad {
				t.Errorf("%d notes and %d problems, want %d and %d", notes, bad, c.notes, c.bad)
			}
		})
	}
	if err := func() error {
		for _, err := range Read("word-perfect", "x", strings.NewReader("")) {
			return err
		}
		return nil
	}(); err == nil {
		t.Error("an unknown format is read")
	}
}

// chain is a conversation in which each message is the next one's parent.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"n%d":{"parent":"n%d","message":{"id":"n%d","author":{"role":"user"},"content":{"content_type":"text","parts":["turn %d"]}}}`, i, i-1, i, i)
	}
	return b.String()
}

func TestLines(t *testing.T) {
	for text, want := range map[string]string{
		"a\nbb\r\n\n \nccc":    "1 a, 2 bb, 5 ccc",
		"\xef\xbb\xbfa\n":      "1 a",
		"":                     "",
		"aaaaaaaaaaaaaaa\nb":   "1!, 2 b",
		"aaaaaaaaaaaaaaa":      "1!",
		"b\naaaaaaaaaaaaaaa\n": "1 b, 2!",
	} {
		// The smallest buffer of bufio is 16 bytes, so that a line is read in parts.
		l := Lines(newReader(text), 10)
		var got []string
		for {
			line, err := l.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				got = append(got, fmt.Sprintf("%d!", l.Number()))
				continue
			}
			got = append(got, fmt.Sprintf("%d %s", l.Number(), line))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%q gives %s, want %s", text, s, want)
		}
	}
}

func TestWhen(t *testing.T) {
	for in, want := range map[string]string{
		"2025-02-11T08:15:00.123456-08:00": "2025-02-11T08:15:00.123456-08:00",
		"2025-03-01T10:00:00":              "2025-03-01T10:00:00Z",
		"2025-03-01 10:00:00":              "2025-03-01T10:00:00Z",
		"1739261700":                       "2025-02-11T08:15:00Z",
		"1739261700000":                    "2025-02-11T08:15:00Z",
		"1739261700.25":                    "2025-02-11T08:15:00.25Z",
		"2025-05-20":                       "2025-05-20",
		`"2025-05-20"`:                     "2025-05-20",
		"May 20, 2025":                     "2025-05-20",
		"2025-02-30":                       "",
		"soon":                             "",
		"-5":                               "",
		"NaN":                              "",
		"1e300":                            "",
		"":                                 "",
	} {
		if got := when(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for i, format := range Formats {
		files, err := filepath.Glob(filepath.Join(samples, "*"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range append(files, filepath.Join(samples, "notes", "Search rewrite.md")) {
			if raw, err := os.ReadFile(name); err == nil && Detect(name, raw) == format {
				f.Add(uint8(i), raw)
			}
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, raw []byte) {
		Detect("x.json", raw)
		for n, err := range Read(Formats[int(i)%len(Formats)], "x", bytes.NewReader(raw)) {
			var p *Problem
			if err != nil && !errors.As(err, &p) {
				t.Fatal(err)
			}
			for _, s := range append(append([]string{n.Content, n.Speaker, n.Session, n.Kind, n.Source, n.OccurredAt}, n.Entities...), n.Tags...) {
				if !utf8.ValidString(s) {
					t.Fatalf("not UTF-8: %q", s)
				}
			}
			if err == nil && (strings.TrimSpace(n.Content) == "" || n.Source == "" || n.Line < 1) {
				t.Fatalf("half a note: %+v", n)
			}
		}
	})
}

func newReader(s string) *bufio.Reader { return bufio.NewReaderSize(strings.NewReader(s), 16) }
