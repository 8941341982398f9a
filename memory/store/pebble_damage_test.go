package store_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// image is the files of a store.
type image map[string][]byte

func takeImage(t testing.TB, fs vfs.FS, dir string) image {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	im := image{}
	for _, name := range names {
		f, err := fs.Open(fs.PathJoin(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if im[name], err = io.ReadAll(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return im
}

// fs makes a file system of the image with one file changed.
func (im image) fs(t testing.TB, changed string, change func([]byte) []byte) vfs.FS {
	t.Helper()
	fs := vfs.NewMem()
	if err := fs.MkdirAll("db", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, data := range im {
		f, err := fs.Create(fs.PathJoin("db", name), vfs.WriteCategoryUnspecified)
		if err != nil {
			t.Fatal(err)
		}
		data = slices.Clone(data)
		if name == changed {
			data = change(data)
		}
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return fs
}

// images are a store as a clean close leaves it, as the end of the process does (much of it in the log), and
// as a power failure does.
func images(t *testing.T, key []byte, n int) map[string]image {
	mem := vfs.NewCrashableMem()
	o := store.PebbleOptions{FS: mem, Key: key}
	kv := open(t, "db", o)
	if _, _, err := load(kv, 0, n); err != nil {
		t.Fatal(err)
	}
	for i := range 3 { // each synced alone, so that the last of them vouches for what is before it
		c, err := kv.Apply(step(n + 1 + i))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	killed := takeImage(t, mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}), "db")
	crashed := takeImage(t, mem.CrashClone(vfs.CrashCloneCfg{}), "db")
	if err := kv.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string]image{"killed": killed, "crashed": crashed, "closed": takeImage(t, mem, "db")}
}

// TestFlippedBytes changes single bytes of every file. The store then says that it is damaged, or the byte
// did not matter: it never answers wrongly, and nothing is missing without a word. (The last write before the
// power failed is the exception: see crypt.go.)
func TestFlippedBytes(t *testing.T) {
	const n = 100
	each := 6
	if long {
		each = 400
	}
	for what, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		for how, im := range images(t, key, n) {
			t.Run(what+" "+how, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(7, 8))
				tried, told, short := 0, 0, 0
				for name, data := range im {
					if len(data) == 0 || name == "OWNER" {
						continue
					}
					places := []int{0, len(data) - 1, len(data) / 2}
					for range each {
						places = append(places, rng.IntN(len(data)))
					}
					for _, at := range places {
						tried++
						fs := im.fs(t, name, func(b []byte) []byte { b[at] ^= 1 << rng.IntN(8); return b })
						got, err := look(fs, key)
						switch {
						case err != nil && strings.Contains(err.Error(), "WRONG"):
							t.Errorf("byte %d of %d of %s: %v", at, len(data), name, err)
						case err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrKey) && !strings.HasPrefix(name, "OPTIONS"):
							t.Errorf("byte %d of %d of %s: %v, want ErrCorrupt", at, len(data), name, err)
						case err != nil:
							told++
						case got < n+3:
							short++
							if how != "crashed" || !strings.HasSuffix(name, ".log") || got < n+2 {
								t.Errorf("byte %d of %d of %s: %d batches, want %d", at, len(data), name, got, n+3)
							}
						}
					}
				}
				t.Logf("%d bytes flipped in %d files: %d told, %d without effect, %d in the last write", tried, len(im), told, tried-told-short, short)
			})
		}
	}
}

// look opens, reads everything and closes.
func look(fs vfs.FS, key []byte) (n int, err error) {
	kv, err := store.OpenPebble("db", store.PebbleOptions{FS: fs, Key: key})
	if err != nil {
		return 0, err
	}
	n, err = check(kv)
	if cerr := kv.Close(); err == nil && cerr != nil {
		err = cerr
	}
	return n, err
}

