package memory

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// ExportFormat is the number of the export's schema, in its first line. A file with a higher one is refused;
// fields that are not known are skipped, so fields may be added under the same number.
//
// History: 1 is the first.
const ExportFormat = 1

// An export is UTF-8 text, one JSON object a line, each with a "type". The first line is the header. The
// rest comes project by project in the order of their names, and in a project in this order:
//
//	memory       in id order, a whole followed by its segments. Fields as in the memory object of the
//	             contract (absent is empty), and besides: ref_length (where the ref has more than six
//	             characters), given (occurred_at in the caller's words), state (what came after the
//	             writing: sightings, superseded_by, added tags, entities, because_of, supersedes)
//	tombstone    an id that was forgotten, in id order: at, purged, reason, ref_length
//	key          an idempotency key by its digest: key, request (digest of what it was used for), memory
//	derived      what a background pass found, or a person joined or parted: pass, key, and value (JSON, see
//	             consolidate.Derived: it says what made it and on which memories it rests) or bytes (base64)
//	vector       (only where asked for) space, id, chunk, text_hash, vector (base64 of little-endian float32)
//
// Instants are RFC 3339 with the offset in which they were given; one that RFC 3339 cannot say (a year over
// 9999, an offset with seconds) is "@seconds since 1970,nanoseconds,seconds east of UTC". Analyses, word
// indexes and refs are not in the file: they follow from it. No line names the day of the export, so that
// the same memories give the same bytes.
type (
	exportHeader struct {
		Type     string       `json:"type"` // "magma-mcp export"
		Format   int          `json:"format"`
		Projects []string     `json:"projects"`
		Counts   ExportCounts `json:"counts"`
	}
	memoryLine struct {
		Type          string     `json:"type"`
		Project       string     `json:"project"`
		ID            string     `json:"id"`
		RefLength     uint8      `json:"ref_length,omitempty"`
		Content       string     `json:"content,omitempty"`
		Speaker       string     `json:"speaker,omitempty"`
		Kind          string     `json:"kind,omitempty"`
		Session       string     `json:"session,omitempty"`
		Source        string     `json:"source,omitempty"`
		WrittenBy     string     `json:"written_by,omitempty"`
		Tags          []string   `json:"tags,omitempty"`
		Entities      []string   `json:"entities,omitempty"`
		Pinned        bool       `json:"pinned,omitempty"`
		OccurredAt    string     `json:"occurred_at"`
		OccurredUntil string     `json:"occurred_until,omitempty"`
		OccurredGrain string     `json:"occurred_grain,omitempty"`
		Given         string     `json:"given,omitempty"`
		Zone          string     `json:"zone,omitempty"`
		RecordedAt    string     `json:"recorded_at"`
		ValidFrom     string     `json:"valid_from,omitempty"`
		ValidUntil    string     `json:"valid_until,omitempty"`
		BecauseOf     []string   `json:"because_of,omitempty"`
		Supersedes    []string   `json:"supersedes,omitempty"`
		PartOf        string     `json:"part_of,omitempty"`
		Segments      []string   `json:"segments,omitempty"`
		State         *stateLine `json:"state,omitempty"`
	}
	stateLine struct {
		Seen         uint64   `json:"seen,omitempty"`
		Sightings    []string `json:"sightings,omitempty"`
		SupersededBy string   `json:"superseded_by,omitempty"`
		Tags         []string `json:"tags,omitempty"`
		Entities     []string `json:"entities,omitempty"`
		BecauseOf    []string `json:"because_of,omitempty"`
		Supersedes   []string `json:"supersedes,omitempty"`
	}
	tombstoneLine struct {
		Type      string `json:"type"`
		Project   string `json:"project"`
		ID        string `json:"id"`
		At        string `json:"at"`
		Purged    bool   `json:"purged,omitempty"`
		Reason    string `json:"reason,omitempty"`
		RefLength uint8  `json:"ref_length,omitempty"`
	}
	keyLine struct {
		Type    string `json:"type"`
		Project string `json:"project"`
		Key     string `json:"key"`
		Request string `json:"request"`
		Memory  string `json:"memory"`
	}
	derivedLine struct {
		Type    string          `json:"type"`
		Project string          `json:"project"`
		Pass    byte            `json:"pass"`
		Key     string          `json:"key"`
		Value   json.RawMessage `json:"value,omitempty"`
		Bytes   string          `json:"bytes,omitempty"`
	}
	vectorLine struct {
		Type     string `json:"type"`
		Project  string `json:"project"`
		Space    string `json:"space"`
		ID       string `json:"id"`
		Chunk    uint16 `json:"chunk"`
		TextHash string `json:"text_hash"`
		Vector   string `json:"vector"`
	}
)

