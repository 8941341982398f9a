package memory

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
)

const (
	defaultLimit  = 10
	maxLimit      = 500
	defaultTokens = 2000
	maxTokens     = 200_000 // 800,000 characters; what is over 1 MiB with its structured copy, the tools ask again for with less
	maxQuery      = 10_000  // characters of a question that are looked at
)

// inquiry is a question put to one or more projects.
type inquiry struct {
	project    string
	projects   []store.Project
	analyst    *analyst
	question   *query.Question
	request    query.Request // without the parts that depend on a project
	filter     Filter
	superseded bool
	zone       *time.Location
	ref        time.Time
	degraded   []string
	vectors    []questionVector
	event      *otherEvent       // that the question names to say where its own lies; nil for none
	chain      map[graph.ID]bool // the memories of the chains that why found
	coverage   float64           // the best share of the question's informative words that anything found holds
	end        func()            // lets background work go on
}

func clampLimit(n, def int) (int, error) {
	switch {
	case n == 0:
		return def, nil
	case n < 0:
		return 0, Errorf(CodeInvalid, "limit: %d; give 1 to %d", n, maxLimit)
	}
	return min(n, maxLimit), nil
}

func clampTokens(n int) (int, error) {
	switch {
	case n == 0:
		return defaultTokens, nil
	case n < 0:
		return 0, Errorf(CodeInvalid, "max_tokens: %d; give 1 to %d", n, maxTokens)
	}
	return min(n, maxTokens), nil
}

// intent lets the caller's choice win over the router's.
func (in *inquiry) intent(s string, out *Recollection) error {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" || s == "auto" {
		return nil
	}
	i, err := query.ParseIntent(s)
	if err != nil {
		return Errorf(CodeInvalid, "intent: %q is not one of auto, why, when, entity, general", s)
	}
	var w [4]float64
	w[i] = 1
	in.request.Weights = &w
	out.Intent = i.String()
	return nil
}

// inquire reads a question and its filters.
func (b *Bank) inquire(ctx context.Context, project, text string, f Filter, relations []string, superseded bool, from *Session) (*inquiry, error) {
	in := &inquiry{filter: f, superseded: superseded || f.AsOf == "" && asksHistory(text)}
	var err error
	if in.project, in.projects, err = b.asked(project, from); err != nil {
		return nil, err
	}
	if !utf8.ValidString(text) {
		return nil, Errorf(CodeInvalid, "query: it is not valid UTF-8; send it as UTF-8 text")
	}
	if utf8.RuneCountInString(text) > maxQuery {
		text = string([]rune(text)[:maxQuery])
		in.degraded = append(in.degraded, fmt.Sprintf("query: only its first %d characters were looked at", maxQuery))
	}
	graphs, err := graph.ParseSet(relations)
	if err != nil {
		return nil, Errorf(CodeInvalid, "%w", err)
	}
	if in.zone, err = b.zone(from); err != nil {
		return nil, err
	}
	in.ref = b.o.Now().In(in.zone)
	in.analyst, in.end = b.analysts.Get().(*analyst), b.back.worker.Begin()
	in.question = in.analyst.questions.Read(text, in.ref)
	in.request = query.Request{Question: in.question, Graphs: graphs, Tuning: b.o.Tuning, Words: in.analyst.words}
	if strings.TrimSpace(text) != "" {
		var why string
		in.vectors, why = b.embedQuestion(ctx, in.question)
		if why != "" {
			in.degraded = append(in.degraded, why)
		}
	}
	return in, nil
}

// filterFor brings the filters into one project's numbers.
func (in *inquiry) filterFor(b *Bank, s *index.Shard) (query.Filter, error) {
	f := query.Filter{IncludeSuperseded: in.superseded}
	for _, e := range []struct {
		name, value string
		end         bool
		to          **query.Moment
	}{{"since", in.filter.Since, false, &f.Since}, {"until", in.filter.Until, true, &f.Until}, {"as_of", in.filter.AsOf, false, &f.AsOf}} {
		st, err := b.bound(e.name, e.value, in.ref, e.end)
		if err != nil {
			return f, err
		}
		if st != nil {
			*e.to = &query.Moment{Sec: st.Sec, Nanos: st.Nanos}
		}
	}
	if in.filter.Speaker != "" {
		f.Speaker = s.SpeakerID(in.filter.Speaker)
		f.None = f.None || len(f.Speaker) == 0
	}
	if in.filter.Session != "" {
		f.Session, f.HasSession = in.filter.Session, true
	}
	if in.filter.Kind != "" {
		var known bool
		f.Kind, known = s.NameID(in.filter.Kind)
		f.HasKind, f.None = true, f.None || !known
	}
	for _, t := range in.filter.Tags {
		id, known := s.NameID(index.FoldName(t))
		f.Tags, f.None = append(f.Tags, id), f.None || !known
	}
	for _, e := range in.filter.Entities {
		any := b.entityNamed(s, e)
		f.Entities, f.None = append(f.Entities, any), f.None || len(any.Entities)+len(any.Speakers) == 0
	}
	return f, nil
}

// windowOf shows the window understood from a question.
func windowOf(q *temporal.Question) *Window {
	if q.Window == nil {
		return nil
	}
	sp := span(q.WindowText, *q.Window)
	return &Window{Start: sp.Start, End: sp.End, Text: sp.Text}
}
