package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// Format is the number of the layout below. A store that carries a higher number was written by a newer
// program and is refused untouched; a lower one is migrated on opening.
//
// History: 1 is the first layout.
const Format = 1

// Every byte on disk.
//
// A key is one space byte, then fixed-width big-endian fields. No key holds a word of a user: a deleted
// key survives in tombstones and in the MANIFEST for a while, and is not compressed away. P is a
// project's number (4 bytes), so that a project is one range of each space; id is a ULID (16 bytes).
//
//	space  key                       value                          truth or derived; scanned for
//	'f'    name                      setting                        truth: format, created, settings
//	'p'    P                         project name                   truth: the project table, read on opening
//	'r'    P id                      Record                         truth: get; recent (id order is the order of writing)
//	's'    P id                      State                          truth: sightings, superseded by, added tags and edges
//	'a'    P id                      Analysis                       derived: words, times, names, causes of one record; load a project
//	'h'    P sha256[:16]             id                             derived: exact duplicates
//	'i'    P sha256[:16]             id, sha256[:16] of the request truth: idempotency keys
//	't'    P low30(id) id            -                              derived: refs (endings of ids); kept for the forgotten
//	'x'    P id                      Tombstone                      truth: ids that were forgotten
//	'c'    sha256[:16] of the code   Preview                        truth: confirm codes of forget; what a request (w) is to forget, while it does
//	'm'    M                         vector space (embed.Space, JSON)  truth: the table of embedders, M is 4 bytes
//	'v'    P M id chunk(2)           text hash (8), 16-bit vector    derived, dear: vectors
//	'q'    pass(1) P id              tries, not before, reason      truth: work owed; 'k' for work parked
//	'k'    pass(1) P id              tries, reason                  truth
//	'd'    P pass(1) sha256[:16]     Derived                        by pass and version: what a consolidation pass found
//	'b'    P id pass(1) sha256[:16]  -                              derived: the derived rows that rest on a record
//	'w'    sha256[:16]               answer                         truth: request ids of attached processes, so that a retry happens once
//
// What is in 'a' is loaded into memory per project (package index): postings, time rows and entity mentions
// live there, not on disk, so a record's derived rows are few and forgetting needs no analysis.
const (
	spaceSetting   = 'f'
	spaceProject   = 'p'
	spaceRecord    = 'r'
	spaceState     = 's'
	spaceAnalysis  = 'a'
	spaceHash      = 'h'
	spaceIdem      = 'i'
	spaceTail      = 't'
	spaceTombstone = 'x'
	spaceConfirm   = 'c'
	spaceModel     = 'm'
	spaceVector    = 'v'
	spaceQueue     = 'q'
	spaceParked    = 'k'
	spaceDerived   = 'd'
	spaceBasis     = 'b'
	spaceRequest   = 'w'
)

// Project is the number of a project in one store; 0 is none.
type Project uint32

// Digest is the first half of a SHA-256, used where a key must not hold what it stands for.
type Digest [16]byte

// Sum digests parts, each preceded by its length, so that no two lists of parts meet.
func Sum(parts ...string) Digest {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write([]byte(p))
	}
	var d Digest
	copy(d[:], h.Sum(nil))
	return d
}

func key(space byte, p Project, rest ...[]byte) []byte {
	k := make([]byte, 0, 64)
	k = append(k, space)
	k = binary.BigEndian.AppendUint32(k, uint32(p))
	for _, r := range rest {
		k = append(k, r...)
	}
	return k
}

func SettingKey(name string) []byte { return append([]byte{spaceSetting}, name...) }

func ProjectKey(p Project) []byte               { return key(spaceProject, p) }
func RecordKey(p Project, id graph.ID) []byte   { return key(spaceRecord, p, id[:]) }
func StateKey(p Project, id graph.ID) []byte    { return key(spaceState, p, id[:]) }
func AnalysisKey(p Project, id graph.ID) []byte { return key(spaceAnalysis, p, id[:]) }
func HashKey(p Project, d Digest) []byte        { return key(spaceHash, p, d[:]) }
func IdemKey(p Project, d Digest) []byte        { return key(spaceIdem, p, d[:]) }
func TombstoneKey(p Project, id graph.ID) []byte {
	return key(spaceTombstone, p, id[:])
}
func ConfirmKey(d Digest) []byte { return append([]byte{spaceConfirm}, d[:]...) }
func RequestKey(d Digest) []byte { return append([]byte{spaceRequest}, d[:]...) }

// TailKey is the row that finds an id by its ending of six or more characters.
func TailKey(p Project, id graph.ID) []byte {
	var t [4]byte
	binary.BigEndian.PutUint32(t[:], low30(id))
	return key(spaceTail, p, t[:], id[:])
}

