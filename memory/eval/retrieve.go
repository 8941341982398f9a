package eval

import (
	"context"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory"
)

// A call for the ranked list asks for the 20 best and no bound on tokens; a call for a context asks for as
// many memories as the budget holds, 50 at most.
const (
	rankedLimit  = 20
	rankedTokens = 100_000
	contextLimit = 50
)

// whyQuestion tells which questions also go to the why tool. It is plain on purpose and not the
// router under measure, so that the router's mistakes show.
var whyQuestion = regexp.MustCompile(`(?i)^\s*(why|how come|what (made|motivated|inspired|prompted|caused)|what (is|was|are|were) .*(reason|motivation|inspiration|cause))\b`)

// retrieve asks every question under every setting, and of the floors too. It reads stripped.json alone.
func (c *Config) retrieve(ctx context.Context, s Store) error {
	list, err := c.stripped()
	if err != nil {
		return err
	}
	if err := c.retrieveFloors(ctx, list); err != nil {
		return err
	}
	settings := []Setting{full}
	if c.Ablate {
		settings = append(settings, Ablations()...)
	}
	if c.Corrupt != "" {
		more, err := Corruptions(c.Corrupt, c.Seed)
		if err != nil {
			return err
		}
		settings = append(settings, more...)
	}
	askAt := func(time.Time) {}
	if c, ok := s.(Clock); ok {
		askAt = c.AskAt
		defer askAt(time.Time{})
	}
	for _, setting := range settings {
		engine, err := s.Engine(setting)
		if err != nil {
			return fmt.Errorf("setting %q: %w", setting.Name, err)
		}
		if err := c.retrieveSetting(ctx, list, setting, engine, askAt); err != nil {
			return fmt.Errorf("setting %q: %w", setting.Name, err)
		}
	}
	return nil
}

func (c *Config) retrievedPath(name string) string {
	return c.path("retrieved", strings.NewReplacer(" ", "_", "%", "pct", "+", "plus_").Replace(name)+".jsonl")
}

// plan is what one setting has to ask; done records are taken out.
func (c *Config) plan(list []Conversation, name string, foreign bool) ([]Retrieved, map[string]Question, error) {
	done, err := readLines[Retrieved](c.retrievedPath(name))
	if err != nil {
		return nil, nil, err
	}
	have := map[string]bool{}
	for _, r := range done {
		have[r.key()] = true
	}
	var todo []Retrieved
	asked := map[string]Question{}
	add := func(r Retrieved, q Question) {
		if !have[r.key()] {
			asked[r.key()] = q
			todo = append(todo, r)
		}
	}
	for _, conv := range list {
		for _, q := range conv.Questions {
			add(Retrieved{Conversation: conv.ID, Question: q.ID}, q)
		}
	}
	if !foreign || c.Foreign < 0 {
		return todo, asked, nil
	}
	for _, conv := range list {
		type other struct {
			conv Conversation
			q    Question
		}
		var others []other
		for _, o := range list {
			if o.ID != conv.ID {
				for _, q := range o.Questions {
					others = append(others, other{o, q})
				}
			}
		}
		// Twice as many as wanted: the scorer leaves out what has no answer at home either.
		step := max(1, len(others)/(2*c.Foreign))
		for i := 0; i < len(others); i += step {
			o := others[i]
			r := Retrieved{Conversation: conv.ID, Question: o.q.ID, Of: o.conv.ID}
			add(r, o.q)
			r.Renamed, o.q.Text = true, rename(o.q.Text, o.conv.speakers(), conv.speakers())
			add(r, o.q)
		}
	}
	return todo, asked, nil
}

// rename puts the names of one conversation's speakers in place of another's, first to first.
func rename(text string, from, to []string) string {
	for i := 0; i < min(len(from), len(to), 4); i++ {
		if from[i] == "" {
			continue
		}
		text = regexp.MustCompile(`\b`+regexp.QuoteMeta(from[i])+`\b`).ReplaceAllLiteralString(text, to[i])
	}
	return text
}

func (c *Config) retrieveSetting(ctx context.Context, list []Conversation, setting Setting, engine memory.Engine, askAt func(time.Time)) error {
	main := setting.Name == full.Name
	todo, asked, err := c.plan(list, setting.Name, main)
	if err != nil || len(todo) == 0 {
		return err
	}
	out, err := openLines(c.retrievedPath(setting.Name))
	if err != nil {
		return err
	}
	budgets := c.Budgets
	if !main {
		budgets = budgets[:0:0]
		for _, b := range c.Budgets {
			if b == 1000 {
				budgets = append(budgets, b)
			}
		}
	}
	bar := c.bar(setting.Name, len(todo))
	for _, r := range todo {
		q := asked[r.key()]
		at, _ := time.Parse(time.RFC3339, q.At) // zero, the present, where the data give no time
		askAt(at)
		if err := ask(ctx, engine, &r, q.Text, setting.Relations, budgets, main); err != nil {
			out.close()
			return fmt.Errorf("ask question %s of %s: %w", r.Question, r.Conversation, err)
		}
		if err := out.add(r); err != nil {
			out.close()
			return err
		}
		bar.Add(1)
	}
	return out.close()
}

