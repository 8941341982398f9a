package store

import (
	"fmt"
	"iter"
	"sync"

	"github.com/cockroachdb/pebble/v2"
)

// snapshot is a Snapshot on Pebble.
type snapshot struct {
	kv *pebbleKV
	s  *pebble.Snapshot
	r  *reader

	mu    sync.RWMutex // held for reading while s is used; inside kv.life
	ended bool
}

func (kv *pebbleKV) Snapshot() (Snapshot, error) {
	if err := kv.enter(); err != nil {
		return nil, err
	}
	defer kv.leave()
	s := &snapshot{kv: kv, s: kv.db.NewSnapshot()}
	s.r = kv.register(s.s.Close)
	return s, nil
}

func (s *snapshot) Get(key []byte) ([]byte, error) {
	if err := s.kv.enter(); err != nil {
		return nil, err
	}
	defer s.kv.leave()
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.ended {
		return nil, fmt.Errorf("snapshot: %w", ErrClosed)
	}
	return s.kv.get(s.s, key)
}

func (s *snapshot) Scan(lo, hi []byte) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) { s.kv.scan(s, lo, hi, yield) }
}

func (s *snapshot) Visit(lo, hi []byte, f func(key, value []byte) bool) error {
	return s.kv.visit(s, lo, hi, f)
}

func (s *snapshot) Close() error {
	s.kv.life.RLock()
	defer s.kv.life.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.ended = true
	return s.kv.end(s.r)
}
