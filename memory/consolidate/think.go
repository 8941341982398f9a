package consolidate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/text"
)

// The model passes. A step takes a few owed memories of one session, shows them with their neighbourhood to
// the chat model, holds the answers against the words, and settles what is left in one go. An answer that
// cannot be read, or was cut off, is asked for again with fewer memories, then later, then parked. A
// server that is away costs no try.

// thinkPatience is how long a question waits for tool calls to end. A question takes a processor for half a
// minute, so it waits longer than a batch of vectors; clients that never pause must not stop it for good.
const thinkPatience = 30 * time.Second

// ponder does one step of the Model pass, else one of the Episode pass.
func (w *Worker) ponder(ctx context.Context) (bool, error) {
	w.thought.Lock()
	defer w.thought.Unlock()
	if w.chat == nil {
		w.wait(Model, "no consolidation model is set")
		w.wait(Episode, "no consolidation model is set")
		return false, nil
	}
	for _, pass := range []Pass{Model, Episode} {
		jobs, err := w.store.Due(pass, w.opts.Now(), Job{}, 4*readTogether)
		if err != nil {
			return false, fmt.Errorf("read the queue of pass %s: %w", pass, err)
		}
		if len(jobs) == 0 {
			w.wait(pass, "")
			continue
		}
		more, err := w.ponderJobs(ctx, pass, sameProject(jobs))
		if more || err != nil || ctx.Err() != nil {
			return more, err
		}
	}
	return false, nil
}

// errCap says that the day's calls are used.
var errCap = errors.New("the day's model calls are used")

func (w *Worker) ponderJobs(ctx context.Context, pass Pass, jobs []Job) (bool, error) {
	name, err := w.chat.Name(ctx)
	if err != nil {
		return false, w.away(ctx, pass, err)
	}
	memories, err := w.store.Memories(jobs[0].Project, jobIDs(jobs))
	if err != nil {
		return false, fmt.Errorf("read memories for pass %s: %w", pass, err)
	}
	batch := together(jobs, memories)
	if pass == Episode {
		batch = batch[:1]
	}
	o := Outcome{Project: jobs[0].Project}
	if pass == Model {
		err = w.readSome(ctx, name, batch, memories, &o)
	} else {
		err = w.tellEpisode(ctx, name, batch[0], &o)
	}
	var broken storeError
	switch {
	case err == nil:
	case errors.As(err, &broken):
		return false, err
	case ctx.Err() != nil:
		return false, nil
	case transient(err):
		// What was read before it failed is settled; the rest stays owed.
		if len(o.Done)+len(o.Later)+len(o.Parked) == 0 {
			return false, w.away(ctx, pass, err)
		}
	default:
		w.failed(err)
		for _, j := range batch {
			w.later(&o, j, err.Error())
		}
	}
	w.wait(pass, "")
	if err := w.store.Settle(o); err != nil {
		return false, fmt.Errorf("settle pass %s: %w", pass, err)
	}
	if len(o.Rows) > 0 && w.opts.Changed != nil {
		w.opts.Changed(o.Project, o.Rows)
	}
	return true, nil
}

// storeError is a failure of the store in the middle of a step: it ends the worker.
type storeError struct{ error }

func (e storeError) Unwrap() error { return e.error }

// away notes why a pass waits.
func (w *Worker) away(ctx context.Context, pass Pass, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	if !errors.Is(err, errCap) {
		w.failed(err)
	}
	w.wait(pass, err.Error())
	return nil
}

// transient says of an error that it is about the server, the model as a whole or the day's calls, not about
// what was asked. A slow answer is not: the prompt may be why.
func transient(err error) bool {
	switch ollama.FaultOf(err) {
	case ollama.Away, ollama.Missing, ollama.Busy, ollama.Refused:
		return true
	}
	return errors.Is(err, errCap)
}

// together takes the first jobs that can be read in one call: memories of one session, not too long.
func together(jobs []Job, memories []Memory) []Job {
	byID := map[graph.ID]Memory{}
	for _, m := range memories {
		byID[m.ID] = m
	}
	first := byID[jobs[0].Memory]
	chars := 0
	var out []Job
	for _, j := range jobs {
		m, ok := byID[j.Memory]
		n := min(utf8.RuneCountInString(m.Text), shownText)
		if len(out) > 0 && (len(out) == readTogether || ok && m.Session != first.Session || chars+n > readChars || j.Tries > 0) {
			break
		}
		out = append(out, j)
		chars += n
		if j.Tries > 0 {
			break // what failed is read alone
		}
	}
	return out
}

