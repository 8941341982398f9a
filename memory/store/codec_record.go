package store

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/magma-mcp/magma-mcp/memory/graph"
)

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