// TestCutFiles cuts files short, as a full disk or a bad copy does.
func TestCutFiles(t *testing.T) {
	const n = 60
	for what, key := range map[string][]byte{"plain": nil, "encrypted": testKey} {
		im := images(t, key, n)["closed"]
		for name, data := range im {
			if len(data) == 0 || name == "OWNER" || name == "KEY" {
				continue
			}
			for _, keep := range []int{0, 1, len(data) / 2, len(data) - 1} {
				got, err := look(im.fs(t, name, func(b []byte) []byte { return b[:keep] }), key)
				if err != nil && strings.Contains(err.Error(), "WRONG") || err == nil && got != n+3 {
					t.Errorf("%s: %d of %d bytes of %s: %d batches, %v", what, keep, len(data), name, got, err)
				}
			}
		}
	}
}

// TestWrongKey opens with every wrong combination of key and store; the files stay as they are.
func TestWrongKey(t *testing.T) {
	other := []byte("another key of thirty-two bytes!")
	plain, sealed := images(t, nil, 20), images(t, testKey, 20)
	for _, c := range []struct {
		name string
		im   image
		key  []byte
	}{
		{"no key", sealed["closed"], nil},
		{"no key, after a crash", sealed["crashed"], nil},
		{"another key", sealed["closed"], other},
		{"another key, after a crash", sealed["crashed"], other},
		{"a key for a plain store", plain["closed"], testKey},
		{"a key for a plain store, after a crash", plain["crashed"], testKey},
		{"a short key", sealed["closed"], testKey[:16]},
	} {
		for _, without := range []string{"", "KEY"} { // the key file is a help, not a need
			im := image{}
			for name, data := range c.im {
				if name != without {
					im[name] = data
				}
			}
			fs := im.fs(t, "", nil)
			_, err := look(fs, c.key)
			if !errors.Is(err, store.ErrKey) {
				t.Errorf("%s (without %q): %v, want ErrKey", c.name, without, err)
			}
			after := takeImage(t, fs, "db")
			delete(after, "OWNER")
			delete(after, "LOCK")
			for name, data := range im {
				if name != "OWNER" && name != "LOCK" && string(after[name]) != string(data) {
					t.Errorf("%s: %s was changed", c.name, name)
				}
				delete(after, name)
			}
			for name := range after {
				t.Errorf("%s: %s was made", c.name, name)
			}
		}
	}
	im := sealed["closed"]
	delete(im, "KEY")
	fs := im.fs(t, "", nil)
	if n, err := look(fs, testKey); err != nil || n != 23 {
		t.Errorf("right key, no key file: %d batches, %v", n, err)
	}
	if _, ok := takeImage(t, fs, "db")["KEY"]; !ok {
		t.Error("the key file was not made again")
	}
}

// TestSealed looks for what was written in the files of an encrypted store.
func TestSealed(t *testing.T) {
	for how, im := range images(t, testKey, 40) {
		for name, data := range im {
			for _, word := range []string{"own/0", "shared/", "aaaaaaaa", "gggggggg", "bytewise", "leveldb", "rocksdb"} {
				if strings.Contains(string(data), word) {
					t.Errorf("%s: %s holds %q", how, name, word)
				}
			}
		}
	}
}

// TestNewerFormat refuses a store of a later format and leaves it alone.
func TestNewerFormat(t *testing.T) {
	im := images(t, nil, 5)["closed"]
	newer := fmt.Sprintf("marker.format-version.999999.%03d", store.PebbleFormat+1)
	im[newer] = nil
	fs := im.fs(t, "", nil)
	if _, err := look(fs, nil); !errors.Is(err, store.ErrNewerFormat) {
		t.Errorf("open: %v, want ErrNewerFormat", err)
	}
	for name, data := range takeImage(t, fs, "db") {
		if was, ok := im[name]; name != "LOCK" && name != "OWNER" && (!ok || string(was) != string(data)) {
			t.Errorf("%s was changed", name)
		}
	}
}