// The types of lines.
const (
	lineHeader    = "magma-mcp export"
	lineMemory    = "memory"
	lineTombstone = "tombstone"
	lineKey       = "key"
	lineDerived   = "derived"
	lineVector    = "vector"
)

// ExportCounts is how many lines of each type an export has.
type ExportCounts struct {
	Memories   int `json:"memories"` // segments among them
	Tombstones int `json:"tombstones"`
	Keys       int `json:"keys"`
	Derived    int `json:"derived"`
	Vectors    int `json:"vectors"`
}

func (c ExportCounts) total() int {
	return c.Memories + c.Tombstones + c.Keys + c.Derived + c.Vectors
}

// stampText writes an instant so that stampOf reads the very same.
func stampText(s store.Stamp) string {
	if s.Offset%60 == 0 {
		t := s.Time()
		if y := t.Year(); y >= 0 && y <= 9999 {
			return t.Format(time.RFC3339Nano)
		}
	}
	return fmt.Sprintf("@%d,%d,%d", s.Sec, s.Nanos, s.Offset)
}

func stampTextOf(s *store.Stamp) string {
	if s == nil {
		return ""
	}
	return stampText(*s)
}

func readStampText(s string) (store.Stamp, error) {
	bad := fmt.Errorf("%q is no instant in RFC 3339", firstWords(s, 40))
	if !strings.HasPrefix(s, "@") {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return store.Stamp{}, bad
		}
		st := store.StampOf(t)
		if st.Offset < -86400 || st.Offset > 86400 {
			return store.Stamp{}, bad
		}
		return st, nil
	}
	f := strings.Split(s[1:], ",")
	if len(f) != 3 {
		return store.Stamp{}, bad
	}
	var n [3]int64
	for i := range f {
		var err error
		if n[i], err = strconv.ParseInt(f[i], 10, 64); err != nil {
			return store.Stamp{}, bad
		}
	}
	if n[1] < 0 || n[1] >= 1e9 || n[2] < -86400 || n[2] > 86400 {
		return store.Stamp{}, bad
	}
	return store.Stamp{Sec: n[0], Nanos: int32(n[1]), Offset: int32(n[2])}, nil
}

func readStampTextOf(s string) (*store.Stamp, error) {
	if s == "" {
		return nil, nil
	}
	st, err := readStampText(s)
	return &st, err
}

