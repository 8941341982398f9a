// Package consolidatetest answers: does this store keep what the consolidation worker relies on? Run is
// the contract of consolidate.Store as a test, and MemStore a store in memory that keeps it.
package consolidatetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// MemStore is a consolidate.Store in memory. The zero value is empty. It is safe for concurrent use.
type MemStore struct {
	mu       sync.Mutex
	memories map[graph.ID]consolidate.Memory
	jobs     map[jobKey]consolidate.Job
	parked   map[jobKey]consolidate.Job
	spaces   []consolidate.Space
	vectors  map[string]map[graph.ID][]consolidate.Vector
	rows     map[string]map[consolidate.RowID]consolidate.Derived
	spent    map[string]int

	// Before, if set, is called before each Settle, outside the lock; its error fails the call.
	Before func(consolidate.Outcome) error
}

type jobKey struct {
	pass    consolidate.Pass
	project string
	memory  graph.ID
}

func keyOf(j consolidate.Job) jobKey { return jobKey{j.Pass, j.Project, j.Memory} }

func (k jobKey) compare(o jobKey) int {
	return cmp.Or(cmp.Compare(k.pass, o.pass), cmp.Compare(k.project, o.project), slices.Compare(k.memory[:], o.memory[:]))
}

func (s *MemStore) init() {
	if s.memories == nil {
		s.memories = map[graph.ID]consolidate.Memory{}
		s.jobs = map[jobKey]consolidate.Job{}
		s.parked = map[jobKey]consolidate.Job{}
		s.vectors = map[string]map[graph.ID][]consolidate.Vector{}
		s.rows = map[string]map[consolidate.RowID]consolidate.Derived{}
		s.spent = map[string]int{}
	}
}

// Add stores a memory and owes it to some passes.
func (s *MemStore) Add(m consolidate.Memory, passes ...consolidate.Pass) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	s.memories[m.ID] = m
	for _, p := range passes {
		j := consolidate.Job{Pass: p, Project: m.Project, Memory: m.ID}
		s.jobs[keyOf(j)] = j
	}
}

// Forget removes a memory with all that rests on it.
func (s *MemStore) Forget(id graph.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	delete(s.memories, id)
	for _, v := range s.vectors {
		delete(v, id)
	}
	for _, m := range []map[jobKey]consolidate.Job{s.jobs, s.parked} {
		maps.DeleteFunc(m, func(k jobKey, _ consolidate.Job) bool { return k.memory == id })
	}
	for _, rows := range s.rows {
		maps.DeleteFunc(rows, func(_ consolidate.RowID, r consolidate.Derived) bool { return slices.Contains(r.Basis, id) })
	}
}

func (s *MemStore) Due(pass consolidate.Pass, now time.Time, after consolidate.Job, limit int) ([]consolidate.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	from := keyOf(after)
	var out []consolidate.Job
	for _, k := range slices.SortedFunc(maps.Keys(s.jobs), jobKey.compare) {
		j := s.jobs[k]
		if k.pass != pass || j.NotBefore.After(now) || after.Project != "" && k.compare(from) <= 0 {
			continue
		}
		if len(out) == limit {
			break
		}
		out = append(out, j)
	}
	return out, nil
}

func (s *MemStore) Settle(o consolidate.Outcome) error {
	if s.Before != nil {
		if err := s.Before(o); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	for _, j := range o.Done {
		delete(s.jobs, keyOf(j))
	}
	for _, j := range o.Later {
		if _, ok := s.jobs[keyOf(j)]; ok {
			s.jobs[keyOf(j)] = j
		}
	}
	for _, j := range o.Parked {
		if _, ok := s.jobs[keyOf(j)]; ok {
			delete(s.jobs, keyOf(j))
			s.parked[keyOf(j)] = j
		}
	}
	for _, j := range o.Queue {
		s.owe(j)
	}
	if o.Space != "" {
		if s.vectors[o.Space] == nil {
			s.vectors[o.Space] = map[graph.ID][]consolidate.Vector{}
		}
		for _, v := range o.Vectors {
			delete(s.vectors[o.Space], v.Memory)
		}
		for _, v := range o.Vectors {
			if _, ok := s.memories[v.Memory]; ok {
				s.vectors[o.Space][v.Memory] = append(s.vectors[o.Space][v.Memory], v)
			}
		}
	}
	if s.rows[o.Project] == nil {
		s.rows[o.Project] = map[consolidate.RowID]consolidate.Derived{}
	}
	for _, id := range o.Drop {
		delete(s.rows[o.Project], id)
	}
	for _, r := range o.Rows {
		if !slices.ContainsFunc(r.Basis, func(id graph.ID) bool { _, ok := s.memories[id]; return !ok }) {
			s.rows[o.Project][r.ID] = clone(r)
		}
	}
	return nil
}

// clone is what a store on disk gives back.
func clone(d consolidate.Derived) consolidate.Derived {
	b, err := json.Marshal(d)
	var out consolidate.Derived
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("consolidatetest: a derived row cannot be kept as JSON: %v", err))
	}
	return out
}

func (s *MemStore) owe(j consolidate.Job) {
	_, owed := s.jobs[keyOf(j)]
	_, parked := s.parked[keyOf(j)]
	if _, there := s.memories[j.Memory]; there && !owed && !parked {
		s.jobs[keyOf(j)] = j
	}
}

