package embed

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
)

// auto is the provider over an Ollama server, with the built-in embedder, if any, as its standby.
//
// It is a circuit breaker. While the server works, every Recheck brings one small request, and the
// embedder's own calls report how they went. A call that finds no server opens the circuit: from then
// on Current has no Ollama embedder to offer, so that no caller waits for one, and only Run goes on
// asking, at growing intervals. A question that gets no answer in its quarter of a second does not:
// the model may merely have been unloaded, and a client that gives up aborts the load. So Run loads
// it, with patience, and only a third silence in a row opens the circuit.
type auto struct {
	config  Config
	server  *ollama.Server
	standby Embedder
	kick    chan struct{} // one slot: look now

	mu        sync.Mutex
	current   *model
	state     State
	reason    string
	changed   chan struct{}
	installed []ollama.Model // at the last look that succeeded
	met       bool           // an Ollama model has served here, or has filled the store
	suspect   bool           // the current model did not answer: load it and see
	silences  int            // questions in a row that got no answer
}

// maxSilences: one can be a model that was unloaded, a second one its load that still runs (5 to 15 s).
const maxSilences = 3

func newAuto(c Config, server *ollama.Server, standby Embedder) *auto {
	return &auto{
		config: c, server: server, standby: standby,
		kick: make(chan struct{}, 1), changed: make(chan struct{}),
		state: Loading, reason: "looking for an embedding model at " + server.Host(),
		met: c.Provider == "ollama" || c.Stay.Provider == "ollama",
	}
}

func (p *auto) Run(ctx context.Context) error {
	defer p.server.Close()
	pause := p.config.RetryMin
	for {
		wait := p.config.Recheck
		if err := p.look(ctx); err != nil {
			wait, pause = pause, min(2*pause, p.config.RetryMax)
		} else {
			pause = p.config.RetryMin
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		case <-p.kick:
			timer.Stop()
		}
	}
}

func (p *auto) Current() (Embedder, State, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		return p.current, p.state, p.reason
	}
	return p.standby, p.state, p.reason
}

func (p *auto) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

func (p *auto) Standby() Embedder { return p.standby }

func (p *auto) Expected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met
}

func (p *auto) Reopen(s Space) Embedder {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := s.Fingerprint()
	for _, e := range []Embedder{p.currentLocked(), p.standby} {
		if e != nil && e.Space().Fingerprint() == want {
			return e
		}
	}
	if p.current == nil {
		return nil // the server is away, or busy loading
	}
	if m := p.reopen(s, p.installed); m != nil {
		return m
	}
	return nil
}

func (p *auto) currentLocked() Embedder {
	if p.current == nil {
		return nil
	}
	return p.current
}

