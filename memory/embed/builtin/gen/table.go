package main

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/text"
)

//go:embed use.js
var useJS []byte

// table is table.bin before it is written.
type table struct {
	terms, words []string // sorted by term; the commonest word of each
	weight       []float64
	common       []bool // may be a related term of another
	row          [][]int8
}

// build joins the two spaces: GloVe without its common directions and the encoder's, each word at length 1 in
// both, side by side, turned onto their main directions; then the words of one term become one row.
func build(list []string, glove, use [][]float32) *table {
	center(glove, topWords)
	for range common {
		takeOff(glove, direction(glove[:topWords]))
	}
	joined := make([][]float32, len(list))
	for i := range list {
		normalize(glove[i])
		normalize(use[i])
		joined[i] = append([]float32(nil), use[i]...)
		for _, x := range glove[i] {
			joined[i] = append(joined[i], gloveWeight*x)
		}
		normalize(joined[i])
	}
	turned := project(joined, directions(joined[:rows], dimensions))

	// Zipf's law stands for the counts, which the packages do not hold.
	var h float64
	for i := range list {
		h += 1 / (float64(i) + 2.7)
	}
	a := text.New()
	at := map[string]int{}
	t := &table{}
	var sums [][]float32
	var p []float64
	for i, w := range list {
		tokens := a.Tokens(w)
		if len(tokens) != 1 || tokens[0].Stop {
			continue
		}
		term := tokens[0].Term
		j, ok := at[term]
		if !ok {
			if len(t.terms) == rows {
				continue
			}
			j = len(t.terms)
			at[term] = j
			t.terms, t.words = append(t.terms, term), append(t.words, w)
			sums, p = append(sums, make([]float32, dimensions)), append(p, 0)
		}
		share := 1 / (float64(i) + 2.7) / h
		normalize(turned[i])
		for k, x := range turned[i] {
			sums[j][k] += float32(share) * x
		}
		p[j] += share
	}
	for j, v := range sums {
		t.weight = append(t.weight, smooth/(smooth+p[j]))
		t.row = append(t.row, quantize(v))
		t.common = append(t.common, j < targets)
	}
	t.sort()
	return t
}

func (t *table) sort() {
	order := make([]int, len(t.terms))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(t.terms[a], t.terms[b]) })
	s := &table{}
	for _, i := range order {
		s.terms, s.words = append(s.terms, t.terms[i]), append(s.words, t.words[i])
		s.weight, s.row = append(s.weight, t.weight[i]), append(s.row, t.row[i])
		s.common = append(s.common, t.common[i])
	}
	*t = *s
}

// calendar words are near one another and must not stand for one another.
var calendar = func() map[string]bool {
	m := map[string]bool{}
	a := text.New()
	for _, w := range []string{
		"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
		"jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
		"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mon", "tue", "tues", "wed", "thu", "thurs", "fri", "sat", "sun",
		"yesterday", "today", "tomorrow", "morning", "afternoon", "evening", "night", "spring", "summer", "autumn", "fall", "winter",
		"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty", "thirty", "hundred", "thousand", "million",
		"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
	} {
		m[a.Stem(w)] = true
	}
	return m
}()

// nearest returns the rows nearest to each, the row itself where there are too few.
func (t *table) nearest() [][]uint16 {
	n := len(t.row)
	length := make([]float64, n)
	for i, r := range t.row {
		length[i] = math.Sqrt(float64(dot(r, r)))
	}
	type hit struct {
		row int
		sim float64
	}
	out := make([][]uint16, n)
	hits := make([]hit, 0, n)
	for i := range t.row {
		hits = hits[:0]
		for j := range t.row {
			if j == i || !t.common[j] || calendar[t.terms[i]] && calendar[t.terms[j]] {
				continue
			}
			if s := float64(dot(t.row[i], t.row[j])) / (length[i] * length[j]); s >= floor {
				hits = append(hits, hit{j, s})
			}
		}
		slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.sim, a.sim), cmp.Compare(a.row, b.row)) })
		out[i] = make([]uint16, near)
		for r := range out[i] {
			out[i][r] = uint16(i)
			if r < len(hits) {
				out[i][r] = uint16(hits[r].row)
			}
		}
	}
	return out
}

// floor is the nearness under which words are not related at all: the mean over random pairs is 0.2.
const floor = 0.4

