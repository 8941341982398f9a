// Package consolidate answers: what did we not have time to notice?
//
// A memory is stored without a model and without waiting. What is owed to it then stands in a durable
// queue, and a Worker works it off in the background: vectors (the embed pass); episodes, their extractive
// summaries and the topics that link them, by rule (the rules pass); and, where a chat model is set,
// entities with their aliases, relationships, facts, dates, causes, contradictions and summaries (the
// model passes).
//
// Four promises hold for everything here. It only adds: no pass deletes or rewrites a memory, and what a
// pass derived can be removed as a whole and made again. Nothing is believed: what a model says is held
// against the words it was shown (validate.go), and what is not there is dropped and counted. Every
// derived row knows its pass, its model, its prompt's version, and the words that are its evidence. And a
// tool call comes first: while one is being answered (Worker.Begin), no new model call starts, and a
// batch of vectors that stands in its way is given up and done again.
//
// The Store is what the worker needs of the memory's store; package memory implements it. The worker sees
// values, never transactions. Since a memory can be forgotten between reading and writing, the store
// checks in Settle that what a row rests on is still there.
//
// The pure parts are plain functions: Split (where does an episode end?), Summarize, Keywords, and the
// reading of a model's answers.
package consolidate

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// Pass is a kind of background work. The numbers are those of store.Pass, which are on disk.
type Pass uint8

const (
	Embed   Pass = 1 // vectors
	Rules   Pass = 2 // episodes, their summaries and topics, by rule
	Model   Pass = 3 // what a model reads in each memory and between it and its neighbours
	Episode Pass = 4 // what a model makes of a closed episode
)

func (p Pass) String() string {
	switch p {
	case Embed:
		return "embed"
	case Rules:
		return "rules"
	case Model:
		return "model"
	case Episode:
		return "episode"
	}
	return "unknown"
}

// Passes are all passes, in the order of their work.
var Passes = []Pass{Embed, Rules, Model, Episode}

// Job is work owed to a pass for one memory. For the Episode pass, Memory is the episode's first memory.
type Job struct {
	Pass      Pass
	Project   string
	Memory    graph.ID
	Tries     int       // failures so far
	NotBefore time.Time // zero: at once
	Reason    string    // of the last failure, or what it waits for
}

// Memory is a memory as the passes see it.
type Memory struct {
	ID      graph.ID
	Project string
	Text    string
	Speaker string
	Session string
	Source  string
	At      time.Time // when it was said or happened, in the offset it was given in
	Stored  time.Time // when it was recorded
}

// Vector is one vector of a memory's text. TextHash says of which text, so that a changed composition or
// a re-imported text is noticed.
type Vector struct {
	Memory   graph.ID
	Project  string
	Chunk    int
	TextHash uint64
	Values   []float32 // of length 1
}

// Outcome is what one step of work changes, all or nothing.
type Outcome struct {
	Done   []Job // leave the queue
	Later  []Job // stay, with their new Tries, NotBefore and Reason
	Parked []Job // leave the queue for the list of what failed too often
	Queue  []Job // are owed from now on (one that is owed or parked already stays as it is)

	Space   string   // fingerprint of the space that the vectors are in
	Vectors []Vector // replace what the memory has in that space

	Project string    // of the rows below
	Drop    []RowID   // derived rows that are replaced
	Rows    []Derived // are written; one whose basis is not wholly there any more is left out
}

// Space is a vector space that the store holds.
type Space struct {
	embed.Space
	Aim  bool // every memory shall have vectors in it
	Full bool // and has, or is parked
}

// Store is what the worker needs of the store. Methods are safe for concurrent use with writers. Times
// are compared with the worker's own clock.
type Store interface {
	// Due returns up to limit jobs of a pass whose NotBefore is not after now, parked ones left out, in an
	// order of the store's choice in which a project's jobs stand together, by memory id. after is the
	// last job of the answer before; its zero value begins at the first.
	Due(pass Pass, now time.Time, after Job, limit int) ([]Job, error)
	// Settle commits an outcome. A job that is no longer owed (its memory was forgotten) is ignored, and
	// so are vectors and rows that rest on a memory that is gone.
	Settle(Outcome) error

	// Memories returns those of the given memories that are there, in the order asked for.
	Memories(project string, ids []graph.ID) ([]Memory, error)
	// Stream returns the memories of a session in order of (At, id), with At in [from, to]; for session
	// "", those without a session. Wholes stand for their segments or the segments for the whole, but
	// never both.
	Stream(project, session string, from, to time.Time) ([]Memory, error)
	// Around returns up to limit memories within hops steps of the given one over the four graphs, the
	// nearest first, itself left out, superseded ones left out.
	Around(project string, id graph.ID, hops, limit int) ([]Memory, error)
	// Rows returns the derived rows of one kind in a project, in the order of their ids; with memories
	// given, only those whose basis holds one of them.
	Rows(project string, kind Kind, memories ...graph.ID) ([]Derived, error)

	// Spaces are the vector spaces that the store holds, in an order that stays the same.
	Spaces() ([]Space, error)
	// Aim makes these the spaces that every memory shall have vectors in. If one of them was no aim
	// before, or is not full, every memory is owed to the Embed pass afterwards, whatever an earlier,
	// interrupted call did. The vectors of other spaces stay, and go on being searched.
	Aim(spaces []embed.Space) error
	// TextHashes returns, for each of the given memories of a project that has vectors in a space, the
	// hash of the text they are of.
	TextHashes(space, project string, ids []graph.ID) (map[graph.ID]uint64, error)
	// Filled marks the aims as full and removes all other spaces with their vectors. The worker calls it
	// when nothing is owed to the Embed pass any more.
	Filled() error

	// Spend adds n to the model calls of a day ("2026-11-29") and returns their number.
	Spend(day string, n int) (int, error)
}

