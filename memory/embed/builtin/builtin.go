// Package builtin answers: how near in meaning are two English words, and two texts, with nothing
// installed but this program?
//
// It holds a table of word vectors (table.bin; PROVENANCE.md says from where and under which licences,
// gen makes it) and three uses of it:
//
//   - Embedder.Embed averages the vectors of a text's words, frequent ones counting less (smooth inverse
//     frequency, Arora et al. 2017). It is an embed.Embedder.
//   - Embedder.Related lists the words nearest to one, for a query that should also find "kids" when it
//     says "children".
//   - Embedder.Similarity compares two words.
//
// The table is keyed by the terms of package text, so a row is what the index calls a word: "run",
// "runs" and "running" share one. A term that the table does not know (a name, an identifier, a word of
// another language) is given a vector by its hash: it is near nothing but itself, so such texts
// are still found by the words they share.
//
// All sums run over integers and each float operation is rounded by itself, so that a text has the
// same vector, bit for bit, on every machine. The table is read in place from the program's own image:
// opening it costs nothing and only the pages that are looked at come into memory.
//
// What was tried and dropped: GloVe alone (two thirds of the gain), the sentence encoder that half of the
// table comes from, run whole (two transformer layers; no better beside words, and milliseconds a
// question), fusion by rank instead of by score, and summing related words instead of taking the best.
package builtin

import (
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

//go:embed table.bin
var table string

// The bytes of table.bin, numbers little endian:
//
//	"MAGMAWV1"  8 bytes
//	n, dim, k   3 x uint32: terms, dimensions, nearest terms kept for each
//	digest      16 bytes, the first of the SHA-256 of all that follows
//	ends        n x uint32: where each term's name ends in names
//	weights     n x uint16: what a term's row counts in a text, see scale
//	near        n x k x uint16: the nearest terms' rows, nearest first, filled up with the row itself
//	rows        n x dim x int8
//	names       of each term "term" or, where its commonest word is another, "term word"; sorted by term
const (
	magic      = "MAGMAWV1"
	headerSize = 8 + 3*4 + 16
)

// scale is the length that a term's row has times its weight, for a term that counts fully; "the" would count
// a fiftieth of it. 22 bits leave 20 for the rarest weights and 41 for the words of a text.
const scale = 1 << 22

// wordsPerChunk is the size of a piece of a long text. An average over more words than a few sentences is
// near everything; a turn of a conversation should stay whole (99 % are shorter). The measurements that
// chose this embedder had turns of 25 words.
const wordsPerChunk = 120

// recipe is changed whenever the same text would get another vector from the same table.
const recipe = "sif;int8;text1;w120"

// Embedder is the program's own embedder. It is safe for concurrent use.
type Embedder struct {
	n, dim, k                        int
	digest                           string
	ends, weights, near, rows, names string
	unknownStep                      int64 // a component of an unknown term's vector
	analyzers                        sync.Pool
}

// Word is a word of the table. Text is the commonest English word of its term, Term what package text
// makes of it, Sim its nearness in [-1, 1].
type Word struct {
	Text, Term string
	Sim        float64
}

// New opens the table in the program. The error is that of a damaged build.
func New() (*Embedder, error) { return open(table) }

func open(t string) (*Embedder, error) {
	bad := func(what string) (*Embedder, error) {
		return nil, fmt.Errorf("the built-in word table is damaged (%s): build the program again", what)
	}
	if len(t) < headerSize || t[:8] != magic {
		return bad("no header")
	}
	n, dim, k := int(u32(t, 8)), int(u32(t, 12)), int(u32(t, 16))
	if n == 0 || n >= 1<<16 || dim == 0 || dim > 4096 || k > 4096 {
		return bad("sizes")
	}
	e := &Embedder{n: n, dim: dim, k: k, digest: hex.EncodeToString([]byte(t[20:36]))}
	rest := t[headerSize:]
	for _, part := range []struct {
		to   *string
		size int
	}{{&e.ends, 4 * n}, {&e.weights, 2 * n}, {&e.near, 2 * n * k}, {&e.rows, n * dim}} {
		if len(rest) < part.size {
			return bad("cut short")
		}
		*part.to, rest = rest[:part.size], rest[part.size:]
	}
	if int(u32(e.ends, 4*(n-1))) != len(rest) {
		return bad("names")
	}
	e.names = rest
	e.unknownStep = int64(math.Round(scale / math.Sqrt(float64(dim))))
	e.analyzers.New = func() any { return text.New() }
	return e, nil
}

func u32(s string, at int) uint32 {
	return uint32(s[at]) | uint32(s[at+1])<<8 | uint32(s[at+2])<<16 | uint32(s[at+3])<<24
}

func u16(s string, at int) int { return int(s[at]) | int(s[at+1])<<8 }

// Space names the table by its content.
func (e *Embedder) Space() embed.Space {
	return embed.Space{Provider: "builtin", Model: "words-en", Digest: e.digest, Dimensions: e.dim, Recipe: recipe}
}

// Embed returns one vector of length 1 per text. Questions and documents are treated alike.
func (e *Embedder) Embed(ctx context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	a := e.analyzers.Get().(*text.Analyzer)
	defer e.analyzers.Put(a)
	out := make([][]float32, 0, len(texts))
	sum := make([]int64, e.dim)
	for _, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("embed %d texts with the built-in table: %w", len(texts), err)
		}
		if strings.TrimSpace(t) == "" {
			return nil, embed.ErrBlank
		}
		clear(sum)
		e.sum(sum, a, t)
		out = append(out, unit(sum))
	}
	return out, nil
}

