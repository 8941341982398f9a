package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	maxTokens     = 200_000 // 800 kB of text: an answer with its structured copy stays under 1 MiB by bounded below
	maxQuery      = 10_000  // characters of a question that are looked at
)

// found is one memory of an answer on its way to the caller.
type found struct {
	shard  *index.Shard
	item   query.Item
	record *store.Record
	state  *store.State
	memory Memory
	length int // of its block
}

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

// Recall finds the context for a question within a token budget.
func (b *Bank) Recall(ctx context.Context, q Question) (Recollection, error) {
	done, err := b.enter(ctx)
	if err != nil {
		return Recollection{}, err
	}
	defer done()
	if q.Limit, err = clampLimit(q.Limit, defaultLimit); err != nil {
		return Recollection{}, err
	}
	if q.MaxTokens, err = clampTokens(q.MaxTokens); err != nil {
		return Recollection{}, err
	}
	in, err := b.inquire(ctx, q.Project, q.Query, q.Filter, q.Relations, q.IncludeSuperseded, &q.From)
	if err != nil {
		return Recollection{}, err
	}
	defer in.close(b)
	out := Recollection{Project: in.project, Memories: []Memory{}, Degraded: in.degraded, Intent: in.question.Route.Intent.String()}
	if err := in.intent(q.Intent, &out); err != nil {
		return out, err
	}
	in.request.Trace = q.Explain
	var list []found
	if strings.TrimSpace(q.Query) == "" || in.question.Route.Kind == query.Meta {
		list, out.Confident, err = b.browse(in, q.Limit)
	} else {
		list, err = b.searchBeside(in, q.Limit, &out)
	}
	if err != nil {
		return out, storageError("recalling", err)
	}
	b.fit(&out, in, list, q.MaxTokens)
	return out, nil
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
		return 0, Errorf(CodeInvalid, "max_tokens: %d; give 50 to %d", n, maxTokens)
	}
	return min(max(n, 50), maxTokens), nil
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
		to          *int64
	}{{"since", in.filter.Since, false, &f.Since}, {"until", in.filter.Until, true, &f.Until}, {"as_of", in.filter.AsOf, false, &f.AsOf}} {
		st, err := b.bound(e.name, e.value, in.ref, e.end)
		if err != nil {
			return f, err
		}
		if st != nil {
			*e.to = st.Sec
			if st.Nanos > 0 && e.end {
				*e.to++
			}
			f.HasAsOf = f.HasAsOf || e.name == "as_of"
		}
	}
	need := func(name string) (uint32, bool) {
		id, ok := s.NameID(name)
		f.None = f.None || !ok
		return id, ok
	}
	if in.filter.Speaker != "" {
		f.Speaker = s.SpeakerID(in.filter.Speaker)
		f.None = f.None || len(f.Speaker) == 0
	}
	if in.filter.Session != "" {
		f.Session, f.HasSession = in.filter.Session, true
	}
	if in.filter.Kind != "" {
		f.Kind, f.HasKind = func() (uint32, bool) { id, _ := need(in.filter.Kind); return id, true }()
	}
	for _, t := range in.filter.Tags {
		if id, ok := need(index.FoldName(t)); ok {
			f.Tags = append(f.Tags, id)
		}
	}
	for _, e := range in.filter.Entities {
		if id, ok := b.entityNumber(s, e); ok {
			f.Entities = append(f.Entities, id)
		} else {
			f.None = true
		}
	}
	return f, nil
}

