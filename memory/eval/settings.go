package eval

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// The four graphs, as Question.Relations names them.
var graphs = []string{"temporal", "semantic", "causal", "entity"}

// Setting is one way to run the engine: which graphs may be walked, which parts are switched off, and
// how much of a graph is wrong. The zero value is the engine as it is.
type Setting struct {
	Name string `json:"name"`
	// Relations are the graphs that may be walked, nil for all four.
	Relations []string `json:"relations,omitempty"`
	// Off are parts switched off, of Parts.
	Off []string `json:"off,omitempty"`
	// Corrupt adds or rewires this share of one graph's edges, by Seed.
	Corrupt string  `json:"corrupt,omitempty"`
	Share   float64 `json:"share,omitempty"`
	Seed    uint64  `json:"seed,omitempty"`
}

// Parts are what a Setting can switch off beside graphs: anchor signals by name (words: its own and those
// around it; episode: a model's summaries; window: those around it; session, reply: bonuses), related words,
// diversity, the walk, and weights that follow the question's intent (off: the same for all).
var Parts = []string{"words", "vector", "episode", "window", "phrase", "time", "entity", "session", "reply", "expand", "diversity", "walk", "adaptive"}

// Store is a memory under measure. Engine gives the engine as a setting has it, over the same stored
// memories; a setting it cannot produce is an error that says so. Settle waits until background work is done.
type Store interface {
	Engine(Setting) (memory.Engine, error)
	Settle(context.Context) error
	Close() error
}

// Clock is a Store that can be asked as of a time: the data of LongMemEval say when a question is put, and "three weeks
// ago" counts from then. The zero time is the present.
type Clock interface{ AskAt(time.Time) }

// full is the engine as it is.
var full = Setting{Name: "magma"}

// Ablations are the settings of the ablation table, in order: each graph off, each alone, built up
// from words, each anchor signal off, one set of weights for every intent, no walk.
func Ablations() []Setting {
	var list []Setting
	for _, g := range graphs {
		list = append(list, Setting{Name: "without " + g, Relations: without(graphs, g)})
	}
	for _, g := range graphs {
		list = append(list, Setting{Name: "only " + g, Relations: []string{g}})
	}
	list = append(list,
		Setting{Name: "words", Off: []string{"vector", "episode", "window", "phrase", "time", "entity", "session", "reply", "expand", "walk"}},
		Setting{Name: "words +time", Off: []string{"vector", "phrase", "entity", "expand"}, Relations: []string{"temporal"}},
		Setting{Name: "words +time +entity", Off: []string{"vector", "phrase", "expand"}, Relations: []string{"temporal", "entity"}},
		Setting{Name: "words +time +entity +semantic", Off: []string{"phrase"}, Relations: []string{"temporal", "entity", "semantic"}},
		Setting{Name: "words +time +entity +semantic +causal", Off: []string{"phrase"}},
	)
	for _, p := range Parts {
		name := "no " + p
		switch p {
		case "adaptive":
			name = "fixed weights"
		}
		list = append(list, Setting{Name: name, Off: []string{p}})
	}
	return list
}

func without(list []string, x string) []string {
	var out []string
	for _, s := range list {
		if s != x {
			out = append(out, s)
		}
	}
	return out
}

// corruptMost is how far a corruption curve goes unless told: past a half, a graph holds more noise than edges.
const corruptMost = .5

// Corruptions are the settings of one graph's corruption curve: five steps up to a half, or to the share
// that what names, as in "entity" or "entity=0..30%"; and, to see where it stops paying, the graph left out.
func Corruptions(what string, seed uint64) ([]Setting, error) {
	graph, span, given := strings.Cut(what, "=")
	most := corruptMost
	if given {
		text := strings.TrimSuffix(strings.TrimPrefix(span, "0.."), "%")
		percent, err := strconv.ParseFloat(text, 64)
		if err != nil || percent <= 0 || percent > 100 {
			return nil, fmt.Errorf("--corrupt %q: want GRAPH or GRAPH=0..50%%", what)
		}
		most = percent / 100
	}
	if !slices.Contains(graphs, graph) {
		return nil, fmt.Errorf("--corrupt %q is no graph: use one of %s", graph, strings.Join(graphs, ", "))
	}
	var list []Setting
	for _, part := range []float64{.1, .2, .4, .6, 1} {
		share := part * most
		list = append(list, Setting{Name: fmt.Sprintf("%s %.3g%% wrong", graph, share*100), Corrupt: graph, Share: share, Seed: seed})
	}
	return append(list, Setting{Name: "without " + graph, Relations: without(graphs, graph)}), nil
}
