package memory_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// story plays one file of testdata/stories (its README.md has the format).
type story struct {
	t       *testing.T
	engine  memory.Engine
	project string
	session string
	at      string
	ids     map[string]string // source -> id
	count   int               // turns of the session so far
	total   int
	talk    everyday
	asked   int
}

var relations = []string{"temporal", "semantic", "causal", "entity"}

func TestStories(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "testdata", "stories", "*.txt"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d stories found, %v", len(files), err)
	}
	needs := map[string]int{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			s := open(t, name)
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			lines := bufio.NewScanner(f)
			for n := 1; lines.Scan(); n++ {
				if g := s.line(fmt.Sprintf("%s:%d", filepath.Base(file), n), strings.TrimSpace(lines.Text())); g != "" {
					needs[g]++
				}
			}
			if s.asked == 0 {
				t.Error("nothing is asked")
			}
		})
	}
	for _, g := range relations {
		if needs[g] < 2 {
			t.Errorf("only %d questions need the %s graph: two or more should", needs[g], g)
		}
	}
}

func open(t *testing.T, name string) *story {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	bank, err := memory.Open(t.TempDir(), memory.Options{Now: func() time.Time { return now }, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bank.Close(); err != nil {
			t.Error(err)
		}
	})
	return &story{t: t, engine: bank, project: name, ids: map[string]string{}}
}

// line plays one line and returns the graph that an ask needs.
func (s *story) line(where, line string) string {
	switch {
	case line == "" || strings.HasPrefix(line, "#"):
	case strings.HasPrefix(line, "== "):
		f := strings.Fields(line)
		if len(f) != 3 {
			s.t.Fatalf("%s: want == SESSION TIME", where)
		}
		s.session, s.at, s.count = f[1], f[2], 0
	case strings.HasPrefix(line, "filler "):
		f := strings.Fields(line)
		n, err := strconv.Atoi(f[1])
		if err != nil || len(f) != 4 {
			s.t.Fatalf("%s: want filler N A B", where)
		}
		for range n {
			who, text := s.talk.next(f[2], f[3])
			s.total++
			s.remember(where, fmt.Sprintf("F%d", s.total), who, text, "")
		}
	case strings.HasPrefix(line, "forget "):
		r, err := s.engine.Forget(context.Background(), memory.Choice{IDs: []string{s.ids[strings.TrimPrefix(line, "forget ")]}, Project: s.project})
		if err != nil || r.Count != 1 {
			s.t.Fatalf("%s: %+v, %v", where, r, err)
		}
	case strings.HasPrefix(line, "needs "):
		g, rest, _ := strings.Cut(strings.TrimPrefix(line, "needs "), ": ask ")
		if !slices.Contains(relations, g) {
			s.t.Fatalf("%s: no graph %q", where, g)
		}
		if err := s.ask(where, rest, nil); err != nil {
			s.t.Errorf("%s: %v", where, err)
		}
		others := slices.DeleteFunc(slices.Clone(relations), func(r string) bool { return r == g })
		if err := s.ask(where, rest, others); err == nil {
			s.t.Errorf("%s: answered without the %s graph too", where, g)
		}
		return g
	case strings.HasPrefix(line, "ask "):
		if err := s.ask(where, strings.TrimPrefix(line, "ask "), nil); err != nil {
			s.t.Errorf("%s: %v", where, err)
		}
	default:
		source, rest, ok := strings.Cut(line, " ")
		who, text, ok2 := strings.Cut(rest, ": ")
		if !ok || !ok2 {
			s.t.Fatalf("%s: cannot be read: %s", where, line)
		}
		args := ""
		if i := strings.LastIndex(text, ` {"`); i >= 0 {
			text, args = text[:i], text[i+1:]
		}
		s.remember(where, source, who, text, args)
	}
	return ""
}

