package memory

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest"
)

// What a Bank's callers feel of an Ollama that misbehaves: nothing but words that say so. Each test runs in a
// bubble with a clock of its own, which stands still while anything computes and jumps while all wait: what is
// measured is how long a call waited for somebody, exactly, on any machine.

const (
	// embedsQuestion is what a question may wait for its vector (CONTRACT section 5).
	embedsQuestion = 250 * time.Millisecond
	// noCallOver bounds every call, whatever Ollama does (FIELD-NOTES, Start-up).
	noCallOver = 3 * time.Second
)

// faulty is a way in which a server fails.
type faulty struct {
	name string
	set  func(*ollamatest.Fake, *ollamatest.Transport)
	heal func(*ollamatest.Fake, *ollamatest.Transport)
}

var modelPaths = []string{"/api/tags", "/api/show", "/api/embed"}

func faults() []faulty {
	step := func(name string, paths []string, s ollamatest.Step) faulty {
		return faulty{name,
			func(f *ollamatest.Fake, _ *ollamatest.Transport) {
				for _, p := range paths {
					f.Always(p, s)
				}
			},
			func(f *ollamatest.Fake, _ *ollamatest.Transport) {
				for _, p := range modelPaths {
					f.Always(p, nil)
				}
			}}
	}
	embeds := modelPaths[2:]
	return []faulty{
		step("accepts and never answers", modelPaths, ollamatest.Hang),
		step("its model never answers", embeds, ollamatest.Hang),
		step("every answer takes 12 s", modelPaths, ollamatest.After(12*time.Second)),
		step("its model takes 12 s", embeds, ollamatest.After(12*time.Second)),
		step("its model takes 200 ms", embeds, ollamatest.After(200*time.Millisecond)),
		step("cuts its answers", modelPaths, ollamatest.Cut(`{"models":[{"na`)),
		step("cuts its vectors", embeds, ollamatest.Cut(`{"embeddings":[[0.1,`)),
		step("404 to everything", modelPaths, ollamatest.Status(http.StatusNotFound, "")),
		step("404 for the model", embeds, ollamatest.Status(http.StatusNotFound, "model 'a' not found, try pulling it first")),
		step("503", modelPaths, ollamatest.Status(http.StatusServiceUnavailable, "server busy, please try again")),
		step("503 for vectors", embeds, ollamatest.Status(http.StatusServiceUnavailable, "server busy, please try again")),
		step("500 for vectors", embeds, ollamatest.Status(http.StatusInternalServerError, "llama runner process has terminated")),
		step("prose for vectors", embeds, ollamatest.Text("I am a teapot")),
		step("no vectors in the answer", embeds, ollamatest.Answer(map[string]any{"embeddings": []any{}})),
		{"refuses the connection",
			func(_ *ollamatest.Fake, t *ollamatest.Transport) { t.SetError(syscall.ECONNREFUSED) },
			func(_ *ollamatest.Fake, t *ollamatest.Transport) { t.SetError(nil) }},
	}
}

// impatient calls everything, and reports how long each call waited.
type impatient struct {
	*fixture
	say string
	n   int
}

// timed runs a call, which may wait no longer than limit.
func (c *impatient) timed(what string, limit time.Duration, call func() error) {
	c.t.Helper()
	began := time.Now()
	err := call()
	if err != nil {
		c.t.Errorf("%s: %s: %v", c.say, what, err)
	}
	if d := time.Since(began); d > limit {
		c.t.Errorf("%s: %s waited %s, more than %s", c.say, what, d, limit)
	}
}

