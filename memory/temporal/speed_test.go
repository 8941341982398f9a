package temporal

import (
	"slices"
	"testing"
	"time"
)

var speedTexts = []struct {
	name, text string
	timed      bool
}{
	{"none", "Thanks, Iris! That's kind of you. Is this your own garden? It looks lovely, and I can't wait to taste those tomatoes of yours.", false},
	{"figures", "Upgrade pebble to v2.1.7 and restart the server on port 8080, see issue 1234 for the 3 open questions.", false},
	{"words", "The last thing I wanted was a second dog, but in the end the kids may have been right about the whole idea.", false},
	{"relative", "We planted the hedge two weekends ago and the birds love it, so we are thinking about a second one.", true},
	{"clock", "The meeting is next Tuesday at 3:15 pm in the main office, please bring the slides.", true},
	{"absolute", "Iris said that she opened the shop on 8 May 2023 and has been there every week.", true},
	{"chinese", "我上周五下午三点通过了面试，下个月开始上班。", true},
}

var speedRef = time.Date(2023, 6, 9, 19, 55, 0, 0, time.UTC)

// BenchmarkFind also reports the median of single calls, which a busy machine hardly moves.
func BenchmarkFind(b *testing.B) {
	r := New(Options{})
	for _, c := range speedTexts {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				t := time.Now()
				r.Find(c.text, speedRef)
				took = append(took, time.Since(t))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
		})
	}
}

// TestSpeed holds the medians to the budget of the fast path: 20 us for a text without a time, 60 us for one with.
func TestSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("timing")
	}
	r := New(Options{})
	for _, c := range speedTexts {
		budget := 20 * time.Microsecond
		if c.timed {
			budget = 60 * time.Microsecond
		}
		took := make([]time.Duration, 801)
		for i := range took {
			start := time.Now()
			r.Find(c.text, speedRef)
			took[i] = time.Since(start)
		}
		slices.Sort(took)
		p50 := took[len(took)/2]
		t.Logf("%-9s p50 %v", c.name, p50)
		if p50 > budget*2 { // twice, for slow and busy machines
			t.Errorf("%s: p50 %v, budget %v", c.name, p50, budget)
		}
	}
}
