package query

import (
	"math"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
)

// looseShare is what of Tuning.Vector counts where Near is of word vectors alone. Beside related words, which
// come of the same table, they add nothing to speak of: with 0.2 in all, recall@10 on LoCoMo's development
// conversations .815 to .816, on FriendsQA .577 to .574, and with more it falls.
const looseShare = 0.4

// combine brings the signals onto one scale, [0, 1] before the bonuses, and makes the candidates.
func (r *run) combine() {
	r.scale()
	near := r.nearness()
	r.mentioned()
	if r.collect(near, false); len(r.below)+r.uncounted > 0 && len(r.cand) < r.t.Closely/8 {
		// What was found first is mostly what may not be found: look again among the rest.
		for _, o := range r.wrote {
			r.base[o] = 0
		}
		r.cand, r.wrote, r.below = r.cand[:0], r.wrote[:0], r.below[:0]
		r.uncounted = 0
		r.collect(near, true)
	}
	for _, o := range r.cand {
		r.topBase = max(r.topBase, r.base[o])
	}
}

// nearness gives what the vectors are worth for each memory of Near.
func (r *run) nearness() map[uint32]float32 {
	k := len(r.q.Near)
	if k == 0 {
		return nil
	}
	r.near = make(map[uint32]float32, k)
	for _, o := range r.q.Near {
		r.near[o.Doc] = o.Sim
	}
	top, low := r.q.Near[0].Sim, r.q.Near[k-1].Sim
	if top == low {
		low = 0 // one vector alone, or all alike: they are the nearest all the same
	}
	if top <= low {
		return nil
	}
	vector := r.t.Vector
	if r.q.NearLoose {
		vector = float32(vector * looseShare)
	}
	worth := make(map[uint32]float32, k)
	for o, sim := range r.near {
		worth[o] = float32(vector * ((sim - low) / (top - low)))
	}
	return worth
}

// collect fills cand: all that has a score and passes, but of more than Closely only the best of them. With
// strict, what does not pass is left out before they are counted.
func (r *run) collect(near map[uint32]float32, strict bool) {
	s := r.s
	windowed := r.q.Windowed && r.t.Time > 0
	strict = strict || r.q.Filter.narrow()
	add := func(o uint32) {
		if r.base[o] > 0 || strict && !r.q.Filter.Pass(s, o) {
			return
		}
		if v := r.value(o, 1, near, windowed && r.inWindow(o)); v > 0 {
			r.base[o] = v
			r.wrote = append(r.wrote, o)
		}
	}
	for _, o := range r.hits {
		add(o)
	}
	for _, o := range r.mentions {
		add(o)
	}
	for _, o := range r.q.Near {
		add(o.Doc)
	}
	if windowed {
		s.Within(r.q.Start, r.q.End, add)
	}
	floor := floor(r.wrote, r.base, r.t.Closely)
	dated := float32(r.t.Dated * float32(r.weights[When]))
	one := len(r.speakers) == 1
	said := float32(0)
	if one {
		said = float32(r.t.Speaker * r.oneself(r.speakers[0]))
	}
	plain := !strict && !s.Mixed
	for _, o := range r.wrote {
		rough := r.base[o]
		r.base[o] = 0
		if plain && rough < floor {
			r.uncounted++
			continue
		}
		if !strict && !r.q.Filter.Pass(s, o) {
			continue
		}
		if rough < floor {
			r.below = append(r.below, o)
			continue
		}
		bare := float32(1)
		if r.words[o] == 0 && !r.repliesTo(o) {
			bare = r.t.Bare // it holds none of the words itself
		}
		v := r.value(o, bare, near, windowed && r.inWindow(o))
		if v == 0 {
			continue
		}
		d := &s.Docs[o]
		bonus := float32(1)
		if one && d.Speaker == r.speakers[0] {
			bonus += said
		}
		if d.Flags&index.Dated != 0 {
			bonus += dated
		}
		bonus += float32(r.t.Length * lnWords(d.Len))
		r.base[o] = float32(v * bonus)
		r.cand = append(r.cand, o)
	}
}

// value is the sum of a memory's signals, its neighbourhood's words counting for the share bare.
func (r *run) value(o uint32, bare float32, near map[uint32]float32, inTime bool) (v float32) {
	t := &r.t
	if r.topWords > 0 {
		v += float32(t.Words * (r.words[o] / r.topWords))
	}
	if r.topWin > 0 {
		v += float32(float32(t.Window*bare) * (r.window[o] / r.topWin))
	}
	if near != nil {
		v += near[o]
	}
	if inTime {
		v += t.Time
	}
	return v + float32(t.Named*r.about[o])
}

// floor is the value that the best n of a list have, or a few more; 0 where the list is no longer.
func floor(list []uint32, value []float32, n int) float32 {
	if len(list) <= n {
		return 0
	}
	top := float32(0)
	for _, o := range list {
		top = max(top, value[o])
	}
	var counts [1024]int
	step := top / float32(len(counts))
	if step == 0 {
		return 0
	}
	for _, o := range list {
		counts[min(int(value[o]/step), len(counts)-1)]++
	}
	i := len(counts) - 1
	for have := counts[i]; i > 0 && have < n; have += counts[i] {
		i--
	}
	return float32(step * float32(i))
}

// fewNames is how often a speaker's name has to be said before oneself draws conclusions from who says it.
const fewNames = 8

