package memory

import (
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/consolidate/consolidatetest"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// The Bank's store keeps the contract that the consolidation worker relies on.
func TestBacklogContract(t *testing.T) {
	consolidatetest.Run(t, func(t *testing.T) consolidatetest.Fixture {
		f := open(t)
		owe := func(p store.Project, id graph.ID, passes []consolidate.Pass) {
			f.write.Lock()
			defer f.write.Unlock()
			for pass := store.PassEmbed; pass <= store.PassEpisode; pass++ {
				ops := []store.Op{{Kind: store.Delete, Key: store.QueueKey(pass, p, id)}}
				for _, want := range passes {
					if store.Pass(want) == pass {
						f.back.rows.floors.note(pass, store.QueueKey(pass, p, id))
						ops[0] = store.Op{Kind: store.Set, Key: store.QueueKey(pass, p, id), Value: (&store.Job{}).Encode()}
					}
				}
				if err := f.back.rows.apply(ops); err != nil {
					t.Fatal(err)
				}
			}
			f.back.rows.floors.lower()
		}
		return consolidatetest.Fixture{
			Store: f.back.rows,
			Add: func(m consolidate.Memory, passes ...consolidate.Pass) graph.ID {
				r := f.remember(Note{Content: m.Text, Speaker: m.Speaker, Session: m.Session, Project: m.Project, OccurredAt: m.At.Format(time.RFC3339)})
				id, err := graph.ParseID(r.ID)
				if err != nil {
					t.Fatal(err)
				}
				p, _ := f.project(m.Project)
				owe(p, id, passes)
				return id
			},
			Forget: func(project string, id graph.ID) {
				if _, err := f.Bank.Forget(ctx, Choice{Project: project, IDs: []string{id.String()}}); err != nil {
					t.Fatal(err)
				}
			},
			Reopen: func() consolidate.Store {
				f.reopen()
				return f.back.rows
			},
		}
	})
}