func (s *MemStore) Memories(project string, ids []graph.ID) ([]consolidate.Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []consolidate.Memory
	for _, id := range ids {
		if m, ok := s.memories[id]; ok && m.Project == project {
			out = append(out, m)
		}
	}
	return out, nil
}

// ordered are the memories that fit, in order of time.
func (s *MemStore) ordered(fits func(consolidate.Memory) bool) []consolidate.Memory {
	var out []consolidate.Memory
	for _, m := range s.memories {
		if fits(m) {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b consolidate.Memory) int {
		return cmp.Or(a.At.Compare(b.At), slices.Compare(a.ID[:], b.ID[:]))
	})
	return out
}

func (s *MemStore) Stream(project, session string, from, to time.Time) ([]consolidate.Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ordered(func(m consolidate.Memory) bool {
		return m.Project == project && m.Session == session && !m.At.Before(from) && !m.At.After(to)
	}), nil
}

// Around knows two graphs: neighbours in time, then memories that share a capitalised word.
func (s *MemStore) Around(project string, id graph.ID, hops, limit int) ([]consolidate.Memory, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.ordered(func(m consolidate.Memory) bool { return m.Project == project })
	at := slices.IndexFunc(all, func(m consolidate.Memory) bool { return m.ID == id })
	if at < 0 {
		return nil, nil
	}
	var out []consolidate.Memory
	add := func(i int) {
		if i >= 0 && i < len(all) && i != at && len(out) < limit && !slices.ContainsFunc(out, func(m consolidate.Memory) bool { return m.ID == all[i].ID }) {
			out = append(out, all[i])
		}
	}
	for d := 1; d <= hops; d++ {
		add(at - d)
		add(at + d)
	}
	names := capitalised(all[at].Text)
	for i, m := range all {
		for w := range capitalised(m.Text) {
			if names[w] {
				add(i)
			}
		}
	}
	return out, nil
}

func capitalised(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if r, n := utf8.DecodeRuneInString(w); unicode.IsUpper(r) && n < len(w) {
			out[w] = true
		}
	}
	return out
}

func (s *MemStore) Rows(project string, kind consolidate.Kind, memories ...graph.ID) ([]consolidate.Derived, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []consolidate.Derived
	for _, r := range s.rows[project] {
		if r.Kind == kind && (len(memories) == 0 || slices.ContainsFunc(r.Basis, func(id graph.ID) bool { return slices.Contains(memories, id) })) {
			out = append(out, clone(r))
		}
	}
	slices.SortFunc(out, func(a, b consolidate.Derived) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return out, nil
}

func (s *MemStore) Spaces() ([]consolidate.Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spaces), nil
}

func (s *MemStore) Aim(spaces []embed.Space) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	owed := false
	aims := map[string]bool{}
	for _, want := range spaces {
		aims[want.Fingerprint()] = true
		i := slices.IndexFunc(s.spaces, func(h consolidate.Space) bool { return h.Fingerprint() == want.Fingerprint() })
		if i < 0 {
			s.spaces = append(s.spaces, consolidate.Space{Space: want})
			i = len(s.spaces) - 1
		}
		owed = owed || !s.spaces[i].Aim || !s.spaces[i].Full
	}
	for i := range s.spaces {
		s.spaces[i].Aim = aims[s.spaces[i].Fingerprint()]
		s.spaces[i].Full = s.spaces[i].Full && s.spaces[i].Aim
	}
	if owed {
		for id, m := range s.memories {
			s.owe(consolidate.Job{Pass: consolidate.Embed, Project: m.Project, Memory: id})
		}
	}
	return nil
}

func (s *MemStore) TextHashes(space, project string, ids []graph.ID) (map[graph.ID]uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[graph.ID]uint64{}
	for _, id := range ids {
		if v := s.vectors[space][id]; len(v) > 0 && v[0].Project == project {
			out[id] = v[0].TextHash
		}
	}
	return out, nil
}

func (s *MemStore) Filled() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spaces = slices.DeleteFunc(s.spaces, func(h consolidate.Space) bool {
		if !h.Aim {
			delete(s.vectors, h.Fingerprint())
		}
		return !h.Aim
	})
	for i := range s.spaces {
		s.spaces[i].Full = true
	}
	return nil
}

func (s *MemStore) Spend(day string, n int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	s.spent[day] += n
	return s.spent[day], nil
}

// Owed are the jobs of a pass, due or not; Parked those that were given up. In order of memory id.
func (s *MemStore) Owed(pass consolidate.Pass) []consolidate.Job { return s.list(pass, false) }

// Parked: see Owed.
func (s *MemStore) Parked(pass consolidate.Pass) []consolidate.Job { return s.list(pass, true) }

func (s *MemStore) list(pass consolidate.Pass, parked bool) []consolidate.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.jobs
	if parked {
		from = s.parked
	}
	var out []consolidate.Job
	for _, k := range slices.SortedFunc(maps.Keys(from), jobKey.compare) {
		if k.pass == pass {
			out = append(out, from[k])
		}
	}
	return out
}

// Vectors are a memory's vectors in a space.
func (s *MemStore) Vectors(space string, id graph.ID) []consolidate.Vector {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.vectors[space][id])
}

// Count is the number of memories.
func (s *MemStore) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.memories)
}
