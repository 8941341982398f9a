package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Vector spaces. A space has a number, under which its vectors are kept, and a row in the table of models that
// describes it; which spaces every memory shall have vectors in, and which of those are full, is a setting.

// space is a vector space of the store.
type space struct {
	number      uint32
	fingerprint string
	embed.Space
}

// spaceFlag is what is kept of a space under spacesSetting.
type spaceFlag struct {
	Aim  bool `json:"aim,omitempty"`
	Full bool `json:"full,omitempty"`
}

const spacesSetting = "vector-spaces"

func newBacklog(b *Bank) (*backlog, error) {
	l := &backlog{b: b, spaces: map[uint32]space{}, flags: map[string]spaceFlag{}}
	v, err := b.kv.Get(store.SettingKey(spacesSetting))
	if errors.Is(err, store.ErrNotFound) {
		return l, nil
	}
	if err == nil {
		if err = json.Unmarshal(v, &l.flags); err != nil {
			err = fmt.Errorf("%w: setting %s: %w", store.ErrCorrupt, spacesSetting, err)
		}
	}
	return l, err
}

// table is the spaces that the store holds, by number.
func (l *backlog) table() []space {
	l.b.mu.RLock()
	rows := make(map[uint32]string, len(l.b.models))
	for m, row := range l.b.models {
		rows[m] = row
	}
	l.b.mu.RUnlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]space, 0, len(rows))
	for m, row := range rows {
		s, ok := l.spaces[m]
		if !ok {
			s.number = m
			if json.Unmarshal([]byte(row), &s.Space) != nil || s.Dimensions <= 0 {
				continue // not of this program; its vectors are never asked
			}
			s.fingerprint = s.Fingerprint()
			l.spaces[m] = s
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(x, y space) int { return cmp.Compare(x.number, y.number) })
	return out
}

// number is the number of a space by its fingerprint.
func (l *backlog) number(fingerprint string) (uint32, bool) {
	for _, s := range l.table() {
		if s.fingerprint == fingerprint {
			return s.number, true
		}
	}
	return 0, false
}

func (l *backlog) flag(fingerprint string) spaceFlag {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.flags[fingerprint]
}

// flagsOp is the row that keeps flags.
func flagsOp(flags map[string]spaceFlag) (store.Op, error) {
	v, err := json.Marshal(flags)
	return store.Op{Kind: store.Set, Key: store.SettingKey(spacesSetting), Value: v}, err
}

// aimed reports whether memories shall have vectors in some space.
func (l *backlog) aimed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.flags) > 0
}

// stay is the space of an Ollama model that vectors are in, the full one if there is one.
func (l *backlog) stay() embed.Space {
	var out embed.Space
	for _, s := range l.table() {
		if s.Provider == "ollama" && (out.Provider == "" || l.flag(s.fingerprint).Full) {
			out = s.Space
		}
	}
	return out
}

// Spaces are the spaces by number.
func (l *backlog) Spaces() ([]consolidate.Space, error) {
	var out []consolidate.Space
	for _, s := range l.table() {
		f := l.flag(s.fingerprint)
		out = append(out, consolidate.Space{Space: s.Space, Aim: f.Aim, Full: f.Full})
	}
	return out, nil
}

// Aim opens the spaces that are new and, where one is not full, owes every memory to the Embed pass.
func (l *backlog) Aim(spaces []embed.Space) error {
	owed, err := l.aim(spaces)
	if err != nil || !owed {
		return err
	}
	return l.oweAll(context.Background(), nil, store.PassEmbed)
}

