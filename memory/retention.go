package memory

import (
	"context"
	"slices"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// Retention is a rule: what it names is forgotten when it is older than Age, counted from when it was stored
// (recorded_at): what was said long ago and imported today was kept a day. Pinned memories stay.
type Retention struct {
	Project string        // "*" is every project
	Kind    string        // "" is every kind
	Age     time.Duration // over zero
}

// RetentionReport says what was forgotten, by project.
type RetentionReport struct {
	Forgotten map[string]int `json:"forgotten"`
}

// Total is the sum over all projects.
func (r RetentionReport) Total() int {
	n := 0
	for _, x := range r.Forgotten {
		n += x
	}
	return n
}

// Retain forgets what is over age by any of the rules, the way Forget does: with all that rests on it, and a
// tombstone. No rules, no effect.
func (b *Bank) Retain(ctx context.Context, rules []Retention) (RetentionReport, error) {
	rep := RetentionReport{Forgotten: map[string]int{}}
	done, err := b.enter(ctx)
	if err != nil {
		return rep, err
	}
	defer done()
	for i := range rules {
		if rules[i].Age <= 0 {
			return rep, Errorf(CodeInvalid, "retention: an age of %v; it has to be longer than nothing", rules[i].Age)
		}
		if _, err := CanonicalProject(rules[i].Project, "", true); err != nil || rules[i].Project == "" {
			return rep, Errorf(CodeInvalid, `retention: a project's name or "*" is missing`)
		}
	}
	for _, name := range b.projectNames() {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		mine := slices.DeleteFunc(slices.Clone(rules), func(r Retention) bool {
			canonical, _ := CanonicalProject(r.Project, "", true)
			return canonical != "*" && canonical != name
		})
		if len(mine) == 0 {
			continue
		}
		p, _ := b.project(name)
		ids, err := b.overAge(ctx, p, mine)
		if err != nil {
			return rep, storageError("looking for what is over age", err)
		}
		if len(ids) == 0 {
			continue
		}
		out, err := b.remove(ctx, p, ids, &Choice{Reason: "retention"}, "", Removal{Project: name})
		rep.Forgotten[name] += out.Removed.Memories
		if err != nil {
			return rep, err
		}
		b.o.Logger.Info("forgot what was over age", "project", name, "memories", out.Removed.Memories)
	}
	return rep, nil
}

// overAge is the memories of a project that a rule ends, each whole once.
func (b *Bank) overAge(ctx context.Context, p store.Project, rules []Retention) ([]graph.ID, error) {
	now := b.o.Now()
	var ids []graph.ID
	lo, hi := store.RecordRange(p)
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, err := store.DecodeRecord(store.IDOf(row.Key), row.Value)
		if err != nil {
			return nil, err
		}
		if r.Pinned || !r.PartOf.IsZero() {
			continue
		}
		age := now.Sub(r.Recorded.Time())
		if slices.ContainsFunc(rules, func(t Retention) bool { return (t.Kind == "" || t.Kind == r.Kind) && age > t.Age }) {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}

// RetainEvery calls Retain at once and then each time every has gone by, until ctx ends; the owner of the Bank
// runs it. What fails is told to the log and tried again the next time.
func (b *Bank) RetainEvery(ctx context.Context, every time.Duration, rules []Retention) error {
	if len(rules) == 0 {
		return nil
	}
	tick := time.NewTicker(max(every, time.Second))
	defer tick.Stop()
	for {
		if _, err := b.Retain(ctx, rules); err != nil {
			if ctx.Err() != nil || CodeOf(err) == CodeClosed {
				return nil
			}
			if CodeOf(err) == CodeInvalid {
				return err
			}
			b.lastError.Store("retention: " + err.Error())
			b.o.Logger.Error("forget what is over age", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
