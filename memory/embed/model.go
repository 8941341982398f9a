package embed

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
)

// model is an Embedder over one model of an Ollama server.
type model struct {
	server *ollama.Server
	name   string
	digest string
	space  Space
	recipe recipe
	numCtx int
	batch  int
	// report is told how every call went, for the circuit breaker; nil is nobody.
	report func(m *model, kind Kind, err error)
}

func (m *model) Space() Space { return m.space }

func (m *model) Chunks(text string) []string { return chunks(text, m.recipe.Tokens) }

func (m *model) Embed(ctx context.Context, kind Kind, texts []string) ([][]float32, error) {
	// A text may be several pieces: parts[i] is how many the i-th has.
	var pieces []string
	parts := make([]int, len(texts))
	for i, t := range texts {
		p := chunks(t, m.recipe.Tokens)
		if len(p) == 0 {
			return nil, ErrBlank
		}
		parts[i] = len(p)
		pieces = append(pieces, p...)
	}
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := m.all(ctx, kind, pieces)
	if m.report != nil {
		m.report(m, kind, err)
	}
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(texts))
	for i, n := range parts {
		if out[i], err = mean(vectors[:n]); err != nil {
			return nil, fmt.Errorf("embed with %s: a text's parts cancel out", m.name)
		}
		vectors = vectors[n:]
	}
	return out, nil
}

// all embeds pieces in batches and makes sure that they are of this space.
func (m *model) all(ctx context.Context, kind Kind, pieces []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(pieces))
	for len(pieces) > 0 {
		n := min(m.batch, len(pieces))
		v, err := m.some(ctx, kind, pieces[:n])
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, v...)
		pieces = pieces[n:]
	}
	// The answer does not say which weights it came from. Looking after the call is enough: a model
	// that was replaced before it, or while it ran, shows now. It costs a millisecond.
	installed, err := m.server.Installed(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range installed {
		if ollama.SameName(i.Name, m.name) {
			if i.Digest != m.digest || i.Cloud {
				return nil, ErrSwapped
			}
			return vectors, nil
		}
	}
	return nil, &ollama.Error{Fault: ollama.Missing, Doing: "embed with " + m.name, Host: m.server.Host(), Text: "the model is no longer installed"}
}

// busyWaits are the pauses before asking again what failed for a passing reason: a runner that died is
// started anew within the first, a load that was aborted is over within the second.
var busyWaits = []time.Duration{200 * time.Millisecond, 2 * time.Second}

// some embeds one batch. What is too long for the model after all is embedded in halves.
func (m *model) some(ctx context.Context, kind Kind, pieces []string) ([][]float32, error) {
	prefix := m.recipe.Document
	if kind == Query {
		prefix = m.recipe.Query
	}
	input := make([]string, len(pieces))
	for i, p := range pieces {
		input[i] = prefix + p
	}
	call := ollama.EmbedCall{Model: m.name, Texts: input, NumCtx: m.numCtx}
	vectors, err := m.server.Embed(ctx, call)
	for _, wait := range busyWaits {
		if ollama.FaultOf(err) != ollama.Busy {
			break
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
		vectors, err = m.server.Embed(ctx, call)
	}
	switch {
	case err == nil:
		if err := Check(vectors, len(pieces), m.space.Dimensions); err != nil {
			return nil, &ollama.Error{Fault: ollama.Broken, Doing: fmt.Sprintf("embed %d texts with %s", len(pieces), m.name),
				Host: m.server.Host(), Text: err.Error()}
		}
		return vectors, nil
	case ollama.FaultOf(err) != ollama.TooLong:
		return nil, err
	case len(pieces) > 1:
		half := len(pieces) / 2
		a, err := m.some(ctx, kind, pieces[:half])
		if err != nil {
			return nil, err
		}
		b, err := m.some(ctx, kind, pieces[half:])
		return append(a, b...), err
	}
	halves := chunks(pieces[0], (tokens(pieces[0])+1)/2)
	if len(halves) < 2 {
		return nil, err
	}
	parts, err := m.some(ctx, kind, halves)
	if err != nil {
		return nil, err
	}
	v, err := mean(parts)
	return [][]float32{v}, err
}

// mean is the direction of the vectors' sum.
func mean(vectors [][]float32) ([]float32, error) {
	if len(vectors) == 1 {
		return vectors[0], nil
	}
	sum := make([]float32, len(vectors[0]))
	for _, v := range vectors {
		for i, x := range v {
			sum[i] += x
		}
	}
	return sum, normalize(sum)
}

// choice is one installed model that may be used.
type choice struct {
	ollama.Model
	details ollama.Details
}

// open makes the embedder of a model and tries it: the server loads the model now, which can take its
// time, and the first vector's length is the space's dimension.
func (p *auto) open(ctx context.Context, c choice) (*model, error) {
	r := recipe{Chunks: chunkVersion, Tokens: chunkTokens, Prefix: prefixFor(c.Name, p.config.Prefixes)}
	context := c.details.Context
	if p.config.NumCtx > 0 && (context == 0 || p.config.NumCtx < context) {
		context = p.config.NumCtx
	}
	if context > 0 {
		longest := max(tokens(r.Query), tokens(r.Document))
		r.Tokens = max(16, min(chunkTokens, context-chunkReserve-longest))
	}
	m := p.model(c.Name, Space{Provider: "ollama", Model: c.Name, Digest: c.Digest, Recipe: r.String()}, r)
	vectors, err := m.server.Embed(ctx, ollama.EmbedCall{Model: m.name, Texts: []string{r.Document + "ready"}, NumCtx: m.numCtx})
	if err != nil {
		return nil, err
	}
	if err := Check(vectors, 1, 0); err != nil {
		return nil, &ollama.Error{Fault: ollama.Broken, Doing: "try embedding model " + c.Name, Host: m.server.Host(), Text: err.Error()}
	}
	m.space.Dimensions = len(vectors[0])
	return m, nil
}

func (p *auto) model(name string, s Space, r recipe) *model {
	return &model{
		server: p.server, name: name, digest: s.Digest, space: s, recipe: r,
		numCtx: p.config.NumCtx, batch: p.config.BatchSize, report: p.report,
	}
}

// reopen makes an embedder of a space that was opened before, maybe by an earlier process.
func (p *auto) reopen(s Space, installed []ollama.Model) *model {
	var r recipe
	if s.Provider != "ollama" || s.Digest == "" || s.Dimensions <= 0 ||
		json.Unmarshal([]byte(s.Recipe), &r) != nil || r.Chunks != chunkVersion || r.String() != s.Recipe {
		return nil
	}
	for _, i := range installed {
		if i.Digest == s.Digest && !i.Cloud {
			m := p.model(i.Name, s, r)
			m.report = nil // only the current model's calls say how the server is
			return m
		}
	}
	return nil
}

// hint is what a person does about a server without a usable model.
func hint(models []string) string {
	want := "nomic-embed-text"
	if len(models) > 0 {
		want = models[0]
	}
	return "run: ollama pull " + strings.TrimSuffix(want, ":latest")
}
