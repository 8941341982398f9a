package builtin

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

var _ embed.Embedder = (*Embedder)(nil)

func opened(t testing.TB) *Embedder {
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func vectors(t testing.TB, texts ...string) [][]float32 {
	vs, err := opened(t).Embed(context.Background(), embed.Document, texts)
	if err != nil {
		t.Fatal(err)
	}
	if len(vs) != len(texts) {
		t.Fatalf("%d vectors for %d texts", len(vs), len(texts))
	}
	return vs
}

func cos(a, b []float32) float64 {
	var s float64
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

// The table is what gen wrote: its digest fits, its terms are sorted and are terms of package text, its rows
// and weights are in range.
func TestTable(t *testing.T) {
	e := opened(t)
	sum := sha256.Sum256([]byte(table[headerSize:]))
	if got := hex.EncodeToString(sum[:16]); got != e.digest {
		t.Errorf("digest %s, the content's is %s", e.digest, got)
	}
	a := text.New()
	last := ""
	for i := range e.n {
		term, word := e.name(i)
		if term <= last {
			t.Fatalf("row %d: %q after %q", i, term, last)
		}
		last = term
		if e.row(term) != i {
			t.Fatalf("row %d (%q) is found at %d", i, term, e.row(term))
		}
		k := a.Tokens(word)
		if len(k) != 1 || k[0].Term != term || k[0].Stop {
			t.Errorf("row %d: %q of %q is not its term (%v)", i, term, word, k)
		}
		if u16(e.weights, 2*i) == 0 {
			t.Errorf("row %d (%q) has no weight", i, term)
		}
		for r := range e.k {
			if j := u16(e.near, 2*(i*e.k+r)); j >= e.n {
				t.Fatalf("row %d (%q) is near row %d of %d", i, term, j, e.n)
			}
		}
	}
}

// The vectors of these texts, bit for bit, on every processor. They change with the table, with the recipe
// and with the terms of package text; then the recipe's name has to change too.
func TestGolden(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"What instruments does Ana play?", "8a518275a8b4e572"},
		{"The deploy failed because the certificate had expired.", "a7f9a31c142257ef"},
		{"src/a-b_c.go:12 v2.1.7 Zürich 我昨天去了北京", "4372ffe12a65b2ca"},
		{"how are you", "ceeef10692ab46bb"},
		{"👍", "930bfea579778b35"},
	} {
		h := sha256.New()
		for _, x := range vectors(t, c.text)[0] {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(x)))
		}
		if got := hex.EncodeToString(h.Sum(nil)[:8]); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestMeaning(t *testing.T) {
	for _, c := range []struct{ question, near, far string }{
		{"Which musical instrument does she play?", "I practised the violin all evening", "We drove to the lake on Sunday"},
		{"What pets do they have?", "Our dog and the two cats are fine", "The invoice was paid by the bank"},
		{"Why did the login deploy break?", "Authentication rollout crashed after the upgrade", "Grandma baked a cake with cherries"},
		{"What is her job?", "She works as a nurse in the hospital", "The river was frozen in the north"},
	} {
		v := vectors(t, c.question, c.near, c.far)
		if n, f := cos(v[0], v[1]), cos(v[0], v[2]); n < f+0.1 {
			t.Errorf("%q: %.2f to the answer, %.2f to another", c.question, n, f)
		}
	}
}

func TestRelated(t *testing.T) {
	e := opened(t)
	for term, want := range map[string]string{"kid": "children", "doctor": "physician", "guitar": "piano", "car": "truck"} {
		got := e.Related(term, 64, 0.4)
		if !slices.ContainsFunc(got, func(w Word) bool { return w.Text == want }) {
			t.Errorf("%s: %v lacks %s", term, got, want)
		}
		for i, w := range got {
			if w.Term == term || w.Sim < 0.4 || i > 0 && w.Sim > got[i-1].Sim {
				t.Errorf("%s: %v at %d", term, w, i)
			}
			if s := e.Similarity(term, w.Term); s != w.Sim || s != e.Similarity(w.Term, term) {
				t.Errorf("%s and %s: %v, Related says %v", term, w.Term, s, w.Sim)
			}
		}
	}
	if got := e.Related("kid", 3, 0); len(got) != 3 {
		t.Errorf("asked for 3, got %v", got)
	}
	if got := e.Related("qzxv", 10, 0); got != nil {
		t.Errorf("an unknown term has %v", got)
	}
	if got := e.Related("kid", 64, 0.999); len(got) != 0 {
		t.Errorf("nothing is that near: %v", got)
	}
	if e.Similarity("qzxv", "kid") != 0 || e.Similarity("qzxv", "qzxv") != 1 {
		t.Error("an unknown term is near itself alone")
	}
}

// Words that name different times or numbers are close in every text, and no question means one by the other.
func TestCalendarStaysExact(t *testing.T) {
	e := opened(t)
	for _, c := range [][2]string{{"june", "july"}, {"monday", "tuesday"}, {"two", "three"}, {"summer", "winter"}} {
		a := text.New()
		x, y := a.Stem(c[0]), a.Stem(c[1])
		if e.row(x) < 0 || e.row(y) < 0 {
			t.Errorf("%v are not in the table", c)
		}
		for _, w := range e.Related(x, 64, 0) {
			if w.Term == y {
				t.Errorf("%s is given for %s", y, x)
			}
		}
	}
}

