package store_test

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// keyed is a key with what it was made of.
type keyed struct {
	space string
	p     store.Project
	id    graph.ID
	m     uint32
	pass  store.Pass
	key   []byte
}

// someKeys makes keys of every space from a small pool with the ends of each field's range in it, where
// ranges go wrong.
func someKeys(r *rand.Rand) (l []keyed) {
	projects := []store.Project{0, 1, 2, 0xff, 0x100, 0xffff, 0xffffff00, 0xfffffffe, 0xffffffff}
	ids := []graph.ID{{}, {15: 1}, {15: 0xff}, {0: 0xff}, allOnes(), {14: 0xff, 15: 0xff}}
	for range 4 {
		var id graph.ID
		for i := range id {
			id[i] = byte(r.Uint32())
		}
		ids = append(ids, id)
	}
	models := []uint32{0, 1, 0xff, 0xffffffff}
	for _, p := range projects {
		l = append(l, keyed{space: "project", p: p, key: store.ProjectKey(p)})
		for _, id := range ids {
			d := store.Digest(id)
			for name, k := range map[string][]byte{"record": store.RecordKey(p, id), "state": store.StateKey(p, id), "analysis": store.AnalysisKey(p, id), "tombstone": store.TombstoneKey(p, id),
				"hash": store.HashKey(p, d), "idem": store.IdemKey(p, d), "tail": store.TailKey(p, id)} {
				l = append(l, keyed{space: name, p: p, id: id, key: k})
			}
			for _, m := range models {
				for _, chunk := range []uint16{0, 1, 0xffff} {
					l = append(l, keyed{space: "vector", p: p, id: id, m: m, key: store.VectorKey(p, m, id, chunk)})
				}
			}
			for pass := store.PassEmbed; pass <= store.PassUser; pass++ {
				l = append(l, keyed{space: "queue", p: p, id: id, pass: pass, key: store.QueueKey(pass, p, id)}, keyed{space: "parked", p: p, id: id, pass: pass, key: store.ParkedKey(pass, p, id)},
					keyed{space: "derived", p: p, id: id, pass: pass, key: store.DerivedKey(p, pass, d)}, keyed{space: "basis", p: p, id: id, pass: pass, key: store.BasisKey(p, id, pass, d)})
			}
		}
	}
	for _, m := range models {
		l = append(l, keyed{space: "model", m: m, key: store.ModelKey(m)})
	}
	for _, id := range ids {
		l = append(l, keyed{space: "confirm", id: id, key: store.ConfirmKey(store.Digest(id))}, keyed{space: "request", id: id, key: store.RequestKey(store.Digest(id))})
	}
	for _, n := range []string{"format", "", "\xff"} {
		l = append(l, keyed{space: "setting", key: store.SettingKey(n)})
	}
	return l
}

func allOnes() (id graph.ID) {
	for i := range id {
		id[i] = 0xff
	}
	return id
}

func compareID(a, b graph.ID) int { return bytes.Compare(a[:], b[:]) }

// Keys of a space sort as what they are made of, and no two things have one key.
func TestKeysSort(t *testing.T) {
	seen := map[string]string{}
	by := map[string][]keyed{}
	for _, k := range someKeys(rand.New(rand.NewPCG(1, 2))) {
		what := fmt.Sprintf("%s of %d, %x, %d, %d", k.space, k.p, k.id, k.m, k.pass)
		if other, ok := seen[string(k.key)]; ok && (other != what || k.space != "vector") {
			t.Errorf("%s and %s have one key", what, other)
		}
		seen[string(k.key)] = what
		by[k.space] = append(by[k.space], k)
	}
	n := 0
	for space, l := range by {
		order := func(a, b keyed) int { return cmp.Or(cmp.Compare(a.p, b.p), compareID(a.id, b.id)) }
		switch space {
		case "tail", "setting":
			continue // by the ending; by the name
		case "vector":
			order = func(a, b keyed) int {
				return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.m, b.m), compareID(a.id, b.id))
			}
		case "queue", "parked":
			order = func(a, b keyed) int {
				return cmp.Or(cmp.Compare(a.pass, b.pass), cmp.Compare(a.p, b.p), compareID(a.id, b.id))
			}
		case "derived":
			order = func(a, b keyed) int {
				return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.pass, b.pass), compareID(a.id, b.id))
			}
		case "model":
			order = func(a, b keyed) int { return cmp.Compare(a.m, b.m) }
		}
		for i := range l {
			for j := range i {
				n++
				if want, got := order(l[i], l[j]), bytes.Compare(l[i].key, l[j].key); want != got && want != 0 {
					t.Fatalf("%s: %+v against %+v sorts %d, want %d", space, l[i], l[j], got, want)
				}
			}
		}
	}
	t.Logf("%d pairs compared", n)
}

