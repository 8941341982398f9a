package eval

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/query"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// form is the same conversations and questions told in another way. What a ranking gains by the form of one data
// set, it loses here.
type form struct {
	name   string
	change func([]Conversation, Key) ([]Conversation, Key)
}

// Forms, beside the plain one. None adds or loses evidence.
var forms = []form{
	{"plain", func(l []Conversation, k Key) ([]Conversation, Key) { return l, k }},
	{"no sessions", turns(func(t []Turn) []Turn {
		for i := range t {
			t[i].Session = ""
		}
		return t
	})},
	{"no speakers", turns(func(t []Turn) []Turn {
		for i := range t {
			t[i].Speaker = ""
		}
		return t
	})},
	{"turns shuffled", turns(func(t []Turn) []Turn {
		r := rand.New(rand.NewPCG(3, 3))
		for _, s := range sessionsOf(t) {
			r.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
		}
		return t
	})},
	{"pairs joined", func(l []Conversation, k Key) ([]Conversation, Key) { return paired(l, k, false) }},
	{"pairs labelled", func(l []Conversation, k Key) ([]Conversation, Key) { return paired(l, k, true) }},
	{"user and assistant", roles},
	{"one project", oneProject},
	{"long texts between", func(l []Conversation, k Key) ([]Conversation, Key) { return between(l, k, 5, 8, false) }},
	{"assistant replies", func(l []Conversation, k Key) ([]Conversation, Key) { return between(l, k, 1, 16, true) }},
}

func turns(f func([]Turn) []Turn) func([]Conversation, Key) ([]Conversation, Key) {
	return func(list []Conversation, k Key) ([]Conversation, Key) {
		var out []Conversation
		for _, c := range list {
			c.Turns = f(slices.Clone(c.Turns))
			out = append(out, c)
		}
		return out, k
	}
}

// sessionsOf cuts turns into their sessions, in place.
func sessionsOf(t []Turn) (out [][]Turn) {
	from := 0
	for i := range t {
		if i+1 == len(t) || t[i+1].Session != t[i].Session {
			out = append(out, t[from:i+1:i+1])
			from = i + 1
		}
	}
	return out
}

// paired joins every two turns of a session to one memory: said by the first, or each turn under its speaker's name.
func paired(list []Conversation, key Key, labelled bool) ([]Conversation, Key) {
	out := Key{Names: key.Names, Gold: map[string]map[string]Gold{}}
	var convs []Conversation
	for _, c := range list {
		home := map[string]string{}
		var joined []Turn
		for _, s := range sessionsOf(c.Turns) {
			for i := 0; i < len(s); i += 2 {
				t := s[i]
				home[t.Source] = t.Source
				if labelled {
					t.Text = t.Speaker + ": " + t.Text
				}
				if i+1 < len(s) {
					more := s[i+1].Text
					if labelled {
						more = s[i+1].Speaker + ": " + more
						t.Speaker = ""
					}
					t.Text += "\n\n" + more
					home[s[i+1].Source] = t.Source
				}
				joined = append(joined, t)
			}
		}
		c.Turns = joined
		convs = append(convs, c)
		out.Gold[c.ID] = map[string]Gold{}
		for id, g := range key.Gold[c.ID] {
			var e []string
			for _, x := range g.Evidence {
				if h, ok := home[x]; ok {
					x = h
				}
				if !slices.Contains(e, x) {
					e = append(e, x)
				}
			}
			g.Evidence = e
			out.Gold[c.ID][id] = g
		}
	}
	return convs, out
}

// roles makes one of two speakers the user and the other the assistant, and has the user ask.
func roles(list []Conversation, key Key) ([]Conversation, Key) {
	var out []Conversation
	for _, c := range list {
		who := c.speakers()
		name := map[string]string{who[0]: "user", who[1]: "assistant"}
		c.Turns = slices.Clone(c.Turns)
		for i, t := range c.Turns {
			c.Turns[i].Speaker = name[t.Speaker]
		}
		c.Questions = slices.Clone(c.Questions)
		say := strings.NewReplacer(who[0]+"'s", "my", who[0], "I", who[1]+"'s", "your", who[1], "you")
		for i, q := range c.Questions {
			c.Questions[i].Text = say.Replace(q.Text)
		}
		out = append(out, c)
	}
	return out, key
}

