package consolidate

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// SplitOptions say where an episode ends. The zero value has the defaults, which were measured on
// conversations (TestSplitTable prints them against other ways).
type SplitOptions struct {
	// Pause is the silence that ends an episode; 0 is 30 minutes: people who come back after a meal begin
	// something new, and people who look something up do not take that long.
	Pause time.Duration
	// Most is how many events an episode holds at most; 0 is 32. An episode is shown and summarized as a
	// whole, so it has to fit a context of some 2,000 tokens. 1 makes every event an episode.
	Most int
	// Least is how many events stand between two shifts of topic at least; 0 is 4: a question and its
	// answer with a word before and after.
	Least int
	// Window is how many events on each side are compared to find a shift; 0 is 6. With 4, more of what a
	// question needs together was parted at the same number of episodes, with 3 more still.
	Window int
	// Depth is how far the likeness of the two sides has to fall, from the peaks around it, to make a
	// shift; 0 is 0.2. On conversations of 22 turns a session that gives episodes of 16 turns and keeps
	// 99 % of the pairs of turns together that a question needs both, where cuts by chance keep 83 %; 0.15
	// gives 13 turns and 93 % (83 %), 0.25 hardly splits at all. Over 1: never, only pauses and the size
	// count.
	Depth float64
	// Func, if set, decides instead: it returns the indexes at which episodes begin, without 0.
	Func func([]Event) []int
}

func (o *SplitOptions) setDefaults() {
	o.Pause = cmp.Or(o.Pause, 30*time.Minute)
	o.Most = cmp.Or(o.Most, 32)
	o.Least = cmp.Or(o.Least, 4)
	o.Window = cmp.Or(o.Window, 6)
	o.Depth = cmp.Or(o.Depth, 0.2)
}

// Event is a memory as Split sees it: when it happened and what it is about, as a sparse vector of words or
// of anything else whose cosine says how alike two events are.
type Event struct {
	At    time.Time
	Words map[string]float64
}

// Why an episode ends.
const (
	ByPause = "pause"
	ByShift = "shift"
	BySize  = "size"
)

// Boundary is the beginning of an episode: the index of its first event, and why the one before ended.
type Boundary struct {
	Index int
	Why   string
}

// Split finds where episodes begin in a run of events of one session, which must be in order. The first
// event is always a beginning and is not in the answer. Whether there is a boundary between two events
// depends on the few around them alone, so that a longer run has the same boundaries at its beginning,
// the last Window events apart.
//
// A shift is a valley, as in TextTiling (Hearst 1997): the likeness of what was said before and after is
// lower here than at the peaks to the left and right of it.
func Split(events []Event, o SplitOptions) []Boundary {
	o.setDefaults()
	if o.Func != nil {
		var out []Boundary
		for _, i := range o.Func(events) {
			if i > 0 && i < len(events) && (len(out) == 0 || i > out[len(out)-1].Index) {
				out = append(out, Boundary{i, ByShift})
			}
		}
		return out
	}
	var out []Boundary
	from := 0
	for i := 1; i <= len(events); i++ {
		if i < len(events) && events[i].At.Sub(events[i-1].At) < o.Pause {
			continue
		}
		out = append(out, splitRun(events[from:i], from, o)...)
		if i < len(events) {
			out = append(out, Boundary{i, ByPause})
		}
		from = i
	}
	return out
}

// splitRun splits events without a pause by shifts and by size. offset is added to the indexes.
func splitRun(events []Event, offset int, o SplitOptions) []Boundary {
	depth := depths(events, o.Window)
	type valley struct {
		index int
		depth float64
	}
	var shifts []valley
	for i := 1; i < len(events); i++ {
		if depth[i] >= o.Depth && i >= o.Least && len(events)-i >= o.Least {
			shifts = append(shifts, valley{i, depth[i]})
		}
	}
	// The deepest first; none within Least of a deeper one.
	slices.SortStableFunc(shifts, func(a, b valley) int { return cmp.Or(-cmp.Compare(a.depth, b.depth), a.index-b.index) })
	var chosen []int
	for _, v := range shifts {
		if !slices.ContainsFunc(chosen, func(c int) bool { return abs(c-v.index) < o.Least }) {
			chosen = append(chosen, v.index)
		}
	}
	slices.Sort(chosen)
	// What is still too long is cut at its deepest place near the end, else at the limit.
	var out []Boundary
	from := 0
	for _, end := range append(chosen, len(events)) {
		for end-from > o.Most {
			cut := from + o.Most
			for i := max(from+o.Most/2, from+1); i < from+o.Most; i++ {
				if depth[i] > depth[cut] {
					cut = i
				}
			}
			out = append(out, Boundary{offset + cut, BySize})
			from = cut
		}
		if end < len(events) {
			out = append(out, Boundary{offset + end, ByShift})
			from = end
		}
	}
	return out
}

func abs(x int) int { return max(x, -x) }

// depths gives for every gap before event i how deep a valley it is, 0 where it is none.
func depths(events []Event, window int) []float64 {
	n := len(events)
	alike := make([]float64, n)
	for i := 1; i < n; i++ {
		alike[i] = cosine(sum(events[max(0, i-window):i]), sum(events[i:min(n, i+window)]))
	}
	out := make([]float64, n)
	for i := 1; i < n; i++ {
		if i > 1 && alike[i-1] < alike[i] || i < n-1 && alike[i+1] < alike[i] {
			continue // a slope
		}
		left, right := alike[i], alike[i]
		for k := i - 1; k >= 1 && alike[k] >= left; k-- {
			left = alike[k]
		}
		for k := i + 1; k < n && alike[k] >= right; k++ {
			right = alike[k]
		}
		// At the ends of a run there is one peak only: it counts alone.
		switch {
		case i == 1 || left == alike[i] && i <= window:
			left = right
		case i == n-1 || right == alike[i] && n-i <= window:
			right = left
		}
		if left > alike[i] && right > alike[i] {
			out[i] = (left + right - 2*alike[i]) / 2
		}
	}
	return out
}

func sum(events []Event) map[string]float64 {
	if len(events) == 1 {
		return events[0].Words
	}
	out := map[string]float64{}
	for _, e := range events {
		for w, x := range e.Words {
			out[w] += x
		}
	}
	return out
}

// cosine of two sparse vectors, 0 where one is empty. The order of summing is fixed, so that the same
// vectors give the same bits.
func cosine(a, b map[string]float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	var dot, na, nb float64
	for _, w := range sortedKeys(a) {
		na += a[w] * a[w]
		dot += a[w] * b[w]
	}
	for _, w := range sortedKeys(b) {
		nb += b[w] * b[w]
	}
	if na == 0 || nb == 0 {
		return 0
	}
	return dot / math.Sqrt(na*nb)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
