package memory

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/extract"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// analyst is what one goroutine needs to read texts and questions.
type analyst struct {
	words     *text.Analyzer
	questions *query.Analyst
}

// analyze reads what a record's words say: words, times, names, causes. It is a pure function of the record,
// so `rebuild` gives the same rows.
func (b *Bank) analyze(r *store.Record) *store.Analysis {
	a := &store.Analysis{Version: store.AnalysisVersion}
	if len(r.Segments) > 0 {
		return a // the segments are what is found
	}
	an := b.analysts.Get().(*analyst)
	defer b.analysts.Put(an)
	counts := map[uint64]int{}
	add := func(s string) {
		for _, t := range an.words.Tokens(s) {
			if t.Stop {
				continue
			}
			h := index.HashTerm(t.Term)
			i, ok := counts[h]
			if !ok {
				counts[h] = len(a.Terms)
				a.Terms = append(a.Terms, store.Term{Hash: h, Count: 1})
			} else {
				a.Terms[i].Count++
			}
			a.Length++
		}
	}
	add(r.Content)
	add(r.Speaker)
	for _, t := range r.Tags {
		add(t)
	}
	if strings.ContainsAny(r.Source, "./") { // a file, a URL: its parts are words; a bare turn or commit id is not
		add(r.Source)
	}
	a.Times = timesOf(b.times.Find(r.Content, localTime(r)))
	for _, m := range extract.Mentions(r.Content) {
		if m.Canonical != "" {
			a.Mentions = append(a.Mentions, store.Mention{From: uint32(m.From), To: uint32(m.To), Key: index.FoldName(m.Canonical), Type: string(m.Type)})
		}
	}
	for _, l := range extract.Equivalents(r.Content) {
		a.Aliases = append(a.Aliases, [2]string{index.FoldName(l[0].Canonical), index.FoldName(l[1].Canonical)})
		for _, m := range l {
			x := store.Mention{From: uint32(m.From), To: uint32(m.To), Key: index.FoldName(m.Canonical), Type: string(m.Type)}
			if !slices.ContainsFunc(a.Mentions, func(y store.Mention) bool { return y.Key == x.Key }) {
				a.Mentions = append(a.Mentions, x)
			}
		}
	}
	a.Causes = causesOf(r.Content)
	a.Question = strings.ContainsAny(r.Content, "?？")
	return a
}

func timesOf(ms []temporal.Mention) []store.Time {
	var out []store.Time
	for _, m := range ms {
		out = append(out, store.Time{From: uint32(m.From), To: uint32(m.To), Start: store.StampOf(m.Start), End: store.StampOf(m.End),
			OpenStart: m.OpenStart, OpenEnd: m.OpenEnd, Grain: uint8(m.Grain), Absolute: m.Absolute, Approx: m.Approx, Duration: m.Duration, Tense: m.Tense})
	}
	return out
}

func interval(t *store.Time) temporal.Interval {
	iv := temporal.Interval{OpenStart: t.OpenStart, OpenEnd: t.OpenEnd, Grain: temporal.Grain(t.Grain)}
	if !t.OpenStart {
		iv.Start = t.Start.Time()
	}
	if !t.OpenEnd {
		iv.End = t.End.Time()
	}
	return iv
}

// span is a time mention as the contract shows it, in the offset of the memory.
func span(words string, iv temporal.Interval) TimeSpan {
	s := TimeSpan{Text: words, Grain: iv.Grain.String()}
	if !iv.OpenStart {
		s.Start = rfc(iv.Start)
	}
	if !iv.OpenEnd {
		s.End = rfc(iv.End)
	}
	return s
}

func rfc(t time.Time) *string {
	s := formatTime(t)
	return &s
}

// formatTime is RFC 3339 with an offset, with a fraction where there is one.
func formatTime(t time.Time) string { return t.Format(time.RFC3339Nano) }

// spansOf shows the times of a memory's content.
func spansOf(content string, ts []store.Time) []TimeSpan {
	var out []TimeSpan
	for i := range ts {
		t := &ts[i]
		if int(t.To) <= len(content) && t.From < t.To {
			out = append(out, span(content[t.From:t.To], interval(t)))
		}
	}
	return out
}

// firstWords is the beginning of a text, at most n bytes, ending at a word and never inside a character.
func firstWords(s string, n int) string {
	s = strings.Join(strings.Fields(s[:min(len(s), 4*n)]), " ")
	if len(s) <= n {
		return strings.ToValidUTF8(s, "")
	}
	cut := n
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	if i := strings.LastIndexByte(s[:cut], ' '); i > n/2 {
		cut = i
	}
	return strings.ToValidUTF8(s[:cut], "") + "..."
}

// causesOf is the causal links that a text states by itself. Their evidence is the words from the first to
// the last of cause, cue and effect.
func causesOf(content string) []store.Cause {
	var out []store.Cause
	for _, c := range extract.Causes(content) {
		from, to := c.Cue.From, c.Cue.To
		for _, s := range []extract.Span{c.Cause, c.Effect} {
			if !s.Empty() {
				from, to = min(from, s.From), max(to, s.To)
			}
		}
		x := store.Cause{CauseFrom: uint32(c.Cause.From), CauseTo: uint32(c.Cause.To), EffectFrom: uint32(c.Effect.From), EffectTo: uint32(c.Effect.To),
			From: uint32(from), To: uint32(to), Confidence: c.Confidence}
		if c.Backward {
			x.Previous = 1
			if c.Prior == extract.CauseSide {
				x.Previous = -1
			}
		}
		out = append(out, x)
	}
	return out
}