func idText(id graph.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

func idTexts(l []graph.ID) []string {
	var out []string
	for _, id := range l {
		out = append(out, id.String())
	}
	return out
}

func readIDText(field, s string) (graph.ID, error) {
	if s == "" {
		return graph.Zero, nil
	}
	id, err := graph.ParseID(s)
	if err != nil || id.String() != s || id.IsZero() {
		return graph.Zero, fmt.Errorf("%s: not an id", field)
	}
	return id, nil
}

func readIDTexts(field string, l []string, limit int) ([]graph.ID, error) {
	if len(l) > limit {
		return nil, fmt.Errorf("%s: %d entries; at most %d", field, len(l), limit)
	}
	var out []graph.ID
	for _, s := range l {
		id, err := readIDText(field, s)
		if err != nil {
			return nil, err
		}
		if id.IsZero() {
			return nil, fmt.Errorf("%s: not an id", field)
		}
		out = append(out, id)
	}
	return out, nil
}

func digestText(d []byte) string { return hex.EncodeToString(d) }

func readDigestText(field, s string) (d store.Digest, err error) {
	raw, err := hex.DecodeString(s)
	if err != nil || len(raw) != len(d) {
		return d, fmt.Errorf("%s: not a digest of %d bytes in hexadecimal", field, len(d))
	}
	copy(d[:], raw)
	return d, nil
}

// lineOf writes a record and its state as a line.
func lineOf(project string, r *store.Record, st *store.State) memoryLine {
	l := memoryLine{Type: lineMemory, Project: project, ID: r.ID.String(), RefLength: r.RefLen, Content: r.Content, Speaker: r.Speaker, Kind: r.Kind,
		Session: r.Session, Source: r.Source, WrittenBy: r.Writer, Tags: r.Tags, Entities: r.Entities, Pinned: r.Pinned,
		OccurredAt: stampText(r.At), OccurredUntil: stampTextOf(r.Until), OccurredGrain: r.Grain, Given: r.Given, Zone: r.Zone, RecordedAt: stampText(r.Recorded),
		ValidFrom: stampTextOf(r.ValidFrom), ValidUntil: stampTextOf(r.ValidUntil), BecauseOf: idTexts(r.BecauseOf), Supersedes: idTexts(r.Supersedes),
		PartOf: idText(r.PartOf), Segments: idTexts(r.Segments)}
	if len(st.Encode()) > 0 {
		s := &stateLine{Seen: st.Seen, SupersededBy: idText(st.SupersededBy), Tags: st.Tags, Entities: st.Entities,
			BecauseOf: idTexts(st.BecauseOf), Supersedes: idTexts(st.Supersedes)}
		for _, t := range st.Sightings {
			s.Sightings = append(s.Sightings, stampText(t))
		}
		l.State = s
	}
	return l
}

// Limits of what an import takes: those of remember for a memory's own fields; lists that grow with time
// get more. A memory of the largest content, 8 MiB, split at every sentence stays under maxSegments.
const (
	maxGrown    = 1 << 16
	maxSegments = 1 << 17
)

// record reads the line back, checking every field as remember would.
func (l *memoryLine) record(maxContent int) (*store.Record, *store.State, error) {
	r := &store.Record{RefLen: l.RefLength, Content: l.Content, Speaker: l.Speaker, Kind: l.Kind, Session: l.Session, Source: l.Source,
		Writer: l.WrittenBy, Tags: l.Tags, Entities: l.Entities, Pinned: l.Pinned, Grain: l.OccurredGrain, Given: l.Given, Zone: l.Zone}
	if r.RefLen != 0 && (r.RefLen < 7 || r.RefLen > 26) {
		return nil, nil, fmt.Errorf("ref_length: %d; 7 to 26 are allowed", r.RefLen)
	}
	if len(l.Content) > maxContent {
		return nil, nil, fmt.Errorf("content: %d bytes, over the limit of %d; raise store.max_content_kb", len(l.Content), maxContent)
	}
	if strings.TrimSpace(l.Content) == "" && len(l.Segments) == 0 && l.PartOf == "" {
		return nil, nil, fmt.Errorf("content: it is empty")
	}
	if l.Content != "" && len(l.Segments) > 0 || l.PartOf != "" && len(l.Segments) > 0 {
		return nil, nil, fmt.Errorf("segments: a memory of segments has no content of its own and is no segment")
	}
	st := &store.State{}
	if l.State != nil {
		st.Seen, st.Tags, st.Entities = l.State.Seen, l.State.Tags, l.State.Entities
	}
	for _, f := range []struct {
		name, value string
	}{{"speaker", r.Speaker}, {"kind", r.Kind}, {"session", r.Session}, {"source", r.Source}, {"written_by", r.Writer}, {"given", r.Given}, {"zone", r.Zone}, {"occurred_grain", r.Grain}} {
		if len(f.value) > maxField {
			return nil, nil, fmt.Errorf("%s: %d bytes, over the limit of %d", f.name, len(f.value), maxField)
		}
	}
	for _, f := range []struct {
		name  string
		list  []string
		limit int
	}{{"tags", r.Tags, maxList}, {"entities", r.Entities, maxList}, {"state.tags", st.Tags, maxGrown}, {"state.entities", st.Entities, maxGrown}} {
		if len(f.list) > f.limit {
			return nil, nil, fmt.Errorf("%s: %d entries; at most %d", f.name, len(f.list), f.limit)
		}
		for _, s := range f.list {
			if len(s) > maxField {
				return nil, nil, fmt.Errorf("%s: an entry of %d bytes, over the limit of %d", f.name, len(s), maxField)
			}
		}
	}
	var err error
	read := func(f func() error) {
		if err == nil {
			err = f()
		}
	}
	read(func() (err error) { r.ID, err = readIDText("id", l.ID); return })
	read(func() (err error) { r.PartOf, err = readIDText("part_of", l.PartOf); return })
	read(func() (err error) { r.BecauseOf, err = readIDTexts("because_of", l.BecauseOf, maxGrown); return })
	read(func() (err error) { r.Supersedes, err = readIDTexts("supersedes", l.Supersedes, maxGrown); return })
	read(func() (err error) { r.Segments, err = readIDTexts("segments", l.Segments, maxSegments); return })
	for _, f := range []struct {
		name string
		text string
		to   *store.Stamp
	}{{"occurred_at", l.OccurredAt, &r.At}, {"recorded_at", l.RecordedAt, &r.Recorded}} {
		read(func() (err error) {
			if *f.to, err = readStampText(f.text); err != nil {
				err = fmt.Errorf("%s: %w", f.name, err)
			}
			return err
		})
	}
	for _, f := range []struct {
		name string
		text string
		to   **store.Stamp
	}{{"occurred_until", l.OccurredUntil, &r.Until}, {"valid_from", l.ValidFrom, &r.ValidFrom}, {"valid_until", l.ValidUntil, &r.ValidUntil}} {
		read(func() (err error) {
			if *f.to, err = readStampTextOf(f.text); err != nil {
				err = fmt.Errorf("%s: %w", f.name, err)
			}
			return err
		})
	}
	if s := l.State; s != nil {
		read(func() (err error) { st.SupersededBy, err = readIDText("state.superseded_by", s.SupersededBy); return })
		read(func() (err error) {
			st.BecauseOf, err = readIDTexts("state.because_of", s.BecauseOf, maxGrown)
			return
		})
		read(func() (err error) {
			st.Supersedes, err = readIDTexts("state.supersedes", s.Supersedes, maxGrown)
			return
		})
		if len(s.Sightings) > maxGrown {
			return nil, nil, fmt.Errorf("state.sightings: %d entries; at most %d", len(s.Sightings), maxGrown)
		}
		for _, t := range s.Sightings {
			read(func() error {
				x, err := readStampText(t)
				st.Sightings = append(st.Sightings, x)
				return err
			})
		}
	}
	if err == nil && r.ID.IsZero() {
		err = fmt.Errorf("id: it is missing")
	}
	return r, st, err
}

// derivedOf writes a derived row: as JSON where it is JSON that a round trip keeps to the byte.
func derivedOf(project string, pass store.Pass, d store.Digest, value []byte) derivedLine {
	l := derivedLine{Type: lineDerived, Project: project, Pass: byte(pass), Key: digestText(d[:])}
	var b bytes.Buffer
	if len(value) > 0 && value[0] == '{' && json.Compact(&b, value) == nil && bytes.Equal(b.Bytes(), value) && !loneSurrogate(value) {
		l.Value = value
	} else {
		l.Bytes = base64.StdEncoding.EncodeToString(value)
	}
	return l
}

func (l *derivedLine) row() (store.Pass, store.Digest, []byte, error) {
	d, err := readDigestText("key", l.Key)
	if err != nil {
		return 0, d, nil, err
	}
	if l.Pass == 0 {
		return 0, d, nil, fmt.Errorf("pass: it is missing")
	}
	if len(l.Value) > 0 {
		return store.Pass(l.Pass), d, l.Value, nil
	}
	v, err := base64.StdEncoding.DecodeString(l.Bytes)
	if err != nil {
		return 0, d, nil, fmt.Errorf("bytes: not base64")
	}
	return store.Pass(l.Pass), d, v, nil
}

// derivedBasis is the memories on which a derived row rests. A row that is not what a pass writes, or does not
// belong under its key, is an error; what a person did rests on nothing.
func derivedBasis(pass store.Pass, d store.Digest, value []byte) ([]graph.ID, error) {
	if pass == store.PassUser {
		return nil, nil
	}
	if pass != store.PassRules && pass != store.PassModel && pass != store.PassEpisode {
		return nil, fmt.Errorf("pass: %d is none that leaves rows", pass)
	}
	r, err := readDerived(value)
	switch {
	case err != nil:
		return nil, errors.New("value: not a derived row")
	case store.Digest(r.ID) != d || store.Pass(r.Pass) != pass:
		return nil, errors.New("key or pass: another than the row's own")
	case len(r.Basis) == 0 || slices.Contains(r.Basis, graph.Zero):
		return nil, errors.New("basis: a derived row rests on a memory")
	case !(r.Confidence >= 0 && r.Confidence <= 1):
		return nil, errors.New("confidence: outside 0 to 1")
	case r.Kind == consolidate.CauseRow || r.Kind == consolidate.ContradictionRow:
		if !slices.Contains(r.Basis, r.From) || !slices.Contains(r.Basis, r.To) {
			return nil, errors.New("from or to: not in the basis")
		}
	}
	for _, q := range r.Evidence {
		if q.From < 0 || q.To < q.From || q.To-q.From != len(q.Text) || !slices.Contains(r.Basis, q.Memory) {
			return nil, errors.New("evidence: not a quote of what the row rests on")
		}
	}
	return r.Basis, nil
}

// loneSurrogate reports whether JSON text holds half of a surrogate pair as an escape, which decoding
// would turn into a replacement character without a word.
func loneSurrogate(raw []byte) bool {
	half := func(i int) (uint64, bool) {
		if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
			return 0, false
		}
		v, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
		return v, err == nil
	}
	for i := 0; i < len(raw); i++ {
		j := bytes.IndexByte(raw[i:], '\\')
		if j < 0 {
			return false
		}
		i += j
		v, ok := half(i)
		switch {
		case !ok:
			i++ // what is escaped
		case v >= 0xD800 && v < 0xDC00:
			if w, ok := half(i + 6); !ok || w < 0xDC00 || w > 0xDFFF {
				return true
			}
			i += 11
		case v >= 0xDC00 && v <= 0xDFFF:
			return true
		default:
			i += 5
		}
	}
	return false
}