func low30(id graph.ID) uint32 { return binary.BigEndian.Uint32(id[12:]) & (1<<30 - 1) }

// crockford is the alphabet of ULIDs.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// TailRange bounds the TailKeys of ids that end in ref (six or more characters of a ULID, upper case);
// ok is false where ref is no such ending.
func TailRange(p Project, ref string) (lo, hi []byte, ok bool) {
	if len(ref) < 6 || len(ref) > 26 {
		return nil, nil, false
	}
	var v uint32
	for _, c := range []byte(ref[len(ref)-6:]) {
		i := strings.IndexByte(crockford, c)
		if i < 0 {
			return nil, nil, false
		}
		v = v<<5 | uint32(i)
	}
	var t [4]byte
	binary.BigEndian.PutUint32(t[:], v)
	lo = key(spaceTail, p, t[:])
	return lo, Prefix(lo), true
}

// Prefix returns the end of the range of keys that begin with k.
func Prefix(k []byte) []byte {
	hi := bytes.Clone(k)
	for i := len(hi) - 1; i >= 0; i-- {
		if hi[i]++; hi[i] != 0 {
			return hi[:i+1]
		}
	}
	return nil
}

// Range bounds one project's rows in a space that is keyed by project.
func projectRange(space byte, p Project) (lo, hi []byte) {
	lo = key(space, p)
	return lo, Prefix(lo)
}

// RecordRange bounds a project's records; the id is the last 16 bytes of a key.
func RecordRange(p Project) (lo, hi []byte)    { return projectRange(spaceRecord, p) }
func AllRecords() (lo, hi []byte)              { return []byte{spaceRecord}, []byte{spaceRecord + 1} }
func StateRange(p Project) (lo, hi []byte)     { return projectRange(spaceState, p) }
func AnalysisRange(p Project) (lo, hi []byte)  { return projectRange(spaceAnalysis, p) }
func TombstoneRange(p Project) (lo, hi []byte) { return projectRange(spaceTombstone, p) }
func DerivedRange(p Project) (lo, hi []byte)   { return projectRange(spaceDerived, p) }
func HashRange(p Project) (lo, hi []byte)      { return projectRange(spaceHash, p) }
func IdemRange(p Project) (lo, hi []byte)      { return projectRange(spaceIdem, p) }
func TailsRange(p Project) (lo, hi []byte)     { return projectRange(spaceTail, p) }
func BasisRange(p Project) (lo, hi []byte)     { return projectRange(spaceBasis, p) }
func ConfirmRange() (lo, hi []byte)            { return []byte{spaceConfirm}, []byte{spaceConfirm + 1} }
func RequestRange() (lo, hi []byte)            { return []byte{spaceRequest}, []byte{spaceRequest + 1} }
func ProjectsRange() (lo, hi []byte)           { return []byte{spaceProject}, []byte{spaceProject + 1} }
func ModelsRange() (lo, hi []byte)             { return []byte{spaceModel}, []byte{spaceModel + 1} }

// DerivedSpaces are the ranges of one project that `rebuild` deletes and makes again from the records.
// Derived rows of model passes and vectors are dear and stay.
func DerivedSpaces(p Project) [][2][]byte {
	var out [][2][]byte
	for _, s := range []byte{spaceAnalysis, spaceHash, spaceTail} {
		lo, hi := projectRange(s, p)
		out = append(out, [2][]byte{lo, hi})
	}
	return out
}

// IDOf is the id at the end of a record, state, analysis, tombstone or tail key.
func IDOf(k []byte) graph.ID {
	var id graph.ID
	copy(id[:], k[len(k)-16:])
	return id
}

// ModelKey is the row of vector space m.
func ModelKey(m uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{spaceModel}, m)
}

// ModelOf is the number in a ModelKey, ProjectOf the project in a ProjectKey.
func ModelOf(k []byte) uint32    { return binary.BigEndian.Uint32(k[1:]) }
func ProjectOf(k []byte) Project { return Project(binary.BigEndian.Uint32(k[1:])) }

// VectorKey is the row of one chunk's vector.
func VectorKey(p Project, m uint32, id graph.ID, chunk uint16) []byte {
	k := key(spaceVector, p)
	k = binary.BigEndian.AppendUint32(k, m)
	k = append(k, id[:]...)
	return binary.BigEndian.AppendUint16(k, chunk)
}

// VectorRange bounds a project's vectors of one space; VectorsOf those of one memory.
func VectorRange(p Project, m uint32) (lo, hi []byte) {
	lo = binary.BigEndian.AppendUint32(key(spaceVector, p), m)
	return lo, Prefix(lo)
}