// Every range holds its rows and no other.
func TestRanges(t *testing.T) {
	keys := someKeys(rand.New(rand.NewPCG(3, 4)))
	n := 0
	check := func(name string, lo, hi []byte, in func(k *keyed) bool) {
		t.Helper()
		for i := range keys {
			k := &keys[i]
			n++
			got := bytes.Compare(k.key, lo) >= 0 && (hi == nil || bytes.Compare(k.key, hi) < 0)
			if want := in(k); got != want {
				t.Fatalf("%s: %+v is in it: %t, want %t", name, *k, got, want)
			}
		}
	}
	for _, p := range []store.Project{0, 1, 0xff, 0xffffffff} {
		for name, rng := range map[string]func(store.Project) (lo, hi []byte){"record": store.RecordRange, "state": store.StateRange, "analysis": store.AnalysisRange, "tombstone": store.TombstoneRange,
			"derived": store.DerivedRange, "hash": store.HashRange, "idem": store.IdemRange, "tail": store.TailsRange, "basis": store.BasisRange} {
			lo, hi := rng(p)
			check(name, lo, hi, func(k *keyed) bool { return k.space == name && k.p == p })
		}
		for i, name := range []string{"analysis", "hash", "tail"} {
			l := store.DerivedSpaces(p)
			if len(l) != 3 {
				t.Fatalf("%d derived spaces: this test knows 3", len(l))
			}
			check("rebuilt "+name, l[i][0], l[i][1], func(k *keyed) bool { return k.space == name && k.p == p })
		}
		for _, m := range []uint32{0, 1, 0xff, 0xffffffff} {
			lo, hi := store.VectorRange(p, m)
			check("vectors", lo, hi, func(k *keyed) bool { return k.space == "vector" && k.p == p && k.m == m })
			for _, id := range []graph.ID{{}, {15: 0xff}, allOnes()} {
				lo, hi := store.VectorsOf(p, m, id)
				check("vectors of one", lo, hi, func(k *keyed) bool { return k.space == "vector" && k.p == p && k.m == m && k.id == id })
			}
		}
		for _, id := range []graph.ID{{}, {15: 0xff}, allOnes()} {
			lo, hi := store.BasisOf(p, id)
			check("basis", lo, hi, func(k *keyed) bool { return k.space == "basis" && k.p == p && k.id == id })
		}
		for pass := store.PassEmbed; pass <= store.PassUser; pass++ {
			lo, hi := store.PassRange(p, pass)
			check("pass", lo, hi, func(k *keyed) bool { return k.space == "derived" && k.p == p && k.pass == pass })
		}
	}
	for pass := store.PassEmbed; pass <= store.PassUser; pass++ {
		lo, hi := store.QueueRange(pass)
		check("queue", lo, hi, func(k *keyed) bool { return k.space == "queue" && k.pass == pass })
		lo, hi = store.ParkedRange(pass)
		check("parked", lo, hi, func(k *keyed) bool { return k.space == "parked" && k.pass == pass })
	}
	for name, rng := range map[string]func() (lo, hi []byte){"confirm": store.ConfirmRange, "request": store.RequestRange, "project": store.ProjectsRange, "model": store.ModelsRange} {
		lo, hi := rng()
		check(name, lo, hi, func(k *keyed) bool { return k.space == name })
	}
	t.Logf("%d keys held against ranges", n)
}

