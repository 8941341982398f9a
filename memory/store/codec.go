package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// Values are Protocol Buffers messages, written field by field: a field that a program does not know is
// skipped, a field that is absent is zero, so fields may be added without a migration. Numbers below are
// kept on disk: append, never renumber.

type writer []byte

func (w *writer) num(n protowire.Number, v uint64) {
	if v != 0 {
		*w = protowire.AppendVarint(protowire.AppendTag(*w, n, protowire.VarintType), v)
	}
}
func (w *writer) int(n protowire.Number, v int64) { w.num(n, protowire.EncodeZigZag(v)) }
func (w *writer) flag(n protowire.Number, v bool) {
	if v {
		w.num(n, 1)
	}
}
func (w *writer) str(n protowire.Number, s string) {
	if s != "" {
		*w = protowire.AppendString(protowire.AppendTag(*w, n, protowire.BytesType), s)
	}
}
func (w *writer) strs(n protowire.Number, l []string) {
	for _, s := range l {
		*w = protowire.AppendString(protowire.AppendTag(*w, n, protowire.BytesType), s)
	}
}
func (w *writer) raw(n protowire.Number, b []byte) {
	*w = protowire.AppendBytes(protowire.AppendTag(*w, n, protowire.BytesType), b)
}
func (w *writer) id(n protowire.Number, id graph.ID) {
	if !id.IsZero() {
		w.raw(n, id[:])
	}
}
func (w *writer) ids(n protowire.Number, l []graph.ID) {
	for _, id := range l {
		w.raw(n, id[:])
	}
}
func (w *writer) stamp(n protowire.Number, s *Stamp) {
	if s != nil {
		w.raw(n, appendStamp(nil, *s))
	}
}

func appendStamp(b []byte, s Stamp) []byte {
	b = binary.AppendVarint(b, s.Sec)
	b = binary.AppendVarint(b, int64(s.Offset))
	if s.Nanos != 0 {
		b = binary.AppendVarint(b, int64(s.Nanos))
	}
	return b
}

func readStamp(b []byte) (Stamp, error) {
	var s Stamp
	sec, n := binary.Varint(b)
	if n <= 0 {
		return s, errBytes
	}
	off, m := binary.Varint(b[n:])
	if m <= 0 || off < -86400 || off > 86400 {
		return s, errBytes
	}
	s.Sec, s.Offset = sec, int32(off)
	if n+m < len(b) {
		ns, k := binary.Varint(b[n+m:])
		if k <= 0 || ns < 0 || ns >= 1e9 {
			return s, errBytes
		}
		s.Nanos = int32(ns)
	}
	return s, nil
}

var errBytes = errors.New("value does not decode")

// fields calls f for each field of a message; v is the number of a varint or a fixed64, b the bytes of a
// string. b is a part of the message.
func fields(msg []byte, f func(n protowire.Number, v uint64, b []byte) error) error {
	for len(msg) > 0 {
		n, t, k := protowire.ConsumeTag(msg)
		if k < 0 {
			return errBytes
		}
		msg = msg[k:]
		var v uint64
		var b []byte
		switch t {
		case protowire.VarintType:
			v, k = protowire.ConsumeVarint(msg)
		case protowire.Fixed64Type:
			v, k = protowire.ConsumeFixed64(msg)
		case protowire.BytesType:
			b, k = protowire.ConsumeBytes(msg)
		default:
			k = protowire.ConsumeFieldValue(n, t, msg)
		}
		if k < 0 {
			return errBytes
		}
		if err := f(n, v, b); err != nil {
			return err
		}
		msg = msg[k:]
	}
	return nil
}

func readID(b []byte) (id graph.ID, err error) {
	if len(b) != len(id) {
		return id, errBytes
	}
	copy(id[:], b)
	return id, nil
}

func readText(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", errBytes
	}
	return string(b), nil
}

// Encode writes r without its id, which is in the key.
func (r *Record) Encode() []byte {
	w := make(writer, 0, len(r.Content)+160)
	w.str(1, r.Content)
	w.str(2, r.Speaker)
	w.str(3, r.Session)
	w.str(4, r.Kind)
	w.str(5, r.Source)
	w.str(6, r.Writer)
	w.strs(7, r.Tags)
	w.strs(8, r.Entities)
	w.stamp(9, &r.At)
	w.stamp(10, r.Until)
	w.str(11, r.Grain)
	w.str(12, r.Given)
	w.stamp(13, &r.Recorded)
	w.ids(14, r.BecauseOf)
	w.ids(15, r.Supersedes)
	w.stamp(16, r.ValidFrom)
	w.stamp(17, r.ValidUntil)
	w.flag(18, r.Pinned)
	w.id(19, r.PartOf)
	w.ids(20, r.Segments)
	w.num(21, uint64(r.RefLen))
	w.str(22, r.Zone)
	return w
}

