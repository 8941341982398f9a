package store_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

var (
	idA = graph.ID{0: 1, 5: 7, 15: 0xfe}
	idB = graph.ID{0: 0xff, 9: 3}
)

func stampAt(year int, nanos int, offset int) store.Stamp {
	return store.StampOf(time.Date(year, 2, 3, 4, 5, 6, nanos, time.FixedZone("", offset)))
}

// values is one of each kind with every field filled, so that a field that is forgotten in Encode or in
// Decode shows; fills makes sure that none is left empty here.
func values() (record *store.Record, state *store.State, analysis *store.Analysis, tombstone *store.Tombstone, preview *store.Preview, job *store.Job) {
	old, far := stampAt(-43, 0, -12600), stampAt(9876, 999_999_999, 45900)
	record = &store.Record{ID: idA, Content: "a\x00b\u2028\U0001F600", Speaker: "Ana", Session: "s", Kind: "fact", Source: "D1:3", Writer: "w", Tags: []string{"x", ""}, Entities: []string{"E"},
		At: stampAt(2025, 1, 7200), Until: &far, Grain: "day", Given: "yesterday", Zone: "Europe/Paris", Recorded: old, BecauseOf: []graph.ID{idB, idA}, Supersedes: []graph.ID{idA}, ValidFrom: &old, ValidUntil: &far,
		Pinned: true, PartOf: idB, Segments: []graph.ID{idA, idB}, RefLen: 26}
	state = &store.State{Seen: math.MaxUint64, Sightings: []store.Stamp{old, far}, SupersededBy: idB, Tags: []string{"t"}, Entities: []string{"e", "f"}, BecauseOf: []graph.ID{idA}, Supersedes: []graph.ID{idB}}
	analysis = &store.Analysis{Version: 7, Length: 9, Terms: []store.Term{{Hash: 1<<48 - 1, Count: math.MaxUint32}, {Hash: 1, Count: 1}},
		Times:    []store.Time{{From: 1, To: 2, Start: old, End: far, OpenStart: true, OpenEnd: true, Grain: 255, Absolute: true, Approx: true, Duration: true, Tense: -1}},
		Mentions: []store.Mention{{From: 3, To: 4, Key: "k", Type: "person"}},
		Causes:   []store.Cause{{CauseFrom: 1, CauseTo: 2, EffectFrom: 3, EffectTo: 4, From: 5, To: 6, Confidence: 0.875, Previous: -1}},
		Question: true, Roles: []store.Role{{From: 1, To: 2, Owner: "o", Role: "r", Name: "n"}}, Aliases: [][2]string{{"a", "b"}, {"", "d"}}}
	tombstone = &store.Tombstone{At: far, Purged: true, Reason: "why", RefLen: 26}
	preview = &store.Preview{Project: math.MaxUint32, Expires: -5, IDs: []graph.ID{idA, idB}, Choice: []byte(`{"a":1}`)}
	job = &store.Job{Tries: 3, NotBefore: -1, Reason: "later"}
	return record, state, analysis, tombstone, preview, job
}

func fills(t *testing.T, v any) {
	t.Helper()
	e := reflect.ValueOf(v).Elem()
	for i := range e.NumField() {
		if e.Field(i).IsZero() {
			t.Errorf("%s.%s is empty in this test", e.Type(), e.Type().Field(i).Name)
		}
	}
}

func TestCodecRoundTrip(t *testing.T) {
	record, state, analysis, tombstone, preview, job := values()
	for _, v := range []any{record, state, analysis, tombstone, preview, job, &analysis.Times[0], &analysis.Mentions[0], &analysis.Causes[0], &analysis.Roles[0]} {
		fills(t, v)
	}
	same := func(want, got any, err error) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v %v\nwant %+v", got, err, want)
		}
	}
	r, err := store.DecodeRecord(idA, record.Encode())
	same(record, r, err)
	s, err := store.DecodeState(state.Encode())
	same(state, s, err)
	a, err := store.DecodeAnalysis(analysis.Encode())
	same(analysis, a, err)
	x, err := store.DecodeTombstone(tombstone.Encode())
	same(tombstone, x, err)
	p, err := store.DecodePreview(preview.Encode())
	same(preview, p, err)
	j, err := store.DecodeJob(job.Encode())
	same(job, j, err)
	for _, vec := range [][]float32{{}, {0, 0}, {1}, {0.6, -0.8}, {0.5, 0.5, -0.5, 0.5}, {0.0001, -0.99999999}} {
		row := store.EncodeVector(1<<63+5, vec)
		h, got, err := store.DecodeVector(row)
		if h != 1<<63+5 || err != nil || len(got) != len(vec) {
			t.Errorf("vector of %d: %d numbers, hash %x, %v", len(vec), len(got), h, err)
			continue
		}
		for k := range vec {
			if math.Abs(float64(got[k]-vec[k])) > 1.0/math.MaxInt16 {
				t.Errorf("%v came back as %v", vec, got)
			}
		}
		if again := store.EncodeVector(h, got); !bytes.Equal(again, row) {
			t.Errorf("%v: written again it is %x, not %x", vec, again, row)
		}
	}
}

