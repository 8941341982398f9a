package consolidate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// The embed pass: a job is done when its memory has vectors of its present text in every space that is
// an aim. The aims are the space of the provider's choice and that of its standby. While the choice is
// away, the standby's vectors are made and the job stays; when it comes back, its own are added.
//
// After a change of model all memories are owed again. What was embedded before an interruption is known
// by the hash of its text and skipped, so filling goes on where it stopped. Until nothing is owed, the
// old space stays; then it goes.

// fill is what the pass remembers from step to step. Losing it costs one look through the queue.
type fill struct {
	aims  string // the fingerprints last aimed at
	able  string // those of them that can be filled now
	after Job    // where the look through the queue stands
	stuck bool   // jobs were passed over in this look: an embedder is not to be had
	// passed are memories that have all the vectors that can be made now. A server can be away for weeks:
	// not every memory that comes meanwhile may lead to reading all that wait.
	passed map[graph.ID]bool
	full   bool // nothing was owed when last asked
	batch  int  // texts in a request, less after a server that did not manage
}

// target is a space that is an aim and who can fill it, nil where nobody can now.
type target struct {
	space    embed.Space
	embedder embed.Embedder
}

// embedStep embeds one batch of memories, and says whether it got anywhere.
func (w *Worker) embedStep(ctx context.Context) (bool, error) {
	targets, reason, err := w.aim()
	if err != nil {
		return false, err
	}
	if len(targets) == 0 {
		w.wait(Embed, reason)
		return false, nil
	}
	jobs, err := w.store.Due(Embed, w.opts.Now(), w.fill.after, w.opts.Batch)
	if err != nil {
		return false, fmt.Errorf("read the queue of vectors: %w", err)
	}
	if len(jobs) == 0 {
		return w.embedEnd(targets, reason)
	}
	w.fill.full = false
	jobs = sameProject(jobs)
	w.fill.after = jobs[len(jobs)-1]
	jobs = slices.DeleteFunc(jobs, func(j Job) bool { return w.fill.passed[j.Memory] })
	if len(jobs) == 0 {
		w.fill.stuck = true
		return true, nil
	}
	memories, err := w.store.Memories(jobs[0].Project, jobIDs(jobs))
	if err != nil {
		return false, fmt.Errorf("read memories to embed: %w", err)
	}
	open := map[graph.ID]bool{} // not done in every aim
	failed := map[graph.ID]string{}
	for _, t := range targets {
		lacking, err := w.lacking(t, jobs[0].Project, memories)
		if err != nil {
			return false, err
		}
		if t.embedder == nil {
			for _, m := range lacking {
				open[m.ID] = true
			}
			continue
		}
		if err := w.embedSome(ctx, t, lacking, failed); err != nil {
			if ctx.Err() != nil {
				return false, nil
			}
			if !serverFault(err) {
				return false, err
			}
			// The provider hears of it too and will offer something else, or the same again.
			w.failed(err)
			w.wait(Embed, err.Error())
			w.fill.after, w.fill.stuck = Job{}, false
			return false, nil
		}
	}
	var o Outcome
	for _, j := range jobs {
		switch {
		case failed[j.Memory] != "":
			w.later(&o, j, failed[j.Memory])
		case !open[j.Memory]:
			o.Done = append(o.Done, j)
		}
	}
	for id := range open {
		if failed[id] == "" {
			w.fill.passed[id] = true
		}
	}
	w.fill.stuck = w.fill.stuck || len(open) > 0
	if err := w.store.Settle(o); err != nil {
		return false, fmt.Errorf("settle embedded memories: %w", err)
	}
	return true, nil
}

// embedEnd is the end of one look through the queue. It says whether to look again at once.
func (w *Worker) embedEnd(targets []target, reason string) (bool, error) {
	looked := w.fill.after != Job{}
	w.fill.after = Job{}
	if w.fill.stuck {
		w.wait(Embed, reason)
		w.fill.stuck = false
		return false, nil
	}
	if looked {
		return true, nil // something may have come in before the place where we were
	}
	w.wait(Embed, "")
	for _, t := range targets {
		if t.embedder == nil {
			return false, nil // who fills it later closes it
		}
	}
	if w.fill.full {
		return false, nil
	}
	// Work that was put off counts: a space is full when nothing at all is owed.
	owed, err := w.store.Due(Embed, endOfTime, Job{}, 1)
	if err != nil {
		return false, fmt.Errorf("read the queue of vectors: %w", err)
	}
	if len(owed) > 0 {
		return false, nil
	}
	if err := w.store.Filled(); err != nil {
		return false, fmt.Errorf("close a filled vector space: %w", err)
	}
	w.fill.full = true
	return false, nil
}

var endOfTime = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// aim finds out which spaces shall be filled, and tells the store when that changed.
func (w *Worker) aim() ([]target, string, error) {
	current, state, reason := w.provider.Current()
	var standby embed.Embedder
	if s, ok := w.provider.(embed.Standby); ok {
		standby = s.Standby()
	}
	var targets []target
	add := func(s embed.Space, e embed.Embedder) {
		for i, t := range targets {
			if t.space.Fingerprint() == s.Fingerprint() {
				if e != nil {
					targets[i].embedder = e
				}
				return
			}
		}
		targets = append(targets, target{s, e})
	}
	if state != embed.Ready {
		// The choice is away: what was aimed at stays an aim.
		spaces, err := w.store.Spaces()
		if err != nil {
			return nil, "", fmt.Errorf("read the vector spaces: %w", err)
		}
		for _, s := range spaces {
			if s.Aim {
				add(s.Space, nil)
			}
		}
	}
	for _, e := range []embed.Embedder{current, standby} {
		if e != nil {
			add(e.Space(), e)
		}
	}
	if current == nil && standby == nil {
		return nil, reason, nil
	}
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.space.Fingerprint(), b.space.Fingerprint()) })
	aims, able := "", ""
	spaces := make([]embed.Space, len(targets))
	for i, t := range targets {
		spaces[i] = t.space
		aims += t.space.Fingerprint() + " "
		if t.embedder != nil {
			able += t.space.Fingerprint() + " "
		}
	}
	if aims != w.fill.aims {
		if err := w.store.Aim(spaces); err != nil {
			return nil, "", fmt.Errorf("open a vector space: %w", err)
		}
	}
	if aims != w.fill.aims || able != w.fill.able {
		w.fill = fill{aims: aims, able: able, passed: map[graph.ID]bool{}}
	}
	return targets, reason, nil
}

