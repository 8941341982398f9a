package consolidate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// shared is the folder of data to measure on, which is no part of the project.
func shared(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("MAGMA_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	b, err := os.ReadFile(filepath.Join(dir, "data", name))
	if err != nil {
		t.Skipf("no data to measure on: set MAGMA_SHARED to the folder with data/%s", name)
	}
	return b
}

// talk is one conversation: sessions of turns, and questions with the turns that answer them.
type talk struct {
	sessions [][]turn
	gold     [][]string
}

type turn struct{ id, speaker, text string }

func talks(t *testing.T) []talk {
	var raw []struct {
		QA []struct {
			Evidence []string `json:"evidence"`
		} `json:"qa"`
		Conversation map[string]json.RawMessage `json:"conversation"`
	}
	if err := json.Unmarshal(shared(t, "locomo-dev.json"), &raw); err != nil {
		t.Fatal(err)
	}
	var out []talk
	for _, r := range raw {
		var k talk
		for n := 1; n < 100; n++ {
			b, ok := r.Conversation[fmt.Sprintf("session_%d", n)]
			if !ok {
				continue
			}
			var turns []struct {
				ID      string `json:"dia_id"`
				Speaker string `json:"speaker"`
				Text    string `json:"text"`
				Caption string `json:"blip_caption"`
			}
			if json.Unmarshal(b, &turns) != nil {
				continue
			}
			var s []turn
			for _, x := range turns {
				s = append(s, turn{x.ID, x.Speaker, x.Text + " " + x.Caption})
			}
			k.sessions = append(k.sessions, s)
		}
		for _, q := range r.QA {
			k.gold = append(k.gold, q.Evidence)
		}
		out = append(out, k)
	}
	return out
}

// TestSplitTable prints how well ways of splitting keep together what belongs together: of the pairs of
// turns of one session that a question needs both, the share that stands in one episode, over the share
// for random episodes of the same number. Run with -v.
func TestSplitTable(t *testing.T) {
	all := talks(t)
	random := func(n int, seed uint64) func([]Event) []int {
		r := rand.New(rand.NewPCG(seed, 1))
		return func(e []Event) []int {
			var cuts []int
			for i := 1; i < len(e); i++ {
				if r.IntN(n) == 0 {
					cuts = append(cuts, i)
				}
			}
			return cuts
		}
	}
	measure := func(o SplitOptions) (episodes, turns int, together float64) {
		pairs, kept := 0, 0
		for _, k := range all {
			place := map[string][2]int{}
			for si, s := range k.sessions {
				events := make([]Event, len(s))
				for i, x := range s {
					events[i] = Event{At: start0.Add(time.Duration(i) * time.Second), Words: Words(x.text)}
				}
				ep := 0
				cuts := Split(events, o)
				for i, x := range s {
					for ep < len(cuts) && cuts[ep].Index <= i {
						ep++
					}
					place[x.id] = [2]int{si, ep}
				}
				episodes += len(cuts) + 1
				turns += len(s)
			}
			for _, g := range k.gold {
				for i := range g {
					for j := range i {
						a, oka := place[g[i]]
						b, okb := place[g[j]]
						if oka && okb && g[i] != g[j] && a[0] == b[0] {
							pairs++
							if a == b {
								kept++
							}
						}
					}
				}
			}
		}
		return episodes, turns, float64(kept) / float64(pairs)
	}
	type way struct {
		name string
		o    SplitOptions
	}
	ways := []way{
		{"session", SplitOptions{Depth: 2, Most: 10_000}},
		{"window of 8", SplitOptions{Depth: 2, Most: 8}},
		{"window of 12", SplitOptions{Depth: 2, Most: 12}},
		{"window of 16", SplitOptions{Depth: 2, Most: 16}},
	}
	for _, o := range []SplitOptions{{Depth: 0.15}, {Depth: 0.2}, {Depth: 0.25}, {Depth: 0.2, Window: 4}} {
		o.setDefaults()
		ways = append(ways, way{fmt.Sprintf("shift %.2f window %d", o.Depth, o.Window), o})
	}
	for _, w := range ways {
		e, n, together := measure(w.o)
		var chance []float64
		for seed := range uint64(5) {
			_, _, c := measure(SplitOptions{Func: random(max(1, n/e), seed)})
			chance = append(chance, c)
		}
		slices.Sort(chance)
		t.Logf("%-22s %5.1f turns each, together %.3f, by chance %.3f", w.name, float64(n)/float64(e), together, chance[2])
		if together < chance[2] {
			t.Errorf("%s: boundaries by chance keep more together", w.name)
		}
	}
}

var start0 = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// TestTopicsTable prints how well topics bring together what belongs together: of the pairs of turns of
// different sessions that a question needs both, the share under one topic, over the share of all pairs of
// episodes that are under one topic (which is what chance would give). Run with -v.
func TestTopicsTable(t *testing.T) {
	all := talks(t)
	for _, least := range []float64{0.1, 0.15, 0.2, 0.25, 0.3, 0.4} {
		pairs, kept, topics, episodes := 0, 0, 0, 0
		chance, largest := 0.0, 0.0
		for _, k := range all {
			l := newLandscape(nil)
			topicOf := map[string]RowID{}
			sessionOf := map[string]int{}
			var rows []Derived
			for si, s := range k.sessions {
				events := make([]Event, len(s))
				for i, x := range s {
					events[i] = Event{At: start0.Add(time.Duration(i) * time.Second), Words: Words(x.text)}
				}
				cuts := append(Split(events, SplitOptions{}), Boundary{Index: len(s)})
				from := 0
				for _, c := range cuts {
					var texts []string
					for _, x := range s[from:c.Index] {
						texts = append(texts, x.text)
					}
					at := start0.Add(time.Duration(len(rows)) * time.Hour)
					e := Derived{ID: rowID(EpisodeRow, fmt.Sprint(si, from)), Kind: EpisodeRow, Closed: true, Start: &at, End: &at, Keywords: Keywords(texts, episodeWords)}
					e.Topic, _ = l.topicFrom(least, e.ID, e.Keywords)
					l.put(e)
					rows = append(rows, e)
					for _, x := range s[from:c.Index] {
						topicOf[x.id], sessionOf[x.id] = e.Topic, si
					}
					from = c.Index
				}
			}
			found := Topics(rows)
			topics += len(found)
			episodes += len(rows)
			same, most := 0, 0
			for _, f := range found {
				same += len(f.Episodes) * (len(f.Episodes) - 1)
				most = max(most, len(f.Episodes))
			}
			chance += float64(same) / float64(len(rows)*(len(rows)-1)) / float64(len(all))
			largest += float64(most) / float64(len(rows)) / float64(len(all))
			for _, g := range k.gold {
				for i := range g {
					for j := range i {
						a, oka := topicOf[g[i]]
						b, okb := topicOf[g[j]]
						if oka && okb && sessionOf[g[i]] != sessionOf[g[j]] {
							pairs++
							if a == b {
								kept++
							}
						}
					}
				}
			}
		}
		t.Logf("join at %.2f: %d topics of %d episodes, the largest holds %.2f; together %.3f, by chance %.3f",
			least, topics, episodes, largest, float64(kept)/float64(pairs), chance)
		if least == joinAt && (float64(kept)/float64(pairs) < 1.5*chance || largest > 0.33) {
			t.Errorf("topics as they are made bring together hardly more than chance, or swallow all")
		}
	}
}
