package consolidate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/extract"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// errAnswer says that an answer is not JSON of the wanted shape: it is asked for again, a bounded number of
// times. What is JSON, but says what is not in the notes, is dropped and counted instead: at temperature
// 0 the same question has the same answer.
var errAnswer = errors.New("the model's answer is not JSON of the wanted shape")

// decode reads an answer. Models wrap JSON in a code block, or put a word before it.
func decode(answer string, into any) error {
	answer = strings.TrimSpace(answer)
	if i := strings.Index(answer, "```"); i >= 0 {
		answer = strings.TrimPrefix(answer[i+3:], "json")
		if j := strings.Index(answer, "```"); j >= 0 {
			answer = answer[:j]
		}
	}
	i := strings.IndexByte(answer, '{')
	if i < 0 {
		return errAnswer
	}
	d := json.NewDecoder(bytes.NewReader([]byte(answer[i:])))
	if err := d.Decode(into); err != nil {
		return errAnswer
	}
	rest, err := io.ReadAll(d.Buffered())
	if err != nil || len(bytes.TrimSpace(rest)) > 0 && bytes.ContainsAny(rest, "{}[]") {
		return errAnswer // more than one answer
	}
	return nil
}

// source says who made the rows of an answer.
type source struct {
	pass  Pass
	model string
}

// reader turns one answer into rows and counts what it drops.
type reader struct {
	source
	project string
	shown   []shown
	rows    []Derived
	dropped int
}

func (r *reader) memory(label string) (shown, bool) {
	i := slices.IndexFunc(r.shown, func(s shown) bool { return s.label == label })
	if i < 0 {
		return shown{}, false
	}
	return r.shown[i], true
}

// add keeps a row whose identity are the given parts.
func (r *reader) add(d Derived, parts ...string) {
	for _, m := range d.Basis {
		parts = append(parts, m.String())
	}
	d.ID = rowID(d.Kind, append([]string{r.project}, parts...)...)
	d.Pass, d.Model, d.Prompt = r.pass, r.model, promptVersion
	if !slices.ContainsFunc(r.rows, func(o Derived) bool { return o.ID == d.ID }) {
		r.rows = append(r.rows, d)
	}
}

// check counts a finding that does not hold.
func (r *reader) check(ok bool) bool {
	if !ok {
		r.dropped++
	}
	return ok
}

type readAnswer struct {
	Entities []struct {
		Memory  string   `json:"memory"`
		Name    string   `json:"name"`
		Type    string   `json:"type"`
		Aliases []string `json:"aliases"`
	} `json:"entities"`
	Facts []struct {
		Memory    string `json:"memory"`
		Subject   string `json:"subject"`
		Predicate string `json:"predicate"`
		Object    string `json:"object"`
		Quote     string `json:"quote"`
	} `json:"facts"`
	Relations []struct {
		Memory   string `json:"memory"`
		Subject  string `json:"subject"`
		Relation string `json:"relation"`
		Object   string `json:"object"`
		Quote    string `json:"quote"`
	} `json:"relations"`
	Dates []struct {
		Memory string `json:"memory"`
		Quote  string `json:"quote"`
		Start  string `json:"start"`
		End    string `json:"end"`
	} `json:"dates"`
	Summaries []struct {
		Memory string `json:"memory"`
		Text   string `json:"text"`
	} `json:"summaries"`
}

// confidences of what a model reads and what holds against the text: between what a rule reads from a cue
// word and nothing. They order rows, no more.
const (
	sureRead    = 0.7
	sureStated  = 0.8 // a cause that the words state
	sureImplied = 0.6 // one that they imply, confirmed by a second question
)

