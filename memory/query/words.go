package query

import (
	"cmp"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
)

// saturate is BM25's term frequency part; the products are rounded one by one (no fused multiply-add).
func saturate(tf, k1, b, length, avg float32) float32 {
	ratio := length / avg
	return float32(tf*(k1+1)) / (tf + float32(k1*(1-b+float32(b*ratio))))
}

// lexical scores every memory by its own words and by its neighbourhood's. A question word and the words
// related to it are one group, which counts for its best: a text that says "kids" and "children" is not
// twice about children.
func (r *run) lexical() {
	s := r.s
	n := max(1, s.Live)
	avg := max(1, float32(s.Words)/float32(n))
	wavg := max(1, float32(s.WWords)/float32(n))
	window := r.q.Graphs.Has(graph.Temporal) && r.t.Window > 0
	r.rarity()
	full, rest := r.split()
	for _, i := range full {
		own := r.gather(i)
		r.score(i, avg)
		if window && own*everywhere < n && len(r.group) <= 2*r.t.InFull {
			r.spread(own, n, wavg)
		}
		r.forget()
	}
	finding, common := rest, []int(nil)
	if len(rest) > 0 {
		finding, common = r.apart(rest, n)
	}
	for _, i := range finding {
		r.gather(i)
		r.score(i, avg)
		r.forget()
	}
	for _, i := range common { // after all that find, so that every memory found has them in full
		r.gather(i)
		r.more(i, avg)
		r.forget()
	}
	if window && len(finding) > 0 {
		list := r.ahead()
		for _, i := range finding {
			own := r.gather(i)
			r.look(list, own, n, wavg)
			r.forget()
		}
	}
}

// rarity weighs the question's terms.
func (r *run) rarity() {
	s, n := r.s, max(1, r.s.Live)
	r.idf, r.rare = r.idf[:0], r.rare[:0]
	for _, qt := range r.q.Terms {
		df := 0
		if p := s.Posting(qt.Hash); p != nil {
			df = len(p.Docs)
		}
		r.idf = append(r.idf, index.IDF(n, df))
		r.rare = append(r.rare, index.IDF(max(n, smallStore), df))
	}
	for i, qt := range r.q.Terms {
		if qt.Of < 0 && !qt.Name {
			r.total += r.rare[i]
		}
	}
	r.asked = append(r.asked[:0], r.idf...)
}

// score adds what the gathered group of term i is worth to the memories that hold it.
func (r *run) score(i int, avg float32) {
	for _, o := range r.group {
		r.hit(o, &r.words[o], float32(r.idf[i]*saturate(r.soft[o], r.t.K1, r.t.B, float32(r.s.Docs[o].Len), avg)))
	}
}

// more does the same for the memories alone that hold another of the question's words.
func (r *run) more(i int, avg float32) {
	for _, o := range r.group {
		if r.isHit(o) {
			r.words[o] += float32(r.idf[i] * saturate(r.soft[o], r.t.K1, r.t.B, float32(r.s.Docs[o].Len), avg))
		}
	}
}

// hit adds to a score of a memory, words or window, and notes the memory the first time.
func (r *run) hit(o uint32, score *float32, v float32) {
	if v > 0 && !r.isHit(o) {
		r.hits = append(r.hits, o)
	}
	*score += v
}

func (r *run) isHit(o uint32) bool { return r.words[o] > 0 || r.window[o] > 0 }

// forget empties group.
func (r *run) forget() {
	for _, o := range r.group {
		r.soft[o] = 0
	}
}

// split is the question's own terms in the order in which their groups are scored: those whose neighbourhoods
// are all counted, and the rest. With more than InFull memories to a question's words, the rarest are counted in
// full, and each commoner one in the neighbourhoods of those memories alone that are ahead by all the others (after
// the "continue" strategy of Moffat and Zobel, 1996). What a memory's own words are worth is exact, but that the
// words which more than one memory in five holds then find none by themselves.
func (r *run) split() (full, rest []int) {
	sizes := make([]int, len(r.q.Terms)) // of the groups
	total := 0
	for i, qt := range r.q.Terms {
		of := i
		if qt.Of >= 0 {
			of = qt.Of
		} else {
			full = append(full, i)
		}
		if p := r.s.Posting(qt.Hash); p != nil {
			sizes[of] += len(p.Docs)
			total += len(p.Docs)
		}
	}
	if total <= r.t.InFull || len(full) < 2 {
		return full, nil
	}
	slices.SortStableFunc(full, func(a, b int) int { return cmp.Compare(sizes[a], sizes[b]) })
	used := 0
	for k, i := range full {
		if used += sizes[i]; used > r.t.InFull && used > sizes[i] { // the rarest that anybody used is scored whatever it costs
			return full[:k], full[k:]
		}
	}
	return full, nil
}