// search puts the question to every project asked and merges the answers by score.
func (b *Bank) search(in *inquiry, limit int, out *Recollection) ([]found, error) {
	var all []found
	for i, p := range in.projects {
		s, err := b.shard(p)
		if err != nil {
			return nil, err
		}
		res, list, err := b.searchOne(in, p, s, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		out.Omitted += res.Found
		out.Confident = out.Confident || res.Confident
		in.coverage = max(in.coverage, res.Coverage)
		if i == 0 || len(list) > 0 && in.request.Trace && out.Trace == nil {
			b.trace(out, in, s, &res)
		}
	}
	if len(in.projects) > 1 {
		slices.SortStableFunc(all, func(x, y found) int {
			return cmp.Or(cmp.Compare(y.item.Score, x.item.Score), compareIDs(x.record.ID, y.record.ID))
		})
		all = all[:min(limit, len(all))]
	}
	out.Omitted = max(0, out.Omitted-len(all))
	out.Window = windowOf(&in.question.Time)
	return all, nil
}

func compareIDs(a, b graph.ID) int {
	if a == b {
		return 0
	}
	if a.Less(b) {
		return -1
	}
	return 1
}

func (b *Bank) searchOne(in *inquiry, p store.Project, s *index.Shard, limit int) (query.Result, []found, error) {
	s.RLock()
	defer s.RUnlock()
	f, err := in.filterFor(b, s)
	if err != nil {
		return query.Result{}, nil, err
	}
	req := in.request
	req.Filter, req.Limit = f, limit
	req.Near, req.NearLoose = b.nearest(in, s, &f, b.o.Tuning.VectorTop)
	records := map[uint32]*store.Record{}
	req.Content = func(o uint32) string {
		if r := b.record(p, s, o, records); r != nil {
			return r.Content
		}
		return ""
	}
	res := query.Run(s, &req)
	list, err := b.collect(p, s, res.Items, records)
	return res, list, err
}

// record reads a shard's memory from the store; nil where it is gone.
func (b *Bank) record(p store.Project, s *index.Shard, o uint32, cache map[uint32]*store.Record) *store.Record {
	if r, ok := cache[o]; ok {
		return r
	}
	v, err := b.kv.Get(store.RecordKey(p, s.Docs[o].ID))
	if err != nil {
		return nil
	}
	r, err := store.DecodeRecord(s.Docs[o].ID, v)
	if err != nil {
		return nil
	}
	cache[o] = r
	return r
}

// collect reads the memories behind items. What the store no longer holds is left out: an index is never
// exactly of the store's instant. Segments of one whole count as one memory, at its best place.
func (b *Bank) collect(p store.Project, s *index.Shard, items []query.Item, cache map[uint32]*store.Record) ([]found, error) {
	var out []found
	for _, it := range items {
		r, ok := cache[it.Doc]
		st := &store.State{}
		if !ok {
			var err error
			if r, st, err = b.get(p, s.Docs[it.Doc].ID); errors.Is(err, store.ErrNotFound) {
				continue
			} else if err != nil {
				return nil, err
			}
		} else if v, err := b.kv.Get(store.StateKey(p, r.ID)); err == nil {
			if st, err = store.DecodeState(v); err != nil {
				return nil, err
			}
		} else if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		f := found{shard: s, item: it, record: r, state: st}
		f.memory = b.show(p, s, r, st)
		f.memory.Score = round4(it.Score)
		f.memory.Signals = signals(&it)
		for _, v := range it.Via {
			step := Step{Relation: v.Relation.String(), From: s.Docs[v.From].ID.String()}
			if v.Relation == graph.Mentions {
				step.Entity = s.EntityAt(v.Entity).Key
			}
			f.memory.Via = append(f.memory.Via, step)
		}
		out = append(out, f)
	}
	return out, nil
}

func signals(it *query.Item) map[string]float64 {
	m := map[string]float64{}
	set := func(k string, v float64) {
		if v != 0 {
			m[k] = round4(v)
		}
	}
	if it.HasNear {
		set("vector", it.Near)
	}
	set("keyword", it.Words)
	set("context", it.Window)
	set("phrase", it.Phrase)
	if it.InTime {
		set("time", 1)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

func round4(x float64) float64 {
	if x < 0 {
		return float64(int64(x*1e4-.5)) / 1e4
	}
	return float64(int64(x*1e4+.5)) / 1e4
}

// show is a memory as the contract has it; s may be nil.
func (b *Bank) show(p store.Project, s *index.Shard, r *store.Record, st *store.State) Memory {
	m := Memory{Ref: r.Ref(), ID: r.ID.String(), Project: b.projectName(p), Content: r.Content, Speaker: r.Speaker, Kind: r.Kind, Session: r.Session,
		Source: r.Source, Tags: append(slices.Clone(r.Tags), st.Tags...), Pinned: r.Pinned, WrittenBy: r.Writer, OccurredAt: formatTime(r.At.Time()),
		OccurredGrain: r.Grain, RecordedAt: formatTime(r.Recorded.Time())}
	if r.Until != nil {
		m.OccurredUntil = formatTime(r.Until.Time())
	}
	if st.Seen > 0 {
		m.SeenCount = int(st.Seen) + 1
	}
	if !r.PartOf.IsZero() {
		m.PartOf = r.PartOf.String()
	}
	for _, id := range r.Segments {
		m.Segments = append(m.Segments, id.String())
	}
	for _, id := range append(slices.Clone(r.BecauseOf), st.BecauseOf...) {
		m.BecauseOf = append(m.BecauseOf, id.String())
	}
	for _, id := range append(slices.Clone(r.Supersedes), st.Supersedes...) {
		m.Supersedes = append(m.Supersedes, id.String())
	}
	if !st.SupersededBy.IsZero() {
		m.SupersededBy = st.SupersededBy.String()
	}
	if r.ValidFrom != nil || r.ValidUntil != nil {
		m.Valid = &Valid{}
		if r.ValidFrom != nil {
			m.Valid.From = formatTime(r.ValidFrom.Time())
		}
		if r.ValidUntil != nil {
			m.Valid.Until = formatTime(r.ValidUntil.Time())
		}
	}
	a := b.analysisOf(p, r)
	m.Times = spansOf(r.Content, a.Times)
	seen := map[string]bool{}
	add := func(key, name string) {
		if !seen[key] {
			seen[key] = true
			m.Entities = append(m.Entities, name)
		}
	}
	for _, e := range append(slices.Clone(r.Entities), st.Entities...) {
		add(index.FoldName(e), e)
	}
	for _, x := range a.Mentions {
		if int(x.To) <= len(r.Content) {
			add(x.Key, r.Content[x.From:x.To])
		}
	}
	if s != nil {
		if o, ok := s.Find(r.ID); ok {
			b.showDerived(p, s, o, &m)
		}
	}
	return m
}

// browse answers where no words can be matched: the pinned and the newest that pass the filters; and questions
// about the memory itself, by time and session, newest first.
func (b *Bank) browse(in *inquiry, limit int) ([]found, bool, error) {
	type cand struct {
		p      store.Project
		s      *index.Shard
		o      uint32
		pinned bool
		at     int64
		id     graph.ID
	}
	var all []cand
	meta := in.question.Route.Kind == query.Meta
	for _, p := range in.projects {
		s, err := b.shard(p)
		if err != nil {
			return nil, false, err
		}
		s.RLock()
		f, err := in.filterFor(b, s)
		if err == nil {
			for o := range s.Docs {
				d := &s.Docs[o]
				if !f.Pass(s, uint32(o)) {
					continue
				}
				if meta && in.question.Windowed && (d.At >= in.question.End || d.Until <= in.question.Start) {
					continue
				}
				if meta && asksAboutQuestions(in.question.Text) && d.Flags&index.Question == 0 {
					continue
				}
				c := cand{p, s, uint32(o), d.Flags&index.Pinned != 0 && !meta, d.At, d.ID}
				if meta {
					c.pinned = covers(s, in.question, uint32(o))
				}
				all = append(all, c)
			}
		}
		s.RUnlock()
		if err != nil {
			return nil, false, err
		}
	}
	slices.SortFunc(all, func(x, y cand) int {
		if x.pinned != y.pinned {
			if x.pinned {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(y.at, x.at), -compareIDs(x.id, y.id))
	})
	var out []found
	for i, c := range all[:min(limit, len(all))] {
		c.s.RLock()
		l, err := b.collect(c.p, c.s, []query.Item{{Doc: c.o, Score: 1 / float64(i+1), Anchor: true}}, map[uint32]*store.Record{})
		c.s.RUnlock()
		if err != nil {
			return nil, false, err
		}
		out = append(out, l...)
	}
	return out, len(out) > 0, nil
}

// asksAboutQuestions: "what did I ask" wants questions, "what did I tell" does not.
func asksAboutQuestions(q string) bool {
	q = strings.ToLower(q)
	return strings.Contains(q, "ask") || strings.Contains(q, "question") || strings.Contains(q, "问")
}

// topicless are words that questions about the memory itself use; they are no topic.
var topicless = map[string]bool{"ask": true, "question": true, "tell": true, "told": true, "said": true, "say": true, "earlier": true, "last": true,
	"time": true, "yesterday": true, "today": true, "previous": true, "convers": true, "talk": true, "discuss": true, "mention": true, "memori": true, "rememb": true, "know": true, "ago": true, "week": true, "chat": true, "session": true}

// covers reports whether a memory holds a topical word of a question about the memory itself.
func covers(s *index.Shard, q *query.Question, o uint32) bool {
	for _, t := range q.Terms {
		if t.Of >= 0 || topicless[t.Stem] {
			continue
		}
		if p := s.Posting(t.Hash); p != nil {
			if _, ok := slices.BinarySearch(p.Docs, o); ok {
				return true
			}
		}
	}
	return false
}

// fit writes the text block within the budget: the most relevant memories whole, then as many refs as
// there is room for; and puts the memories into reading order.
func (b *Bank) fit(out *Recollection, in *inquiry, list []found, budget int) {
	withProject := in.project == "*"
	room := budget * 4
	var head strings.Builder
	switch {
	case len(list) == 0:
		fmt.Fprintf(&head, "%s in project %s matches", leadNone, oneLine(in.project, 128))
		if out.Window != nil {
			fmt.Fprintf(&head, " %s", oneLine(out.Window.Text, 60))
		}
		head.WriteString(". Nothing stored answers this; that is not a no.\n")
	case !out.Confident:
		head.WriteString(leadNearest + " Nearest memories:\n")
	default:
		head.WriteString(leadFound + ". " + leadData + "\n")
	}
	for _, d := range out.Degraded {
		head.WriteString(leadDegraded + oneLine(d, 200) + "\n")
	}
	used := runes(head.String())
	reserve := 0
	if len(list) > 1 {
		reserve = 48
	}
	var shown, rest []found
	for i := range list {
		f := &list[i]
		f.memory.Rank = i + 1
		f.length = runes(block(&f.memory, withProject))
		keep := reserve
		if i == len(list)-1 && len(rest) == 0 {
			keep = 0
		}
		switch {
		case used+f.length+keep <= room:
		case len(shown) == 0 && room-used-keep >= 120:
			b.shorten(&f.memory, withProject, room-used-keep)
			f.length = runes(block(&f.memory, withProject))
		default:
			rest = append(rest, *f)
			continue
		}
		used += f.length
		shown = append(shown, *f)
	}
	b.arrange(in, out, shown)
	var text strings.Builder
	text.WriteString(head.String())
	for i := range shown {
		text.WriteString(block(&shown[i].memory, withProject))
		out.Memories = append(out.Memories, shown[i].memory)
	}
	if len(rest) > 0 {
		line, n := elide(out, rest, room-runes(text.String()))
		text.WriteString(line)
		out.Omitted += len(rest) - n
	}
	out.Text = text.String()
	out.Tokens = tokens(out.Text)
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// shorten cuts the shown content of a memory to fit; the stored one is untouched and at its resource.
func (b *Bank) shorten(m *Memory, withProject bool, room int) {
	keep := room - runes(header(m, withProject)) - 8
	r := []rune(m.Content)
	m.Shortened = true
	for keep > 0 {
		m.Content = string(r[:min(keep, len(r))]) + "..."
		over := runes(block(m, withProject)) - room
		if over <= 0 {
			return
		}
		keep -= over
	}
	m.Content = "..."
}

// elide is the line that stands for memories that did not fit, and how many it names.
func elide(out *Recollection, rest []found, room int) (string, int) {
	e := Elided{}
	lo, hi := rest[0].memory.OccurredAt, rest[0].memory.OccurredAt
	line := func() string {
		span := shortTime(lo, "day")
		if to := shortTime(hi, "day"); to != span {
			span += " to " + to
		}
		return fmt.Sprintf("%s%d more, %s (%s)\n", leadMore, len(rest), span, strings.Join(e.Refs, ", "))
	}
	var last string
	for _, f := range rest {
		a, z := lo, hi
		if before(f.memory.OccurredAt, lo) {
			lo = f.memory.OccurredAt
		}
		if before(hi, f.memory.OccurredAt) {
			hi = f.memory.OccurredAt
		}
		e.Refs = append(e.Refs, f.memory.Ref)
		if s := line(); runes(s) <= room {
			last = s
			continue
		}
		e.Refs = e.Refs[:len(e.Refs)-1]
		lo, hi = a, z
		break
	}
	if len(e.Refs) == 0 {
		return "", 0
	}
	e.Count, e.From, e.To = len(e.Refs), lo, hi
	out.Elided = append(out.Elided, e)
	return last, len(e.Refs)
}

func before(a, b string) bool {
	x, err := time.Parse(time.RFC3339Nano, a)
	y, err2 := time.Parse(time.RFC3339Nano, b)
	return err == nil && err2 == nil && x.Before(y)
}

// arrange puts what is shown into reading order: WHY causes before effects; WHEN by time; else by time inside a
// session, the most relevant session first (DESIGN section 4).
func (b *Bank) arrange(in *inquiry, out *Recollection, shown []found) {
	byTime := func(x, y found) int {
		a, b := &x.record.At, &y.record.At
		return cmp.Or(cmp.Compare(a.Sec, b.Sec), cmp.Compare(a.Nanos, b.Nanos), compareIDs(x.record.ID, y.record.ID))
	}
	switch out.Intent {
	case query.When.String():
		slices.SortStableFunc(shown, byTime)
	case query.Why.String():
		// What is in a chain of causes comes first; the other candidates follow by rank.
		n := 0
		if len(in.chain) > 0 {
			slices.SortStableFunc(shown, func(x, y found) int {
				return cmp.Compare(boolInt(!in.chain[x.record.ID]), boolInt(!in.chain[y.record.ID]))
			})
			for n < len(shown) && in.chain[shown[n].record.ID] {
				n++
			}
		} else {
			n = len(shown)
		}
		slices.SortStableFunc(shown[:n], byTime)
		causesFirst(shown[:n])
	default:
		first := map[string]int{}
		keyOf := func(f *found) string { return f.memory.Project + "\x00" + f.memory.Session }
		for i := range shown {
			k := keyOf(&shown[i])
			if _, ok := first[k]; !ok {
				first[k] = shown[i].memory.Rank
			}
		}
		slices.SortStableFunc(shown, func(x, y found) int {
			return cmp.Or(cmp.Compare(first[keyOf(&x)], first[keyOf(&y)]), byTime(x, y))
		})
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// causesFirst moves each cause before its effects (a stable topological order; a cycle keeps the order of time).
func causesFirst(shown []found) {
	place := map[uint32]int{}
	for i := range shown {
		place[shown[i].item.Doc] = i
	}
	blocked := make([]map[int]bool, len(shown)) // by which causes
	for i := range shown {
		blocked[i] = map[int]bool{}
		s := shown[i].shard
		s.RLock()
		query.CausalEdges(s, shown[i].item.Doc, func(v uint32, e index.Edge, effect bool) {
			if j, ok := place[v]; ok && j != i && !effect && shown[j].shard == s {
				blocked[i][j] = true
			}
		})
		s.RUnlock()
	}
	out := make([]found, 0, len(shown))
	done := make([]bool, len(shown))
	for len(out) < len(shown) {
		pick := -1
		for i := range shown {
			if done[i] {
				continue
			}
			if pick < 0 {
				pick = i // breaks a cycle at the earliest
			}
			free := true
			for j := range blocked[i] {
				free = free && done[j]
			}
			if free {
				pick = i
				break
			}
		}
		done[pick] = true
		out = append(out, shown[pick])
	}
	copy(shown, out)
}

func (b *Bank) trace(out *Recollection, in *inquiry, s *index.Shard, res *query.Result) {
	if !in.request.Trace {
		return
	}
	s.RLock()
	defer s.RUnlock()
	t := &Trace{Weights: map[string]float64{}, Coverage: round4(res.Coverage)}
	for i, w := range res.Weights {
		t.Weights[query.Intent(i).String()] = round4(w)
	}
	for _, q := range in.question.Terms {
		if q.Of < 0 {
			t.Terms = append(t.Terms, q.Stem)
		}
	}
	for _, x := range res.Speakers {
		t.Speakers = append(t.Speakers, s.Name(x))
	}
	for _, e := range res.Entities {
		t.Entities = append(t.Entities, s.EntityAt(e).Key)
	}
	for _, o := range res.Anchors {
		t.Anchors = append(t.Anchors, TraceAnchor{ID: s.Docs[o].ID.String()})
	}
	for _, w := range res.Walked[:min(100, len(res.Walked))] {
		t.Walk = append(t.Walk, TraceStep{ID: s.Docs[w.Doc].ID.String(), From: s.Docs[w.From].ID.String(), Relation: w.Relation.String(), Score: round4(w.Score), Depth: w.Depth})
	}
	out.Trace = t
}

// windowOf shows the window understood from a question.
func windowOf(q *temporal.Question) *Window {
	if q.Window == nil {
		return nil
	}
	sp := span(q.WindowText, *q.Window)
	return &Window{Start: sp.Start, End: sp.End, Text: sp.Text}
}
