package query

import (
	"slices"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/extract"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// Related is a word, by its stem, that means nearly the same as another, with how much it counts for it (0..1).
type Related struct {
	Stem   string
	Weight float32
}

// Analyst reads questions. It holds what does not depend on a project; it is not safe for concurrent use.
type Analyst struct {
	words  *text.Analyzer
	times  *temporal.Resolver
	expand func(word string) []Related
}

// NewAnalyst returns an Analyst; expand may be nil.
func NewAnalyst(times *temporal.Resolver, expand func(string) []Related) *Analyst {
	return &Analyst{words: text.New(), times: times, expand: expand}
}

// Question is what the words of a question ask, before any project is looked at.
type Question struct {
	Text  string
	Route Route
	Terms []QueryTerm
	Names []string // folded names the question holds, nearest reading first
	Time  temporal.Question
	Start int64 // the window in Unix seconds; Windowed says whether there is one
	End   int64
	// Windowed is set where the question states a time, or another event that bounds it.
	Windowed bool
	Phrases  [][2]int // pairs of neighbouring terms, as indexes into Terms
	Person   Person   // whom its "I" or "you" asks about
}

// QueryTerm is an informative word of a question. Weight is 1, or less for a related word (Of >= 0).
type QueryTerm struct {
	Hash   uint64
	Stem   string
	Weight float32
	Of     int  // the term this one stands for, -1
	Name   bool // part of a name
}

// Read analyses a question put at ref.
func (a *Analyst) Read(q string, ref time.Time) *Question {
	out := &Question{Text: q, Route: RouteQuestion(q), Person: personOf(q), Time: a.times.Question(q, ref)}
	out.Start, out.End = -1<<62, 1<<62
	if w := out.Time.Window; w != nil {
		out.Windowed = true
		if !w.OpenStart {
			out.Start = w.Start.Unix()
		}
		if !w.OpenEnd {
			out.End = w.End.Unix()
		}
	}
	names := map[string]bool{}
	for _, m := range extract.QueryMentions(q) {
		k := m.Canonical
		if k != "" && !slices.Contains(out.Names, k) {
			out.Names = append(out.Names, k)
		}
		for _, w := range strings.Fields(k) {
			names[w] = true
		}
	}
	type at struct{ pos, term int }
	var last at
	last.pos = -10
	seen := map[string]int{}
	frames := frame.FindAllStringIndex(q, -1)
	framed := func(t text.Token) bool {
		return slices.ContainsFunc(frames, func(f []int) bool { return t.From >= f[0] && t.To <= f[1] })
	}
	for _, t := range a.words.Tokens(q) {
		if t.Stop || framed(t) {
			continue
		}
		i, ok := seen[t.Term]
		if !ok {
			i = len(out.Terms)
			seen[t.Term] = i
			out.Terms = append(out.Terms, QueryTerm{Hash: index.HashTerm(t.Term), Stem: t.Term, Weight: 1, Of: -1,
				Name: names[text.Fold(q[t.From:t.To])]})
		}
		if last.pos >= 0 && t.Pos-last.pos <= 2 && t.Pos > last.pos && last.term != i {
			out.Phrases = append(out.Phrases, [2]int{last.term, i})
		}
		if t.Pos != last.pos {
			last = at{t.Pos, i}
		}
	}
	if a.expand != nil {
		a.related(out, q)
	}
	return out
}

func (a *Analyst) related(out *Question, q string) {
	n := len(out.Terms)
	have := map[string]bool{}
	for _, t := range out.Terms {
		have[t.Stem] = true
	}
	seen := map[string]bool{}
	for _, t := range slices.Clone(a.words.Tokens(q)) {
		if t.Stop || seen[t.Term] {
			continue
		}
		seen[t.Term] = true
		of := slices.IndexFunc(out.Terms[:n], func(x QueryTerm) bool { return x.Stem == t.Term })
		if of < 0 || out.Terms[of].Name {
			continue
		}
		for _, r := range a.expand(t.Term) {
			if have[r.Stem] || r.Weight <= 0 {
				continue // it is asked for itself, or stands for a word before
			}
			out.Terms = append(out.Terms, QueryTerm{Hash: index.HashTerm(r.Stem), Stem: r.Stem, Weight: r.Weight, Of: of})
		}
	}
}

// Filter is what may be found at all. Zero fields do not filter; lists of names hold all that must be there.
type Filter struct {
	Since, Until      *Moment // of occurred_at, [Since, Until)
	AsOf              *Moment
	Speaker           []uint32 // any of these interned speakers; nil does not filter
	Session           string
	HasSession        bool
	Kind              uint32
	HasKind           bool
	Tags              []uint32
	Entities          []AnyOf
	IncludeSuperseded bool
	None              bool // a name that no memory has: nothing passes
}

// AnyOf is what one name of an entity filter means: a memory that mentions one of the entities, or was said by
// one of the speakers, passes.
type AnyOf struct{ Entities, Speakers []uint32 }

func (a *AnyOf) holds(d *index.Doc) bool {
	return slices.Contains(a.Speakers, d.Speaker) || slices.ContainsFunc(a.Entities, func(e uint32) bool { return slices.Contains(d.Entities, e) })
}

// Moment is a time in Unix seconds and the nanoseconds beyond them.
type Moment struct {
	Sec   int64
	Nanos int32
}

// before reports whether the time sec and nanos is earlier than t.
func before(sec int64, nanos int32, t *Moment) bool {
	return sec < t.Sec || sec == t.Sec && nanos < t.Nanos
}

// narrow reports whether the filter is more than the usual one, which hides only what is superseded.
func (f *Filter) narrow() bool {
	return f.None || f.AsOf != nil || f.Since != nil || f.Until != nil || f.Speaker != nil || f.HasSession || f.HasKind || len(f.Tags)+len(f.Entities) > 0
}

// Pass reports whether a memory may be found.
func (f *Filter) Pass(s *index.Shard, o uint32) bool {
	d := &s.Docs[o]
	if d.Flags&(index.Dead|index.Whole) != 0 || f.None {
		return false
	}
	if f.AsOf != nil {
		until := d.To
		if d.Flags&index.Superseded != 0 {
			if d.Super < 0 || s.Docs[d.Super].Flags&index.Dead != 0 {
				return false // what replaced it was forgotten, and with it since when
			}
			until = min(until, s.Docs[d.Super].From)
		}
		if f.AsOf.Sec < d.From || f.AsOf.Sec >= until {
			return false
		}
	} else if !f.IncludeSuperseded && d.Flags&index.Superseded != 0 {
		return false
	}
	if f.Since != nil && before(d.At, d.Nanos, f.Since) || f.Until != nil && !before(d.At, d.Nanos, f.Until) {
		return false
	}
	if f.Speaker != nil && !slices.Contains(f.Speaker, d.Speaker) {
		return false
	}
	if f.HasKind && d.Kind != f.Kind {
		return false
	}
	if f.HasSession && s.SessionName(o) != f.Session {
		return false
	}
	for _, t := range f.Tags {
		if !slices.Contains(d.Tags, t) {
			return false
		}
	}
	for i := range f.Entities {
		if !f.Entities[i].holds(d) {
			return false
		}
	}
	return true
}

// Request is one question to one project.
type Request struct {
	*Question
	Filter  Filter
	Graphs  graph.Set
	Limit   int
	Weights *[4]float64 // overrides the router's intent weights
	Tuning  *Tuning
	// Near is the nearest memories in the vector space, best first; nil without an embedder.
	Near []index.Similar
	// Alike is the vector space whose neighbours are edges of the semantic graph beside those of words; nil: none.
	Alike *index.VectorSpace
	// NearLoose: nearness there is of words alone, as any two texts of a subject have it; it ranks, but
	// proves nothing.
	NearLoose bool
	// Content gives the text of a memory, for phrases.
	Content func(o uint32) string
	// Words is used to read contents.
	Words *text.Analyzer
	Trace bool
}