func (s *story) remember(where, source, who, text, args string) {
	n := memory.Note{Content: text, Project: s.project, OccurredAt: s.at, Speaker: who, Session: s.session, Source: source}
	if args != "" {
		if err := json.Unmarshal([]byte(args), &n); err != nil {
			s.t.Fatalf("%s: %v", where, err)
		}
	}
	for _, list := range [][]string{n.BecauseOf, n.Supersedes} {
		for i, src := range list {
			if s.ids[src] == "" {
				s.t.Fatalf("%s: no turn %s before it", where, src)
			}
			list[i] = s.ids[src]
		}
	}
	r, err := s.engine.Remember(context.Background(), n)
	if err != nil {
		s.t.Fatalf("%s: %v", where, err)
	}
	s.ids[source] = r.ID
}

// ask asks with the graphs of on (nil: all) and says what is wrong with the answer.
func (s *story) ask(where, line string, on []string) error {
	s.asked++
	ctx := context.Background()
	tool, rest, _ := strings.Cut(line, " ")
	if tool == "entity" {
		f := strings.Fields(rest)
		list, err := s.engine.Entity(ctx, s.project, f[0])
		if err != nil {
			return err
		}
		if strconv.Itoa(len(list)) != f[2] {
			var names []string
			for _, e := range list {
				names = append(names, fmt.Sprintf("%s %v", e.Name, e.Aliases))
			}
			return fmt.Errorf("%s has %d namesakes, want %s: %q", f[0], len(list), f[2], names)
		}
		return nil
	}
	end := strings.LastIndex(rest, "}") + 1
	args, wants := rest[:end], strings.Fields(rest[end:])
	if end == 0 || len(wants) == 0 {
		s.t.Fatalf("%s: want arguments as JSON, then what is expected", where)
	}
	var got []string
	switch tool {
	case "recall":
		q := memory.Question{Project: s.project, Relations: on}
		if err := json.Unmarshal([]byte(args), &q); err != nil {
			s.t.Fatalf("%s: %v", where, err)
		}
		r, err := s.engine.Recall(ctx, q)
		if err != nil {
			return err
		}
		got = sourcesOf(r.Memories)
	case "why":
		q := memory.WhyQuestion{Project: s.project, Relations: on}
		if err := json.Unmarshal([]byte(args), &q); err != nil {
			s.t.Fatalf("%s: %v", where, err)
		}
		r, err := s.engine.Why(ctx, q)
		if err != nil {
			return err
		}
		got = sourcesOf(r.Memories)
		if wants[0] == "nothing" {
			if r.Found || len(r.Chains) > 0 {
				return fmt.Errorf("%q: a cause was made up: %+v", q.Query, r.Chains)
			}
			return nil
		}
		if wants[0] == "cause" {
			for _, c := range r.Chains {
				if r.Found && len(c.Steps) > 0 && c.Steps[0].Cause == s.ids[wants[1]] {
					return nil
				}
			}
			return fmt.Errorf("%q: found %t, no chain of %d starts at %s; memories %v", q.Query, r.Found, len(r.Chains), wants[1], got)
		}
	default:
		s.t.Fatalf("%s: no tool %q", where, tool)
	}
	for _, w := range wants[1:] {
		if slices.Contains(got, w) != (wants[0] == "want") {
			return fmt.Errorf("%s: %s %v, got %v", args, wants[0], wants[1:], got)
		}
	}
	return nil
}

func sourcesOf(list []memory.Memory) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.Source)
	}
	return out
}

// TestEverydayTalk: the filler must not repeat itself or break off, or the stories are told in a dead room.
func TestEverydayTalk(t *testing.T) {
	var e everyday
	seen := map[string]int{}
	for i := range 330 {
		_, text := e.next("A", "B")
		if strings.Contains(text, "%!") {
			t.Fatalf("turn %d: %s", i, text)
		}
		seen[text]++
	}
	if len(seen) < 240 {
		t.Errorf("only %d of 330 turns differ", len(seen))
	}
}