// ask fills r with the engine's answers to one question.
func ask(ctx context.Context, engine memory.Engine, r *Retrieved, question string, relations []string, budgets []int, keepText bool) error {
	q := memory.Question{Query: question, Project: r.Conversation, Limit: rankedLimit, MaxTokens: rankedTokens, Relations: relations}
	if r.Of != "" {
		q.Limit, q.MaxTokens = 0, 0
	}
	began := time.Now()
	got, err := engine.Recall(ctx, q)
	if err != nil {
		return err
	}
	r.Micros = time.Since(began).Microseconds()
	r.Intent, r.Confident, r.Degraded = got.Intent, got.Confident, got.Degraded
	if r.Of != "" {
		return nil
	}
	r.Ranked = sources(got.Memories)
	for _, b := range budgets {
		q.Limit, q.MaxTokens = contextLimit, b
		got, err := engine.Recall(ctx, q)
		if err != nil {
			return err
		}
		x := Context{Budget: b, Tokens: tokensOf(got.Text)}
		for _, m := range got.Memories {
			if !m.Shortened {
				x.Whole = append(x.Whole, Shown{m.Source, tokensOf(m.Content)})
			}
		}
		if keepText {
			x.Text = got.Text
		}
		r.Contexts = append(r.Contexts, x)
	}
	if whyQuestion.MatchString(question) {
		r.WhyAsked = true
		got, err := engine.Why(ctx, memory.WhyQuestion{Query: question, Project: r.Conversation, Relations: relations})
		if err != nil {
			return err
		}
		r.Why = sources(got.Memories)
	}
	return nil
}

// sources lists where memories came from, by rank.
func sources(list []memory.Memory) []string {
	sorted := append([]memory.Memory(nil), list...)
	sort.SliceStable(sorted, func(i, j int) bool { return rankOf(sorted[i]) < rankOf(sorted[j]) })
	out := make([]string, len(sorted))
	for i, m := range sorted {
		out[i] = m.Source
	}
	return out
}

func rankOf(m memory.Memory) int {
	if m.Rank == 0 {
		return 1 << 30
	}
	return m.Rank
}

func tokensOf(s string) float64 { return float64(utf8.RuneCountInString(s)) / 4 }

// retrieveFloors does the same with the floors. Their context is packed greedily by rank, each turn under a
// header line like ours.
func (c *Config) retrieveFloors(ctx context.Context, list []Conversation) error {
	index := map[string]*corpus{}
	for _, f := range floors {
		todo, asked, err := c.plan(list, f.name, false)
		if err != nil {
			return err
		}
		if len(todo) == 0 {
			continue
		}
		out, err := openLines(c.retrievedPath(f.name))
		if err != nil {
			return err
		}
		for _, r := range todo {
			if err := ctx.Err(); err != nil {
				out.close()
				return err
			}
			x := index[r.Conversation]
			if x == nil {
				for _, conv := range list {
					if conv.ID == r.Conversation {
						x = newCorpus(conv)
					}
				}
				index[r.Conversation] = x
			}
			began := time.Now()
			hits := f.rank(x, asked[r.key()].Text)
			r.Micros = time.Since(began).Microseconds()
			for _, h := range hits[:min(len(hits), rankedLimit)] {
				r.Ranked = append(r.Ranked, x.turns[h.turn].Source)
			}
			for _, b := range c.Budgets {
				r.Contexts = append(r.Contexts, x.pack(hits, b))
			}
			r.Confident = true
			r.WhyAsked = whyQuestion.MatchString(asked[r.key()].Text)
			if r.WhyAsked {
				r.Why = r.Ranked
			}
			if err := out.add(r); err != nil {
				out.close()
				return err
			}
		}
		if err := out.close(); err != nil {
			return err
		}
	}
	return nil
}

func (c *corpus) pack(hits []hit, budget int) Context {
	x := Context{Budget: budget}
	var b strings.Builder
	for i, h := range hits {
		if i == contextLimit {
			break
		}
		t := c.turns[h.turn]
		date, _, _ := strings.Cut(t.At, "T")
		block := fmt.Sprintf("[%06d] %s, %s, %s\n%s\n\n", h.turn, date, t.Speaker, t.Source, t.Text)
		if n := tokensOf(block); x.Tokens+n <= float64(budget) {
			x.Tokens += n
			x.Whole = append(x.Whole, Shown{t.Source, tokensOf(t.Text)})
			b.WriteString(block)
		}
	}
	x.Text = b.String()
	return x
}
