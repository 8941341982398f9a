package consolidate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/consolidate/consolidatetest"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
)

var kinds = []consolidate.Kind{consolidate.EntityRow, consolidate.RelationRow, consolidate.FactRow, consolidate.DateRow,
	consolidate.CauseRow, consolidate.ContradictionRow, consolidate.SummaryRow, consolidate.EpisodeRow, consolidate.LinkRow}

func canned(t *testing.T) *consolidatetest.Canned {
	t.Helper()
	c, err := consolidatetest.LoadCanned(filepath.Join("..", "..", "testdata", "ollama"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tell stores a story.
func tell(s *consolidatetest.MemStore, story []consolidatetest.Turn, passes ...consolidate.Pass) {
	for i, x := range story {
		s.Add(consolidate.Memory{ID: id(i + 1), Project: "p", Text: x.Text, Speaker: x.Speaker, Session: x.Session, Source: x.Source, At: x.At, Stored: time.Now()}, passes...)
	}
}

// found writes down all derived rows of some kinds, by sources.
func found(t *testing.T, s *consolidatetest.MemStore, story []consolidatetest.Turn, kinds ...consolidate.Kind) string {
	t.Helper()
	source := func(m consolidate.Derived, i int) string {
		for n, x := range story {
			if m.Evidence[i].Memory == id(n+1) {
				if x.Text[m.Evidence[i].From:m.Evidence[i].To] != m.Evidence[i].Text {
					t.Errorf("the evidence %+v is not what %s says", m.Evidence[i], x.Source)
				}
				return x.Source
			}
		}
		return "?"
	}
	lines := map[string]bool{}
	for _, kind := range kinds {
		rows, err := s.Rows("p", kind)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			line := string(r.Kind)
			switch r.Kind {
			case consolidate.CauseRow:
				line += " " + source(r, 0) + " -> " + source(r, 1)
			case consolidate.ContradictionRow:
				line += " " + source(r, 0) + " / " + source(r, 1) + " " + r.Predicate
			case consolidate.EntityRow:
				line += fmt.Sprintf(" %s %v", r.Name, r.Aliases)
			default:
				line += strings.TrimRight(" "+r.Subject+" "+r.Predicate+" "+r.Object+" "+r.Text, " ")
			}
			lines[line] = true
		}
	}
	var out []string
	for line := range lines {
		out = append(out, line)
	}
	return sorted(out)
}

func sorted(lines []string) string {
	for i := range lines {
		for j := range i {
			if lines[i] < lines[j] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
	return strings.Join(lines, "\n")
}

const storyFound = `cause S2:1 -> S3:1
cause S4:1 -> S5:1
contradiction S1:1 / S5:2 lives in
entity Bergen []
entity Eskil []
entity Mira Sorensen [Sparrow]
entity Nordnes pier []
entity harbour school []
fact Mira Sorensen lives in Bergen
fact Mira Sorensen lives in Tromso
fact Mira keeps boat at Nordnes pier
relation Eskil brother of Mira
relation Eskil runs harbour school`

// A model that reads well: what no rule can see is found, each with its words. Rain is not caused by a
// sneeze, although the model proposes it.
func TestGoodModel(t *testing.T) {
	c := canned(t)
	synctest.Test(t, func(t *testing.T) {
		s := &consolidatetest.MemStore{}
		tell(s, c.Story, consolidate.Rules, consolidate.Model)
		w := consolidate.NewWorker(s, embed.None(), c, consolidate.Options{})
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := found(t, s, c.Story, kinds[:6]...); got != storyFound {
			t.Errorf("found:\n%s\nwant:\n%s", got, storyFound)
		}
		for _, kind := range kinds[:6] {
			rows, err := s.Rows("p", kind)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.Pass != consolidate.Model || r.Model != "canned" || r.Prompt == "" || len(r.Basis) == 0 || len(r.Evidence) == 0 {
					t.Errorf("nobody knows where this is from: %+v", r)
				}
			}
		}
		for _, p := range consolidate.Passes {
			if owed, parked := s.Owed(p), s.Parked(p); len(owed)+len(parked) > 0 && p != consolidate.Rules {
				t.Errorf("pass %s: owed %v, parked %v", p, owed, parked)
			}
		}
		summaries, err := s.Rows("p", consolidate.SummaryRow)
		if err != nil || len(summaries) == 0 {
			t.Errorf("no episode was summarized: %v", err)
		}
		// Again, by the same model: nothing changes, nothing is doubled.
		before := dump(t, s)
		for i := range c.Story {
			if err := s.Settle(consolidate.Outcome{Queue: []consolidate.Job{{Pass: consolidate.Model, Project: "p", Memory: id(i + 1)}}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := dump(t, s); after != before {
			t.Errorf("doing it again changed rows: %s", cmp.Diff(before, after))
		}
		// A forgotten memory takes what rests on it along.
		s.Forget(id(9))
		if got := found(t, s, c.Story, consolidate.CauseRow); got != "cause S2:1 -> S3:1" {
			t.Errorf("after forgetting: %s", got)
		}
	})
}

// dump is everything that was derived.
func dump(t *testing.T, s *consolidatetest.MemStore) string {
	t.Helper()
	var all []consolidate.Derived
	for _, kind := range kinds {
		rows, err := s.Rows("p", kind)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, rows...)
	}
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A model that answers badly, in every way: the store is exactly as without it, and what cannot be read is
// parked with a reason after a bounded number of calls.
func TestBadModels(t *testing.T) {
	c := canned(t)
	without := func(t *testing.T) string {
		s := &consolidatetest.MemStore{}
		tell(s, c.Story, consolidate.Rules)
		w := consolidate.NewWorker(s, embed.None(), nil, consolidate.Options{})
		for range 2 {
			if err := w.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
		}
		return dump(t, s)
	}
	say := func(answer string) func(string) (string, error) {
		return func(string) (string, error) { return answer, nil }
	}
	fault := func(f ollama.Fault) func(string) (string, error) {
		return func(string) (string, error) {
			return "", &ollama.Error{Fault: f, Doing: "ask", Host: "here", Text: "what the server said"}
		}
	}
	for name, c2 := range map[string]struct {
		answer func(user string) (string, error)
		parked bool
	}{
		"prose":               {say("I am sorry, I cannot help with that."), true},
		"half a JSON":         {say(`{"entities":[{"memory":"m1","na`), true},
		"an empty list":       {say("[]"), true},
		"delete everything":   {say(`{"delete":"everything","ids":["m1","m2"],"entities":[],"causes":[]}`), false},
		"the schema ignored":  {say(`{"thoughts":"hm","answer":"yes"}`), false},
		"ids that are not":    {say(`{"entities":[{"memory":"m99","name":"Mira"},{"memory":"01J00000000000000000000000","name":"Mira"}],"causes":[{"cause":"m98","effect":"m99","cause_quote":"x y","effect_quote":"z w","how":"stated"}],"summary":"","keywords":[]}`), false},
		"quotes that are not": {say(`{"facts":[{"memory":"m1","subject":"Jon","predicate":"is","object":"tired","quote":"Jon is very tired"}],"causes":[{"cause":"m1","effect":"m2","cause_quote":"because of the war","effect_quote":"everybody left town","how":"stated"}],"summary":"Zorro left.","keywords":["Zorro"]}`), false},
		"names that are not":  {say(`{"entities":[{"memory":"m1","name":"Napoleon","type":"person","aliases":["Bonaparte"]}],"summary":"Napoleon lost.","keywords":[]}`), false},
		"cut off":             {fault(ollama.Cut), true},
		"empty":               {fault(ollama.Broken), true},
		"too slow":            {fault(ollama.Slow), true},
		"too long":            {fault(ollama.TooLong), true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &consolidatetest.MemStore{}
				tell(s, c.Story, consolidate.Rules, consolidate.Model)
				calls := 0
				chat := consolidatetest.ChatFunc(func(_ context.Context, p consolidate.Prompt) (string, error) {
					calls++
					return c2.answer(p.User)
				})
				w := consolidate.NewWorker(s, embed.None(), chat, consolidate.Options{})
				for range 40 {
					if err := w.Drain(t.Context()); err != nil {
						t.Fatal(err)
					}
					time.Sleep(5 * time.Minute)
				}
				if got, want := dump(t, s), without(t); got != want {
					t.Errorf("the store differs: %s", cmp.Diff(want, got))
				}
				if n := s.Count(); n != len(c.Story) {
					t.Errorf("%d of %d memories are left", n, len(c.Story))
				}
				parked := s.Parked(consolidate.Model)
				if c2.parked != (len(parked) == len(c.Story)) {
					t.Errorf("%d are parked", len(parked))
				}
				for _, j := range parked {
					if j.Reason == "" || j.Tries != 5 {
						t.Errorf("parked: %+v", j)
					}
				}
				if n := len(s.Owed(consolidate.Model)); n != 0 {
					t.Errorf("%d are still owed", n)
				}
				if calls > 40*len(c.Story) {
					t.Errorf("%d calls", calls)
				}
				if !c2.parked && !strings.Contains(name, "delete") && !strings.Contains(name, "schema") && w.Status().Dropped == 0 {
					t.Error("nothing was counted as dropped")
				}
				if c2.parked && w.Status().LastError == "" {
					t.Error("no last error")
				}
			})
		})
	}
}

// One note on which the model fails does not take its neighbours along.
func TestOneBadNote(t *testing.T) {
	c := canned(t)
	synctest.Test(t, func(t *testing.T) {
		s := &consolidatetest.MemStore{}
		tell(s, c.Story, consolidate.Model)
		chat := consolidatetest.ChatFunc(func(ctx context.Context, p consolidate.Prompt) (string, error) {
			if strings.Contains(p.User, "NEW") && strings.Contains(p.User, "Nordnes") && !strings.Contains(string(p.Schema), "causes") {
				return "what?", nil
			}
			return c.Ask(ctx, p)
		})
		w := consolidate.NewWorker(s, embed.None(), chat, consolidate.Options{})
		if err := w.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if owed := s.Owed(consolidate.Model); len(owed) != 1 || owed[0].Memory != id(2) || owed[0].Tries != 1 {
			t.Errorf("owed: %+v", owed)
		}
		if got := found(t, s, c.Story, consolidate.EntityRow); !strings.Contains(got, "Sparrow") || strings.Contains(got, "Nordnes") {
			t.Errorf("found:\n%s", got)
		}
	})
}

// The day's calls are bounded, counted across restarts, and the rest waits for tomorrow.
func TestCap(t *testing.T) {
	c := canned(t)
	synctest.Test(t, func(t *testing.T) {
		s := &consolidatetest.MemStore{}
		tell(s, c.Story, consolidate.Model)
		calls := 0
		chat := consolidatetest.ChatFunc(func(ctx context.Context, p consolidate.Prompt) (string, error) {
			calls++
			return c.Ask(ctx, p)
		})
		var w *consolidate.Worker
		for range 3 {
			w = consolidate.NewWorker(s, embed.None(), chat, consolidate.Options{MaxCalls: 5})
			if err := w.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if calls != 5 {
			t.Errorf("%d calls, 5 are allowed", calls)
		}
		if r := w.Status().Waiting[consolidate.Model]; !strings.Contains(r, "used") {
			t.Errorf("it waits because of %q", r)
		}
		if owed := s.Owed(consolidate.Model); len(owed) == 0 || owed[len(owed)-1].Tries != 0 {
			t.Errorf("owed: %+v", owed)
		}
		for range 10 {
			time.Sleep(24 * time.Hour)
			if err := w.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(s.Owed(consolidate.Model)); n != 0 {
			t.Errorf("%d owed ten days later", n)
		}
		if got := found(t, s, c.Story, kinds[:6]...); got != storyFound {
			t.Errorf("found in the end:\n%s", got)
		}
	})
}

// No question starts while a tool call is being answered.
func TestThinkingWaitsForToolCalls(t *testing.T) {
	c := canned(t)
	asked := 0
	chat := consolidatetest.ChatFunc(func(ctx context.Context, p consolidate.Prompt) (string, error) {
		asked++
		return c.Ask(ctx, p)
	})
	run(t, ollamatest.NewFake(), setup{config: embed.Config{Provider: "none"}, chat: chat}, func(b *bench) {
		end := b.worker.Begin()
		tell(b.MemStore, c.Story, consolidate.Model)
		b.worker.Wake()
		b.pass(20 * time.Second)
		if asked != 0 {
			t.Errorf("%d questions during a tool call", asked)
		}
		end()
		b.pass(time.Second)
		if got := found(t, b.MemStore, c.Story, consolidate.CauseRow); !strings.Contains(got, "S4:1 -> S5:1") {
			t.Errorf("after it: %s", got)
		}
	})
}

// The same through an Ollama server: its faults cost nothing but time, and no memory is lost.
func TestChatFaults(t *testing.T) {
	c := canned(t)
	model := ollamatest.Model{Name: "reader:latest", Digest: "d-reader-0123456789", Reply: c.Reply}
	for name, step := range map[string]ollamatest.Step{
		"never answers": ollamatest.Hang,
		"12 s":          ollamatest.After(12 * time.Second),
		"404":           ollamatest.Status(404, "model 'reader' not found"),
		"503":           ollamatest.Status(503, "server busy"),
		"500":           ollamatest.Status(500, ""),
		"runner died":   ollamatest.Status(500, "model runner has unexpectedly stopped"),
		"cut":           ollamatest.Cut(`{"message":{"content":"{\"facts\":`),
		"length":        ollamatest.Answer(map[string]any{"done": true, "done_reason": "length", "message": map[string]string{"content": `{"entities":[`}}),
		"not done":      ollamatest.Answer(map[string]any{"done": false, "message": map[string]string{"content": `{}`}}),
		"prose":         ollamatest.Answer(ollamatest.ChatAnswer("As a model of language I would rather not.")),
	} {
		t.Run(name, func(t *testing.T) {
			fake := ollamatest.NewFake(model)
			wire := &ollamatest.Transport{Fake: fake}
			server, err := ollama.New(ollama.Config{Transport: wire})
			if err != nil {
				t.Fatal(err)
			}
			chat, err := consolidate.NewChatModel(server, "reader", 0)
			if err != nil {
				t.Fatal(err)
			}
			fake.Then("/api/chat", ollamatest.Pass, step, step, ollamatest.Pass, step)
			run(t, fake, setup{config: embed.Config{Provider: "none"}, chat: chat}, func(b *bench) {
				tell(b.MemStore, c.Story, consolidate.Model, consolidate.Rules)
				b.worker.Wake()
				b.pass(3 * time.Hour)
				if got := found(t, b.MemStore, c.Story, kinds[:6]...); got != storyFound {
					t.Errorf("found:\n%s", got)
				}
				for _, p := range consolidate.Passes {
					if n := len(b.Owed(p)) + len(b.Parked(p)); n > 0 {
						t.Errorf("pass %s: %d owed or parked", p, n)
					}
				}
				rows, err := b.Rows("p", consolidate.CauseRow)
				if err != nil || len(rows) == 0 || rows[0].Model != "reader:latest@d-reader-012" {
					t.Errorf("the model's name: %+v, %v", rows, err)
				}
			})
		})
	}
	t.Run("away for hours", func(t *testing.T) {
		fake := ollamatest.NewFake(model)
		wire := &ollamatest.Transport{Fake: fake}
		server, err := ollama.New(ollama.Config{Transport: wire})
		if err != nil {
			t.Fatal(err)
		}
		chat, err := consolidate.NewChatModel(server, "reader", 0)
		if err != nil {
			t.Fatal(err)
		}
		wire.SetError(syscall.ECONNREFUSED)
		run(t, fake, setup{config: embed.Config{Provider: "none"}, chat: chat}, func(b *bench) {
			tell(b.MemStore, c.Story, consolidate.Model)
			b.worker.Wake()
			b.pass(8 * time.Hour)
			owed := b.Owed(consolidate.Model)
			if len(owed) != len(c.Story) || owed[0].Tries != 0 {
				t.Errorf("owed: %+v", owed)
			}
			if r := b.worker.Status().Waiting[consolidate.Model]; !strings.Contains(r, "no server answers") {
				t.Errorf("it waits because of %q", r)
			}
			wire.SetError(nil)
			b.pass(2 * time.Minute)
			if got := found(t, b.MemStore, c.Story, kinds[:6]...); got != storyFound {
				t.Errorf("found:\n%s", got)
			}
			if w := b.worker.Status().Waiting[consolidate.Model]; w != "" {
				t.Errorf("still waiting: %q", w)
			}
		})
	})
}

func TestChatModelRefuses(t *testing.T) {
	fake := ollamatest.NewFake(nomic, ollamatest.Model{Name: "far:latest", Digest: "d-far", Remote: true, Reply: func(string, string) string { return "{}" }})
	server, err := ollama.New(ollama.Config{Transport: &ollamatest.Transport{Fake: fake}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := consolidate.NewChatModel(server, "gpt-oss:120b-cloud", 0); err == nil {
		t.Error("a cloud model by name")
	}
	for model, want := range map[string]ollama.Fault{"far": ollama.Refused, "nomic-embed-text": ollama.Refused, "none": ollama.Missing} {
		chat, err := consolidate.NewChatModel(server, model, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := chat.Ask(t.Context(), consolidate.Prompt{}); ollama.FaultOf(err) != want {
			t.Errorf("%s: %v", model, err)
		}
	}
	if n := len(fake.Calls("/api/chat")); n != 0 {
		t.Errorf("%d memories were shown to a refused model", n)
	}
}

// A store that fails in the middle ends the worker, with nothing half-written.
func TestStoreFailsWhileThinking(t *testing.T) {
	c := canned(t)
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("disk full")
		s := &consolidatetest.MemStore{}
		tell(s, c.Story, consolidate.Model)
		s.Before = func(consolidate.Outcome) error { return broken }
		w := consolidate.NewWorker(s, embed.None(), c, consolidate.Options{})
		if err := w.Think(t.Context()); !errors.Is(err, broken) {
			t.Errorf("Think: %v", err)
		}
		if got := dump(t, s); got != "null" {
			t.Errorf("half-written: %s", got)
		}
	})
}
