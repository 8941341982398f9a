package eval

import (
	"math"
	"math/rand/v2"
	"sort"
)

// Cutoffs of the ranked list. 10 is the engine's default limit; 5 and 20 stand on either side of it.
var cutoffs = []int{5, 10, 20}

// measures of one question's ranked list and contexts, by name. Higher is better.
func measures(ranked []string, contexts []Context, evidence []string, sessionOf map[string]string, sessions []string) map[string]float64 {
	want := map[string]bool{}
	for _, e := range evidence {
		want[e] = true
	}
	id := func(source string) string { return source }
	if len(sessions) > 0 { // the data name sessions alone
		for _, s := range sessions {
			want[s] = true
		}
		id = func(source string) string { return sessionOf[source] }
	}
	list := ranked
	ranked = nil
	seen := map[string]bool{}
	for _, source := range list {
		if s := id(source); !seen[s] {
			seen[s] = true
			ranked = append(ranked, s)
		}
	}
	m := map[string]float64{"MRR": 0}
	n := float64(len(want))
	found, gain, ideal := 0.0, 0.0, 0.0
	for i := 0; i < 20; i++ {
		if i < len(ranked) && want[ranked[i]] {
			if found == 0 {
				m["MRR"] = 1 / float64(i+1)
			}
			found++
			if i < 10 {
				gain += 1 / math.Log2(float64(i)+2)
			}
		}
		if i < 10 && float64(i) < n {
			ideal += 1 / math.Log2(float64(i)+2)
		}
		for _, k := range cutoffs {
			if i+1 == k {
				at := atK(k)
				m["recall@"+at] = found / n
				m["all@"+at] = truth(found == n)
				m["any@"+at] = truth(found > 0)
			}
		}
	}
	m["nDCG@10"] = gain / ideal
	for _, c := range contexts {
		got, tokens := map[string]bool{}, 0.0
		for _, s := range c.Whole {
			if want[id(s.Source)] {
				got[id(s.Source)] = true
				tokens += s.Tokens
			}
		}
		at := atK(c.Budget)
		m["evidence≤"+at], m["share≤"+at] = float64(len(got))/n, 0
		if c.Tokens > float64(c.Budget) { // over its budget: counts for nothing
			m["evidence≤"+at] = 0
		} else if c.Tokens > 0 {
			m["share≤"+at] = tokens / c.Tokens
		}
	}
	return m
}

func atK(k int) string {
	const digits = "0123456789"
	if k < 10 {
		return digits[k : k+1]
	}
	return atK(k/10) + digits[k%10:k%10+1]
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Estimate is a mean with its 95 % interval by bootstrap over clusters: questions of one conversation
// are not independent, so whole conversations are drawn.
type Estimate struct {
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// value is one question's figure and the cluster it belongs to.
type value struct {
	cluster string
	x       float64
}

// draws of the bootstrap: at 1,000 the ends of a 95 % interval move by a few thousandths between seeds, which
// is under the last digit printed; ten times as many cost seconds for a whole table.
const draws = 1000

// estimate draws clusters with replacement. The interval of a single cluster is its mean: nothing can be
// said of others, and report pages print no interval then.
func estimate(values []value, seed uint64) Estimate {
	e := Estimate{N: len(values)}
	if len(values) == 0 {
		return e
	}
	index := map[string]int{}
	var sums, counts []float64
	for _, v := range values {
		i, ok := index[v.cluster]
		if !ok {
			i = len(sums)
			index[v.cluster] = i
			sums, counts = append(sums, 0), append(counts, 0)
		}
		sums[i] += v.x
		counts[i]++
		e.Mean += v.x
	}
	e.Mean /= float64(len(values))
	e.Low, e.High = e.Mean, e.Mean
	if len(sums) < 2 {
		return e
	}
	rnd := rand.New(rand.NewPCG(seed, 0x6d61676d61))
	means := make([]float64, draws)
	for d := range means {
		sum, n := 0.0, 0.0
		for range sums {
			i := rnd.IntN(len(sums))
			sum += sums[i]
			n += counts[i]
		}
		means[d] = sum / n
	}
	sort.Float64s(means)
	e.Low, e.High = means[draws*25/1000], means[draws*975/1000]
	return e
}

// Latency is in milliseconds.
type Latency struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

func latency(micros []int64) Latency {
	if len(micros) == 0 {
		return Latency{}
	}
	sort.Slice(micros, func(i, j int) bool { return micros[i] < micros[j] })
	at := func(p float64) float64 {
		return float64(micros[min(len(micros)-1, int(p*float64(len(micros))))]) / 1000
	}
	return Latency{len(micros), at(.5), at(.95), at(.99)}
}