func (t *table) bytes() []byte {
	var body []byte
	le := binary.LittleEndian
	end := 0
	var names []byte
	for i, term := range t.terms {
		name := term
		if t.words[i] != term {
			name += " " + t.words[i]
		}
		names = append(names, name...)
		end += len(name)
		body = le.AppendUint32(body, uint32(end))
	}
	for i, r := range t.row {
		w := math.Round(t.weight[i] / math.Sqrt(float64(dot(r, r))) * lengthOne)
		body = le.AppendUint16(body, uint16(max(1, w)))
	}
	for _, rs := range t.nearest() {
		for _, r := range rs {
			body = le.AppendUint16(body, r)
		}
	}
	for _, r := range t.row {
		for _, x := range r {
			body = append(body, byte(x))
		}
	}
	body = append(body, names...)
	sum := sha256.Sum256(body)
	out := []byte("MAGMAWV1")
	out = le.AppendUint32(out, uint32(len(t.terms)))
	out = le.AppendUint32(out, dimensions)
	out = le.AppendUint32(out, near)
	return append(append(out, sum[:16]...), body...)
}

// lengthOne is the length of a row times its stored weight for a term that counts 1. A row is at least 127 long
// (its greatest component is), so the weight fits 16 bits.
const lengthOne = 1 << 22

func dot(a, b []int8) int32 {
	var s int32
	b = b[:len(a)]
	for i, x := range a {
		s += int32(x) * int32(b[i])
	}
	return s
}

// quantize brings the greatest component to 127.
func quantize(v []float32) []int8 {
	var m float32
	for _, x := range v {
		m = max(m, x, -x)
	}
	q := make([]int8, len(v))
	for i, x := range v {
		q[i] = int8(math.Round(float64(x) / float64(m) * 127))
	}
	return q
}

func dotf(a, b []float32) float64 {
	var s float64
	for i, x := range a {
		s += float64(float64(x) * float64(b[i]))
	}
	return s
}

func normalize(v []float32) {
	if l := math.Sqrt(dotf(v, v)); l > 0 {
		for i := range v {
			v[i] = float32(float64(v[i]) / l)
		}
	}
}

func center(vs [][]float32, top int) {
	mean := make([]float64, len(vs[0]))
	for _, v := range vs[:top] {
		for i, x := range v {
			mean[i] += float64(x) / float64(top)
		}
	}
	for _, v := range vs {
		for i := range v {
			v[i] -= float32(mean[i])
		}
	}
}

func takeOff(vs [][]float32, d []float32) {
	for _, v := range vs {
		s := float32(dotf(v, d))
		for i := range v {
			v[i] -= s * d[i]
		}
	}
}

func direction(vs [][]float32) []float32 { return directions(vs, 1)[0] }

// directions returns the k main directions of vs (not centered), by subspace iteration.
func directions(vs [][]float32, k int) [][]float32 {
	d := len(vs[0])
	c := make([][]float64, d)
	for i := range c {
		c[i] = make([]float64, d)
	}
	for _, v := range vs {
		for i, x := range v {
			for j, y := range v {
				c[i][j] += float64(x) * float64(y)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	b := make([][]float64, k)
	for i := range b {
		b[i] = make([]float64, d)
		for j := range b[i] {
			b[i][j] = random.NormFloat64()
		}
	}
	orthogonalize(b)
	for range 40 {
		for i, v := range b {
			next := make([]float64, d)
			for r := range next {
				for j, x := range c[r] {
					next[r] += x * v[j]
				}
			}
			b[i] = next
		}
		orthogonalize(b)
	}
	out := make([][]float32, k)
	for i, v := range b {
		for _, x := range v {
			out[i] = append(out[i], float32(x))
		}
	}
	return out
}

func orthogonalize(b [][]float64) {
	for i, v := range b {
		for _, u := range b[:i] {
			var s float64
			for t := range v {
				s += v[t] * u[t]
			}
			for t := range v {
				v[t] -= s * u[t]
			}
		}
		var l float64
		for _, x := range v {
			l += x * x
		}
		l = math.Sqrt(l)
		for t := range v {
			v[t] /= l
		}
	}
}

func project(vs, onto [][]float32) [][]float32 {
	out := make([][]float32, len(vs))
	for i, v := range vs {
		out[i] = make([]float32, len(onto))
		for k, d := range onto {
			out[i][k] = float32(dotf(v, d))
		}
	}
	return out
}