// Kind is a kind of derived row. The names are on disk: append, never rename.
type Kind string

const (
	EntityRow        Kind = "entity"        // Name, Type, Aliases
	RelationRow      Kind = "relation"      // Subject, Predicate, Object: both entities
	FactRow          Kind = "fact"          // Subject, Predicate, Object
	DateRow          Kind = "date"          // Start, End
	CauseRow         Kind = "cause"         // From (the cause), To (the effect)
	ContradictionRow Kind = "contradiction" // From, To (the later one), Subject, Predicate
	SummaryRow       Kind = "summary"       // Text, of one memory, or of the episode in Members; then Keywords and Topic
	EpisodeRow       Kind = "episode"       // Basis are its memories in order; Text, Keywords, Session, Start, End, Topic
	LinkRow          Kind = "link"          // between two topics: Members (two topics), Predicate one of LinkKinds
)

// LinkKinds are what a link between topics may be.
var LinkKinds = []string{"support", "contradiction", "coreference", "causal", "semantic"}

// RowID names a derived row within its project.
type RowID [16]byte

func (id RowID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText and UnmarshalText write an id as hexadecimal digits.
func (id RowID) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, id[:]), nil }

func (id *RowID) UnmarshalText(b []byte) error {
	if hex.DecodedLen(len(b)) != len(id) {
		return fmt.Errorf("a row id has %d hexadecimal digits, not %d", 2*len(id), len(b))
	}
	_, err := hex.Decode(id[:], b)
	return err
}

// Quote is evidence: words of a memory, byte for byte, and where they stand.
type Quote struct {
	Memory graph.ID `json:"memory"`
	From   int      `json:"from"`
	To     int      `json:"to"`
	Text   string   `json:"text"`
}

// Derived is one row that a pass made. It can be written as JSON and read back.
type Derived struct {
	ID         RowID      `json:"id"` // the same work gives the same id
	Kind       Kind       `json:"kind"`
	Pass       Pass       `json:"pass"`
	Model      string     `json:"model,omitempty"`  // name and digest; "" for a rule
	Prompt     string     `json:"prompt,omitempty"` // version of the prompt, or of the rule
	Basis      []graph.ID `json:"basis"`            // the memories it rests on: without one of them it goes
	Evidence   []Quote    `json:"evidence,omitempty"`
	Confidence float64    `json:"confidence,omitempty"`

	Name      string     `json:"name,omitempty"`
	Type      string     `json:"type,omitempty"`
	Aliases   []string   `json:"aliases,omitempty"`
	Subject   string     `json:"subject,omitempty"`
	Predicate string     `json:"predicate,omitempty"`
	Object    string     `json:"object,omitempty"`
	From      graph.ID   `json:"from,omitzero"`
	To        graph.ID   `json:"to,omitzero"`
	Start     *time.Time `json:"start,omitempty"`
	End       *time.Time `json:"end,omitempty"`
	Session   string     `json:"session,omitempty"`
	Text      string     `json:"text,omitempty"`
	Keywords  []Keyword  `json:"keywords,omitempty"`
	Members   []RowID    `json:"members,omitempty"`
	// Of an episode. A topic has no row of its own: it is the episodes that name it (see Topics), so that
	// nothing of a forgotten memory can stay in it. Topic is the id of the episode that founded it.
	// A summary of an episode has its topic too.
	Closed bool  `json:"closed,omitempty"` // nothing more is expected
	Topic  RowID `json:"topic,omitzero"`
}

// Keyword is a word with its weight in (0, 1], the heaviest being 1.
type Keyword struct {
	Word   string  `json:"word"`
	Weight float64 `json:"weight"`
}

// rowID digests what makes a row itself.
func rowID(kind Kind, parts ...string) RowID {
	h := sha256.New()
	var n [8]byte
	for _, p := range append([]string{string(kind)}, parts...) {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	var id RowID
	copy(id[:], h.Sum(nil))
	return id
}
