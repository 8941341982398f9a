// Package index answers: given words, a name, a time or a vector, which memories of a project?
//
// A Shard holds what can be found of one project, in memory: postings, session order, time rows, entity
// mentions, causal edges and vectors. It is loaded from the store's analysis rows when the project is first
// asked and changes when a write is applied; nothing in it is truth. One float32 pass over arrays answers a
// question, so the order of additions is fixed and products are rounded on their own (no fused
// multiply-add): the same store answers the same to the bit on every processor.
package index

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// Doc is one memory of a shard. Its index in Shard.Docs is its ordinal, in the order of writing. A project has
// many, and a question looks at many: it is 128 bytes, two cache lines.
type Doc struct {
	ID       graph.ID
	At       int64 // Unix seconds; Nanos below them
	Until    int64 // end of the occurred interval, At+1 where it is an instant
	From     int64 // start of validity
	To       int64 // end of validity, MaxInt64 where open
	Nanos    int32
	Session  uint32
	Speaker  uint32
	Kind     uint32
	Writer   uint32
	Pos      uint32  // place in its session's order
	Len      uint32  // words without stop words
	terms    uint32  // offset in Shard.fwd; they end where the next one's begin
	WLen     float32 // words of its neighbourhood, weighted
	Flags    Flag
	RefLen   uint8    // characters of its ref, 0 for the usual six
	PartOf   int32    // ordinal of the whole, -1
	Super    int32    // ordinal of what supersedes it, -1
	Entities []uint32 // mentions and given ones, each once, in order of first mention
	*More             // never nil; own makes it this Doc's before it is changed
}

// More is what few memories have.
type More struct {
	Tags   []uint32
	Times  []TimeRow
	Causes []store.Cause
	Roles  []store.Role
}

// nothing is the More of all that have none of it.
var nothing = &More{}

// own is d's More, to be changed.
func (d *Doc) own() *More {
	if d.More == nothing {
		d.More = &More{}
	}
	return d.More
}

// Flag is a set of facts about a Doc.
type Flag uint8

const (
	Dead       Flag = 1 << iota // forgotten
	Superseded                  // something newer says it otherwise
	Pinned
	Whole    // a long text: its segments are what is ranked
	Question // asks something
	Dated    // holds a time mention
)

// TimeRow is a resolved time mention: [Start, End) in Unix seconds, ends at the int64 limits where open.
type TimeRow struct {
	Start, End int64
	Index      uint16 // which of the analysis's Times
	Duration   bool
}

// Posting is one term's memories, ascending, with how often each holds it.
type Posting struct {
	Docs   []uint32
	Counts []uint8
}

// Has reports whether a memory holds the term.
func (p *Posting) Has(o uint32) bool {
	_, ok := slices.BinarySearch(p.Docs, o)
	return ok
}

// Shard is one project. Readers hold RLock while they look at any field.
type Shard struct {
	sync.RWMutex
	Project store.Project
	Docs    []Doc
	// Live counts the docs that are ranked: not dead, not whole. Words sums their lengths, WWords their neighbourhoods'.
	Live   int
	Words  int64
	WWords float64
	// Mixed is set once some doc is superseded or a segment: not each is then a memory of its own that may be found.
	Mixed bool

	size      atomic.Int64 // len(Docs), for who holds no lock
	byID      map[graph.ID]uint32
	termIDs   map[uint64]uint32
	reading   sync.Mutex
	words     *text.Analyzer // under reading
	postings  []Posting
	fwd       []uint32 // the terms of each doc, one after the other
	sessions  []session
	spans     []span            // of each timeBlock of Docs
	names     map[string]uint32 // interned speakers, sessions' names, kinds, tags, writers
	strings   []string
	sessIDs   map[uint32]uint32 // name -> session
	speakers  map[uint32][]uint32
	entities  []EntityRow
	entIDs    map[string]uint32
	entWords  map[uint64][]uint32 // word of a key -> entities
	aliases   []aliasLink
	groupOnce sync.Mutex
	groups    map[uint32][]uint32 // under groupOnce: entity -> all of its group, by alias links; nil until asked
	out, in   map[uint32][]Edge
	pending   map[graph.ID][]pendingEdge // edges whose other end is not here (yet)
	against   map[uint32][]uint32        // memories that contradict one another, as a model read them
	read      map[readMention]int        // mentions that a model alone read
	gists     *gists                     // nil: there are none
	Vectors   map[uint32]*VectorSpace
}