func (l *backlog) aim(spaces []embed.Space) (owed bool, err error) {
	l.b.write.Lock()
	defer l.b.write.Unlock()
	have := l.table()
	var ops []store.Op
	added := map[uint32]string{}
	next := uint32(1)
	for _, m := range l.b.modelNumbers() {
		next = m + 1
	}
	flags := map[string]spaceFlag{}
	for _, want := range spaces {
		fp := want.Fingerprint()
		f := l.flag(fp)
		if !slices.ContainsFunc(have, func(s space) bool { return s.fingerprint == fp }) {
			row, err := json.Marshal(want)
			if err != nil {
				return false, err
			}
			ops = append(ops, store.Op{Kind: store.Set, Key: store.ModelKey(next), Value: row})
			added[next] = string(row)
			next++
			f = spaceFlag{}
		}
		owed = owed || !f.Aim || !f.Full
		f.Aim = true
		flags[fp] = f
	}
	op, err := flagsOp(flags)
	if err != nil {
		return false, err
	}
	if err := l.apply(append(ops, op)); err != nil {
		return false, err
	}
	l.b.mu.Lock()
	for m, row := range added {
		l.b.models[m] = row
	}
	l.b.mu.Unlock()
	l.mu.Lock()
	l.flags = flags
	l.mu.Unlock()
	return owed, nil
}

// oweBatch is how many memories are owed in one batch: with 1,024 a write that came between waited 5 ms for the
// lock, with 128 under one.
const oweBatch = 128

// oweAll owes every memory of some projects (nil: of all) to a pass.
func (l *backlog) oweAll(ctx context.Context, projects []store.Project, pass store.Pass) error {
	if projects == nil {
		for _, n := range l.b.projectNames() {
			p, _ := l.b.project(n)
			projects = append(projects, p)
		}
	}
	for _, p := range projects {
		lo, hi := store.RecordRange(p)
		for lo != nil {
			if err := ctx.Err(); err != nil {
				return err
			}
			var err error
			if lo, err = l.oweSome(p, pass, lo, hi); err != nil {
				return err
			}
		}
	}
	return nil
}

// oweSome owes one batch and returns where the next begins, nil at the end.
func (l *backlog) oweSome(p store.Project, pass store.Pass, lo, hi []byte) ([]byte, error) {
	l.b.write.Lock()
	defer l.b.write.Unlock()
	s := &settlement{l: l, staged: map[string]bool{}}
	n := 0
	var next []byte
	for row, err := range l.b.kv.Scan(lo, hi) {
		if err != nil {
			return nil, err
		}
		if n == oweBatch {
			next = row.Key
			break
		}
		n++
		id := store.IDOf(row.Key)
		r, err := store.DecodeRecord(id, row.Value)
		if err != nil {
			return nil, err
		}
		if len(r.Segments) > 0 {
			continue
		}
		k := store.QueueKey(pass, p, id)
		owed, err := l.has(k)
		if err != nil {
			return nil, err
		}
		given, err := l.has(store.ParkedKey(pass, p, id))
		if err != nil {
			return nil, err
		}
		if !owed && !given {
			l.floors.note(pass, k)
			s.set(k, (&store.Job{}).Encode())
		}
	}
	err := l.apply(s.ops)
	l.floors.lower()
	return next, err
}

// TextHashes looks at the first vector of each memory.
func (l *backlog) TextHashes(fingerprint, project string, ids []graph.ID) (map[graph.ID]uint64, error) {
	out := map[graph.ID]uint64{}
	p, ok := l.b.project(project)
	m, held := l.number(fingerprint)
	if !ok || !held {
		return out, nil
	}
	for _, id := range ids {
		v, err := l.b.kv.Get(store.VectorKey(p, m, id, 0))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		hash, _, err := store.DecodeVector(v)
		if err != nil {
			return nil, err
		}
		out[id] = hash
	}
	return out, nil
}