// oneself is how far what stands under a speaker's name is the speaker's own, 0 to 1. People hardly ever say their own
// name; where a speaker's memories hold it as often as others' do, they are talks joined to one text.
func (r *run) oneself(speaker uint32) float32 {
	if r.q.Person != Nobody {
		return 1 // a role is no name that is called
	}
	var own, others float32
	name := index.FoldName(r.s.Name(speaker))
	words := strings.Fields(name)
	if len(words) > 1 {
		words = append(words, name)
	}
	for _, w := range words {
		e, _, ok := r.s.Entity(w)
		if !ok {
			continue
		}
		for i := 0; i < len(e.Docs); i += max(1, len(e.Docs)/hubScan) {
			switch d := &r.s.Docs[e.Docs[i]]; {
			case d.PartOf >= 0: // a turn of a transcript has its speaker's name before it
			case d.Speaker == speaker:
				own++
			default:
				others++
			}
		}
	}
	said := float32(len(r.s.SaidBy(speaker)))
	rest := float32(r.s.Live) - said
	if own+others < fewNames || others == 0 || rest <= 0 {
		return 1
	}
	return 1 - min(1, float32(own*rest)/float32(others*said))
}

// inWindow reports whether a memory lies in the question's window by when it happened or by a time its words name.
func (r *run) inWindow(o uint32) bool { return r.s.Overlaps(o, r.q.Start, r.q.End) }

// timed reports whether a question that states a time finds a memory in its window.
func (r *run) timed(o uint32) bool { return r.q.Windowed && r.t.Time > 0 && r.inWindow(o) }

// mentioned is how much each memory is about the entities that the question names: by the rarest of them
// that it mentions, 1 for one that a single memory mentions, near 0 for one that is everywhere.
func (r *run) mentioned() {
	if len(r.entities) == 0 || r.t.Named == 0 {
		return
	}
	n := max(2, r.s.Live)
	top := index.IDF(n, 1)
	for _, e := range r.entities {
		if r.isSpeaker(e) {
			continue // what is said by or about a speaker is the speaker's bonus
		}
		docs := r.s.EntityAt(e).Docs
		w := index.IDF(n, min(n, len(docs))) / top
		if w >= 0.2 {
			w = min(w, r.bySession(docs))
		}
		if w < 0.2 {
			continue // a name that a fifth of the memories hold says nothing; its speaker's bonus does
		}
		for _, o := range docs {
			o = r.t.Corrupt.end(graph.Entity, e, o, len(r.s.Docs))
			if r.about[o] == 0 {
				r.mentions = append(r.mentions, o)
			}
			r.about[o] = max(r.about[o], w)
		}
	}
}

// fewSessions is how many sessions bySession supposes at the least: what all of three sessions mention may be what
// they were about.
const fewSessions = 20

// bySession is how rare a name is among the sessions: 1 where one of them has it, 0 where all do. Somebody who is
// greeted once a session is in few of its memories, and which those are tells nothing.
func (r *run) bySession(docs []uint32) float32 {
	seen, df := make([]bool, r.s.SessionCount()), 0
	for _, o := range docs {
		if at := r.s.Docs[o].Session; !seen[at] {
			seen[at] = true
			df++
		}
	}
	n := max(fewSessions, len(seen))
	all := index.IDF(n, n)
	return (index.IDF(n, df) - all) / (index.IDF(n, 1) - all)
}

// isSpeaker reports whether an entity's words are all of one of the named speakers' names.
func (r *run) isSpeaker(e uint32) bool {
	key := strings.Fields(r.s.EntityAt(e).Key)
	for _, sp := range r.speakers {
		name := strings.Fields(index.FoldName(r.s.Name(sp)))
		all := true
		for _, w := range key {
			all = all && slices.Contains(name, w)
		}
		if all {
			return true
		}
	}
	return false
}

// lnWords is ln(1 + n) to 1/64, for n up to 255: a table, so that it is the same everywhere.
func lnWords(n uint32) float32 { return lnTable[min(n, uint32(len(lnTable)-1))] }

var lnTable = func() (t [256]float32) {
	for i := range t {
		t[i] = float32(math.Round(math.Log1p(float64(i))*64) / 64)
	}
	return t
}()

// context adds what a session and a matching question before it say about a memory.
func (r *run) context() {
	s, t := r.s, &r.t
	for _, o := range r.cand {
		r.final[o] = r.base[o]
	}
	if !r.q.Graphs.Has(graph.Temporal) {
		return
	}
	k := t.SessionTop
	if t.Session > 0 && k > 0 {
		r.tops = append(r.tops[:0], make([]float32, k*s.SessionCount())...)
		for _, o := range r.cand {
			at := int(r.session(o)) * k
			insertTop(r.tops[at:at+k], r.base[o])
		}
	}
	for _, o := range r.cand {
		if t.Session > 0 && k > 0 && s.SessionName(o) != "" {
			var sum float32
			at := int(r.session(o)) * k
			for _, v := range r.tops[at : at+k] {
				sum += v
			}
			r.final[o] += float32(t.Session * (sum / float32(k)))
		}
		if t.Reply > 0 {
			if p, ok := r.before(o); ok && r.repliesTo(o) {
				r.final[o] += float32(t.Reply * r.base[p])
			}
		}
	}
}

// repliesTo reports whether a memory answers a question that somebody else asked just before it and that
// holds words of the one asked. Where nobody says who speaks, it is taken for an answer.
func (r *run) repliesTo(o uint32) bool {
	p, ok := r.before(o)
	return ok && r.words[p] > 0 && r.s.Docs[p].Flags&index.Question != 0 && (r.s.Docs[p].Speaker != r.s.Docs[o].Speaker || r.s.Docs[o].Speaker == 0)
}

// insertTop keeps the greatest values of a list in top, greatest first.
func insertTop(top []float32, v float32) {
	for i := range top {
		if v > top[i] {
			top[i], v = v, top[i]
		}
	}
}
