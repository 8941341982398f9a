package foreign

import (
	"bufio"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// markdown reads a note: one Note for each section (the text between two headings) with the titles above
// it in front, and for each observation and relation of basic-memory's notes one of their own. The date is
// that of the front matter, of the heading or of the file's name.
func markdown(in *bufio.Reader, name string, out *sink) error {
	raw, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	if err != nil {
		return err
	}
	out.line = 1
	if len(raw) > maxDocument {
		out.problem("the document is larger than %d MB", maxDocument>>20)
		return nil
	}
	if !utf8.Valid(raw) {
		out.problem("it is not valid UTF-8")
		return nil
	}
	doc := strings.ReplaceAll(strings.TrimPrefix(string(raw), bom), "\r\n", "\n")
	lines := strings.Split(doc, "\n")
	meta, used := frontMatter(lines)
	d := &document{out: out, name: name, meta: meta, title: meta["title"]}
	if d.title == "" {
		d.title = strings.TrimSuffix(path.Base(name), path.Ext(name))
	}
	d.date = first(when(meta["date"]), when(meta["created"]), when(meta["created_at"]), when(meta["date_created"]), dateIn(path.Base(name)))
	d.tags = names(list(meta["tags"])...)
	d.read(lines[used:], used)
	return nil
}

type document struct {
	out   *sink
	name  string
	meta  map[string]string
	title string
	date  string
	tags  []string

	headings []string // the path to here
	dates    []string // what each heading says of the date
	body     []string
	begun    int // the first line of the body
}

var (
	heading     = regexp.MustCompile(`^(#{1,6})\s+(.*?)\s*#*\s*$`)
	fence       = regexp.MustCompile("^\\s{0,3}(```+|~~~+)")
	observation = regexp.MustCompile(`^\s*[-*]\s+\[([^\]\[()]{2,64})\]\s+(.+)$`)
	relation    = regexp.MustCompile(`^\s*[-*]\s+(?:([\pL\pN_' -]{1,64}?)\s+)?\[\[([^\]\[]{1,256})\]\](.*)$`)
	hashTag     = regexp.MustCompile(`(?:^|\s)#([\pL\pN_/-]{1,64})`)
	isoDate     = regexp.MustCompile(`(?:^|[^0-9])((?:19|20)[0-9]{2}-[01][0-9]-[0-3][0-9])(?:[^0-9]|$)`)
)

// dateIn is the date that a name or a heading holds.
func dateIn(s string) string {
	if m := isoDate.FindStringSubmatch(s); m != nil {
		return when(m[1])
	}
	return ""
}

func (d *document) read(lines []string, used int) {
	inFence := ""
	d.begun = used + 1
	for i, l := range lines {
		n := used + i + 1
		if m := fence.FindStringSubmatch(l); m != nil {
			switch {
			case inFence == "":
				inFence = m[1]
			case strings.HasPrefix(m[1], inFence) && strings.TrimSpace(l) == m[1]:
				inFence = ""
			}
		} else if inFence == "" {
			if m := heading.FindStringSubmatch(l); m != nil {
				d.flush()
				d.enter(len(m[1]), m[2])
				d.begun = n + 1
				continue
			}
			d.out.line = n
			if d.entry(l) {
				continue
			}
		}
		d.body = append(d.body, l)
		if d.out.done {
			return
		}
	}
	d.flush()
}

// enter begins a section at a level.
func (d *document) enter(level int, title string) {
	for len(d.headings) < level-1 {
		d.headings, d.dates = append(d.headings, ""), append(d.dates, "")
	}
	d.headings = append(d.headings[:level-1], title)
	d.dates = append(d.dates[:level-1], first(dateIn(title), when(title)))
}

// at is the date of the section.
func (d *document) at() string {
	for i := len(d.dates) - 1; i >= 0; i-- {
		if d.dates[i] != "" {
			return d.dates[i]
		}
	}
	return d.date
}

// path is the titles above, each once.
func (d *document) path() []string {
	out := []string{d.title}
	for _, h := range d.headings {
		if h != "" && h != out[len(out)-1] {
			out = append(out, h)
		}
	}
	return out
}

func (d *document) source() string {
	for i := len(d.headings) - 1; i >= 0; i-- {
		if d.headings[i] != "" {
			return d.name + "#" + d.headings[i]
		}
	}
	return d.name
}

func (d *document) flush() {
	body := strings.Trim(strings.Join(d.body, "\n"), "\n")
	d.body = d.body[:0]
	if strings.TrimSpace(body) == "" {
		return
	}
	d.out.line = d.begun
	d.out.note(Note{Content: strings.Join(d.path(), " > ") + "\n\n" + body, Source: d.source(), Session: d.name, OccurredAt: d.at(),
		Entities: d.about(), Tags: d.tags})
}

// about is the entity that the note is: basic-memory gives each a permalink.
func (d *document) about() []string {
	if d.meta["permalink"] != "" {
		return names(d.title)
	}
	return nil
}

// entry takes an observation, "- [category] text #tag (context)", or a relation, "- kind [[Target]]".
func (d *document) entry(l string) bool {
	section := ""
	if len(d.headings) > 0 {
		section = strings.ToLower(d.headings[len(d.headings)-1])
	}
	basic := d.meta["permalink"] != "" || section == "observations" || section == "relations"
	if !basic {
		return false
	}
	n := Note{Source: d.source(), Session: d.name, OccurredAt: d.at(), Tags: d.tags}
	if m := observation.FindStringSubmatch(l); m != nil && strings.TrimSpace(m[1]) != "" {
		n.Kind = strings.TrimSpace(m[1])
		for _, t := range hashTag.FindAllStringSubmatch(m[2], -1) {
			n.Tags = names(append(append([]string{}, n.Tags...), t[1])...)
		}
		n.Content, n.Entities = about(d.title, m[2]), names(d.title)
		d.out.note(n)
		return true
	}
	if section != "relations" && d.meta["permalink"] == "" {
		return false
	}
	if m := relation.FindStringSubmatch(l); m != nil {
		n.Kind = "fact"
		n.Content = strings.TrimSpace(d.title + " " + first(spaced(m[1]), "is related to") + " " + m[2] + m[3])
		n.Entities = names(d.title, m[2])
		d.out.note(n)
		return true
	}
	return false
}

// Limits of a front matter; a longer one is taken for text.
const (
	maxMetaLines = 500
	maxMetaKeys  = 100
)

// frontMatter reads the lines between two --- at the top: "key: value", and lists under a key. It is a
// small part of YAML: nothing refers to anything, so nothing expands. used is how many lines it takes.
func frontMatter(lines []string) (meta map[string]string, used int) {
	meta = map[string]string{}
	if len(lines) == 0 || strings.TrimSpace(lines[0]) != "---" {
		return meta, 0
	}
	end := 0
	for i := 1; i < len(lines) && i < maxMetaLines; i++ {
		if t := strings.TrimSpace(lines[i]); t == "---" || t == "..." {
			end = i
			break
		}
	}
	if end == 0 {
		return meta, 0
	}
	key := ""
	for _, l := range lines[1:end] {
		t := strings.TrimSpace(l)
		if item, ok := strings.CutPrefix(t, "- "); ok && key != "" {
			meta[key] = strings.TrimPrefix(meta[key]+","+unquote(item), ",")
			continue
		}
		k, v, ok := strings.Cut(t, ":")
		if !ok || l != strings.TrimLeft(l, " \t") || len(meta) >= maxMetaKeys {
			continue
		}
		key = strings.ToLower(strings.TrimSpace(k))
		meta[key] = unquote(strings.TrimSpace(v))
	}
	return meta, end + 1
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// list reads "[a, b]" or "a, b".
func list(s string) []string {
	var out []string
	for _, x := range strings.Split(strings.Trim(s, "[] "), ",") {
		out = append(out, strings.TrimPrefix(unquote(x), "#"))
	}
	return out
}
