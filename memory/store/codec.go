package store

import (
	"encoding/binary"
	"errors"
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
