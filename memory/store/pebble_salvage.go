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
// before hi. Keys are taken as numbers: it steps out from at in steps that double until a seek succeeds,
// then narrows down.
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
	reads := func(n *big.Int) bool {
		if it.SeekGE(n.FillBytes(make([]byte, size))) {
			_, err := it.ValueAndErr()
			return err == nil
		}
		return it.Error() == nil // there are no more rows, and that can be read
	}
	bad, good, end := num(at), new(big.Int), num(hi)
	for step := big.NewInt(1); ; step.Lsh(step, 1) {
		if good.Add(bad, step); good.Cmp(end) >= 0 {
			return false
		}
		if reads(good) {
			break
		}
		bad.Set(good)
	}
	one, mid := big.NewInt(1), new(big.Int)
	for mid.Sub(good, bad).Cmp(one) > 0 {
		mid.Rsh(mid.Add(good, bad), 1)
		if reads(mid) {
			good.Set(mid)
		} else {
			bad.Set(mid)
		}
	}
	return reads(good) && it.Valid()
}