// read reads the answer to a readPrompt.
func (r *reader) read(answer string) error {
	var a readAnswer
	if err := decode(answer, &a); err != nil {
		return err
	}
	for _, e := range a.Entities {
		m, ok := r.memory(e.Memory)
		name := ""
		if ok && m.target {
			name = named(m.Memory, e.Name)
		}
		if !r.check(name != "") {
			continue
		}
		d := Derived{Kind: EntityRow, Name: name, Type: entityType(e.Type), Basis: []graph.ID{m.ID}, Confidence: sureRead}
		if q, ok := quoteIn(m.Memory, name); ok {
			d.Evidence = []Quote{q}
		}
		for _, alias := range e.Aliases {
			other := named(m.Memory, alias)
			if extract.Key(other) == extract.Key(name) {
				continue // the same name again is no alias
			}
			if r.check(other != "" && backed(m.Text, name, other)) && !slices.Contains(d.Aliases, other) {
				d.Aliases = append(d.Aliases, other)
			}
		}
		r.add(d, extract.Key(name))
	}
	for _, f := range a.Facts {
		m, ok := r.memory(f.Memory)
		if !r.check(ok && m.target) {
			continue
		}
		subject, predicate := named(m.Memory, f.Subject), brief(f.Predicate)
		q, ok := quoteIn(m.Memory, f.Quote)
		if r.check(ok && subject != "" && predicate != "" && wordCount(q.Text) > 1 && said(q.Text, f.Object)) {
			r.add(Derived{Kind: FactRow, Subject: subject, Predicate: predicate, Object: strings.TrimSpace(f.Object),
				Basis: []graph.ID{m.ID}, Evidence: []Quote{q}, Confidence: sureRead}, extract.Key(subject), predicate, extract.Key(f.Object))
		}
	}
	for _, f := range a.Relations {
		m, ok := r.memory(f.Memory)
		if !r.check(ok && m.target) {
			continue
		}
		subject, relation, object := named(m.Memory, f.Subject), brief(f.Relation), named(m.Memory, f.Object)
		q, ok := quoteIn(m.Memory, f.Quote)
		if r.check(ok && subject != "" && object != "" && relation != "" && extract.Key(subject) != extract.Key(object) && wordCount(q.Text) > 1) {
			r.add(Derived{Kind: RelationRow, Subject: subject, Predicate: relation, Object: object,
				Basis: []graph.ID{m.ID}, Evidence: []Quote{q}, Confidence: sureRead}, extract.Key(subject), relation, extract.Key(object))
		}
	}
	for _, f := range a.Dates {
		m, ok := r.memory(f.Memory)
		if !r.check(ok && m.target) {
			continue
		}
		q, ok := quoteIn(m.Memory, f.Quote)
		start, end, fits := period(f.Start, f.End, q.Text, m.At)
		if r.check(ok && fits) {
			r.add(Derived{Kind: DateRow, Start: &start, End: &end, Basis: []graph.ID{m.ID}, Evidence: []Quote{q}, Confidence: sureRead},
				start.Format(time.DateOnly), end.Format(time.DateOnly), q.Text)
		}
	}
	for _, f := range a.Summaries {
		m, ok := r.memory(f.Memory)
		line := oneLine(f.Text, 300)
		if r.check(ok && m.target && utf8.RuneCountInString(line) < utf8.RuneCountInString(m.Text)*2/3 && !invents(line, m.Text)) {
			r.add(Derived{Kind: SummaryRow, Text: line, Basis: []graph.ID{m.ID}, Confidence: sureRead})
		}
	}
	return nil
}

// entityType is one of package extract's types.
func entityType(s string) string {
	switch t := extract.EntityType(s); t {
	case extract.Person, extract.Place, extract.Org, extract.Thing, extract.Service:
		return string(t)
	}
	return ""
}

// brief is a predicate in a form that can be compared: lower case, blanks between words, one to six words.
func brief(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(s, "_", " ")), " "))
	if n := wordCount(s); n == 0 || n > 6 || utf8.RuneCountInString(s) > 60 {
		return ""
	}
	return s
}

// backed tells whether the text itself says that two names are one: they share a word, one is the initials
// of the other, or words between them say so. That both are named in one note says nothing.
func backed(s, name, alias string) bool {
	a, b := strings.Fields(extract.Key(name)), strings.Fields(extract.Key(alias))
	for _, w := range a {
		if len(w) > 2 && slices.Contains(b, w) {
			return true
		}
	}
	if initials(a) == strings.Join(b, "") || initials(b) == strings.Join(a, "") {
		return true
	}
	f1, t1, ok1 := locateWords(s, name)
	f2, t2, ok2 := locateWords(s, alias)
	if !ok1 || !ok2 {
		return false
	}
	if f2 < f1 {
		f1, t1, f2, t2 = f2, t2, f1, t1
	}
	if t1 > f2 || f2-t1 > 40 {
		return false
	}
	between := strings.ToLower(s[t1:f2])
	if trimmed := strings.TrimSpace(between); trimmed == "(" && strings.HasPrefix(s[t2:], ")") {
		return true
	}
	for _, cue := range []string{"aka", "a.k.a", "known as", "called", "nickname", "short for", "goes by", "we call", "alias"} {
		if strings.Contains(between, cue) {
			return true
		}
	}
	return false
}

func initials(words []string) string {
	if len(words) < 2 {
		return "\x00" // of one word: never the same as anything
	}
	var b strings.Builder
	for _, w := range words {
		r, _ := utf8.DecodeRuneInString(w)
		b.WriteRune(r)
	}
	return b.String()
}

// period reads the days of a date finding and holds them against its quote: a year that the quote names must
// be the year, and without one the day lies within a good year of when it was said.
func period(from, to, quote string, at time.Time) (start, end time.Time, ok bool) {
	start, err := time.ParseInLocation(time.DateOnly, from, at.Location())
	if err != nil {
		return start, end, false
	}
	if end, err = time.ParseInLocation(time.DateOnly, to, at.Location()); err != nil || !end.After(start) {
		return start, end, false
	}
	if n := wordCount(quote); n == 0 || n > 12 {
		return start, end, false
	}
	if year := yearIn(quote); year != "" {
		return start, end, year == start.Format("2006") || year == end.AddDate(0, 0, -1).Format("2006")
	}
	const goodYear = 400 * 24 * time.Hour
	return start, end, start.Sub(at).Abs() <= goodYear && end.Sub(at).Abs() <= goodYear
}

// yearIn is the first number of four digits in s that can be a year.
func yearIn(s string) string {
	for i := 0; i+4 <= len(s); i++ {
		digits := func(from, to int) bool {
			for _, c := range []byte(s[from:to]) {
				if c < '0' || c > '9' {
					return false
				}
			}
			return true
		}
		if digits(i, i+4) && (i == 0 || !digits(i-1, i)) && (i+4 == len(s) || !digits(i+4, i+5)) && (s[i] == '1' || s[i] == '2') {
			return s[i : i+4]
		}
	}
	return ""
}
