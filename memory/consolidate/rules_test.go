package consolidate_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/consolidate/consolidatetest"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// Three matters in one evening, four sessions later one of them again.
var (
	garden = []string{
		"The tomato seedlings on the balcony have grown tall.", "Do the tomato seedlings get enough water on the balcony?",
		"I water the seedlings every evening, the tomato ones twice.", "Balcony tomatoes want sun, the seedlings stand at the south side.",
		"Then the tomato harvest will be early this summer.", "Last summer the balcony tomatoes were small.",
		"Small tomatoes from the balcony taste best.", "I will plant more seedlings of that tomato."}
	server = []string{
		"The mail server in Utrecht was down this morning.", "Was the certificate of the mail server expired?",
		"Yes, the certificate expired and the server refused connections.", "Did Priya renew the certificate on the server?",
		"Priya renewed the certificate at nine and the mail server was back.", "Let us monitor the certificate of each server in Utrecht.",
		"Priya will write the monitor for the mail server.", "The certificate monitor goes to the Utrecht team."}
)

func episodes(t *testing.T, s *consolidatetest.MemStore, project string) []consolidate.Derived {
	t.Helper()
	rows, err := s.Rows(project, consolidate.EpisodeRow)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b consolidate.Derived) int { return a.Start.Compare(*b.Start) })
	return rows
}

func shape(rows []consolidate.Derived) string {
	var out []string
	for _, r := range rows {
		state := "open"
		if r.Closed {
			state = "closed"
		}
		out = append(out, fmt.Sprintf("%s:%d:%s", r.Session, len(r.Basis), state))
	}
	return strings.Join(out, " ")
}

// ruled runs a worker with a clock of its own, without any model.
func ruled(t *testing.T, f func(s *consolidatetest.MemStore, w *consolidate.Worker, drain func())) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &consolidatetest.MemStore{}
		w := consolidate.NewWorker(s, embed.None(), nil, consolidate.Options{})
		f(s, w, func() {
			t.Helper()
			if err := w.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	})
}

func say(n int, session, text string, minute int) consolidate.Memory {
	return consolidate.Memory{ID: id(n), Project: "p", Session: session, Text: text, Speaker: "Ana", At: start.Add(time.Duration(minute) * time.Minute), Stored: time.Now()}
}

func TestEpisodesByTopicAndPause(t *testing.T) {
	ruled(t, func(s *consolidatetest.MemStore, w *consolidate.Worker, drain func()) {
		n := 0
		for _, text := range slices.Concat(garden, server) {
			n++
			s.Add(say(n, "evening", text, n), consolidate.Rules)
		}
		s.Add(say(n+1, "evening", "Good morning, the tomato seedlings on the balcony have frozen.", 12*60), consolidate.Rules)
		drain()
		rows := episodes(t, s, "p")
		if got := shape(rows); got != "evening:8:closed evening:8:closed evening:1:open" {
			t.Fatalf("episodes: %s", got)
		}
		if !strings.Contains(rows[0].Text, "tomato") || !strings.Contains(rows[1].Text, "certificate") || strings.Contains(rows[1].Text, "tomato") {
			t.Errorf("summaries: %q, %q", rows[0].Text, rows[1].Text)
		}
		if len(rows[1].Text) > 500 || !strings.HasPrefix(rows[1].Text, "Ana: ") {
			t.Errorf("a summary: %q", rows[1].Text)
		}
		words := fmt.Sprint(rows[1].Keywords)
		for _, want := range []string{"certificate", "server", "Priya", "Utrecht"} {
			if !strings.Contains(words, want) {
				t.Errorf("%s is no keyword: %s", want, words)
			}
		}
		for _, r := range rows {
			for _, q := range r.Evidence {
				m, err := s.Memories("p", []graph.ID{q.Memory})
				if err != nil || len(m) != 1 || m[0].Text[q.From:q.To] != q.Text {
					t.Errorf("evidence %+v is not in its memory", q)
				}
			}
			if r.Pass != consolidate.Rules || r.Prompt == "" || r.Model != "" {
				t.Errorf("who made it: %+v", r)
			}
		}
		// The last one is closed by the clock, without anything else happening.
		if owed := s.Owed(consolidate.Rules); len(owed) != 1 || !strings.Contains(owed[0].Reason, "open") || owed[0].Tries != 0 {
			t.Errorf("owed: %+v", owed)
		}
		time.Sleep(31 * time.Minute)
		drain()
		if got := shape(episodes(t, s, "p")); !strings.HasSuffix(got, "evening:1:closed") {
			t.Errorf("after the pause: %s", got)
		}
		if n := len(s.Owed(consolidate.Rules)); n != 0 {
			t.Errorf("%d owed in the end", n)
		}
	})
}