func TestUnknownWordsMatchThemselvesAlone(t *testing.T) {
	v := vectors(t, "kzqwx", "kzqwy", "Смирнов", "Иванов", "北京", "東京", "kzqwx kzqwx")
	for i := range v {
		for j := range i {
			c := cos(v[i], v[j])
			if i == 6 && j == 0 {
				if c < 0.999 {
					t.Errorf("the same word twice: %.3f", c)
				}
			} else if math.Abs(c) > 0.45 {
				t.Errorf("texts %d and %d: %.3f", i, j, c)
			}
		}
	}
	v = vectors(t, "The handbook of kzqwx", "kzqwx", "pqqrz")
	if cos(v[0], v[1]) < cos(v[0], v[2])+0.3 {
		t.Error("a text is not found by the unknown word that it holds")
	}
}

// Length 1, finite, and the order of words does not matter, to the last bit, since sums run over integers.
func TestVectorProperties(t *testing.T) {
	e := opened(t)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"the", "river", "ran", "kzqw", "Zürich", "deploy_1", "children", "it", "北京"}), 1, 12).Draw(t, "words")
		v, err := e.Embed(context.Background(), embed.Query, []string{strings.Join(words, " "), strings.Join(rapid.Permutation(words).Draw(t, "other"), " ")})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(v[0], v[1]) {
			t.Fatalf("%v", words)
		}
		if l := cos(v[0], v[0]); math.Abs(l-1) > 1e-5 {
			t.Fatalf("length %v", l)
		}
	})
}

func TestFaults(t *testing.T) {
	e := opened(t)
	if _, err := e.Embed(context.Background(), embed.Document, []string{"a dog", " \n"}); !errors.Is(err, embed.ErrBlank) {
		t.Errorf("a blank text: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v, err := e.Embed(ctx, embed.Document, []string{"a dog"}); !errors.Is(err, context.Canceled) || v != nil {
		t.Errorf("after cancel: %v, %v", v, err)
	}
	if v, err := e.Embed(context.Background(), embed.Document, nil); err != nil || len(v) != 0 {
		t.Errorf("nothing to embed: %v, %v", v, err)
	}
	for _, cut := range []int{0, 7, headerSize - 1, headerSize, len(table) / 2, len(table) - 1} {
		if _, err := open(table[:cut]); err == nil {
			t.Errorf("a table of %d bytes opens", cut)
		}
	}
	if _, err := open("MAGMAWV9" + table[8:]); err == nil {
		t.Error("another format opens")
	}
	if err := embed.Check(vectors(t, "a dog", "👍"), 2, e.Space().Dimensions); err != nil {
		t.Error(err)
	}
}

func TestChunks(t *testing.T) {
	e := opened(t)
	if got := e.Chunks(" \t\n"); got != nil {
		t.Errorf("a blank text: %q", got)
	}
	if got := e.Chunks("One. Two."); len(got) != 1 || got[0] != "One. Two." {
		t.Errorf("a short text: %q", got)
	}
	for name, long := range map[string]string{
		"sentences":   strings.Repeat("The old bridge was closed for repairs. ", 200),
		"no sentence": strings.Repeat("word ", 3000),
		"no space":    strings.Repeat("x", 100000),
		"Chinese":     strings.Repeat("我昨天去了北京", 3000),
		"blank lines": strings.Repeat("a line\n\n\n", 900),
	} {
		chunks := e.Chunks(long)
		if len(chunks) < 2 {
			t.Errorf("%s: %d chunks", name, len(chunks))
		}
		solid := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if solid(strings.Join(chunks, "")) != solid(long) {
			t.Errorf("%s: the chunks do not hold the text", name)
		}
		for _, c := range chunks {
			if n := len(strings.Fields(c)); n == 0 || n > wordsPerChunk {
				t.Errorf("%s: a chunk of %d words", name, n)
			}
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	e := opened(t)
	want := vectors(t, "Many children played near the river")[0]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				v, err := e.Embed(context.Background(), embed.Document, []string{"Many children played near the river"})
				if err != nil || !slices.Equal(v[0], want) {
					t.Errorf("%v %v", v, err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzEmbed(f *testing.F) {
	f.Add("What did the children do in Zürich?")
	f.Add("\xff\x00 ' \u202e 👩‍👩‍👧 C++ a_b-c.d/e:f")
	e := opened(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range e.Chunks(s) {
			v, err := e.Embed(context.Background(), embed.Document, []string{c})
			if err != nil {
				t.Fatal(err)
			}
			if l := cos(v[0], v[0]); math.Abs(l-1) > 1e-5 || math.IsNaN(l) {
				t.Fatalf("%q has length %v", c, l)
			}
		}
	})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		opened(b)
	}
}

func BenchmarkEmbed(b *testing.B) {
	e := opened(b)
	for name, s := range map[string]string{
		"question": "When did Caroline go to the support group with her friends?",
		"turn":     "I finally finished the painting that I started last month, and my sister said that it looks just like the lake where we used to swim when we were kids.",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Embed(context.Background(), embed.Query, []string{s}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRelated(b *testing.B) {
	e := opened(b)
	for b.Loop() {
		e.Related("children", 64, 0.4)
	}
}