// look asks the server what it has and brings Current up to date.
func (p *auto) look(ctx context.Context) error {
	installed, err := p.server.Installed(ctx)
	if err != nil {
		return p.away(ctx, err)
	}
	p.mu.Lock()
	p.installed = installed
	now, suspect := p.current, p.suspect
	p.suspect = false
	p.mu.Unlock()

	candidates := p.candidates(installed)
	if now != nil && len(candidates) > 0 && candidates[0].Digest == now.digest && ollama.SameName(candidates[0].Name, now.name) {
		if !suspect {
			return nil
		}
		// Load it and see. The state stays: questions go on being tried meanwhile.
		if _, err := p.server.Embed(ctx, ollama.EmbedCall{Model: now.name, Texts: []string{"ready"}, NumCtx: now.numCtx}); err != nil {
			return p.away(ctx, err)
		}
		return nil
	}
	var reasons []string
	for _, m := range candidates {
		c, err := p.details(ctx, m)
		if err == nil {
			p.set(nil, Loading, "loading "+m.Name+" at "+p.server.Host())
			var opened *model
			if opened, err = p.open(ctx, c); err == nil {
				p.set(opened, Ready, "")
				return nil
			}
		}
		switch ollama.FaultOf(err) {
		case ollama.Missing, ollama.Refused, ollama.Broken, ollama.TooLong, "":
			reasons = append(reasons, err.Error()) // this model's fault: the next one may do
		default:
			return p.away(ctx, err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	reason := "ollama at " + p.server.Host() + " has no embedding model that can be used; " + hint(p.config.Models)
	if len(reasons) > 0 {
		reason += " (" + strings.Join(reasons, "; ") + ")"
	}
	return p.away(ctx, errors.New(reason))
}

// candidates are the installed models to try, best first.
func (p *auto) candidates(installed []ollama.Model) []ollama.Model {
	var out []ollama.Model
	add := func(fits func(ollama.Model) bool) {
		for _, m := range installed {
			if !m.Cloud && fits(m) && !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	models := p.config.Models
	if models == nil {
		models = DefaultModels
		p.mu.Lock()
		stay := p.config.Stay
		p.mu.Unlock()
		if stay.Provider == "ollama" {
			add(func(m ollama.Model) bool { return m.Digest == stay.Digest })
			add(func(m ollama.Model) bool { return ollama.SameName(m.Name, stay.Model) })
		}
	}
	for _, want := range models {
		add(func(m ollama.Model) bool { return ollama.SameName(m.Name, want) })
		if !strings.Contains(want, ":") { // any tag will do where none is named
			add(func(m ollama.Model) bool { return strings.EqualFold(untagged(m.Name), want) })
		}
	}
	return out
}

func untagged(name string) string {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i]
	}
	return name
}

// details asks what a model can do and refuses what cannot embed, or would elsewhere.
func (p *auto) details(ctx context.Context, m ollama.Model) (choice, error) {
	d, err := p.server.Show(ctx, m.Name)
	switch {
	case err != nil:
		return choice{}, err
	case d.Cloud:
		return choice{}, fmt.Errorf("%s runs in Ollama's cloud, and memories stay on this machine", m.Name)
	case d.Known && !d.Embeds:
		return choice{}, fmt.Errorf("%s is no embedding model", m.Name)
	}
	return choice{Model: m, details: d}, nil
}

// away opens the circuit, or leaves it open. Its result is err, for Run.
func (p *auto) away(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err() // the program ends
	}
	p.set(nil, Away, err.Error())
	return err
}

// set changes what Current says and wakes who waits for a change.
func (p *auto) set(m *model, state State, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.setLocked(m, state, reason)
}

func (p *auto) setLocked(m *model, state State, reason string) {
	p.silences = 0
	if m != nil {
		p.met = true
		p.config.Stay = m.space
	}
	if state == Away && p.standby != nil && !p.met {
		// Nobody misses Ollama here: the built-in embedder is the choice, not a fallback.
		state, reason = Ready, "built in; "+reason
	}
	if m == p.current && state == p.state && reason == p.reason {
		return
	}
	told := state != p.state || m != p.current
	p.current, p.state, p.reason = m, state, reason
	close(p.changed)
	p.changed = make(chan struct{})
	if told {
		name := ""
		if m != nil {
			name = m.name
		}
		p.config.Logger.Info("embedding", "state", string(state), "model", name, "reason", reason)
	}
}

// report hears how a call of the current model went.
func (p *auto) report(m *model, kind Kind, err error) {
	fault := ollama.FaultOf(err)
	gone := fault == ollama.Away || fault == ollama.Missing || errors.Is(err, ErrSwapped) ||
		fault == ollama.Slow && kind == Document // its deadline is longer than any load
	p.mu.Lock()
	defer p.mu.Unlock()
	if m != p.current {
		return // a caller that still held an earlier one
	}
	suspect := fault == ollama.Slow && !gone
	if suspect {
		p.silences++
		p.suspect = true
		gone = p.silences >= maxSilences
	} else if err == nil {
		p.silences = 0
	}
	if gone {
		p.setLocked(nil, Away, err.Error())
	}
	if gone || suspect {
		select {
		case p.kick <- struct{}{}:
		default:
		}
	}
}