// ask asks the model once, within the day's calls and after the tool calls.
func (w *Worker) ask(ctx context.Context, p Prompt) (string, error) {
	waiting, stop := context.WithTimeout(ctx, thinkPatience)
	_ = w.gate.pass(waiting) // its end is no failure
	stop()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if w.opts.MaxCalls > 0 {
		day := w.opts.Now().Format(time.DateOnly)
		n, err := w.store.Spend(day, 0)
		if err != nil {
			return "", storeError{fmt.Errorf("count model calls: %w", err)}
		}
		if n >= w.opts.MaxCalls {
			return "", fmt.Errorf("%w (%d, consolidation.max_calls); it goes on tomorrow", errCap, w.opts.MaxCalls)
		}
		if _, err := w.store.Spend(day, 1); err != nil {
			return "", storeError{fmt.Errorf("count model calls: %w", err)}
		}
	}
	return w.chat.Ask(ctx, p)
}

// readSome reads the memories of some jobs and notes the outcome. What fails together is read in halves.
func (w *Worker) readSome(ctx context.Context, model string, jobs []Job, memories []Memory, o *Outcome) error {
	var targets []Memory
	for _, j := range jobs {
		if i := slices.IndexFunc(memories, func(m Memory) bool { return m.ID == j.Memory }); i >= 0 {
			targets = append(targets, memories[i])
		}
	}
	if len(targets) == 0 { // forgotten meanwhile
		o.Done = append(o.Done, jobs...)
		return nil
	}
	rows, dropped, err := w.readTargets(ctx, model, o.Project, targets)
	var broken storeError
	switch {
	case err == nil:
	case errors.As(err, &broken) || ctx.Err() != nil || transient(err) || len(jobs) == 1:
		if len(jobs) == 1 && !transient(err) && ctx.Err() == nil && !errors.As(err, &broken) {
			w.failed(err)
			w.later(o, jobs[0], err.Error())
			return nil
		}
		return err
	default:
		half := len(jobs) / 2
		if err := w.readSome(ctx, model, jobs[:half], memories, o); err != nil {
			return err
		}
		return w.readSome(ctx, model, jobs[half:], memories, o)
	}
	old, err := w.outdated(o.Project, model, targets)
	if err != nil {
		return err
	}
	o.Drop = append(o.Drop, old...)
	o.Rows = append(o.Rows, rows...)
	o.Done = append(o.Done, jobs...)
	w.mu.Lock()
	w.dropped += dropped
	w.mu.Unlock()
	return nil
}

// outdated are rows of this pass about some memories that another model or prompt made.
func (w *Worker) outdated(project, model string, targets []Memory) ([]RowID, error) {
	ids := make([]graph.ID, len(targets))
	for i, m := range targets {
		ids[i] = m.ID
	}
	var out []RowID
	for _, kind := range []Kind{EntityRow, RelationRow, FactRow, DateRow, CauseRow, ContradictionRow, SummaryRow} {
		rows, err := w.store.Rows(project, kind, ids...)
		if err != nil {
			return nil, storeError{fmt.Errorf("read earlier findings: %w", err)}
		}
		for _, r := range rows {
			if r.Pass == Model && (r.Model != model || r.Prompt != promptVersion) {
				out = append(out, r.ID)
			}
		}
	}
	return out, nil
}

// readTargets asks what some memories say and how they are connected with their neighbourhood.
func (w *Worker) readTargets(ctx context.Context, model, project string, targets []Memory) ([]Derived, int, error) {
	context, err := w.neighbourhood(project, targets)
	if err != nil {
		return nil, 0, err
	}
	r := &reader{source: source{Model, model}, project: project, shown: label(targets, context)}
	answer, err := w.ask(ctx, readPrompt(label(targets, nil)))
	if err != nil {
		return nil, 0, err
	}
	if err := r.read(answer); err != nil {
		return nil, 0, err
	}
	if len(r.shown) == 1 && len(text.Sentences(targets[0].Text)) < 2 {
		return r.rows, r.dropped, nil // nothing to link with; a cause inside one sentence is a rule's to read
	}
	if answer, err = w.ask(ctx, linkPrompt(r.shown)); err != nil {
		return nil, 0, err
	}
	claims, err := r.link(answer)
	if err != nil {
		return nil, 0, err
	}
	for _, c := range claims {
		if answer, err = w.ask(ctx, verifyPrompt(c.cause, c.effect, c.row.Evidence[0].Text, c.row.Evidence[1].Text)); err != nil {
			return nil, 0, err
		}
		if err := r.confirm(c, answer); err != nil {
			return nil, 0, err
		}
	}
	return r.rows, r.dropped, nil
}

