package attach

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory"
)

// Everything that can be read of a real memory reads the same in a process that does not own it.
func TestReadsCross(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2025, 7, 1, 12, 0, 0, 0, time.UTC)
	var bank *memory.Bank
	a := start(t, dir, func() (memory.Engine, io.Closer, error) {
		b, err := memory.Open(t.TempDir(), memory.Options{Zone: time.UTC, Paused: true, Now: func() time.Time { return at }})
		bank = b
		return b, b, err
	}, Options{})
	b := start(t, dir, nil, Options{})
	ctx := testContext(t)
	var ids []string
	for i, text := range []string{
		"The ferry timetable changes on Monday, says Eskil.", "The ferry leaves the Nordnes pier at six.", "Who tells the harbour school?",
		"The new ferry timetable hangs at the Nordnes pier.", "The harbour school missed the ferry because Eskil read the old timetable.",
		"Rye flour keeps a sourdough starter alive.",
	} {
		r, err := b.Remember(ctx, memory.Note{Content: text, Session: fmt.Sprint("s", i/3), OccurredAt: at.Add(time.Duration(i/3-9) * 24 * time.Hour).Format(time.RFC3339)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	if err := bank.Settle(ctx); err != nil {
		t.Fatal(err)
	}
	topic := ""
	for name, read := range map[string]func(context.Context, memory.Engine) (any, error){
		"projects": func(ctx context.Context, e memory.Engine) (any, error) { return e.Projects(ctx) },
		"stats": func(ctx context.Context, e memory.Engine) (any, error) {
			s, err := e.Stats(ctx, "")
			s.BytesOnDisk = 0 // it moves
			return s, err
		},
		"recent": func(ctx context.Context, e memory.Engine) (any, error) { return e.Recent(ctx, "", 4) },
		"timeline": func(ctx context.Context, e memory.Engine) (any, error) {
			return e.Timeline(ctx, memory.TimelineQuery{})
		},
		"get":      func(ctx context.Context, e memory.Engine) (any, error) { return e.Get(ctx, "", ids[4]) },
		"entities": func(ctx context.Context, e memory.Engine) (any, error) { return e.Entities(ctx, "") },
		"entity":   func(ctx context.Context, e memory.Engine) (any, error) { return e.Entity(ctx, "", "Eskil") },
		"graph": func(ctx context.Context, e memory.Engine) (any, error) {
			return e.Graph(ctx, memory.GraphQuery{Around: ids[4], Depth: 2})
		},
		"episodes": func(ctx context.Context, e memory.Engine) (any, error) {
			l, err := e.Episodes(ctx, memory.EpisodeQuery{Session: "s0"})
			if err == nil && len(l.Episodes) != 1 {
				err = fmt.Errorf("%d episodes", len(l.Episodes))
			}
			return l, err
		},
		"episode": func(ctx context.Context, e memory.Engine) (any, error) {
			x, err := e.Episode(ctx, "", ids[0])
			topic = x.TopicID
			return x, err
		},
		"topics": func(ctx context.Context, e memory.Engine) (any, error) { return e.Topics(ctx, "") },
		"topic":  func(ctx context.Context, e memory.Engine) (any, error) { return e.Topic(ctx, "", "ferry") },
	} {
		want, err := read(ctx, a)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := read(ctx, b)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s, %v (-owner +attached):\n%s", name, err, d)
		}
	}
	if topic == "" {
		t.Error("the episode has no topic")
	}
	if _, err := b.Episode(ctx, "", "nothing"); memory.CodeOf(err) != memory.CodeNotFound {
		t.Errorf("an unknown episode: %v", err)
	}
}