func VectorsOf(p Project, m uint32, id graph.ID) (lo, hi []byte) {
	lo, _ = VectorRange(p, m)
	lo = append(lo, id[:]...)
	return lo, Prefix(lo)
}

// VectorID is the id and the chunk in a VectorKey.
func VectorID(k []byte) (graph.ID, uint16) {
	var id graph.ID
	copy(id[:], k[9:25])
	return id, binary.BigEndian.Uint16(k[25:])
}

// QueueKey is work owed to a pass; ParkedKey is work given up. Passes are numbered on disk by Pass.
func QueueKey(pass Pass, p Project, id graph.ID) []byte {
	return passKey(spaceQueue, pass, p, id)
}

func ParkedKey(pass Pass, p Project, id graph.ID) []byte {
	return passKey(spaceParked, pass, p, id)
}

func passKey(space byte, pass Pass, p Project, id graph.ID) []byte {
	k := binary.BigEndian.AppendUint32([]byte{space, byte(pass)}, uint32(p))
	return append(k, id[:]...)
}

// QueueRange bounds the work owed to one pass (all projects), ParkedRange what it gave up.
func QueueRange(pass Pass) (lo, hi []byte) {
	return []byte{spaceQueue, byte(pass)}, []byte{spaceQueue, byte(pass) + 1}
}

func ParkedRange(pass Pass) (lo, hi []byte) {
	return []byte{spaceParked, byte(pass)}, []byte{spaceParked, byte(pass) + 1}
}

// QueueOf reads a QueueKey or a ParkedKey.
func QueueOf(k []byte) (Pass, Project, graph.ID) {
	return Pass(k[1]), Project(binary.BigEndian.Uint32(k[2:])), IDOf(k)
}

// Pass numbers the background passes on disk: append, never renumber.
type Pass byte

const (
	PassEmbed   Pass = 1 // vectors
	PassRules   Pass = 2 // episodes, summaries and topics by rule
	PassModel   Pass = 3 // entities, relations, facts, causes by a model, per event
	PassEpisode Pass = 4 // summaries and topics by a model, per episode
	PassUser    Pass = 5 // what a person joined or parted by hand
)

// DerivedKey is a row that a pass made; BasisKey says that it rests on a record.
func DerivedKey(p Project, pass Pass, d Digest) []byte {
	return key(spaceDerived, p, []byte{byte(pass)}, d[:])
}

func BasisKey(p Project, id graph.ID, pass Pass, d Digest) []byte {
	return key(spaceBasis, p, id[:], []byte{byte(pass)}, d[:])
}

// BasisOf bounds the derived rows that rest on id.
func BasisOf(p Project, id graph.ID) (lo, hi []byte) {
	lo = key(spaceBasis, p, id[:])
	return lo, Prefix(lo)
}

// BasisTarget is the DerivedKey that a BasisKey points to; DerivedID its pass and digest.
func BasisTarget(k []byte) []byte {
	p := Project(binary.BigEndian.Uint32(k[1:]))
	var d Digest
	copy(d[:], k[22:])
	return DerivedKey(p, Pass(k[21]), d)
}

func DerivedID(k []byte) (Pass, Digest) {
	var d Digest
	copy(d[:], k[6:])
	return Pass(k[5]), d
}

// PassRange bounds what one pass derived in a project.
func PassRange(p Project, pass Pass) (lo, hi []byte) {
	lo = key(spaceDerived, p, []byte{byte(pass)})
	return lo, Prefix(lo)
}

// spaceNames says what lies in each space, for people.
var spaceNames = map[byte]string{spaceSetting: "settings", spaceProject: "project names", spaceRecord: "memories", spaceState: "states of memories",
	spaceAnalysis: "analyses", spaceHash: "duplicate rows", spaceIdem: "idempotency keys", spaceTail: "refs", spaceTombstone: "tombstones",
	spaceConfirm: "confirm codes", spaceModel: "vector spaces", spaceVector: "vectors", spaceQueue: "work owed", spaceParked: "parked work",
	spaceDerived: "derived rows", spaceBasis: "bases of derived rows", spaceRequest: "request ids"}

// SpacesIn names what a span of keys lies among: "memories", "refs to vectors".
func SpacesIn(s Span) string {
	first, last := "", ""
	for c := 0; c < 256; c++ {
		name := spaceNames[byte(c)]
		if name == "" || len(s.Lo) > 0 && byte(c) < s.Lo[0] || len(s.Hi) > 0 && (byte(c) > s.Hi[0] || byte(c) == s.Hi[0] && len(s.Hi) == 1) {
			continue
		}
		if first == "" {
			first = name
		}
		last = name
	}
	if first == last {
		return first
	}
	return first + " to " + last
}