// Another session that goes on later ends this one; sessions side by side do not end each other.
func TestSessionEnds(t *testing.T) {
	ruled(t, func(s *consolidatetest.MemStore, w *consolidate.Worker, drain func()) {
		for i := range 4 {
			s.Add(say(i+1, "monday", garden[i], i), consolidate.Rules)
			drain()
		}
		for i := range 4 {
			s.Add(say(i+11, "beside", server[i], i), consolidate.Rules)
			drain()
		}
		if got := shape(episodes(t, s, "p")); got != "beside:4:open monday:4:open" && got != "monday:4:open beside:4:open" {
			t.Errorf("side by side: %s", got)
		}
		s.Add(say(21, "tuesday", "A new day.", 24*60), consolidate.Rules)
		drain()
		got := shape(episodes(t, s, "p"))
		if !strings.Contains(got, "monday:4:closed") || !strings.Contains(got, "beside:4:closed") || !strings.Contains(got, "tuesday:1:open") {
			t.Errorf("the next day: %s", got)
		}
	})
}

// Episodes of other sessions on the same matter are linked by a topic; others are not.
func TestTopicsAcrossSessions(t *testing.T) {
	ruled(t, func(s *consolidatetest.MemStore, w *consolidate.Worker, drain func()) {
		n := 0
		for day, texts := range [][]string{garden, server, garden[4:], {"We watched a film about penguins.", "The penguins film was long.", "Penguins walk far over the ice in that film."}} {
			for i, text := range texts {
				n++
				s.Add(say(n, fmt.Sprint("day", day), text, day*24*60+i), consolidate.Rules)
			}
			drain()
		}
		time.Sleep(time.Hour)
		drain()
		topics := consolidate.Topics(episodes(t, s, "p"))
		if len(topics) != 3 {
			t.Fatalf("%d topics: %+v", len(topics), topics)
		}
		if len(topics[0].Episodes) != 2 || len(topics[0].Memories()) != 12 || !strings.Contains(topics[0].Name, "tomato") {
			t.Errorf("the garden: %s with %d episodes", topics[0].Name, len(topics[0].Episodes))
		}
		if len(topics[1].Episodes) != 1 || !strings.Contains(topics[1].Text(1000), "certificate") {
			t.Errorf("the server: %+v", topics[1])
		}
	})
}

// A memory that comes late is put where it belongs, and only its episode is made anew.
func TestLateMemory(t *testing.T) {
	ruled(t, func(s *consolidatetest.MemStore, w *consolidate.Worker, drain func()) {
		n := 0
		for _, text := range slices.Concat(garden, server) {
			n++
			s.Add(say(n, "evening", text, 2*n), consolidate.Rules)
		}
		s.Add(say(n+1, "night", "Nothing much.", 24*60), consolidate.Rules)
		drain()
		before := episodes(t, s, "p")
		s.Add(say(50, "evening", "The balcony tomato has a flower.", 9), consolidate.Rules)
		drain()
		after := episodes(t, s, "p")
		if got := shape(after); got != "evening:9:closed evening:8:closed night:1:open" {
			t.Fatalf("episodes: %s", got)
		}
		if after[0].Basis[4] != id(50) {
			t.Errorf("it stands at %v", after[0].Basis)
		}
		if after[1].Text != before[1].Text || after[1].Topic != before[1].Topic {
			t.Error("another episode changed")
		}
	})
}

// Forgetting a memory takes its episode; its neighbours are placed again, without it.
func TestForgottenMemoryLeavesItsEpisode(t *testing.T) {
	ruled(t, func(s *consolidatetest.MemStore, w *consolidate.Worker, drain func()) {
		for i, text := range server {
			s.Add(say(i+1, "evening", text, i), consolidate.Rules)
		}
		s.Add(say(20, "night", "Nothing much.", 24*60), consolidate.Rules)
		drain()
		s.Forget(id(3))
		if err := s.Settle(consolidate.Outcome{Queue: []consolidate.Job{{Pass: consolidate.Rules, Project: "p", Memory: id(1)}}}); err != nil {
			t.Fatal(err)
		}
		w.Forgot("p")
		drain()
		rows := episodes(t, s, "p")
		if got := shape(rows); got != "evening:7:closed night:1:open" {
			t.Fatalf("episodes: %s", got)
		}
		if strings.Contains(rows[0].Text, "refused connections") || slices.Contains(rows[0].Basis, id(3)) {
			t.Errorf("the forgotten one is still in it: %q", rows[0].Text)
		}
	})
}