// lacking are the memories without vectors of their present text in a space.
func (w *Worker) lacking(t target, project string, memories []Memory) ([]Memory, error) {
	ids := make([]graph.ID, len(memories))
	for i, m := range memories {
		ids[i] = m.ID
	}
	has, err := w.store.TextHashes(t.space.Fingerprint(), project, ids)
	if err != nil {
		return nil, fmt.Errorf("look for vectors: %w", err)
	}
	var out []Memory
	for _, m := range memories {
		if h, ok := has[m.ID]; !ok || h != textHash(w.opts.Compose(m)) {
			out = append(out, m)
		}
	}
	return out, nil
}

// embedSome embeds memories into one space and settles their vectors. What fails as a batch is tried in
// halves; a memory that fails alone gets its reason into failed. The error is a fault of the server, of
// the store, or the context's.
func (w *Worker) embedSome(ctx context.Context, t target, memories []Memory, failed map[graph.ID]string) error {
	if len(memories) == 0 {
		return nil
	}
	var texts []string
	counts := make([]int, len(memories))
	for i, m := range memories {
		pieces := t.embedder.Chunks(w.opts.Compose(m))
		counts[i] = len(pieces)
		texts = append(texts, pieces...)
	}
	values, err := w.vectors(ctx, t.embedder, texts)
	switch {
	case err == nil:
	case ctx.Err() != nil || serverFault(err):
		return err
	case len(memories) == 1:
		w.failed(err)
		failed[memories[0].ID] = err.Error()
		return nil
	default:
		half := len(memories) / 2
		if err := w.embedSome(ctx, t, memories[:half], failed); err != nil {
			return err
		}
		return w.embedSome(ctx, t, memories[half:], failed)
	}
	o := Outcome{Space: t.space.Fingerprint()}
	for i, m := range memories {
		hash := textHash(w.opts.Compose(m))
		for c, v := range values[:counts[i]] {
			o.Vectors = append(o.Vectors, Vector{Memory: m.ID, Project: m.Project, Chunk: c, TextHash: hash, Values: v})
		}
		values = values[counts[i]:]
	}
	if err := w.store.Settle(o); err != nil {
		return fmt.Errorf("store vectors: %w", err)
	}
	return nil
}

const (
	// patience is how long vectors wait for tool calls to end. Clients that never pause must not stop
	// them for good; after it, one small batch goes through.
	patience = 2 * time.Second
	// smallest is the batch that is not given up for a tool call any more: even a slow machine embeds it
	// within the quarter of a second that a question has.
	smallest = 4
)

// vectors embeds texts in batches, letting tool calls go first. No more than a batch is ever done twice.
func (w *Worker) vectors(ctx context.Context, e embed.Embedder, texts []string) ([][]float32, error) {
	out := make([][]float32, 0, len(texts))
	size := w.fill.batch
	if size == 0 {
		size = w.opts.Batch
	}
	for len(texts) > 0 {
		waiting, stop := context.WithTimeout(ctx, patience)
		crowded := w.gate.pass(waiting) != nil
		stop()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if crowded {
			size = smallest
		}
		n := min(size, len(texts))
		var v [][]float32
		var err error
		if n <= smallest {
			v, err = e.Embed(ctx, embed.Document, texts[:n])
		} else {
			yielding, stop := w.gate.yielding(ctx)
			v, err = e.Embed(yielding, embed.Document, texts[:n])
			yielded := errors.Is(context.Cause(yielding), errYield)
			stop()
			if err != nil && yielded && ctx.Err() == nil {
				size = max(smallest, size/2)
				continue
			}
		}
		if ollama.FaultOf(err) == ollama.Slow {
			w.fill.batch = max(1, n/2) // it may have been too much at once
		}
		if err == nil {
			err = embed.Check(v, n, e.Space().Dimensions)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v...)
		texts = texts[n:]
		if !crowded {
			size = min(2*size, w.opts.Batch) // it went through: dare more again
		}
	}
	if w.fill.batch > 0 && len(out) > 0 {
		w.fill.batch = min(2*w.fill.batch, w.opts.Batch)
	}
	return out, nil
}

// serverFault says of an error that it is about the server or the model as a whole, not about the texts.
func serverFault(err error) bool {
	switch ollama.FaultOf(err) {
	case ollama.Away, ollama.Slow, ollama.Missing, ollama.Busy:
		return true
	}
	return errors.Is(err, embed.ErrSwapped)
}

// sameProject is the beginning of jobs that are of one project.
func sameProject(jobs []Job) []Job {
	if i := slices.IndexFunc(jobs, func(j Job) bool { return j.Project != jobs[0].Project }); i > 0 {
		return jobs[:i]
	}
	return jobs
}

func jobIDs(jobs []Job) []graph.ID {
	ids := make([]graph.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = j.Memory
	}
	return ids
}

func textHash(s string) uint64 {
	sum := sha256.Sum256([]byte(s))
	return binary.BigEndian.Uint64(sum[:8])
}
