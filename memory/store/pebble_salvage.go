package store

import (
	"bytes"
	"errors"
	"math/big"

	"github.com/cockroachdb/pebble/v2"
)

// Salvage reads past damage. See Salvager.
func (kv *pebbleKV) Salvage(lo, hi []byte, f func(key, value []byte) error) (gaps []Span, err error) {
	it, r, err := kv.iterator(nil, lo, hi)
	if err != nil || it == nil {
		return nil, err
	}
	kv.life.RLock()
	defer kv.life.RUnlock()
	defer func() { _ = kv.end(r) }() // it repeats the damage
	if kv.closed {
		return nil, ErrClosed
	}
	at := bytes.Clone(lo) // what is up to here, and here, was read or given up
	for valid := it.First(); ; {
		var value []byte
		err := it.Error()
		if valid {
			value, err = it.ValueAndErr()
		}
		if valid && err == nil {
			if err := f(it.Key(), value); err != nil {
				return gaps, err
			}
			at = append(at[:0], it.Key()...)
			valid = it.Next()
			continue
		}
		if err = kv.done("salvage", err); !errors.Is(err, ErrCorrupt) {
			return gaps, err // nil at the end
		}
		gap := Span{Lo: bytes.Clone(at)}
		if valid = beyond(it, at, hi); valid && bytes.Compare(it.Key(), at) <= 0 {
			return gaps, err
		} else if valid {
			gap.Hi = bytes.Clone(it.Key())
		} else {
			gap.Hi = hi
		}
		gaps = append(gaps, gap)
		if !valid {
			return gaps, nil
		}
	}
}

// beyond moves to the first row that can be read behind a damaged place, and says whether there is one
// before hi. Reading a damaged block costs some 50 ms, since Pebble tries whether one flipped bit explains it,
// and good ones next to nothing. So keys are taken as numbers and it steps out from at in steps that grow by
// eight bits until a seek succeeds, which meets the damage once a step, and then walks back to it.
func beyond(it *pebble.Iterator, at, hi []byte) bool {
	if hi == nil {
		hi = lastKey
	}
	size := max(len(at), len(hi)) + 8 // the rows that follow may have longer keys
	num := func(k []byte) *big.Int {
		b := make([]byte, size)
		copy(b, k)
		return new(big.Int).SetBytes(b)
	}
	// Each probe has an iterator of its own: one that seeks forward from a damaged block goes on from it, and
	// meets it again.
	reads := func(n *big.Int) bool {
		probe, err := it.Clone(pebble.CloneOptions{})
		if err != nil {
			return false
		}
		if probe.SeekGE(n.FillBytes(make([]byte, size))) {
			_, err = probe.ValueAndErr()
		} else {
			err = probe.Error() // nil: there are no more rows, and that can be read
		}
		_ = probe.Close() // it repeats the damage
		return err == nil
	}
	from, good, end := num(at), new(big.Int), num(hi)
	for step := big.NewInt(1); ; step.Lsh(step, 8) {
		if good.Add(from, step); good.Cmp(end) >= 0 {
			good.Set(end)
		}
		if reads(good) {
			break
		}
		if good.Cmp(end) >= 0 {
			return false
		}
	}
	var first []byte
	valid := it.SeekGE(good.FillBytes(make([]byte, size)))
	if !valid { // the end of the range: there may be rows between it and the damage
		valid = it.Last()
	}
	for ; valid && bytes.Compare(it.Key(), at) > 0; valid = it.Prev() {
		if _, err := it.ValueAndErr(); err != nil {
			break
		}
		first = append(first[:0], it.Key()...)
	}
	if first == nil || !it.SeekGE(first) {
		return false
	}
	_, err := it.ValueAndErr()
	return err == nil
}