// aliasLink says that doc's words make two entities one: "Bertha, also known as the billing gateway".
type aliasLink struct{ a, b, doc uint32 }

// EntityRow is an entity as the words name it: its key, how it was first written, its type and the memories that mention it.
type EntityRow struct {
	Key   string
	Name  string
	Type  string
	Docs  []uint32
	Words []uint64 // hashes of the stems of its key, stop words out
}

// NewShard returns an empty shard.
func NewShard(p store.Project) *Shard {
	return &Shard{Project: p, byID: map[graph.ID]uint32{}, termIDs: map[uint64]uint32{}, words: text.New(), names: map[string]uint32{"": 0}, strings: []string{""},
		sessIDs: map[uint32]uint32{}, speakers: map[uint32][]uint32{}, entIDs: map[string]uint32{}, entWords: map[uint64][]uint32{}, out: map[uint32][]Edge{}, in: map[uint32][]Edge{},
		pending: map[graph.ID][]pendingEdge{}, against: map[uint32][]uint32{}, read: map[readMention]int{}, Vectors: map[uint32]*VectorSpace{}}
}

// HashTerm is the digest of a stem under which postings are kept: 48 bits of FNV-1a.
func HashTerm(t string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(t))
	return h.Sum64() & (1<<48 - 1)
}

func (s *Shard) intern(name string) uint32 {
	if id, ok := s.names[name]; ok {
		return id
	}
	id := uint32(len(s.strings))
	s.strings = append(s.strings, name)
	s.names[name] = id
	return id
}

// Name is the string of an interned number.
func (s *Shard) Name(id uint32) string { return s.strings[id] }

// NameID is the interned number of a string, ok false where no memory has it.
func (s *Shard) NameID(name string) (uint32, bool) { id, ok := s.names[name]; return id, ok }

// Size is how many docs the shard holds, forgotten ones too; it needs no lock.
func (s *Shard) Size() int { return int(s.size.Load()) }

// Find is the ordinal of a memory that is here and not forgotten.
func (s *Shard) Find(id graph.ID) (uint32, bool) {
	o, ok := s.byID[id]
	return o, ok
}

const (
	minTime = -1 << 62
	maxTime = 1 << 62
)

// Add takes in a memory that was just stored (or is being loaded, in id order: a whole before its segments).
// st is nil where it has none. The caller holds Lock.
func (s *Shard) Add(r *store.Record, st *store.State, a *store.Analysis) {
	if _, ok := s.byID[r.ID]; ok {
		return
	}
	o := uint32(len(s.Docs))
	d := Doc{ID: r.ID, At: r.At.Sec, Nanos: r.At.Nanos, Until: r.At.Sec + 1, From: minTime, To: maxTime, PartOf: -1, Super: -1, More: nothing,
		Speaker: s.intern(r.Speaker), Kind: s.intern(r.Kind), Writer: s.intern(r.Writer), Len: a.Length, RefLen: r.RefLen}
	if r.Until != nil {
		d.Until = r.Until.Sec
	}
	d.From = d.At
	if r.ValidFrom != nil {
		d.From = r.ValidFrom.Sec
	}
	if r.ValidUntil != nil {
		d.To = r.ValidUntil.Sec
	}
	if r.Pinned {
		d.Flags |= Pinned
	}
	if a.Question {
		d.Flags |= Question
	}
	if p, ok := s.byID[r.PartOf]; ok {
		s.Mixed = true
		d.PartOf = int32(p)
	}
	tags, ents := r.Tags, r.Entities
	if st != nil {
		tags = append(slices.Clone(tags), st.Tags...)
		ents = append(slices.Clone(ents), st.Entities...)
	}
	for _, t := range tags {
		d.own().Tags = append(d.Tags, s.intern(FoldName(t)))
	}
	for i, t := range a.Times[:min(len(a.Times), math.MaxUint16)] { // TimeRow.Index ends there
		row := TimeRow{Start: t.Start.Sec, End: t.End.Sec, Index: uint16(i), Duration: t.Duration}
		if t.OpenStart {
			row.Start = minTime
		}
		if t.OpenEnd {
			row.End = maxTime
		}
		d.own().Times = append(d.Times, row)
		d.Flags |= Dated
	}
	if len(a.Causes)+len(a.Roles) > 0 {
		m := d.own()
		m.Causes, m.Roles = a.Causes, a.Roles
	}
	aliases := a.Aliases
	s.byID[r.ID] = o
	s.size.Add(1)
	d.terms = uint32(len(s.fwd))
	if len(r.Segments) > 0 {
		d.Flags |= Whole
		s.Docs = append(s.Docs, d)
	} else {
		s.Docs = append(s.Docs, d)
		s.addEntities(o, ents, a.Mentions, r.Content)
		for _, l := range aliases {
			s.aliases = append(s.aliases, aliasLink{s.entity(l[0], "", ""), s.entity(l[1], "", ""), o})
			s.groups = nil
		}
		s.addTerms(o, a.Terms)
		s.speakers[d.Speaker] = append(s.speakers[d.Speaker], o)
		s.place(o, r.Session)
		s.Live++
		s.Words += int64(a.Length)
	}
	s.widen(o)
	s.addStated(o, r, st)
	if st != nil && !st.SupersededBy.IsZero() {
		s.supersede(o, st.SupersededBy)
	}
	for _, p := range s.pending[r.ID] {
		if p.cause {
			s.link(o, p.doc, Edge{Origin: graph.Stated, Confidence: 1, Holder: p.doc})
		} else if s.Docs[p.doc].Flags&Dead == 0 {
			s.supersedeBy(p.doc, o)
		}
	}
	delete(s.pending, r.ID)
}