// apart divides terms into those that find memories and those that nearly every neighbourhood holds.
func (r *run) apart(terms []int, n int) (finding, common []int) {
	for _, i := range terms {
		if p := r.s.Posting(r.q.Terms[i].Hash); p != nil && len(p.Docs)*everywhere >= n {
			common = append(common, i)
		} else {
			finding = append(finding, i)
		}
	}
	return finding, common
}

// everywhere: a word that more than one memory in five holds is in nearly every neighbourhood, where it tells
// nothing (its weight there is near 0) and costs most.
const everywhere = 5

// gather collects the memories that hold term i or a word related to it into group, and how often, into
// soft. A related word of weight a counts as the c times for which saturate(c) = a * saturate(1), so that once is
// worth a of the word itself. It returns how many hold the word itself: they come first.
func (r *run) gather(i int) (own int) {
	r.group = r.group[:0]
	if p := r.s.Posting(r.q.Terms[i].Hash); p != nil {
		for j, o := range p.Docs {
			r.soft[o] = float32(p.Counts[j])
			r.group = append(r.group, o)
		}
	}
	own = len(r.group)
	if r.t.Expand == 0 {
		return own
	}
	top := r.asked[i]
	if own == 0 {
		top = index.IDF(max(1, r.s.Live), r.relatedDF(i))
	}
	for j, qt := range r.q.Terms {
		if qt.Of != i {
			continue
		}
		p := r.s.Posting(qt.Hash)
		if p == nil || len(p.Docs) == 0 {
			continue
		}
		a := float32(r.t.Expand * qt.Weight)
		if r.asked[j] < r.asked[i] {
			a = float32(a * (r.asked[j] / r.asked[i]))
		}
		c := float32(a*r.t.K1) / (r.t.K1 + 1 - a)
		if c <= 0 {
			continue // every memory holds it
		}
		for k, o := range p.Docs {
			v := float32(c * float32(p.Counts[k]))
			if r.soft[o] == 0 {
				r.group = append(r.group, o)
			}
			r.soft[o] = max(r.soft[o], v)
		}
	}
	if own == 0 {
		r.idf[i] = min(r.idf[i], top) // a word that nobody used is as rare as the words that stand for it
		r.rare[i] = min(r.rare[i], index.IDF(max(r.s.Live, smallStore), r.relatedDF(i)))
	}
	return own
}

// relatedDF is how many memories hold the commonest of the words related to term i, at least 1.
func (r *run) relatedDF(i int) int {
	df := 1
	for _, qt := range r.q.Terms {
		if qt.Of == i {
			if p := r.s.Posting(qt.Hash); p != nil {
				df = max(df, len(p.Docs))
			}
		}
	}
	return df
}

// spread counts a group, of which the first own hold the word itself, over the neighbourhood of each memory
// (index.Kernel) and scores that as one text.
func (r *run) spread(own, n int, wavg float32) {
	s := r.s
	r.touched = r.touched[:0]
	near := 0 // neighbourhoods that hold the word itself
	r.lend(own, n)
	for i, o := range r.group {
		if i == own {
			near = len(r.touched)
		}
		tf := r.soft[o]
		docs, at, named := s.Around(o)
		for j, x := range docs {
			k := j - at
			if !named {
				if _, ok := s.Neighbour(o, k); !ok {
					continue
				}
			}
			if r.rewired && k != 0 {
				x = r.astray(o, x)
			}
			if r.acc[x] == 0 {
				r.touched = append(r.touched, x)
			}
			r.acc[x] += float32(index.Kernel[max(k, -k)] * tf)
		}
	}
	if own == len(r.group) || own == 0 {
		near = len(r.touched)
	}
	w := index.IDF(n, min(n, near))
	for _, x := range r.touched {
		r.hit(x, &r.window[x], float32(w*saturate(r.acc[x], r.t.WindowK1, r.t.WindowB, s.Docs[x].WLen, wavg)))
		r.acc[x] = 0
	}
}