// sum adds the vectors of t's informative words; of all its words where it has no informative one; and
// stands for t itself where it has no words at all.
func (e *Embedder) sum(sum []int64, a *text.Analyzer, t string) {
	tokens := a.Tokens(t)
	informative := false
	for _, k := range tokens {
		informative = informative || !k.Stop
	}
	some := false
	for _, k := range tokens {
		if !k.Stop || !informative {
			e.add(sum, k.Term)
			some = true
		}
	}
	if !some || zero(sum) {
		e.unknown(sum, strings.TrimSpace(t))
	}
}

func zero(sum []int64) bool {
	for _, x := range sum {
		if x != 0 {
			return false
		}
	}
	return true
}

func (e *Embedder) add(sum []int64, term string) {
	i := e.row(term)
	if i < 0 {
		e.unknown(sum, term)
		return
	}
	w := int64(u16(e.weights, 2*i))
	row := e.rows[i*e.dim : (i+1)*e.dim]
	for d := range sum {
		sum[d] += w * int64(int8(row[d]))
	}
}

// unknown adds the vector that a term gets by its hash: FNV-1a over its bytes, then one splitmix64 step for
// every 64 components, each bit a sign.
func (e *Embedder) unknown(sum []int64, term string) {
	h := uint64(14695981039346656037)
	for i := range len(term) {
		h = (h ^ uint64(term[i])) * 1099511628211
	}
	e.signs(sum, h, e.unknownStep)
}

// signs adds a step up or down to each component, by the bits that follow from h.
func (e *Embedder) signs(sum []int64, h uint64, step int64) {
	var bits uint64
	for d := range sum {
		if d%64 == 0 {
			h += 0x9e3779b97f4a7c15
			bits = h
			bits = (bits ^ bits>>30) * 0xbf58476d1ce4e5b9
			bits = (bits ^ bits>>27) * 0x94d049bb133111eb
			bits ^= bits >> 31
		}
		if bits&1 == 1 {
			sum[d] += step
		} else {
			sum[d] -= step
		}
		bits >>= 1
	}
}

// unit brings a sum to length 1. Each product is rounded before it is added (the conversion forbids a fused
// multiply-add), so the bits do not depend on the processor.
func unit(sum []int64) []float32 {
	var squares float64
	for _, x := range sum {
		f := float64(x)
		squares += float64(f * f)
	}
	length := math.Sqrt(squares)
	v := make([]float32, len(sum))
	for d, x := range sum {
		v[d] = float32(float64(x) / length)
	}
	return v
}