// neighbourhood are memories around the targets, nearest first, in order of time for the prompt.
func (w *Worker) neighbourhood(project string, targets []Memory) ([]Memory, error) {
	seen := map[graph.ID]bool{}
	for _, m := range targets {
		seen[m.ID] = true
	}
	var near [][]Memory
	for _, m := range targets {
		around, err := w.store.Around(project, m.ID, 2, neighbours)
		if err != nil {
			return nil, storeError{fmt.Errorf("read a neighbourhood: %w", err)}
		}
		near = append(near, around)
	}
	var out []Memory
	for rank := 0; rank < neighbours && len(out) < neighbours; rank++ {
		for _, around := range near {
			if rank < len(around) && !seen[around[rank].ID] && len(out) < neighbours {
				seen[around[rank].ID] = true
				out = append(out, around[rank])
			}
		}
	}
	slices.SortFunc(out, func(a, b Memory) int { return cmp.Or(a.At.Compare(b.At), slices.Compare(a.ID[:], b.ID[:])) })
	return out, nil
}

// maxTopics is how many topics an episode is held against: the nearest by their keywords.
const maxTopics = 4

// tellEpisode asks for the summary of the episode that a job's memory begins.
func (w *Worker) tellEpisode(ctx context.Context, model string, j Job, o *Outcome) error {
	rows, err := w.store.Rows(j.Project, EpisodeRow, j.Memory)
	if err != nil {
		return storeError{fmt.Errorf("read an episode: %w", err)}
	}
	i := slices.IndexFunc(rows, func(r Derived) bool { return r.Closed && r.Basis[0] == j.Memory })
	if i < 0 { // it was opened again, or forgotten: it comes back when it closes
		o.Done = append(o.Done, j)
		return nil
	}
	e := rows[i]
	memories, err := w.store.Memories(j.Project, e.Basis)
	if err != nil {
		return storeError{fmt.Errorf("read an episode's memories: %w", err)}
	}
	if len(memories) != len(e.Basis) || len(memories) < 2 {
		o.Done = append(o.Done, j) // one memory is its own summary
		return nil
	}
	topics, err := w.nearTopics(j.Project, e)
	if err != nil {
		return err
	}
	r := &reader{source: source{Episode, model}, project: j.Project, shown: label(nil, memories)}
	answer, err := w.ask(ctx, episodePrompt(r.shown, topics))
	if err != nil {
		return err
	}
	if err := r.episode(answer, e, topics); err != nil {
		return err
	}
	earlier, err := w.store.Rows(j.Project, SummaryRow, j.Memory)
	if err != nil {
		return storeError{fmt.Errorf("read earlier summaries: %w", err)}
	}
	for _, s := range earlier {
		if s.Pass == Episode && slices.Contains(s.Members, e.ID) {
			o.Drop = append(o.Drop, s.ID)
		}
	}
	o.Rows = append(o.Rows, r.rows...)
	o.Done = append(o.Done, j)
	w.mu.Lock()
	w.dropped += r.dropped
	w.mu.Unlock()
	return nil
}

// nearTopics are the topics, other than its own, whose keywords are nearest to an episode's.
func (w *Worker) nearTopics(project string, e Derived) ([]Topic, error) {
	rows, err := w.store.Rows(project, EpisodeRow)
	if err != nil {
		return nil, storeError{fmt.Errorf("read topics: %w", err)}
	}
	mine := byStem(e.Keywords)
	type near struct {
		Topic
		score float64
	}
	var found []near
	for _, t := range Topics(rows) {
		if c := cosine(mine, byStem(t.Keywords)); t.ID != e.Topic && c > 0 {
			found = append(found, near{t, c})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int { return -cmp.Compare(a.score, b.score) })
	var out []Topic
	for _, f := range found[:min(maxTopics, len(found))] {
		out = append(out, f.Topic)
	}
	return out, nil
}

func byStem(keywords []Keyword) map[string]float64 {
	out := map[string]float64{}
	for _, k := range keywords {
		out[stem(k.Word)] += k.Weight
	}
	return out
}
