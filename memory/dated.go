package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// How a time is weighed. An answer's confidence is the product of these, each in [0, 1]: the place of its
// memory among those found, the share of the question's words that stand near the time, where the time comes
// from, and what speaks against it. Chosen on LoCoMo's development conversations conv-26, conv-30 and conv-41
// alone; the others are reported apart.
const (
	looked    = 10  // memories looked at; the right one is seldom further down
	rankPower = 0.5 // of the memory's score against the best's: below 1, since the clause decides between near ones
	bareMatch = 0.15

	// Where a question's word stands to the time: in its clause, sentence, memory, the turn it answers.
	inClause, inSentence, inMemory, inTurnLinked, inTurnNear = 1.0, 0.9, 0.7, 0.6, 0.25

	trustNamed    = 1.0 // a time that the memory names
	trustBegan    = 0.9 // counted back from a length: "for three years now"
	trustReply    = 0.8 // named by a turn that answers the one found
	trustOccurred = 0.5 // the day on which it was said

	besideDated   = 0.8  // of the day on which it was said, where the same speaker names a time beside it
	looseFit      = 0.6  // mostly outside of the window that is asked
	otherSpeaker  = 0.55 // said by somebody whom the question does not name
	aboutSpeaker  = 0.85 // that, but it names the one asked about
	otherTense    = 0.4  // a plan, where it is asked when it happened; and the other way round
	wished        = 0.6  // a question or a wish dates nothing by the day on which it was said
	misfit        = 0.3  // outside a window that may be meant otherwise
	clockOfDay    = 0.9  // finer than the day that is asked
	whenSaid      = 0.5  // a time named in words whose own time is asked
	agreement     = 0.15 // of another memory's confidence in the same time
	leastMatch    = 0.35 // share of the question's words without which nothing is dated
	leastUnknown  = 0.45 // the same, where one of its words stands nowhere in the project
	noise         = 0.1  // of the best: what is below is left out
	sameStatement = 0.85 // of the best undated statement: those above it may tell the same event
)

// dating is one time that may answer, on its way.
type dating struct {
	TimeAnswer
	iv    temporal.Interval
	score float64
	match float64 // of the question's words
	floor float64 // of match
	item  int     // place in the list found
	self  *found
	// length is set where it is a length rather than a place in time; iv is zero where nothing says when it was
	length bool
}

// dates answers one question: the best times of the best memories.
// It gives their memories and the times again as they were weighed.
func (b *Bank) dates(in *inquiry, limit int, out *WhenAnswer) ([]found, []dating, error) {
	all, err := b.datings(in)
	if err != nil {
		return nil, nil, err
	}
	var kept []found
	have := map[string]bool{}
	for _, d := range all {
		if len(out.Answers) == limit || d.score < noise*all[0].score {
			break
		}
		d.Confidence = round4(min(1, d.score))
		out.Answers = append(out.Answers, d.TimeAnswer)
		if !have[d.Memory] {
			have[d.Memory] = true
			kept = append(kept, *d.self)
		}
	}
	return kept, all, nil
}

// datings is the times of the memories found and of the turns that answer them, best first.
func (b *Bank) datings(in *inquiry) ([]dating, error) {
	var weights [4]float64
	weights[query.When] = 1
	in.request.Weights = &weights
	var rec Recollection
	list, err := b.search(in, looked, &rec)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	var all []dating
	wants := map[*index.Shard]*wanted{}
	seen := map[string]bool{}
	for i := range list {
		seen[list[i].memory.ID] = true
	}
	for i := range list {
		f := &list[i]
		f.shard.RLock()
		w := wants[f.shard]
		if w == nil {
			w = in.want(f.shard)
			wants[f.shard] = w
		}
		rank := math.Pow(f.item.Score/list[0].item.Score, rankPower)
		t := b.tell(in, w, f)
		ds := t.datings(in, w, rank)
		if !t.dated {
			for _, g := range b.answering(f, seen) {
				for _, d := range b.tell(in, w, &g).datings(in, w, rank*trustReply) {
					if d.Basis != basisOccurred {
						ds = append(ds, d)
					}
				}
			}
		}
		f.shard.RUnlock()
		for _, d := range ds {
			d.item = i
			all = append(all, d)
		}
	}
	return in.settle(all), nil
}