// oneProject stores all conversations in one project.
func oneProject(list []Conversation, key Key) ([]Conversation, Key) {
	all := Conversation{ID: "all"}
	out := Key{Names: map[string]string{"all": "all"}, Gold: map[string]map[string]Gold{"all": {}}}
	for _, c := range list {
		for _, t := range c.Turns {
			t.Source, t.Session = c.ID+" "+t.Source, c.ID+" "+t.Session
			all.Turns = append(all.Turns, t)
		}
		for _, q := range c.Questions {
			g := key.Gold[c.ID][q.ID]
			var e []string
			for _, x := range g.Evidence {
				e = append(e, c.ID+" "+x)
			}
			g.Evidence = e
			q.ID = c.ID + " " + q.ID
			all.Questions = append(all.Questions, q)
			out.Gold["all"][q.ID] = g
		}
	}
	return []Conversation{all}, out
}

// between puts a long text after every so many turns: size turns of another conversation, names and all, in one,
// said by an assistant. echo begins it with the words of the turn that it follows, as a reply does.
func between(list []Conversation, key Key, every, size int, echo bool) ([]Conversation, Key) {
	var out []Conversation
	for i, c := range list {
		other := list[(i+1)%len(list)].Turns
		at := 0
		var told []Turn
		for n, t := range c.Turns {
			told = append(told, t)
			if (n+1)%every != 0 {
				continue
			}
			long := Turn{Source: fmt.Sprint("X", n), Session: t.Session, At: t.At, Speaker: "assistant"}
			var b strings.Builder
			if echo {
				fmt.Fprintf(&b, "You said: %s\n\n", t.Text)
			}
			for range size {
				b.WriteString(other[at%len(other)].Text + " ")
				at++
			}
			long.Text = b.String()
			told = append(told, long)
		}
		c.Turns = told
		out = append(out, c)
	}
	return out, key
}

// TestForms measures the engine and the floors on every form of conv-26, conv-30 and conv-41, and on the coding
// log, and fails where the engine is under a floor. MAGMA_EVAL=forms runs it, MAGMA_EVAL_FORMS names some ("plain,no
// sessions"), MAGMA_EVAL_SETS adds settings, each measured beside the table in use ("Reply=0.2 Bare=0.5; Session=0").
func TestForms(t *testing.T) {
	if os.Getenv("MAGMA_EVAL") != "forms" {
		t.Skip("MAGMA_EVAL is not forms")
	}
	list, key, err := Load(shared(t, "locomo-dev.json"), []string{"conv-26", "conv-30", "conv-41"})
	if err != nil {
		t.Fatal(err)
	}
	only := os.Getenv("MAGMA_EVAL_FORMS")
	settings := []string{""}
	if more := os.Getenv("MAGMA_EVAL_SETS"); more != "" {
		settings = append(settings, strings.Split(more, ";")...)
	}
	sum := map[string]measured{}
	for _, f := range forms {
		if only != "" && !slices.Contains(strings.Split(only, ","), f.name) {
			continue
		}
		l, k := f.change(list, key)
		measureForm(t, f.name, l, k, settings, sum)
	}
	for _, s := range settings {
		t.Logf("%-20s %-30s %s", "all forms", "magma "+s, sum[s])
	}
	if only == "" {
		l, k, err := Load("../../testdata/codinglog/codinglog.json", nil)
		if err != nil {
			t.Fatal(err)
		}
		measureForm(t, "coding log", l, k, settings, map[string]measured{})
	}
}

