package memory

import (
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

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