// settle ranks the times: what other memories agree with gains, what is said twice stands once, and of
// several undated statements of one thing the first said it.
func (in *inquiry) settle(all []dating) []dating {
	if !slices.ContainsFunc(all, func(d dating) bool { return d.match >= d.floor }) {
		return nil
	}
	first := -1
	said := 0.0
	for i := range all {
		if all[i].Basis == basisOccurred {
			said = max(said, all[i].score)
		}
	}
	for i := range all {
		d := &all[i]
		if d.Basis != basisOccurred || d.score < sameStatement*said {
			continue
		}
		if first < 0 || d.iv.Start.Before(all[first].iv.Start) {
			first = i
		}
	}
	if first >= 0 && in.question.Time.Order <= 0 {
		all[first].score = max(all[first].score, said)
		all[first].score *= 1.01
	}
	order := func(x, y dating) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.item, y.item), cmp.Compare(x.Memory, y.Memory), x.iv.Start.Compare(y.iv.Start))
	}
	slices.SortStableFunc(all, order)
	place := map[string]int{}
	var out []dating
	for _, d := range all {
		k := deref(d.Start) + "/" + deref(d.End)
		if d.iv.IsZero() {
			k = strings.ToLower(d.Text)
		}
		if i, ok := place[k]; ok {
			if out[i].Memory != d.Memory && out[i].Basis != basisOccurred && d.Basis != basisOccurred {
				out[i].score = min(1, out[i].score+agreement*d.score)
			}
			continue
		}
		place[k] = len(out)
		out = append(out, d)
	}
	slices.SortStableFunc(out, order)
	return out
}

// telling is one memory read for a question: its words by clause, and the words of the turn it answers.
type telling struct {
	*found
	bank      *Bank
	times     []temporal.Mention
	sentences [][2]int
	words     []toldWord
	around    []float64 // by wanted word: its likeness in the turns beside this one
	dated     bool      // names a time that is no length
	near      bool      // a turn of the same speaker beside it names one
}

type toldWord struct {
	from             int
	clause, sentence int
	like             []float64 // by wanted word; nil for none
}

// tell reads a memory; the caller holds the shard's RLock.
func (b *Bank) tell(in *inquiry, w *wanted, f *found) *telling {
	t := &telling{found: f, bank: b}
	content := f.record.Content
	t.times = b.times.Find(content, localTime(f.record))
	for i := range t.times {
		t.dated = t.dated || !t.times[i].Duration
	}
	if in.wantsLength() {
		for _, m := range b.times.Lengths(content, localTime(f.record)) {
			if m.IsZero() { // Find has the others
				t.times = append(t.times, m)
			}
		}
	}
	t.sentences = text.Sentences(content)
	clause, last := 0, 0
	for _, k := range in.analyst.words.Tokens(content) {
		if k.From > last && parts(content[last:k.From]) || joins(content[k.From:k.To]) {
			clause++
		}
		last = max(last, k.To)
		if like := w.likenesses(k.Term); like != nil {
			t.words = append(t.words, toldWord{k.From, clause, t.sentence(k.From), like})
		}
	}
	back := pointsBack(content)
	t.around = make([]float64, len(w.words))
	for k := -2; k <= 2; k++ {
		o, ok := f.shard.Neighbour(f.item.Doc, k)
		if k == 0 || !ok {
			continue
		}
		same := f.shard.Docs[o].Speaker == f.shard.Docs[f.item.Doc].Speaker
		if same && f.shard.Docs[o].Flags&index.Dated != 0 {
			t.near = true
		}
		at := inTurnNear
		if k < 0 && back || same {
			at = inTurnLinked
		}
		for i := range w.words {
			if v := at * w.words[i].heldBy(f.shard, o); v > t.around[i] {
				t.around[i] = v
			}
		}
	}
	return t
}

func (w *wanted) likenesses(stem string) []float64 {
	var out []float64
	for i := range w.words {
		if v := w.words[i].likeness(stem); v > 0 {
			if out == nil {
				out = make([]float64, len(w.words))
			}
			out[i] = v
		}
	}
	return out
}

// heldBy is how much a memory's words count for a word of the question, by the index alone.
func (x *wantedWord) heldBy(s *index.Shard, o uint32) float64 {
	holds := func(stem string) bool {
		p := s.Posting(index.HashTerm(stem))
		if p == nil {
			return false
		}
		_, ok := slices.BinarySearch(p.Docs, o)
		return ok
	}
	if holds(x.stem) {
		return 1
	}
	best := 0.0
	for stem, v := range x.like {
		if v > best && holds(stem) {
			best = v
		}
	}
	return best
}

// parts reports whether clauses part at the marks between two words.
func parts(gap string) bool {
	return strings.ContainsAny(gap, ",;:.!?()[]\n，。；！？：") || strings.Contains(gap, " - ") || strings.Contains(gap, "—")
}

// joins reports whether a word begins another clause.
func joins(w string) bool {
	switch strings.ToLower(w) {
	case "but", "so", "because", "although", "though", "since", "while":
		return true
	}
	return false
}