// Filled closes every space that is no aim, and says of the aims that they are full.
func (l *backlog) Filled() error {
	l.b.write.Lock()
	defer l.b.write.Unlock()
	var ops []store.Op
	flags := map[string]spaceFlag{}
	var gone []uint32
	for _, s := range l.table() {
		if l.flag(s.fingerprint).Aim {
			flags[s.fingerprint] = spaceFlag{Aim: true, Full: true}
			continue
		}
		gone = append(gone, s.number)
		ops = append(ops, store.Op{Kind: store.Delete, Key: store.ModelKey(s.number)})
		for _, n := range l.b.projectNames() {
			p, _ := l.b.project(n)
			lo, hi := store.VectorRange(p, s.number)
			ops = append(ops, store.Op{Kind: store.DeleteRange, Key: lo, Value: hi})
		}
	}
	op, err := flagsOp(flags)
	if err != nil {
		return err
	}
	if err := l.apply(append(ops, op)); err != nil {
		return err
	}
	l.b.mu.Lock()
	for _, m := range gone {
		delete(l.b.models, m) // before spaces, which is made of it
	}
	resident := slices.Collect(maps.Keys(l.b.shards))
	l.b.mu.Unlock()
	l.mu.Lock()
	l.flags = flags
	for _, m := range gone {
		delete(l.spaces, m)
	}
	l.mu.Unlock()
	for _, p := range resident {
		l.b.change(p, func(s *index.Shard) {
			for _, m := range gone {
				delete(s.Vectors, m)
			}
		})
	}
	return nil
}

// alike is the space of whose vectors a project's semantic edges are made: one that every memory has vectors in,
// else the one with the most. nil: of none. Never of two, and never of the words' own, which tell what words tell.
// The caller holds the shard's RLock.
func (b *Bank) alike(s *index.Shard) *index.VectorSpace {
	var best *index.VectorSpace
	full := false
	for _, sp := range b.back.rows.table() {
		v := s.Vectors[sp.number]
		if v == nil {
			continue
		}
		f := b.back.rows.flag(sp.fingerprint).Full
		if best == nil || f && !full || f == full && v.Len() > best.Len() {
			best, full = v, f
		}
	}
	return best
}

// modelNumbers are the numbers of all spaces, ascending.
func (b *Bank) modelNumbers() []uint32 {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]uint32, 0, len(b.models))
	for m := range b.models {
		out = append(out, m)
	}
	slices.Sort(out)
	return out
}

// heldVectors are a project's vectors of one space, by the place of their memories' ids in ids.
type heldVectors struct {
	number uint32
	ids    []graph.ID
	*index.VectorSpace
}

