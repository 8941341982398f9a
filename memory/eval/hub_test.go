package eval

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// TestHub: 50,000 memories of which 20,000 mention one name answer within three times the time (p95) of the same memories
// with four hundred names in its place, asked the same questions. It takes minutes: MAGMA_EVAL=hub runs it, MAGMA_EVAL_N makes it smaller.
func TestHub(t *testing.T) {
	if os.Getenv("MAGMA_EVAL") != "hub" {
		t.Skip("MAGMA_EVAL is not hub")
	}
	n := 50_000
	fmt.Sscan(os.Getenv("MAGMA_EVAL_N"), &n)
	things := []string{"kettle", "ladder", "harbour", "violin", "ticket", "garden", "letter", "engine", "window", "bridge", "bread", "paint", "winter", "signal", "mirror"}
	verbs := []string{"moved", "mended", "sold", "found", "painted", "dropped", "carried", "weighed", "opened", "measured"}
	people := []string{"Ida", "Per", "Mona", "Tor", "Liv", "Odd", "Siv", "Jan"}
	p95 := map[bool]float64{}
	for _, hub := range []bool{false, true} {
		bank, err := memory.Open(t.TempDir(), memory.Options{Zone: time.UTC, Now: func() time.Time { return time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC) }})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(7, 7))
		pick := func(l []string) string { return l[r.IntN(len(l))] }
		start := time.Now()
		for i := range n {
			who := pick(people)
			name := someone(hub, r)
			text := fmt.Sprintf("%s %s the %s and the %s number %d near the %s.", name, pick(verbs), pick(things), pick(things), r.IntN(4000), pick(things))
			if i%5 >= 2 {
				text = fmt.Sprintf("The %s was %s with a %s number %d by the %s.", pick(things), pick(verbs), pick(things), r.IntN(4000), pick(things))
			}
			if _, err := bank.Remember(t.Context(), memory.Note{Content: text, Speaker: who, Project: "p", Session: fmt.Sprint("s", i/40), OccurredAt: fmt.Sprintf("2025-%02d-%02dT10:00:00Z", 1+i/40%12, 1+i/480%28)}); err != nil {
				t.Fatal(err)
			}
		}
		built := time.Since(start)
		var micros []int64
		for i := range 200 {
			q := fmt.Sprintf("What did %s do with the %s and the %s number %d?", someone(hub, r), pick(things), pick(things), r.IntN(4000))
			began := time.Now()
			if _, err := bank.Recall(t.Context(), memory.Question{Query: q, Project: "p"}); err != nil {
				t.Fatal(err)
			}
			if i >= 20 { // the first ones load
				micros = append(micros, time.Since(began).Microseconds())
			}
		}
		l := latency(micros)
		t.Logf("hub %t: %d memories in %.1f s, recall p50 %.1f p95 %.1f ms", hub, n, built.Seconds(), l.P50, l.P95)
		p95[hub] = l.P95
		if err := bank.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d memories, two in five about one name: recall p95 %.2f times that of the same store without it", n, p95[true]/p95[false])
	if p95[true] > 3*p95[false] {
		t.Errorf("the hub makes recall %.1f times slower", p95[true]/p95[false])
	}
}

// someone is the hub, or one of four hundred people.
func someone(hub bool, r *rand.Rand) string {
	if hub {
		return "Alice Brandt"
	}
	first := []string{"Alice", "Berit", "Carla", "Dagny", "Edda", "Frida", "Greta", "Hilda", "Ingrid", "Julia", "Karla", "Lotte", "Marit", "Nelly", "Olga", "Paula", "Rita", "Sonja", "Thea", "Ursula"}
	last := []string{"Brandt", "Carlsen", "Dahl", "Eriksen", "Foss", "Gran", "Holm", "Iversen", "Jansen", "Krog", "Lund", "Moe", "Nygard", "Olsen", "Paulsen", "Rud", "Sande", "Tveit", "Ulven", "Vik"}
	return first[r.IntN(len(first))] + " " + last[r.IntN(len(last))]
}
