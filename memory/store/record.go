package store

import (
	"time"

	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// Stamp is an instant with the offset in which it was given. Seconds are counted from 1970 in int64, so
// history before 1678 and after 2262 has its place. The zero Stamp is the epoch; absence is a nil pointer
// or a flag of its own.
type Stamp struct {
	Sec    int64
	Nanos  int32
	Offset int32 // seconds east of UTC
}

// StampOf keeps t with the offset of its location at that instant.
func StampOf(t time.Time) Stamp {
	_, off := t.Zone()
	return Stamp{t.Unix(), int32(t.Nanosecond()), int32(off)}
}

// Time is the instant in its own fixed offset; offset 0 is UTC.
func (s Stamp) Time() time.Time {
	t := time.Unix(s.Sec, int64(s.Nanos)).UTC()
	if s.Offset == 0 {
		return t
	}
	return t.In(time.FixedZone("", int(s.Offset)))
}

// Before reports whether s is an earlier instant than t.
func (s Stamp) Before(t Stamp) bool { return s.Sec < t.Sec || s.Sec == t.Sec && s.Nanos < t.Nanos }

func (s Stamp) String() string { return s.Time().Format(time.RFC3339Nano) }

// Record is a memory as it was given: never rewritten. A long text that was split has Segments and its
// Content is the segments' one after the other; each segment has PartOf.
type Record struct {
	ID         graph.ID
	Content    string
	Speaker    string
	Session    string
	Kind       string
	Source     string
	Writer     string
	Tags       []string
	Entities   []string
	At         Stamp  // occurred_at
	Until      *Stamp // occurred_until, where a date or words were given
	Grain      string // occurred_grain likewise
	Given      string // occurred_at as given; "" means now
	Zone       string // IANA name of the zone it was told in, "" where At's offset was given or says all
	Recorded   Stamp
	BecauseOf  []graph.ID
	Supersedes []graph.ID
	ValidFrom  *Stamp
	ValidUntil *Stamp
	Pinned     bool
	PartOf     graph.ID
	Segments   []graph.ID
	RefLen     uint8 // characters of the ref; 0 means 6
}

// Ref is the short form of the id that is printed.
func (r *Record) Ref() string {
	n := int(r.RefLen)
	if n == 0 {
		n = 6
	}
	s := r.ID.String()
	return s[len(s)-n:]
}

// State is what may change about a record without touching it.
type State struct {
	Seen         uint64 // sightings beyond the first
	Sightings    []Stamp
	SupersededBy graph.ID
	Tags         []string
	Entities     []string
	BecauseOf    []graph.ID
	Supersedes   []graph.ID
}

// AnalysisVersion is raised when a record must be analysed again: words, times, names or causes are read
// in another way. `rebuild` and opening redo what is older.
const AnalysisVersion = 1

// Analysis is what a record's words were found to say.
type Analysis struct {
	Version  uint32
	Length   uint32 // words without stop words
	Terms    []Term
	Times    []Time
	Mentions []Mention
	Causes   []Cause
	Question bool // asks something
	Roles    []Role
	Aliases  [][2]string // keys of two names that the text says are one
}

// Term is a word of the text by the digest of its stem, with how often it stands there.
type Term struct {
	Hash  uint64
	Count uint32
}

// Time is a time mention: the span of its words and the half-open interval they mean.
type Time struct {
	From, To           uint32
	Start, End         Stamp
	OpenStart, OpenEnd bool
	Grain              uint8
	Absolute           bool
	Approx             bool
	Duration           bool
	Tense              int8
}

// Mention is a name in the text: its span and the key under which names are compared.
type Mention struct {
	From, To uint32
	Key      string
	Type     string
}

// Cause is a causal link that the text states. Backward links point to the memory that this one answers:
// Cause or Effect is then empty and the other end lies in the turn before.
type Cause struct {
	CauseFrom, CauseTo   uint32
	EffectFrom, EffectTo uint32
	From, To             uint32 // the words that are the evidence
	Confidence           float64
	Previous             int8 // -1: the cause is in the turn before, +1: the effect is; 0: both here
}

// Role is a kinship or role mention: "her brother Tom".
type Role struct {
	From, To uint32
	Owner    string
	Role     string
	Name     string
}

// Tombstone says that an id was forgotten, when, and whether its bytes were purged.
type Tombstone struct {
	At     Stamp
	Purged bool
	Reason string
	RefLen uint8
}

// Preview is what a confirm code stands for.
type Preview struct {
	Project Project
	Expires int64 // Unix seconds
	IDs     []graph.ID
	Choice  []byte // the request as JSON, to see whether it would choose the same now
}

// Job is a queue entry's value.
type Job struct {
	Tries     uint32
	NotBefore int64 // Unix seconds
	Reason    string
}