func measureForm(t *testing.T, name string, list []Conversation, key Key, settings []string, sum map[string]measured) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	var tuning query.Tuning
	bank, err := memory.Open("/forms", memory.Options{Now: func() time.Time { return now }, Zone: time.UTC, Tuning: &tuning,
		Pebble: store.PebbleOptions{FS: vfs.NewMem()}})
	if err != nil {
		t.Fatal(err)
	}
	defer bank.Close()
	floorSums := map[string]measured{}
	for _, c := range list {
		for _, x := range c.Turns {
			if strings.TrimSpace(x.Text) == "" {
				continue
			}
			if _, err := bank.Remember(t.Context(), memory.Note{Content: x.Text, Project: c.ID, OccurredAt: x.At, Speaker: x.Speaker, Session: x.Session, Source: x.Source}); err != nil {
				t.Fatal(err)
			}
		}
		x := newCorpus(c)
		for _, f := range floors {
			m := floorSums[f.name]
			for _, q := range c.Questions {
				g := key.Gold[c.ID][q.ID]
				if g.Unanswerable || len(g.Evidence) == 0 {
					continue
				}
				var ranked []string
				for _, h := range f.rank(x, q.Text) {
					ranked = append(ranked, x.turns[h.turn].Source)
				}
				m.add(measures(ranked[:min(20, len(ranked))], nil, g.Evidence, nil, nil), g)
			}
			floorSums[f.name] = m
		}
	}
	for _, f := range floors {
		t.Logf("%-20s %-30s %s", name, f.name, floorSums[f.name])
	}
	for _, s := range settings {
		tuning = changed(t, s)
		var m measured
		ask := func(project, q string) memory.Recollection {
			got, err := bank.Recall(t.Context(), memory.Question{Query: q, Project: project, Limit: rankedLimit, MaxTokens: rankedTokens})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for i, c := range list {
			for _, q := range c.Questions {
				g := key.Gold[c.ID][q.ID]
				if len(g.Evidence) == 0 && !g.Unanswerable {
					continue
				}
				got := ask(c.ID, q.Text)
				if g.Unanswerable {
					m.wrong.count(!got.Confident)
					continue
				}
				x := measures(sources(got.Memories), nil, g.Evidence, nil, nil)
				m.add(x, g)
				if x["any@10"] == 1 {
					m.trusted.count(got.Confident)
				}
			}
			for j, o := range list {
				for k, q := range o.Questions {
					if g := key.Gold[o.ID][q.ID]; i != j && g.Category == "single-hop" && k%2 == 0 {
						m.foreign.count(!ask(c.ID, q.Text).Confident)
						m.renamed.count(!ask(c.ID, rename(q.Text, o.speakers(), c.speakers())).Confident)
					}
				}
			}
		}
		for _, f := range floors {
			if x := floorSums[f.name]; s == "" && m.recall < x.recall {
				t.Errorf("%s: recall@10 %.3f is under the floor %s, %.3f", name, m.recall/m.n, f.name, x.recall/x.n)
			}
		}
		all := sum[s]
		all.join(m)
		sum[s] = all
		t.Logf("%-20s %-30s %s", name, "magma "+s, m)
	}
}

type measured struct {
	n, recall, all, mrr, multi, multiN float64
	trusted, foreign, renamed, wrong   counted
}

type counted struct{ yes, of float64 }

func (c *counted) count(yes bool) { c.yes, c.of = c.yes+truth(yes), c.of+1 }

func (c counted) String() string { return fmt.Sprintf("%.3f", c.yes/c.of) }

func (m *measured) add(x map[string]float64, g Gold) {
	m.n, m.recall, m.all, m.mrr = m.n+1, m.recall+x["recall@10"], m.all+x["all@10"], m.mrr+x["MRR"]
	if g.Category == "multi-hop" {
		m.multiN, m.multi = m.multiN+1, m.multi+x["recall@10"]
	}
}

func (m *measured) join(x measured) {
	m.n, m.recall, m.all, m.mrr, m.multi, m.multiN = m.n+x.n, m.recall+x.recall, m.all+x.all, m.mrr+x.mrr, m.multi+x.multi, m.multiN+x.multiN
}

func (m measured) String() string {
	s := fmt.Sprintf("n=%.0f R@10 %.3f all@10 %.3f MRR %.3f multi-hop %.3f", m.n, m.recall/m.n, m.all/m.n, m.mrr/m.n, m.multi/m.multiN)
	if m.trusted.of > 0 {
		s += fmt.Sprintf("  confident: found %s; refused: foreign %s, names swapped in %s, unanswerable %s", m.trusted, m.foreign, m.renamed, m.wrong)
	}
	return s
}

// changed is the table in use with changes like "Walk=1 Gamma=0.7".
func changed(t *testing.T, changes string) query.Tuning {
	tuning := query.Default()
	for _, f := range strings.Fields(changes) {
		name, x, _ := strings.Cut(f, "=")
		field := reflect.ValueOf(&tuning).Elem().FieldByName(name)
		v, err := strconv.ParseFloat(x, 64)
		switch {
		case err != nil || !field.IsValid():
			t.Fatalf("%q is no weight", f)
		case field.CanFloat():
			field.SetFloat(v)
		case field.CanInt():
			field.SetInt(int64(v))
		default:
			field.SetBool(v != 0)
		}
	}
	return tuning
}