func (t *telling) sentence(at int) int {
	for i, s := range t.sentences {
		if at < s[1] {
			return i
		}
	}
	return len(t.sentences) - 1
}

// match is the share of the question's words that stand near [from, to): a word counts by how near its
// nearest place is.
func (t *telling) match(w *wanted, from, to int) float64 {
	if w.total == 0 {
		return 1
	}
	sentence, clause := t.sentence(from), -1
	for _, k := range t.words {
		if k.from >= from && k.from < to {
			clause = k.clause
		}
	}
	if clause < 0 { // no word of the question is in it: the clause of the nearest word in the sentence, by the marks between
		clause = t.clauseAt(from)
	}
	return t.share(w, sentence, clause)
}

// clauseAt is the clause in which a place of the content lies.
func (t *telling) clauseAt(at int) int {
	clause := -1
	content := t.record.Content
	for _, k := range t.words {
		a, b := min(k.from, at), max(k.from, at)
		if !parts(content[a:b]) && !slices.ContainsFunc(strings.Fields(content[a:b]), joins) {
			clause = k.clause
			break
		}
	}
	return clause
}

// share sums the question's words by how near to a clause they stand; clause -1 is none in particular.
func (t *telling) share(w *wanted, sentence, clause int) float64 {
	sum := 0.0
	for i := range w.words {
		v := t.around[i]
		for _, k := range t.words {
			if k.like[i] == 0 {
				continue
			}
			at := inMemory
			switch {
			case k.sentence == sentence && k.clause == clause:
				at = inClause
			case k.sentence == sentence:
				at = inSentence
			}
			v = max(v, at*k.like[i])
		}
		sum += v * w.words[i].weight
	}
	return sum / w.total
}

// datings is the times that a memory gives: those it names, and the day on which it was said.
func (t *telling) datings(in *inquiry, w *wanted, rank float64) []dating {
	var out []dating
	lengths := in.wantsLength()
	who := t.speaker(w)
	add := func(a TimeAnswer, iv temporal.Interval, match, trust float64, length bool) {
		d := dating{TimeAnswer: a, iv: iv, match: match, floor: leastMatch, self: t.found}
		if w.unknown {
			d.floor = leastUnknown
		}
		d.length = length
		d.score = rank * (bareMatch + (1-bareMatch)*match) * trust * who * in.fit(iv)
		out = append(out, d)
	}
	for i := range t.times {
		m := t.times[i]
		match := t.match(w, m.From, m.To)
		trust := trustNamed
		if m.Duration && !lengths {
			iv, ok := m.Began()
			if !ok {
				continue
			}
			m.Interval = iv
			trust = trustBegan
			if !w.begins {
				trust *= trustBegan
			}
		}
		if lengths && !m.Duration && !m.OpenEnd && m.Grain != temporal.Range {
			trust *= trustOccurred
		}
		at := localTime(t.record)
		ahead := !m.OpenStart && (m.Start.After(at) || m.Tense > 0 && (m.OpenEnd || m.End.After(at)))
		if w.tense < 0 && ahead || w.tense > 0 && !ahead {
			trust *= otherTense
		}
		if w.said {
			trust *= whenSaid // what was said then may be of any other time
		}
		if m.Grain < temporal.Day {
			trust *= clockOfDay
		}
		add(t.bank.timeAnswer(t.found, &m), m.Interval, match, trust, lengths && m.Duration)
	}
	a, iv := occurredAnswer(t.found)
	match, sentence := 0.0, -1
	for i := range t.sentences {
		if v := t.share(w, i, -1); v > match {
			match, sentence = v, i
		}
	}
	trust := trustOccurred
	if w.said {
		trust = trustNamed
	} else if sentence >= 0 {
		s := t.record.Content[t.sentences[sentence][0]:t.sentences[sentence][1]]
		if w.tense < 0 && (strings.ContainsAny(s, "?？") || wishes(s)) {
			trust *= wished
		}
		for _, m := range t.times {
			if t.sentence(m.From) == sentence && !m.Duration {
				trust *= otherTense // that sentence has a time of its own
				break
			}
		}
	}
	if t.near && !w.said {
		trust *= besideDated
	}
	if w.tense > 0 {
		trust *= otherTense
	}
	if lengths {
		trust *= trustOccurred
	}
	add(a, iv, match, trust, false)
	return out
}

// wantsLength reports whether a length is asked: "how long did", not "how long ago".
func (in *inquiry) wantsLength() bool {
	t := &in.question.Time
	return t.WantsDuration && !t.Ago && t.Between[0] == ""
}

