package memory

import (
	"context"
	"sort"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// CanonicalProject is the name under which a project is kept: NFC, case folded, trimmed; 1 to 128 characters without
// control characters. "" gives def. "*" is refused unless star.
func CanonicalProject(name, def string, star bool) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" {
		name = def
	}
	if name == "*" {
		if star {
			return name, nil
		}
		return "", Errorf(CodeInvalid, `project: "*" asks all projects, which only recall, why and when can; name one project`)
	}
	n := 0
	for _, r := range name {
		n++
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return "", Errorf(CodeInvalid, "project: the name has a control character; use letters, digits and signs")
		}
	}
	if n > 128 {
		return "", Errorf(CodeInvalid, "project: the name has %d characters; at most 128", n)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(name))), nil
}

// project is the number of a named project; ok false where nothing was ever stored in it.
func (b *Bank) project(name string) (store.Project, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	p, ok := b.projects[name]
	return p, ok
}

func (b *Bank) projectName(p store.Project) string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.names[p]
}

// projectNames is every project, by name.
func (b *Bank) projectNames() []string {
	b.mu.RLock()
	defer b.mu.RUnlock()
	out := make([]string, 0, len(b.projects))
	for n := range b.projects {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// allowed reports whether a session may see a project.
func (s *Session) allowed(project string) bool {
	if s.Allowed == nil {
		return true
	}
	for _, a := range s.Allowed {
		if a == project || strings.HasSuffix(a, "/") && strings.HasPrefix(project, a) || a == "*" {
			return true
		}
	}
	return false
}

// asked is the projects that a question goes to.
func (b *Bank) asked(name string, from *Session) (string, []store.Project, error) {
	name, err := CanonicalProject(name, b.o.DefaultProject, true)
	if err != nil {
		return "", nil, err
	}
	if name != "*" {
		if !from.allowed(name) {
			return "", nil, Errorf(CodeRefused, "project: this token may not see that project")
		}
		if p, ok := b.project(name); ok {
			return name, []store.Project{p}, nil
		}
		return name, nil, nil
	}
	var out []store.Project
	for _, n := range b.projectNames() {
		if from.allowed(n) {
			p, _ := b.project(n)
			out = append(out, p)
		}
	}
	return name, out, nil
}

// tally is what Projects says of a project. It is counted when it is first asked for and forgotten when the project
// changes: no write pays for it, and a list of a thousand projects that rest reads nothing.
type tally struct {
	changes     uint64 // writes so far, so that a count that a write overtook is not kept
	known       bool
	memories    int // long texts count once
	first, last store.Stamp
}

// recount notes that memories of a project came or went.
func (b *Bank) recount(p store.Project) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.tallies[p]
	b.tallies[p] = tally{changes: t.changes + 1}
}

// count is a project's tally, from its rows: its index is not loaded for it.
func (b *Bank) count(p store.Project) (tally, error) {
	b.mu.RLock()
	t := b.tallies[p]
	b.mu.RUnlock()
	if t.known {
		return t, nil
	}
	t.known = true
	seen := false
	lo, hi := store.RecordRange(p)
	err := visit(b.kv, lo, hi, func(_, v []byte) error {
		at, part, err := store.RecordTime(v)
		if err != nil {
			return err
		}
		if !part {
			t.memories++
		}
		if !seen || at.Before(t.first) {
			t.first = at
		}
		if !seen || !at.Before(t.last) {
			t.last = at
		}
		seen = true
		return nil
	})
	if err != nil {
		return t, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tallies[p].changes == t.changes {
		b.tallies[p] = t
	}
	return t, nil
}

// Projects lists what the store holds, by name.
func (b *Bank) Projects(ctx context.Context) ([]ProjectInfo, error) {
	done, err := b.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	out := []ProjectInfo{}
	for _, n := range b.projectNames() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p, _ := b.project(n)
		t, err := b.count(p)
		if err != nil {
			return nil, storageError("listing projects", err)
		}
		if t.memories > 0 {
			out = append(out, ProjectInfo{Project: n, Memories: t.memories, First: formatTime(t.first.Time()), Last: formatTime(t.last.Time())})
		}
	}
	return out, nil
}