// What is in a key comes out of it again.
func TestKeyParts(t *testing.T) {
	for _, k := range someKeys(rand.New(rand.NewPCG(5, 6))) {
		ok := true
		switch k.space {
		case "record", "state", "analysis", "tombstone", "tail":
			ok = store.IDOf(k.key) == k.id
		case "project":
			ok = store.ProjectOf(k.key) == k.p
		case "model":
			ok = store.ModelOf(k.key) == k.m
		case "vector":
			id, chunk := store.VectorID(k.key)
			ok = id == k.id && bytes.Equal(store.VectorKey(k.p, k.m, id, chunk), k.key)
		case "queue", "parked":
			pass, p, id := store.QueueOf(k.key)
			ok = pass == k.pass && p == k.p && id == k.id
		case "derived":
			pass, d := store.DerivedID(k.key)
			ok = pass == k.pass && graph.ID(d) == k.id
		case "basis":
			ok = bytes.Equal(store.BasisTarget(k.key), store.DerivedKey(k.p, k.pass, store.Digest(k.id)))
		}
		if !ok {
			t.Errorf("%+v does not come out of its key", k)
		}
	}
}

// TailRange finds exactly the ids that end so, by six characters; a longer ref's range holds them too.
func TestTailRange(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var ids []graph.ID
	for range 400 {
		var id graph.ID
		for i := range id {
			id[i] = byte(r.Uint32())
		}
		if len(ids) > 0 && r.IntN(3) == 0 { // endings that meet in part or whole
			other := ids[r.IntN(len(ids))]
			copy(id[16-1-r.IntN(6):], other[16-1-r.IntN(6):])
			if r.IntN(2) == 0 {
				copy(id[11:], other[11:])
			}
		}
		ids = append(ids, id)
	}
	met := 0
	for i, id := range ids {
		s := id.String()
		for _, n := range []int{6, 7, 9, 26} {
			lo, hi, ok := store.TailRange(9, s[len(s)-n:])
			if !ok {
				t.Fatalf("%s is no ending", s[len(s)-n:])
			}
			for j, x := range ids {
				k := store.TailKey(9, x)
				in := bytes.Compare(k, lo) >= 0 && bytes.Compare(k, hi) < 0
				ends := strings.HasSuffix(x.String(), s[len(s)-6:])
				if in != ends {
					t.Fatalf("%s for the ending of %s: in range %t, ends so %t", x, s, in, ends)
				}
				if in && i != j {
					met++
				}
			}
		}
		if k := store.TailKey(8, id); bytes.Compare(k, store.TailKey(9, graph.ID{})) >= 0 {
			t.Fatal("another project's refs lie in this one's")
		}
	}
	if met == 0 {
		t.Error("no two endings met: the test shows nothing")
	}
	for _, bad := range []string{"", "ABCDE", "ABCDEU", "abcdef", "ABC-EF", "ABCDE\xff", "日本語日本語", strings.Repeat("A", 27)} {
		if _, _, ok := store.TailRange(1, bad); ok {
			t.Errorf("%q is taken for an ending", bad)
		}
	}
}

func TestPrefix(t *testing.T) {
	for in, want := range map[string]string{"a": "b", "a\xff": "b", "a\xff\xff": "b", "a\x00": "a\x01", "\xfe\xff": "\xff"} {
		if got := string(store.Prefix([]byte(in))); got != want {
			t.Errorf("Prefix(%q) is %q, want %q", in, got, want)
		}
	}
	if store.Prefix([]byte("\xff\xff")) != nil || store.Prefix(nil) != nil {
		t.Error("a prefix without an end has one")
	}
}

// No two lists of parts have one digest.
func TestSum(t *testing.T) {
	lists := [][]string{{}, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"a\x00b"}, {"\x00\x00\x00\x00\x00\x00\x00\x01a"}, {"a", "\x00"}}
	var seen []store.Digest
	for _, l := range lists {
		d := store.Sum(l...)
		if slices.Contains(seen, d) {
			t.Errorf("%q meets another", l)
		}
		seen = append(seen, d)
	}
}