// addEntities notes what a memory mentions: what its writer named, and what was found in its content.
func (s *Shard) addEntities(o uint32, given []string, found []store.Mention, content string) {
	add := func(key, name, typ string) {
		if key != "" {
			s.attach(o, s.entity(key, name, typ))
		}
	}
	for _, g := range given {
		add(FoldName(g), g, "")
	}
	for _, m := range found {
		name := ""
		if int(m.To) <= len(content) && m.From < m.To {
			name = content[m.From:m.To]
		}
		add(m.Key, name, m.Type)
	}
}

// attach makes o one of the memories that mention e, in their order, once.
func (s *Shard) attach(o, e uint32) {
	d, r := &s.Docs[o], &s.entities[e]
	if slices.Contains(d.Entities, e) {
		return
	}
	d.Entities = append(d.Entities, e)
	i, _ := slices.BinarySearch(r.Docs, o)
	r.Docs = slices.Insert(r.Docs, i, o)
}

// entity is the number of the entity with a key, which is made where there is none. The first name and type
// that are told stay.
func (s *Shard) entity(key, name, typ string) uint32 {
	e, ok := s.entIDs[key]
	if !ok {
		e = uint32(len(s.entities))
		row := EntityRow{Key: key, Words: s.stems(key)}
		for _, w := range row.Words {
			s.entWords[w] = append(s.entWords[w], e)
		}
		s.entities = append(s.entities, row)
		s.entIDs[key] = e
	}
	r := &s.entities[e]
	if r.Name == "" {
		r.Name = strings.Clone(name) // it may be part of a long content
	}
	if r.Type == "" {
		r.Type = typ
	}
	return e
}

// termsOf is the terms of a memory, by number.
func (s *Shard) termsOf(o uint32) []uint32 {
	end := uint32(len(s.fwd))
	if int(o)+1 < len(s.Docs) {
		end = s.Docs[o+1].terms
	}
	return s.fwd[s.Docs[o].terms:end]
}

func (s *Shard) addTerms(o uint32, terms []store.Term) {
	for _, t := range terms {
		id, ok := s.termIDs[t.Hash]
		if !ok {
			id = uint32(len(s.postings))
			s.postings = append(s.postings, Posting{})
			s.termIDs[t.Hash] = id
		}
		c := uint8(min(t.Count, 255))
		p := &s.postings[id]
		p.Docs = append(p.Docs, o)
		p.Counts = append(p.Counts, c)
		s.fwd = append(s.fwd, id)
	}
}