// Chunks cuts a stored text at sentence ends into pieces of about wordsPerChunk words.
func (e *Embedder) Chunks(t string) []string {
	if strings.TrimSpace(t) == "" {
		return nil
	}
	if len(strings.Fields(t)) <= wordsPerChunk && len(t) <= 16*wordsPerChunk {
		return []string{t}
	}
	var out []string
	start, end, words := -1, 0, 0
	flush := func() {
		if start >= 0 {
			out = append(out, t[start:end])
		}
		start, words = -1, 0
	}
	for _, s := range text.Sentences(t) {
		for from := s[0]; from < s[1]; {
			to, n := cut(t[from:s[1]])
			if words > 0 && words+n > wordsPerChunk {
				flush()
			}
			if start < 0 {
				start = from
			}
			from += to
			end = from
			words += n
		}
	}
	flush()
	if out == nil {
		return []string{t}
	}
	return out
}

// cut measures the longest beginning of a sentence that is one piece: its bytes and its words, where a run
// without spaces counts one word for every 16 bytes.
func cut(s string) (size, words int) {
	const wordBytes = 16
	space := true
	run := 0
	for i, r := range s {
		if isSpace := r == ' ' || r == '\n' || r == '\t' || r == '\r'; isSpace {
			space, run = true, 0
			continue
		}
		run += utf8.RuneLen(r)
		if space || run > wordBytes {
			if words == wordsPerChunk {
				return i, words
			}
			words++
			space = false
			run = utf8.RuneLen(r)
		}
	}
	return len(s), words
}

// Related returns up to n words whose terms are nearest to term (a term of package text, such as a stem), with
// at least minSim, best first; the term itself is not among them. An unknown term has none. The table keeps
// the 64 nearest of each.
func (e *Embedder) Related(term string, n int, minSim float64) []Word {
	i := e.row(term)
	if i < 0 || n <= 0 {
		return nil
	}
	n = min(n, e.k)
	out := make([]Word, 0, n)
	for r := range n {
		j := u16(e.near, 2*(i*e.k+r))
		if j == i {
			break
		}
		sim := e.sim(i, j)
		if sim < minSim {
			break
		}
		t, w := e.name(j)
		out = append(out, Word{Text: w, Term: t, Sim: sim})
	}
	return out
}

// Similarity is how near two terms are, in [-1, 1]: 1 for equal terms, 0 where one is unknown.
func (e *Embedder) Similarity(a, b string) float64 {
	if a == b {
		return 1
	}
	i, j := e.row(a), e.row(b)
	if i < 0 || j < 0 {
		return 0
	}
	return e.sim(i, j)
}

func (e *Embedder) sim(i, j int) float64 {
	a, b := e.rows[i*e.dim:(i+1)*e.dim], e.rows[j*e.dim:(j+1)*e.dim]
	var dot, aa, bb int32
	for d := range a {
		x, y := int32(int8(a[d])), int32(int8(b[d]))
		dot += x * y
		aa += x * x
		bb += y * y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return float64(dot) / math.Sqrt(float64(int64(aa)*int64(bb)))
}

// row finds a term's row by halving, -1 where the table has none.
func (e *Embedder) row(term string) int {
	i := sort.Search(e.n, func(i int) bool { t, _ := e.name(i); return t >= term })
	if i < e.n {
		if t, _ := e.name(i); t == term {
			return i
		}
	}
	return -1
}

func (e *Embedder) name(i int) (term, word string) {
	from := 0
	if i > 0 {
		from = int(u32(e.ends, 4*(i-1)))
	}
	name := e.names[from:u32(e.ends, 4*i)]
	if sp := strings.IndexByte(name, ' '); sp >= 0 {
		return name[:sp], name[sp+1:]
	}
	return name, name
}