// Every memory is in one episode, whatever the order in which they come, and a session that comes turn
// by turn is split much like one that comes as a whole.
func TestOrderOfArrival(t *testing.T) {
	texts := slices.Concat(garden, server, garden[2:], server[1:])
	arrive := func(order []int, portion int) []consolidate.Derived {
		var rows []consolidate.Derived
		ruled(t, func(s *consolidatetest.MemStore, w *consolidate.Worker, drain func()) {
			for i, n := range order {
				s.Add(say(n+1, "s", texts[n], n), consolidate.Rules)
				if i%portion == portion-1 {
					drain()
				}
			}
			time.Sleep(time.Hour)
			drain()
			rows = episodes(t, s, "p")
			seen := map[graph.ID]int{}
			for _, r := range rows {
				for _, m := range r.Basis {
					seen[m]++
				}
				if !r.Closed {
					t.Error("an episode is open in the end")
				}
			}
			for n := range texts {
				if seen[id(n+1)] != 1 {
					t.Errorf("memory %d is in %d episodes", n+1, seen[id(n+1)])
				}
			}
		})
		return rows
	}
	inOrder := make([]int, len(texts))
	for i := range inOrder {
		inOrder[i] = i
	}
	whole := shape(arrive(inOrder, len(texts)))
	if got := shape(arrive(inOrder, 1)); got != whole {
		t.Errorf("turn by turn %s, as a whole %s", got, whole)
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 10 {
		order := slices.Clone(inOrder)
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		arrive(order, 1+r.IntN(6))
	}
}

// Doing the work again changes nothing: not a row, not a byte.
func TestRulesAreIdempotent(t *testing.T) {
	ruled(t, func(s *consolidatetest.MemStore, w *consolidate.Worker, drain func()) {
		for i, text := range slices.Concat(garden, server, garden) {
			s.Add(say(i+1, fmt.Sprint("s", i/8), text, i*10), consolidate.Rules)
		}
		drain()
		time.Sleep(time.Hour)
		drain()
		state := func() string {
			b, err := json.Marshal(episodes(t, s, "p"))
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		before := state()
		for i := range 24 {
			if err := s.Settle(consolidate.Outcome{Queue: []consolidate.Job{{Pass: consolidate.Rules, Project: "p", Memory: id(i + 1)}}}); err != nil {
				t.Fatal(err)
			}
		}
		again := consolidate.NewWorker(s, embed.None(), nil, consolidate.Options{})
		if err := again.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := state(); after != before {
			t.Errorf("before:\n%s\nafter:\n%s", before, after)
		}
	})
}

func TestSplit(t *testing.T) {
	at := func(minutes ...int) []consolidate.Event {
		var out []consolidate.Event
		for _, m := range minutes {
			out = append(out, consolidate.Event{At: start.Add(time.Duration(m) * time.Minute), Words: map[string]float64{"same": 1}})
		}
		return out
	}
	about := func(subjects string) []consolidate.Event {
		var out []consolidate.Event
		for i, r := range subjects {
			out = append(out, consolidate.Event{At: start.Add(time.Duration(i) * time.Second), Words: map[string]float64{string(r): 1}})
		}
		return out
	}
	minute := make([]int, 70)
	for i := range minute {
		minute[i] = i
	}
	for name, c := range map[string]struct {
		events []consolidate.Event
		o      consolidate.SplitOptions
		want   string
	}{
		"nothing":                   {nil, consolidate.SplitOptions{}, ""},
		"one":                       {at(0), consolidate.SplitOptions{}, ""},
		"no pause":                  {at(0, 10, 39), consolidate.SplitOptions{}, ""},
		"a pause":                   {at(0, 10, 40, 41), consolidate.SplitOptions{}, "2pause"},
		"pauses":                    {at(0, 60, 120), consolidate.SplitOptions{}, "1pause 2pause"},
		"same times":                {at(5, 5, 5, 5), consolidate.SplitOptions{}, ""},
		"full":                      {at(minute...), consolidate.SplitOptions{}, "32size 64size"},
		"every event":               {at(0, 1, 2), consolidate.SplitOptions{Most: 1}, "1size 2size"},
		"a shift":                   {about("aaaaaaaabbbbbbbb"), consolidate.SplitOptions{}, "8shift"},
		"two shifts":                {about("aaaaaaaabbbbbbbbcccccccc"), consolidate.SplitOptions{}, "8shift 16shift"},
		"an aside is no shift":      {about("aaaaaaaabaaaaaaa"), consolidate.SplitOptions{}, ""},
		"too near to the beginning": {about("aaabbbbbbbbbbbbb"), consolidate.SplitOptions{}, ""},
		"shifts switched off":       {about("aaaaaaaabbbbbbbb"), consolidate.SplitOptions{Depth: 2}, ""},
		"by function":               {about("aaaa"), consolidate.SplitOptions{Func: func([]consolidate.Event) []int { return []int{0, 2, 2, 1, 9} }}, "2shift"},
	} {
		var got []string
		for _, b := range consolidate.Split(c.events, c.o) {
			got = append(got, fmt.Sprint(b.Index, b.Why))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

func TestSummarize(t *testing.T) {
	read := func(texts []string, limit int) string {
		var out []string
		for _, x := range consolidate.Summarize(texts, limit) {
			out = append(out, texts[x.Text][x.From:x.To])
		}
		return strings.Join(out, " | ")
	}
	for name, c := range map[string]struct {
		texts []string
		limit int
		want  string
	}{
		"nothing":                 {nil, 100, ""},
		"empty talk":              {[]string{"Yeah!", "Oh really? Wow."}, 100, ""},
		"one":                     {[]string{"Priya renewed the certificate."}, 100, "Priya renewed the certificate."},
		"most telling":            {[]string{"Hi! How are you?", "Priya renewed the certificate. It rained.", "The certificate of Priya was renewed again."}, 45, "Priya renewed the certificate. | It rained."},
		"nothing twice, in order": {[]string{"Rain fell on the harbour all night.", "Priya renewed the certificate.", "Certificate renewal worked for Priya."}, 120, "Rain fell on the harbour all night. | Certificate renewal worked for Priya."},
		"cut at a word":           {[]string{"Extraordinarily long sentences about harbours"}, 20, "Extraordinarily long"},
		"no words":                {[]string{"😀😀😀"}, 20, ""},
	} {
		if got := read(c.texts, c.limit); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestKeywords(t *testing.T) {
	got := consolidate.Keywords([]string{
		"I met Priya at the harbour.", "Priya likes harbours, and boats.", "Yeah, boats are nice, boats, boats, boats.", "Priya has no boat.",
	}, 3)
	var words []string
	for _, k := range got {
		words = append(words, k.Word)
	}
	if s := strings.Join(words, " "); s != "Priya boats harbour" && s != "boats Priya harbour" {
		t.Errorf("%v", got)
	}
	if got[0].Weight != 1 || got[2].Weight >= 1 || got[2].Weight <= 0 {
		t.Errorf("weights: %v", got)
	}
	if k := consolidate.Keywords(nil, 5); len(k) != 0 {
		t.Errorf("of nothing: %v", k)
	}
}

// Placing costs the same however much there is already: run with -bench Placing.
func BenchmarkPlacing(b *testing.B) {
	words := strings.Fields("garden server boat certificate tomato harbour school doctor winter rope pier seedling balcony monitor team crew brother booking page phone ice film penguin mail")
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("memories=%d", n), func(b *testing.B) {
			for range b.N {
				s := &consolidatetest.MemStore{}
				r := rand.New(rand.NewPCG(1, 1))
				for i := range n {
					var text strings.Builder
					for range 12 {
						fmt.Fprintf(&text, "%s%d ", words[r.IntN(len(words))], r.IntN(30))
					}
					s.Add(consolidate.Memory{ID: id(i + 1), Project: "p", Session: fmt.Sprint(i / 10), Text: text.String(), At: start.Add(time.Duration(i/10) * time.Hour), Stored: start}, consolidate.Rules)
				}
				w := consolidate.NewWorker(s, embed.None(), nil, consolidate.Options{})
				b.ResetTimer()
				if err := w.Drain(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/memory")
			}
		})
	}
}
