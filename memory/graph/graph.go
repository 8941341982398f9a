// Package graph answers: what is a memory's identity, and how may two memories be related?
//
// It is the vocabulary that every layer shares: ids, relations and edges. The four graphs of MAGMA
// (paper section 3.2) are kept apart by Graph; a Relation belongs to exactly one of them or is a
// lifecycle relation. Direct dependency: oklog/ulid for ids that sort by the time of writing.
package graph

import (
	"fmt"
	"strings"

	"github.com/oklog/ulid/v2"
)

// ID identifies a memory: a ULID, so ids sort in the order in which one store wrote them.
type ID [16]byte

// Zero is no id.
var Zero ID

// ParseID reads the 26 characters of a ULID in any letter case.
func ParseID(s string) (ID, error) {
	u, err := ulid.ParseStrict(strings.ToUpper(s))
	if err != nil {
		return Zero, fmt.Errorf("%q is no ULID: %w", s, err)
	}
	return ID(u), nil
}

func (id ID) String() string { return ulid.ULID(id).String() }

// MarshalText and UnmarshalText write an id as its 26 characters.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseID(string(b))
	return err
}

// IsZero reports whether id is no id.
func (id ID) IsZero() bool { return id == Zero }

// Millis is the time of writing that the id holds, in Unix milliseconds.
func (id ID) Millis() int64 { return int64(ulid.ULID(id).Time()) }

// Less orders ids as their strings.
func (id ID) Less(o ID) bool {
	for i := range id {
		if id[i] != o[i] {
			return id[i] < o[i]
		}
	}
	return false
}

// Graph is one of the four relation graphs. The numbers are kept on disk: append, never renumber.
type Graph uint8

const (
	Temporal Graph = 1
	Semantic Graph = 2
	Causal   Graph = 3
	Entity   Graph = 4
)

var graphNames = [...]string{"", "temporal", "semantic", "causal", "entity"}

func (g Graph) String() string {
	if int(g) < len(graphNames) {
		return graphNames[g]
	}
	return "unknown"
}

// Set is a set of graphs.
type Set uint8

// All is the four graphs.
const All Set = 1<<Temporal | 1<<Semantic | 1<<Causal | 1<<Entity

// Has reports whether g is in s.
func (s Set) Has(g Graph) bool { return s&(1<<g) != 0 }

// ParseSet reads graph names; none is All.
func ParseSet(names []string) (Set, error) {
	if len(names) == 0 {
		return All, nil
	}
	var s Set
	for _, n := range names {
		found := false
		for g := Temporal; g <= Entity; g++ {
			if strings.EqualFold(strings.TrimSpace(n), g.String()) {
				s |= 1 << g
				found = true
			}
		}
		if !found {
			return 0, fmt.Errorf("relations: %q is not one of temporal, semantic, causal, entity", n)
		}
	}
	return s, nil
}

// Relation is the kind of an edge, as `via` prints it. The numbers are kept on disk.
type Relation uint8

const (
	Next        Relation = 1
	Previous    Relation = 2
	Similar     Relation = 3
	Causes      Relation = 4
	CausedBy    Relation = 5
	Mentions    Relation = 6
	Episode     Relation = 7
	Topic       Relation = 8
	Supersedes  Relation = 9
	Contradicts Relation = 10
)

var relationNames = [...]string{"", "next", "previous", "similar", "causes", "caused_by", "mentions", "episode", "topic", "supersedes", "contradicts"}

func (r Relation) String() string {
	if int(r) < len(relationNames) {
		return relationNames[r]
	}
	return "unknown"
}

// Origin says who drew an edge. The numbers are kept on disk.
type Origin uint8

const (
	Stated   Origin = 1 // the caller said so: because_of, supersedes
	Inferred Origin = 2 // a rule or a model read it from the words that are its evidence
)

func (o Origin) String() string {
	if o == Stated {
		return "stated"
	}
	return "inferred"
}