// lend brings soft to what a memory of the group counts in neighbourhoods: less for a related word, and of a memory
// much longer than the mean by the share that the word has in it.
func (r *run) lend(own, n int) {
	long := float32(r.t.Long * max(1, float32(r.s.Words)/float32(n)))
	for i, o := range r.group {
		if i >= own && own > 0 {
			r.soft[o] = float32(r.soft[o] * r.t.ExpandWindow)
		}
		if l := float32(r.s.Docs[o].Len); long > 0 && l > long {
			r.soft[o] = float32(r.soft[o] * (long / l))
		}
	}
}

// look does for the memories of a list what spread does for all.
func (r *run) look(list []uint32, own, n int, wavg float32) {
	s := r.s
	r.lend(own, n)
	near := max(1, own) * (2*len(index.Kernel) - 1) // as if no two neighbourhoods overlapped: they are not counted
	w := index.IDF(n, min(n, near))
	for _, x := range list {
		docs, at, named := s.Around(x)
		var acc float32
		for j, o := range docs {
			k := j - at
			if r.rewired && k != 0 {
				o = r.astray(x, o)
			}
			if r.soft[o] == 0 {
				continue
			}
			if !named {
				if _, ok := s.Neighbour(x, k); !ok {
					continue
				}
			}
			acc += float32(index.Kernel[max(k, -k)] * r.soft[o])
		}
		if acc > 0 {
			r.window[x] += float32(w * saturate(acc, r.t.WindowK1, r.t.WindowB, s.Docs[x].WLen, wavg))
		}
	}
}

// ahead is the hits that are ahead so far, twice as many as are looked at closely. It uses final as its scratch.
func (r *run) ahead() []uint32 {
	r.scale()
	for _, o := range r.hits {
		r.final[o] = r.value(o, 1, nil, false)
	}
	floor := floor(r.hits, r.final, 2*r.t.Closely)
	r.list = r.list[:0]
	for _, o := range r.hits {
		if r.final[o] >= floor {
			r.list = append(r.list, o)
		}
		r.final[o] = 0
	}
	return r.list
}

// scale finds the greatest scores, which the others are shares of.
func (r *run) scale() {
	for _, o := range r.hits {
		r.topWords = max(r.topWords, r.words[o])
		r.topWin = max(r.topWin, r.window[o])
	}
}

// phrases rewards the best candidates that hold the question's words next to one another.
func (r *run) phrases(top []uint32) {
	if r.t.Phrase == 0 || len(r.q.Phrases) == 0 || r.q.Content == nil {
		return
	}
	var all float32
	for _, p := range r.q.Phrases {
		all += min(r.idf[p[0]], r.idf[p[1]])
	}
	if all == 0 {
		return
	}
	pos := make([][]int, len(r.q.Terms))
	for _, o := range top {
		if r.words[o] == 0 || !r.mayHold(o) {
			continue
		}
		for i := range pos {
			pos[i] = pos[i][:0]
		}
		for _, t := range r.q.Words.Tokens(r.q.Content(o)) {
			for i := range r.q.Terms {
				if r.q.Terms[i].Of < 0 && r.q.Terms[i].Stem == t.Term {
					pos[i] = append(pos[i], t.Pos)
				}
			}
		}
		var hit float32
		for _, p := range r.q.Phrases {
			if adjacent(pos[p[0]], pos[p[1]]) {
				hit += min(r.idf[p[0]], r.idf[p[1]])
			}
		}
		if hit > 0 {
			if r.phrase == nil {
				r.phrase = map[uint32]float32{}
			}
			r.phrase[o] = hit / all
			r.final[o] += float32(float32(r.t.Phrase*(hit/all)) * r.base[o])
		}
	}
}

// mayHold reports whether a memory holds both words of one of the question's phrases, so that its text is
// worth reading.
func (r *run) mayHold(o uint32) bool {
	for _, p := range r.q.Phrases {
		both := true
		for _, i := range p {
			post := r.s.Posting(r.q.Terms[i].Hash)
			if post == nil {
				both = false
				break
			}
			if !post.Has(o) {
				both = false
				break
			}
		}
		if both {
			return true
		}
	}
	return false
}

func adjacent(a, b []int) bool {
	for _, x := range a {
		for _, y := range b {
			if d := y - x; d >= 1 && d <= 2 {
				return true
			}
		}
	}
	return false
}