// readVectors reads a project's vectors of every space. It needs no index, so that it runs while that is made.
func readVectors(kv store.Reader, p store.Project, spaces []space) ([]heldVectors, error) {
	var out []heldVectors
	for _, sp := range spaces {
		space := heldVectors{number: sp.number, VectorSpace: index.NewVectorSpace(sp.Dimensions)}
		vec := make([]float32, sp.Dimensions)
		lo, hi := store.VectorRange(p, sp.number)
		err := visit(kv, lo, hi, func(k, v []byte) error {
			id, chunk := store.VectorID(k)
			if len(v) != 8+2*len(vec) {
				return fmt.Errorf("%w: a vector of %d bytes in a space of %d dimensions", store.ErrCorrupt, len(v), len(vec))
			}
			if n := len(space.ids); n == 0 || space.ids[n-1] != id {
				space.ids = append(space.ids, id)
			}
			store.ReadVector(vec, v)
			space.Add(uint32(len(space.ids)-1), chunk, vec)
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, space)
	}
	return out, nil
}

// holdVectors puts vectors that were read into the index of their memories. A vector without one is left out.
func holdVectors(s *index.Shard, list []heldVectors) {
	for _, v := range list {
		v.Renumber(func(n uint32) (uint32, bool) { return s.Find(v.ids[n]) })
		if v.Len() > 0 {
			s.Vectors[v.number] = v.VectorSpace
		}
	}
}

// questionVector is a question in one space.
type questionVector struct {
	space  uint32
	vector []float32
}

// embedQuestion embeds a question in every space that can be asked now, within QuestionTimeout, and says what
// is missing, "" where nothing is. The word space stands in where no other serves all memories.
func (b *Bank) embedQuestion(ctx context.Context, q *query.Question) ([]questionVector, string) {
	_, state, reason := b.back.provider.Current()
	if state == embed.Off {
		return nil, ""
	}
	ctx, cancel := context.WithTimeout(ctx, b.o.QuestionTimeout)
	defer cancel()
	table := b.back.rows.table()
	spaces := make([]embed.Space, len(table))
	for i, s := range table {
		spaces[i] = s.Space
	}
	var out []questionVector
	var failed error
	full := false
	for _, e := range embed.Serving(b.back.provider, spaces) {
		v, err := e.Embed(ctx, embed.Query, []string{q.Text})
		if err != nil {
			if !errors.Is(err, embed.ErrBlank) {
				failed = err
			}
			continue
		}
		fp := e.Space().Fingerprint()
		for _, s := range table {
			if s.fingerprint == fp {
				out = append(out, questionVector{s.number, v[0]})
				full = full || b.back.rows.flag(fp).Full
			}
		}
	}
	rest := "keyword and graph only"
	if len(out) > 0 {
		rest = "not every vector space was asked"
	}
	if !full {
		if v := b.wordVector(q); v != nil {
			if len(out) == 0 {
				rest = "keyword, graph and built-in vectors only"
			}
			out = append(out, questionVector{wordSpace, v})
		}
	}
	switch {
	case state == embed.Loading && (len(table) > 0 || expected(b.back.provider)):
		return out, "embedding: ollama has no model ready yet, " + rest
	case state == embed.Away:
		return out, "embedding: " + awayWords(reason) + ", " + rest
	case failed != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return out, fmt.Sprintf("embedding: no answer within %s, %s", b.o.QuestionTimeout, rest)
	case failed != nil:
		return out, "embedding: ollama failed, " + rest
	}
	return out, ""
}

func expected(p embed.Provider) bool {
	e, ok := p.(embed.Expecting)
	return ok && e.Expected()
}

// awayWords is why Ollama serves no vectors, in the contract's words.
func awayWords(reason string) string {
	if strings.Contains(reason, "no embedding model") {
		return "ollama has no embedding model"
	}
	return "ollama unreachable"
}

// fuseK is the constant of reciprocal rank fusion (paper, table 5).
const fuseK = 60

// rescored is how many of the nearest are scored again by their originals: with 20 the ten nearest are the
// right ones in all of 50 questions to 3,000 vectors (package index), and 20 rows take a tenth of a millisecond.
const rescored = 20

// nearest are the k memories nearest to a question, best first, by the cosine of the space that was asked.
// Where several spaces serve, their lists are fused by rank, never by score: the result then lies between
// the best cosine seen and 0. loose tells that the words' own vectors alone were asked.
func (b *Bank) nearest(in *inquiry, s *index.Shard, f *query.Filter, k int) (list []index.Similar, loose bool) {
	var lists [][]index.Similar
	loose = true
	for _, v := range in.vectors {
		space := s.Vectors[v.space]
		if space == nil || space.Dim != len(v.vector) {
			continue
		}
		l := space.Nearest(v.vector, k, func(o uint32) bool { return f.Pass(s, o) })
		if len(l) == 0 {
			continue
		}
		if v.space != wordSpace {
			space.Rescore(v.vector, l, rescored, func(o uint32, chunk uint16) []float32 {
				row, err := b.kv.Get(store.VectorKey(s.Project, v.space, s.Docs[o].ID, chunk))
				if err != nil {
					return nil // being replaced, or unreadable: the rounded one counts
				}
				_, orig, _ := store.DecodeVector(row)
				return orig
			})
		}
		lists = append(lists, l)
		loose = loose && v.space == wordSpace
	}
	if len(lists) < 2 {
		return slices.Concat(lists...), loose
	}
	score := map[uint32]float32{}
	var top float32
	for _, l := range lists {
		top = max(top, l[0].Sim)
		for i, x := range l {
			score[x.Doc] += 1 / float32(fuseK+i+1)
		}
	}
	out := make([]index.Similar, 0, len(score))
	for o, v := range score {
		out = append(out, index.Similar{Doc: o, Sim: float32(top * (v * float32(fuseK+1) / float32(len(lists))))})
	}
	slices.SortFunc(out, func(x, y index.Similar) int { return cmp.Or(cmp.Compare(y.Sim, x.Sim), cmp.Compare(x.Doc, y.Doc)) })
	return out[:min(k, len(out))], loose
}
