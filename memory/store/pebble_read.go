package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

type getter interface {
	Get(key []byte) ([]byte, io.Closer, error)
	NewIter(o *pebble.IterOptions) (*pebble.Iterator, error)
}

func (kv *pebbleKV) get(from getter, key []byte) ([]byte, error) {
	v, closer, err := from.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, kv.done("read a key", err)
	}
	out := append(make([]byte, 0, len(v)), v...)
	return out, kv.done("read a key", closer.Close())
}

func (kv *pebbleKV) Get(key []byte) ([]byte, error) {
	if err := kv.enter(); err != nil {
		return nil, err
	}
	defer kv.leave()
	return kv.get(kv.db, key)
}

func (kv *pebbleKV) Scan(lo, hi []byte) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) { kv.scan(nil, lo, hi, yield) }
}

func (kv *pebbleKV) Visit(lo, hi []byte, f func(key, value []byte) bool) error {
	return kv.visit(nil, lo, hi, f)
}

// reader is an open iterator or snapshot of Pebble's. Close of the store closes those that are open:
// one left open would make Pebble's Close panic, or keep files.
type reader struct {
	close func() error // guarded by kv.life: called once, then nil
}

// register notes an open reader; kv.life is held.
func (kv *pebbleKV) register(close func() error) *reader {
	r := &reader{close: close}
	kv.readers.add(r)
	return r
}

// end closes a reader unless the store has done so; kv.life is held.
func (kv *pebbleKV) end(r *reader) error {
	// Closed before it counts as gone: Erase waits for what it keeps.
	if !kv.readers.isOpen(r) {
		return nil
	}
	err := r.close()
	kv.readers.remove(r)
	return kv.done("end a scan", err)
}

// iterator opens an iterator on [lo, hi), of a snapshot or (snap nil) of now.
func (kv *pebbleKV) iterator(snap *snapshot, lo, hi []byte) (*pebble.Iterator, *reader, error) {
	if err := kv.enter(); err != nil {
		return nil, nil, err
	}
	defer kv.leave()
	var from getter = kv.db
	if snap != nil {
		snap.mu.RLock()
		defer snap.mu.RUnlock()
		if snap.ended {
			return nil, nil, fmt.Errorf("snapshot: %w", ErrClosed)
		}
		from = snap.s
	}
	o := &pebble.IterOptions{UpperBound: bytes.Clone(hi)}
	if len(lo) > 0 { // an empty bound is none; Pebble's own checks (in race builds) trip over it
		o.LowerBound = bytes.Clone(lo)
	}
	if hi == nil {
		o.UpperBound = nil
	} else if bytes.Compare(lo, hi) >= 0 {
		return nil, nil, nil
	}
	it, err := from.NewIter(o)
	if err != nil {
		return nil, nil, kv.done("scan", err)
	}
	return it, kv.register(it.Close), nil
}

// A scan takes rows out of Pebble in chunks, so that locks are taken once per chunk and the loop's body
// runs without any. The first chunk is a single row, since many scans want no more; they double up to
// chunkRows. Rows share memory in pieces of at most chunkBytes: more would tie up too much for a caller
// who keeps one row.
const (
	chunkRows  = 64
	chunkBytes = 4 << 10
)

func (kv *pebbleKV) scan(snap *snapshot, lo, hi []byte, yield func(Row, error) bool) {
	it, r, err := kv.iterator(snap, lo, hi)
	if err != nil {
		yield(Row{}, err)
		return
	}
	if it == nil {
		return
	}
	defer func() {
		kv.life.RLock()
		_ = kv.end(r) // its error was the loop's
		kv.life.RUnlock()
	}()
	rows := make([]Row, 0, chunkRows)
	var mem []byte
	valid, more := false, true
	for want := 1; more; want = min(2*want, chunkRows) {
		rows = rows[:0]
		err := func() (err error) {
			if err := kv.enter(); err != nil {
				more = false
				return err
			}
			defer kv.leave()
			for len(rows) < want {
				if valid {
					valid = it.Next()
				} else {
					valid = it.First()
				}
				if !valid {
					more, err = false, kv.done("scan", it.Error())
					break
				}
				k, v := it.Key(), []byte(nil)
				if v, err = it.ValueAndErr(); err != nil {
					more, err = false, kv.done("scan", err)
					break
				}
				n := len(k) + len(v)
				if n > cap(mem)-len(mem) {
					mem = make([]byte, 0, max(n, min(chunkBytes, want*n)))
				}
				at := len(mem)
				mem = append(append(mem, k...), v...)
				rows = append(rows, Row{mem[at : at+len(k) : at+len(k)], mem[at+len(k) : at+n : at+n]})
			}
			return err
		}()
		for i := range rows {
			if !yield(rows[i], nil) {
				return
			}
		}
		if err != nil {
			yield(Row{}, err)
			return
		}
	}
}

func (kv *pebbleKV) visit(snap *snapshot, lo, hi []byte, f func(key, value []byte) bool) error {
	it, r, err := kv.iterator(snap, lo, hi)
	if err != nil || it == nil {
		return err
	}
	kv.life.RLock()
	defer kv.life.RUnlock()
	defer func() { _ = kv.end(r) }()
	if kv.closed {
		return ErrClosed
	}
	for valid := it.First(); valid; valid = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return kv.done("scan", err)
		}
		if !f(it.Key(), v) {
			break
		}
	}
	return kv.done("scan", it.Error())
}

// Sweep keeps one iterator and moves it forward from span to span. Where it stands beyond a span, that span is
// empty, which takes no seek: a stretch of deleted keys is crossed once, however many spans lie in it.
func (kv *pebbleKV) Sweep(spans []Span, f func(i int, key, value []byte) bool) error {
	var order []int
	for i, s := range spans {
		if s.Hi == nil || bytes.Compare(s.Lo, s.Hi) < 0 {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return nil
	}
	slices.SortStableFunc(order, func(a, b int) int { return bytes.Compare(spans[a].Lo, spans[b].Lo) })
	end := spans[order[0]].Hi
	for _, i := range order[1:] {
		if hi := spans[i].Hi; hi == nil || end != nil && bytes.Compare(hi, end) > 0 {
			end = hi
		}
	}
	it, r, err := kv.iterator(nil, spans[order[0]].Lo, end)
	if err != nil || it == nil {
		return err
	}
	kv.life.RLock()
	defer kv.life.RUnlock()
	defer func() { _ = kv.end(r) }()
	if kv.closed {
		return ErrClosed
	}
	var from []byte // where stands: at the first row from here on
	stands := false
	for _, i := range order {
		lo, hi := spans[i].Lo, spans[i].Hi
		if !stands || bytes.Compare(lo, from) < 0 || it.Valid() && bytes.Compare(it.Key(), lo) < 0 {
			if len(lo) == 0 {
				it.First() // Pebble built for the race detector looks at a key's bytes
			} else {
				it.SeekGE(lo)
			}
		}
		from, stands = lo, true
		for it.Valid() && (hi == nil || bytes.Compare(it.Key(), hi) < 0) {
			v, err := it.ValueAndErr()
			if err != nil {
				return kv.done("scan", err)
			}
			if !f(i, it.Key(), v) {
				return nil
			}
			it.Next()
			from, stands = hi, hi != nil
		}
		if err := it.Error(); err != nil {
			return kv.done("scan", err)
		}
	}
	return nil
}