// A program that is older skips what it does not know.
func TestUnknownFields(t *testing.T) {
	record, _, _, _, _, _ := values()
	msg := record.Encode()
	for _, more := range [][]byte{{0xf8, 0x3f, 5}, {0xfa, 0x3f, 2, 'h', 'i'}, {0xf9, 0x3f, 1, 2, 3, 4, 5, 6, 7, 8}, {0xfd, 0x3f, 1, 2, 3, 4}} {
		got, err := store.DecodeRecord(idA, append(bytes.Clone(msg), more...))
		if err != nil || !reflect.DeepEqual(got, record) {
			t.Errorf("with % x: %v", more, err)
		}
	}
	if _, err := store.DecodeRecord(idA, append(bytes.Clone(msg), 0xfa, 0x3f, 200)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a field cut short: %v", err)
	}
}

// A cut or changed value is ErrCorrupt or decodes; no error tells what it held.
func TestCutValues(t *testing.T) {
	record, state, analysis, tombstone, preview, job := values()
	for _, c := range []struct {
		msg    []byte
		decode func([]byte) error
	}{
		{record.Encode(), func(b []byte) error { _, err := store.DecodeRecord(idA, b); return err }},
		{state.Encode(), func(b []byte) error { _, err := store.DecodeState(b); return err }},
		{analysis.Encode(), func(b []byte) error { _, err := store.DecodeAnalysis(b); return err }},
		{tombstone.Encode(), func(b []byte) error { _, err := store.DecodeTombstone(b); return err }},
		{preview.Encode(), func(b []byte) error { _, err := store.DecodePreview(b); return err }},
		{job.Encode(), func(b []byte) error { _, err := store.DecodeJob(b); return err }},
	} {
		for n := range c.msg {
			changed := bytes.Clone(c.msg)
			changed[n] ^= 0x55
			for _, b := range [][]byte{c.msg[:n], changed} {
				if err := c.decode(b); err != nil && !errors.Is(err, store.ErrCorrupt) {
					t.Fatalf("cut or changed at %d: %v", n, err)
				}
			}
		}
	}
}

// fuzzCodec: whatever the bytes, no panic; and what decodes is stable from then on.
func fuzzCodec[T any](f *testing.F, seed []byte, decode func([]byte) (T, error), encode func(T) []byte) {
	f.Add(seed)
	f.Add([]byte{})
	f.Add(seed[:len(seed)/2])
	f.Fuzz(func(t *testing.T, msg []byte) {
		v, err := decode(msg)
		if err != nil {
			if !errors.Is(err, store.ErrCorrupt) {
				t.Fatalf("not ErrCorrupt: %v", err)
			}
			return
		}
		once := encode(v)
		w, err := decode(once)
		if err != nil {
			t.Fatalf("what was decoded encodes to what does not decode: %v", err)
		}
		if twice := encode(w); !bytes.Equal(once, twice) {
			t.Fatalf("% x\nbecomes\n% x", once, twice)
		}
	})
}

func FuzzRecord(f *testing.F) {
	v, _, _, _, _, _ := values()
	fuzzCodec(f, v.Encode(), func(b []byte) (*store.Record, error) { return store.DecodeRecord(idA, b) }, (*store.Record).Encode)
}

func FuzzState(f *testing.F) {
	_, v, _, _, _, _ := values()
	fuzzCodec(f, v.Encode(), store.DecodeState, (*store.State).Encode)
}

func FuzzAnalysis(f *testing.F) {
	_, _, v, _, _, _ := values()
	f.Add([]byte("\x32\x0b\x38\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")) // a cause surer than sure
	fuzzCodec(f, v.Encode(), store.DecodeAnalysis, (*store.Analysis).Encode)
}

func FuzzTombstone(f *testing.F) {
	_, _, _, v, _, _ := values()
	fuzzCodec(f, v.Encode(), store.DecodeTombstone, (*store.Tombstone).Encode)
}

func FuzzPreview(f *testing.F) {
	_, _, _, _, v, _ := values()
	fuzzCodec(f, v.Encode(), store.DecodePreview, (*store.Preview).Encode)
}

func FuzzJob(f *testing.F) {
	_, _, _, _, _, v := values()
	fuzzCodec(f, v.Encode(), store.DecodeJob, (*store.Job).Encode)
}

func FuzzVector(f *testing.F) {
	type vector struct {
		hash uint64
		v    []float32
	}
	fuzzCodec(f, store.EncodeVector(7, []float32{1, 2, 3}), func(b []byte) (v vector, err error) {
		v.hash, v.v, err = store.DecodeVector(b)
		return v, err
	}, func(v vector) []byte { return store.EncodeVector(v.hash, v.v) })
}