// speaker is how well the memory's speaker can know.
func (t *telling) speaker(w *wanted) float64 {
	if len(w.speakers) != 1 || t.record.Speaker == "" || slices.Contains(w.speakers, t.shard.Docs[t.item.Doc].Speaker) {
		return 1
	}
	folded := index.FoldName(t.record.Content)
	for _, p := range strings.Fields(w.names[0]) {
		for at := 0; len(p) > 1; {
			i := strings.Index(folded[at:], p)
			if i < 0 {
				break
			}
			at += i + len(p)
			if at < len(folded) && !strings.ContainsRune(",!?.", rune(folded[at])) { // "Hey Ana!" is said to her
				return aboutSpeaker
			}
		}
	}
	return otherSpeaker
}

// fit is how well a time lies in the window that the question states: outside of a window that is written
// out or relative to now nothing answers much; a time of the year without its year may be meant loosely.
func (in *inquiry) fit(iv temporal.Interval) float64 {
	q := &in.question.Time
	switch {
	case iv.IsZero():
		return 1
	case in.event != nil && !in.event.fits(iv):
		return misfit
	case in.event != nil && in.event.unknown:
		return looseFit
	case !q.Fits(iv):
		return misfit
	case q.Window == nil || q.Window.OpenStart || q.Window.OpenEnd || iv.OpenStart || iv.OpenEnd:
		return 1
	case iv.End.Sub(iv.Start) > 2*q.Window.End.Sub(q.Window.Start):
		return looseFit // "last year" hardly answers "in June"
	}
	return 1
}

var wishWords = []string{" want to ", " would like ", " hope to ", " hoping to ", " hope ", " plan to ", " planning ", " going to ", " gonna ", " will ", "'ll ", "’ll ",
	" can't wait ", " can’t wait ", " thinking of ", " thinking about ", " dream of ", " looking forward ", " let's ", " let’s ", " should ", " maybe ", " would love "}

// wishes reports whether a sentence speaks of what is not done yet.
func wishes(s string) bool {
	s = " " + strings.ToLower(s) + " "
	for _, w := range wishWords {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

func (b *Bank) timeAnswer(f *found, m *temporal.Mention) TimeAnswer {
	if m.IsZero() { // a length without a place in time
		words := strings.TrimPrefix(strings.TrimPrefix(m.Text, "for "), "For ")
		return TimeAnswer{Grain: m.Length.Grain.String(), Text: words, Basis: basisStated, Expression: m.Text, Memory: f.record.ID.String(), Source: f.record.Source}
	}
	sp := span(m.Text, m.Interval)
	basis := basisResolved
	if m.Absolute {
		basis = basisStated
	}
	return TimeAnswer{Start: sp.Start, End: sp.End, Grain: sp.Grain, Text: temporal.Describe(*m, localTime(f.record)), Basis: basis, Expression: m.Text,
		Memory: f.record.ID.String(), Source: f.record.Source}
}

// occurredAnswer is the memory's own time: the day on which it was said or happened, or the span it was given.
func occurredAnswer(f *found) (TimeAnswer, temporal.Interval) {
	t := localTime(f.record)
	iv := dayOf(t)
	if f.record.Until != nil {
		if g, err := temporal.ParseGrain(f.record.Grain); err == nil {
			iv = temporal.Interval{Start: t, End: f.record.Until.Time(), Grain: g}
		}
	}
	sp := span("", iv)
	return TimeAnswer{Start: sp.Start, End: sp.End, Grain: sp.Grain, Text: temporal.Format(iv), Basis: basisOccurred, Memory: f.record.ID.String(),
		Source: f.record.Source}, iv
}

// answering is the two turns after a memory without a time of its own, where they point back and name one:
// "we just did it yesterday".
func (b *Bank) answering(f *found, seen map[string]bool) []found {
	var out []found
	for k := 1; k <= 2; k++ {
		o, ok := f.shard.Neighbour(f.item.Doc, k)
		if !ok || f.shard.Docs[o].Flags&index.Dated == 0 || seen[f.shard.Docs[o].ID.String()] {
			continue
		}
		r, st, err := b.get(f.shard.Project, f.shard.Docs[o].ID)
		if err != nil || !pointsBack(r.Content) {
			continue
		}
		g := found{shard: f.shard, item: query.Item{Doc: o, Score: f.item.Score}, record: r, state: st}
		g.memory = b.show(f.shard.Project, f.shard, r, st)
		out = append(out, g)
	}
	return out
}

// pointsBack reports whether a text speaks of something named before it.
func pointsBack(s string) bool {
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch w {
		case "it", "this", "that", "them", "one", "there":
			return true
		}
	}
	return false
}
