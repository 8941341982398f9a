package storetest

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Map is a KV in memory: one sorted slice that is never changed, replaced whole by each batch. It keeps
// nothing. Use it where a test wants a store without Pebble.
type Map struct {
	mu     sync.Mutex
	rows   []store.Row
	closed bool
}

// NewMap returns an empty Map.
func NewMap() *Map { return new(Map) }

// view is a Reader of one state. m and its snapshot may have been closed since.
type view struct {
	m     *Map
	rows  []store.Row
	ended bool // guarded by m.mu
}

func find(rows []store.Row, key []byte) (int, bool) {
	return slices.BinarySearchFunc(rows, key, func(r store.Row, k []byte) int { return bytes.Compare(r.Key, k) })
}

func (m *Map) now() (*view, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, store.ErrClosed
	}
	return &view{m: m, rows: m.rows}, nil
}

func (m *Map) Snapshot() (store.Snapshot, error) {
	v, err := m.now()
	if err != nil {
		return nil, err // not a nil *view in an interface
	}
	return v, nil
}

func (m *Map) Get(key []byte) ([]byte, error) {
	v, err := m.now()
	if err != nil {
		return nil, err
	}
	return v.Get(key)
}

func (m *Map) Scan(lo, hi []byte) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		v, err := m.now()
		if err != nil {
			yield(store.Row{}, err)
			return
		}
		v.Scan(lo, hi)(yield)
	}
}

// done is a Commit in memory: nothing to wait for.
type done struct{}

func (done) Wait() error { return nil }

func (m *Map) Apply(ops []store.Op) (store.Commit, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, store.ErrClosed
	}
	rows := slices.Clone(m.rows)
	for _, op := range ops {
		at, there := find(rows, op.Key)
		switch op.Kind {
		case store.Set:
			row := store.Row{Key: bytes.Clone(op.Key), Value: append([]byte{}, op.Value...)}
			if there {
				rows[at] = row
			} else {
				rows = slices.Insert(rows, at, row)
			}
		case store.Delete:
			if there {
				rows = slices.Delete(rows, at, at+1)
			}
		case store.DeleteRange:
			if end, _ := find(rows, op.Value); end > at {
				rows = slices.Delete(rows, at, end)
			}
		default:
			return nil, fmt.Errorf("op of kind %d: a bug in this program", op.Kind)
		}
	}
	m.rows = rows
	return done{}, nil
}

func (m *Map) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (v *view) alive() error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	if v.ended || v.m.closed {
		return store.ErrClosed
	}
	return nil
}

func (v *view) Get(key []byte) ([]byte, error) {
	if err := v.alive(); err != nil {
		return nil, err
	}
	at, there := find(v.rows, key)
	if !there {
		return nil, store.ErrNotFound
	}
	return append([]byte{}, v.rows[at].Value...), nil
}

func (v *view) Scan(lo, hi []byte) iter.Seq2[store.Row, error] {
	return func(yield func(store.Row, error) bool) {
		for at, _ := find(v.rows, lo); ; at++ {
			if err := v.alive(); err != nil {
				yield(store.Row{}, err)
				return
			}
			if at >= len(v.rows) || hi != nil && bytes.Compare(v.rows[at].Key, hi) >= 0 {
				return
			}
			if !yield(store.Row{Key: bytes.Clone(v.rows[at].Key), Value: bytes.Clone(v.rows[at].Value)}, nil) {
				return
			}
		}
	}
}

func (v *view) Close() error {
	v.m.mu.Lock()
	defer v.m.mu.Unlock()
	v.ended = true
	return nil
}