// AddFacets adds tags and entities that a later sighting brought, to the segments of a whole too: they are
// what is filtered.
func (s *Shard) AddFacets(o uint32, tags, entities []string) {
	for x := range s.segmentsOf(o) {
		s.AddFacets(x, tags, entities)
	}
	d := &s.Docs[o]
	for _, t := range tags {
		if id := s.intern(FoldName(t)); !slices.Contains(d.Tags, id) {
			d.own().Tags = append(d.Tags, id)
		}
	}
	if d.Flags&Whole == 0 {
		s.addEntities(o, entities, nil, "")
	}
}

// Remove forgets memories: they are in no list afterwards. Each list is cut once for all of them, so many at once
// are cheap. The caller holds Lock.
func (s *Shard) Remove(ids ...graph.ID) (postings, edges, entities int) {
	var docs []uint32
	var terms, ents, speakers []uint32
	for _, id := range ids {
		o, ok := s.byID[id]
		if !ok {
			continue
		}
		delete(s.byID, id)
		docs = append(docs, o)
		terms = append(terms, s.termsOf(o)...)
		d := &s.Docs[o]
		for _, e := range d.Entities {
			delete(s.read, readMention{o, e})
		}
		ents = append(ents, d.Entities...)
		if d.Flags&Whole == 0 {
			speakers = append(speakers, d.Speaker)
		}
	}
	gone := slices.Sorted(slices.Values(docs))
	for _, t := range distinct(terms) {
		p := &s.postings[t]
		n := len(p.Docs)
		p.Docs, p.Counts = cut(p.Docs, p.Counts, gone)
		postings += n - len(p.Docs)
	}
	for _, e := range distinct(ents) {
		r := &s.entities[e]
		n := len(r.Docs)
		r.Docs, _ = cut(r.Docs, nil, gone)
		edges += n - len(r.Docs)
		if n > 0 && len(r.Docs) == 0 {
			entities++
			r.Name, r.Type = "", ""
		}
	}
	for _, x := range distinct(speakers) {
		s.speakers[x], _ = cut(s.speakers[x], nil, gone)
	}
	for _, o := range docs {
		edges += s.remove(o)
	}
	return postings, edges, entities
}

func distinct(l []uint32) []uint32 {
	slices.Sort(l)
	return slices.Compact(l)
}

// cut takes gone out of docs, both ascending, and what stands beside them in counts, where there are any.
func cut(docs []uint32, counts []uint8, gone []uint32) ([]uint32, []uint8) {
	if len(gone) == 0 {
		return docs, counts
	}
	w, _ := slices.BinarySearch(docs, gone[0])
	k, r := 0, w
	for ; r < len(docs); r++ {
		for k < len(gone) && gone[k] < docs[r] {
			k++
		}
		if k == len(gone) {
			break
		}
		if gone[k] != docs[r] {
			docs[w] = docs[r]
			if counts != nil {
				counts[w] = counts[r]
			}
			w++
		}
	}
	if r == w {
		return docs, counts
	}
	n := w + copy(docs[w:], docs[r:])
	if counts != nil {
		copy(counts[w:], counts[r:])
		counts = counts[:n]
	}
	return docs[:n], counts
}

// remove takes a memory out of everything but postings, entities and speakers.
func (s *Shard) remove(o uint32) (edges int) {
	d := &s.Docs[o]
	if d.Flags&Whole == 0 {
		se := &s.sessions[d.Session]
		i := int(d.Pos)
		se.docs = slices.Delete(se.docs, i, i+1)
		for j := i; j < len(se.docs); j++ {
			s.Docs[se.docs[j]].Pos = uint32(j)
		}
		s.WWords -= float64(d.WLen)
		s.relength(se, i)
		s.Live--
		s.Words -= int64(d.Len)
	}
	if n := len(s.aliases); n > 0 {
		s.aliases = slices.DeleteFunc(s.aliases, func(l aliasLink) bool { return l.doc == o })
		if len(s.aliases) != n {
			s.groups = nil
		}
	}
	edges += s.unlink(o)
	for _, x := range s.against[o] {
		s.against[x] = slices.DeleteFunc(s.against[x], func(y uint32) bool { return y == o })
	}
	delete(s.against, o)
	for _, v := range s.Vectors {
		v.Remove(o)
	}
	*d = Doc{ID: d.ID, Flags: Dead, PartOf: -1, Super: -1, terms: d.terms, More: nothing}
	return edges
}
