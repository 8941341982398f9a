package store_test

import (
	"bytes"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/store/storetest"
)

func TestContract(t *testing.T) {
	backends := map[string]func(t *testing.T) (string, store.PebbleOptions){
		"disk": func(t *testing.T) (string, store.PebbleOptions) { return t.TempDir(), store.PebbleOptions{} },
		// Small enough for tables, logs and compactions to come and go during the tests.
		"tiny memtables": func(t *testing.T) (string, store.PebbleOptions) {
			return "mem", store.PebbleOptions{FS: vfs.NewMem(), MemtableBytes: 64 << 10, CacheBytes: 1 << 20}
		},
		"encrypted": func(t *testing.T) (string, store.PebbleOptions) {
			return "mem", store.PebbleOptions{FS: vfs.NewMem(), Key: testKey}
		},
		"encrypted, tiny memtables": func(t *testing.T) (string, store.PebbleOptions) {
			return "mem", store.PebbleOptions{FS: vfs.NewMem(), Key: testKey, MemtableBytes: 64 << 10, CacheBytes: 1 << 20}
		},
	}
	for name, where := range backends {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Backend {
				dir, o := where(t)
				return storetest.Backend{Open: func(t *testing.T) store.KV { return open(t, dir, o) }}
			})
		})
	}
}

var testKey = bytes.Repeat([]byte("k1"), store.KeyBytes/2)

func open(t testing.TB, dir string, o store.PebbleOptions) store.KV {
	t.Helper()
	kv, err := store.OpenPebble(dir, o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return kv
}
