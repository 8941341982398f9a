package store

import (
	"encoding/binary"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

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