// DecodeRecord reads what Encode wrote.
func DecodeRecord(id graph.ID, msg []byte) (*Record, error) {
	r := &Record{ID: id}
	err := fields(msg, func(n protowire.Number, v uint64, b []byte) (err error) {
		switch n {
		case 1:
			r.Content, err = readText(b)
		case 2:
			r.Speaker, err = readText(b)
		case 3:
			r.Session, err = readText(b)
		case 4:
			r.Kind, err = readText(b)
		case 5:
			r.Source, err = readText(b)
		case 6:
			r.Writer, err = readText(b)
		case 7:
			err = addText(&r.Tags, b)
		case 8:
			err = addText(&r.Entities, b)
		case 9:
			r.At, err = readStamp(b)
		case 10:
			r.Until, err = stampPtr(b)
		case 11:
			r.Grain, err = readText(b)
		case 12:
			r.Given, err = readText(b)
		case 13:
			r.Recorded, err = readStamp(b)
		case 14:
			err = addID(&r.BecauseOf, b)
		case 15:
			err = addID(&r.Supersedes, b)
		case 16:
			r.ValidFrom, err = stampPtr(b)
		case 17:
			r.ValidUntil, err = stampPtr(b)
		case 18:
			r.Pinned = v != 0
		case 19:
			r.PartOf, err = readID(b)
		case 20:
			err = addID(&r.Segments, b)
		case 21:
			if v > 26 {
				return errBytes
			}
			r.RefLen = uint8(v)
		case 22:
			r.Zone, err = readText(b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: record %s: %w", ErrCorrupt, id, err)
	}
	return r, nil
}

// RecordTime reads of a record when it happened and whether it is part of another, which is far cheaper than the whole.
func RecordTime(msg []byte) (at Stamp, part bool, err error) {
	err = fields(msg, func(n protowire.Number, _ uint64, b []byte) (err error) {
		switch n {
		case 9:
			at, err = readStamp(b)
		case 19:
			part = true
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("%w: record: %w", ErrCorrupt, err)
	}
	return at, part, err
}

func stampPtr(b []byte) (*Stamp, error) {
	s, err := readStamp(b)
	return &s, err
}

func addText(l *[]string, b []byte) error {
	s, err := readText(b)
	*l = append(*l, s)
	return err
}

func addID(l *[]graph.ID, b []byte) error {
	id, err := readID(b)
	*l = append(*l, id)
	return err
}

// Encode writes s.
func (s *State) Encode() []byte {
	var w writer
	w.num(1, s.Seen)
	for _, t := range s.Sightings {
		w.stamp(2, &t)
	}
	w.id(3, s.SupersededBy)
	w.strs(4, s.Tags)
	w.strs(5, s.Entities)
	w.ids(6, s.BecauseOf)
	w.ids(7, s.Supersedes)
	return w
}

// DecodeState reads what Encode wrote.
func DecodeState(msg []byte) (*State, error) {
	s := &State{}
	err := fields(msg, func(n protowire.Number, v uint64, b []byte) (err error) {
		switch n {
		case 1:
			s.Seen = v
		case 2:
			var t Stamp
			t, err = readStamp(b)
			s.Sightings = append(s.Sightings, t)
		case 3:
			s.SupersededBy, err = readID(b)
		case 4:
			err = addText(&s.Tags, b)
		case 5:
			err = addText(&s.Entities, b)
		case 6:
			err = addID(&s.BecauseOf, b)
		case 7:
			err = addID(&s.Supersedes, b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: state: %w", ErrCorrupt, err)
	}
	return s, nil
}

// termBytes is what one term takes in a row: 6 bytes of its digest. Two of a million words meet with a
// chance of one in 500, and then share their postings.
const termBytes = 6

// Encode writes a.
func (a *Analysis) Encode() []byte {
	w := make(writer, 0, 32+len(a.Terms)*(termBytes+1)+len(a.Times)*24+len(a.Mentions)*24)
	w.num(1, uint64(a.Version))
	w.num(2, uint64(a.Length))
	if len(a.Terms) > 0 {
		b := make([]byte, 0, len(a.Terms)*(termBytes+1))
		for _, t := range a.Terms {
			var h [8]byte
			binary.BigEndian.PutUint64(h[:], t.Hash)
			b = append(b, h[8-termBytes:]...)
			b = binary.AppendUvarint(b, uint64(t.Count))
		}
		w.raw(3, b)
	}
	for _, t := range a.Times {
		var m writer
		m.num(1, uint64(t.From))
		m.num(2, uint64(t.To))
		m.stamp(3, &t.Start)
		m.stamp(4, &t.End)
		m.flag(5, t.OpenStart)
		m.flag(6, t.OpenEnd)
		m.num(7, uint64(t.Grain))
		m.flag(8, t.Absolute)
		m.flag(9, t.Approx)
		m.flag(10, t.Duration)
		m.int(11, int64(t.Tense))
		w.raw(4, m)
	}
	for _, x := range a.Mentions {
		var m writer
		m.num(1, uint64(x.From))
		m.num(2, uint64(x.To))
		m.str(3, x.Key)
		m.str(4, x.Type)
		w.raw(5, m)
	}
	for _, c := range a.Causes {
		var m writer
		m.num(1, uint64(c.CauseFrom))
		m.num(2, uint64(c.CauseTo))
		m.num(3, uint64(c.EffectFrom))
		m.num(4, uint64(c.EffectTo))
		m.num(5, uint64(c.From))
		m.num(6, uint64(c.To))
		m.num(7, uint64(math.Round(c.Confidence*1000)))
		m.int(8, int64(c.Previous))
		w.raw(6, m)
	}
	w.flag(7, a.Question)
	for _, x := range a.Roles {
		var m writer
		m.num(1, uint64(x.From))
		m.num(2, uint64(x.To))
		m.str(3, x.Owner)
		m.str(4, x.Role)
		m.str(5, x.Name)
		w.raw(8, m)
	}
	for _, l := range a.Aliases {
		w.strs(9, l[:])
	}
	return w
}

// DecodeAnalysis reads what Encode wrote.
func DecodeAnalysis(msg []byte) (*Analysis, error) {
	a := &Analysis{}
	var aliases []string
	err := fields(msg, func(n protowire.Number, v uint64, b []byte) error {
		switch n {
		case 1:
			a.Version = uint32(v)
		case 2:
			a.Length = uint32(v)
		case 3:
			a.Terms = make([]Term, 0, len(b)/(termBytes+1))
			for len(b) > 0 {
				if len(b) <= termBytes {
					return errBytes
				}
				var h [8]byte
				copy(h[8-termBytes:], b)
				c, k := binary.Uvarint(b[termBytes:])
				if k <= 0 {
					return errBytes
				}
				a.Terms = append(a.Terms, Term{binary.BigEndian.Uint64(h[:]), uint32(c)})
				b = b[termBytes+k:]
			}
		case 4:
			t, err := decodeTime(b)
			a.Times = append(a.Times, t)
			return err
		case 5:
			m, err := decodeMention(b)
			a.Mentions = append(a.Mentions, m)
			return err
		case 6:
			c, err := decodeCause(b)
			a.Causes = append(a.Causes, c)
			return err
		case 7:
			a.Question = v != 0
		case 8:
			r, err := decodeRole(b)
			a.Roles = append(a.Roles, r)
			return err
		case 9:
			name, err := readText(b)
			aliases = append(aliases, name)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: analysis: %w", ErrCorrupt, err)
	}
	if len(aliases)%2 != 0 {
		return nil, fmt.Errorf("%w: analysis: half an alias", ErrCorrupt)
	}
	for i := 0; i < len(aliases); i += 2 {
		a.Aliases = append(a.Aliases, [2]string{aliases[i], aliases[i+1]})
	}
	return a, nil
}

func decodeTime(msg []byte) (t Time, err error) {
	err = fields(msg, func(n protowire.Number, v uint64, b []byte) (err error) {
		switch n {
		case 1:
			t.From = uint32(v)
		case 2:
			t.To = uint32(v)
		case 3:
			t.Start, err = readStamp(b)
		case 4:
			t.End, err = readStamp(b)
		case 5:
			t.OpenStart = v != 0
		case 6:
			t.OpenEnd = v != 0
		case 7:
			t.Grain = uint8(v)
		case 8:
			t.Absolute = v != 0
		case 9:
			t.Approx = v != 0
		case 10:
			t.Duration = v != 0
		case 11:
			t.Tense = int8(protowire.DecodeZigZag(v))
		}
		return err
	})
	return t, err
}

func decodeMention(msg []byte) (m Mention, err error) {
	err = fields(msg, func(n protowire.Number, v uint64, b []byte) (err error) {
		switch n {
		case 1:
			m.From = uint32(v)
		case 2:
			m.To = uint32(v)
		case 3:
			m.Key, err = readText(b)
		case 4:
			m.Type, err = readText(b)
		}
		return err
	})
	return m, err
}

func decodeCause(msg []byte) (c Cause, err error) {
	err = fields(msg, func(n protowire.Number, v uint64, b []byte) error {
		switch n {
		case 1:
			c.CauseFrom = uint32(v)
		case 2:
			c.CauseTo = uint32(v)
		case 3:
			c.EffectFrom = uint32(v)
		case 4:
			c.EffectTo = uint32(v)
		case 5:
			c.From = uint32(v)
		case 6:
			c.To = uint32(v)
		case 7:
			if v > 1000 {
				return errBytes
			}
			c.Confidence = float64(v) / 1000
		case 8:
			c.Previous = int8(protowire.DecodeZigZag(v))
		}
		return nil
	})
	return c, err
}

func decodeRole(msg []byte) (r Role, err error) {
	err = fields(msg, func(n protowire.Number, v uint64, b []byte) (err error) {
		switch n {
		case 1:
			r.From = uint32(v)
		case 2:
			r.To = uint32(v)
		case 3:
			r.Owner, err = readText(b)
		case 4:
			r.Role, err = readText(b)
		case 5:
			r.Name, err = readText(b)
		}
		return err
	})
	return r, err
}

// Encode writes t.
func (t *Tombstone) Encode() []byte {
	var w writer
	w.stamp(1, &t.At)
	w.flag(2, t.Purged)
	w.str(3, t.Reason)
	w.num(4, uint64(t.RefLen))
	return w
}

// DecodeTombstone reads what Encode wrote.
func DecodeTombstone(msg []byte) (*Tombstone, error) {
	t := &Tombstone{}
	err := fields(msg, func(n protowire.Number, v uint64, b []byte) (err error) {
		switch n {
		case 1:
			t.At, err = readStamp(b)
		case 2:
			t.Purged = v != 0
		case 3:
			t.Reason, err = readText(b)
		case 4:
			t.RefLen = uint8(min(v, 26))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: tombstone: %w", ErrCorrupt, err)
	}
	return t, nil
}

// Encode writes p.
func (p *Preview) Encode() []byte {
	var w writer
	w.num(1, uint64(p.Project))
	w.int(2, p.Expires)
	w.ids(3, p.IDs)
	w.raw(4, p.Choice)
	return w
}

// DecodePreview reads what Encode wrote.
func DecodePreview(msg []byte) (*Preview, error) {
	p := &Preview{}
	err := fields(msg, func(n protowire.Number, v uint64, b []byte) (err error) {
		switch n {
		case 1:
			p.Project = Project(v)
		case 2:
			p.Expires = protowire.DecodeZigZag(v)
		case 3:
			err = addID(&p.IDs, b)
		case 4:
			p.Choice = append([]byte(nil), b...)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: preview: %w", ErrCorrupt, err)
	}
	return p, nil
}

// Encode writes j.
func (j *Job) Encode() []byte {
	var w writer
	w.num(1, uint64(j.Tries))
	w.int(2, j.NotBefore)
	w.str(3, j.Reason)
	return w
}

// DecodeJob reads what Encode wrote.
func DecodeJob(msg []byte) (*Job, error) {
	j := &Job{}
	err := fields(msg, func(n protowire.Number, v uint64, b []byte) (err error) {
		switch n {
		case 1:
			j.Tries = uint32(v)
		case 2:
			j.NotBefore = protowire.DecodeZigZag(v)
		case 3:
			j.Reason, err = readText(b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%w: job: %w", ErrCorrupt, err)
	}
	return j, nil
}

// EncodeVector writes a unit vector with the hash of the text it came from; DecodeVector reads it. The numbers
// are kept in 16 bits, the largest becoming 32767: the length is known, and the rounding is a hundredth of
// what tells two neighbours apart. What was read and is written again gives the same bytes.
func EncodeVector(textHash uint64, v []float32) []byte {
	b := make([]byte, 0, 8+2*len(v))
	b = binary.BigEndian.AppendUint64(b, textHash)
	var m float64
	for _, x := range v {
		m = max(m, math.Abs(float64(x)))
	}
	for _, x := range v {
		q := int16(0)
		if m > 0 {
			q = int16(math.RoundToEven(float64(x) / m * math.MaxInt16))
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(q))
	}
	return b
}

func DecodeVector(b []byte) (textHash uint64, v []float32, err error) {
	if len(b) < 8 || len(b)%2 != 0 {
		return 0, nil, fmt.Errorf("%w: vector of %d bytes", ErrCorrupt, len(b))
	}
	v = make([]float32, (len(b)-8)/2)
	ReadVector(v, b)
	return binary.BigEndian.Uint64(b), v, nil
}

// ReadVector reads the numbers of a row that is known to be one of len(v).
func ReadVector(v []float32, b []byte) {
	var squares float64
	for i := range v {
		x := float64(int16(binary.LittleEndian.Uint16(b[8+2*i:])))
		squares += float64(x * x)
		v[i] = float32(x)
	}
	if squares == 0 {
		return
	}
	scale := 1 / math.Sqrt(squares)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
}
