package memory

import (
	"bytes"
	"errors"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Reading many rows at once, by what the backend does best.

// visit calls f for the rows of a range, without copying them where the store can; f must not use the store.
func visit(kv store.Reader, lo, hi []byte, f func(key, value []byte) error) error {
	if v, ok := kv.(store.Visitor); ok {
		var inner error
		err := v.Visit(lo, hi, func(key, value []byte) bool {
			inner = f(key, value)
			return inner == nil
		})
		return errors.Join(inner, err)
	}
	for row, err := range kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		if err := f(row.Key, row.Value); err != nil {
			return err
		}
	}
	return nil
}

// sweep calls f for each row of each span, with the span's place in spans. The spans may come in any order; the
// slices are valid during the call alone, and f must not use the store.
func sweep(kv store.KV, spans []store.Span, f func(i int, key, value []byte) error) error {
	if w, ok := kv.(store.Sweeper); ok {
		var inner error
		err := w.Sweep(spans, func(i int, key, value []byte) bool {
			inner = f(i, key, value)
			return inner == nil
		})
		return errors.Join(inner, err)
	}
	for i, s := range spans {
		for row, err := range kv.Scan(s.Lo, s.Hi) {
			if err != nil {
				return err
			}
			if err := f(i, row.Key, row.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// values gets many keys at once: a copy of each value, nil where the key is not there.
func values(kv store.KV, keys [][]byte) ([][]byte, error) {
	out := make([][]byte, len(keys))
	spans := make([]store.Span, len(keys))
	for i, k := range keys {
		spans[i] = store.At(k)
	}
	err := sweep(kv, spans, func(i int, _, v []byte) error {
		if out[i] = bytes.Clone(v); len(v) == 0 {
			out[i] = []byte{}
		}
		return nil
	})
	return out, err
}