// calls makes every kind of call; degraded is whether a question is to say that vectors are missing.
func (c *impatient) calls(degraded bool) {
	c.t.Helper()
	c.n++
	var r Receipt
	c.timed("remember", 0, func() (err error) {
		r, err = c.Remember(ctx, Note{Content: fmt.Sprintf("The heron of year %d nests behind the boiler house.", 2000+c.n), Session: "herons"})
		return err
	})
	c.timed("recall", embedsQuestion, func() error {
		got, err := c.Recall(ctx, Question{Query: "Where does the heron nest?"})
		if err == nil && len(got.Memories) == 0 {
			err = errors.New("nothing was found")
		}
		if says := len(got.Degraded) > 0; says != degraded {
			err = errors.Join(err, fmt.Errorf("degraded is %q", got.Degraded))
		}
		return err
	})
	c.timed("why", noCallOver, func() error {
		_, err := c.Why(ctx, WhyQuestion{Query: "Why does the heron nest there?"})
		return err
	})
	c.timed("when", noCallOver, func() error {
		_, err := c.When(ctx, WhenQuestion{Query: "When did the heron nest?"})
		return err
	})
	c.timed("stats", 0, func() error { _, err := c.Stats(ctx, ""); return err })
	c.timed("get", 0, func() error { _, err := c.Get(ctx, "", r.ID); return err })
	c.timed("forget", 0, func() error { _, err := c.Forget(ctx, Choice{IDs: []string{r.ID}}); return err })
}

// vectorsBy lets time pass until vectors serve again.
func (c *impatient) vectorsBy(limit time.Duration) {
	c.t.Helper()
	for began := time.Now(); ; time.Sleep(time.Second) { // of the bubble's clock
		got, err := c.Recall(ctx, Question{Query: "Where does the grey bird nest?"})
		if err == nil && len(got.Degraded) == 0 && slices.ContainsFunc(got.Memories, func(m Memory) bool { return m.Signals["vector"] != 0 }) {
			return
		}
		if time.Since(began) > limit {
			c.t.Fatalf("%s: after %s no vectors serve: %v, degraded %q, stats %+v", c.say, limit, err, got.Degraded, c.stats())
		}
	}
}

// A server that fails from the start, and one that fails later: no call waits longer than the contract says,
// what is missing is said, and when the server is well again vectors are made and asked without a restart.
func TestNoCallWaitsForOllama(t *testing.T) {
	for _, fault := range faults() {
		for _, when := range []string{"from the start", "later"} {
			t.Run(fault.name+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fake := ollamatest.NewFake(ollamatest.Model{Name: "a", Digest: "sha-a", Dim: 16})
					transport := &ollamatest.Transport{Fake: fake}
					if when == "from the start" {
						fault.set(fake, transport)
					}
					began := time.Now()
					f := open(t, func(o *Options) {
						o.EmbedderFor = func(stay embed.Space) embed.Provider {
							return embed.NewAuto(embed.Config{Provider: "ollama", Stay: stay, Models: []string{"a"}, Ollama: ollama.Config{Transport: transport}})
						}
						o.Now, o.Paused = nil, false
					})
					if d := time.Since(began); d != 0 {
						t.Errorf("opening waited %s", d)
					}
					f.say("The heron eats by the lock.")
					c := impatient{fixture: f, say: "at once"}
					if when == "from the start" {
						c.calls(true)
					} else {
						c.vectorsBy(time.Minute)
						c.say = "while it is well"
						c.calls(false)
						fault.set(fake, transport)
					}
					slow := strings.HasSuffix(fault.name, "200 ms") // in time, if hardly
					for _, after := range []time.Duration{0, 100 * time.Millisecond, 3 * time.Second, 20 * time.Second, 2 * time.Minute} {
						time.Sleep(after)
						c.say = fmt.Sprintf("%s after it failed", after)
						if slow {
							if after >= 20*time.Second {
								c.calls(false)
							}
							continue
						}
						c.calls(true)
					}
					fault.heal(fake, transport)
					c.say = "when it is well again"
					c.vectorsBy(10 * time.Minute)
					c.calls(false)
				})
			})
		}
	}
}

// A model that needs 12 s to load: a question meanwhile is answered by words in time, does not abort the load,
// and vectors come without a restart, also when the model was unloaded in between.
func TestColdModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := ollamatest.NewFake(ollamatest.Model{Name: "a", Digest: "sha-a", Dim: 16, Load: 12 * time.Second})
		f := open(t, withOllama(fake), func(o *Options) { o.Now, o.Paused = nil, false })
		f.say("The heron eats by the lock.")
		c := impatient{fixture: f}
		for _, when := range []string{"at the start", "after the model was unloaded"} {
			c.say = when
			for range 3 {
				c.calls(true)
				time.Sleep(time.Second)
			}
			c.vectorsBy(time.Minute)
			c.calls(false)
			fake.Unload()
		}
	})
}
