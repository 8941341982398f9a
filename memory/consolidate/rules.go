package consolidate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/graph"
)

// The rules pass places every memory in an episode of its session, gives closed episodes a summary made
// of their own sentences, and links them by topic. It needs no model.
//
// An episode is closed by a pause, a shift of topic, its size, the end of its session (another one goes
// on later than the pause), or, for the last one of a session, by the clock: the job of its last memory
// comes back when the pause is over. Closed episodes are not split anew when something follows; a memory
// that arrives late, in the middle of one, splits that one anew. Only the last episode of a session is
// looked at again when a memory is added, so that a session that comes turn by turn is split much like one
// that comes as a whole.

// rulesVersion is raised when episodes would come out otherwise.
const rulesVersion = "rules-1"

// summaryLimit is the length of an episode's extractive summary, in characters: three or four sentences,
// which stand for up to 32 turns in a context of 2,000 tokens together with other episodes' ones.
const summaryLimit = 320

// rulesBatch is how many jobs are settled in one step.
const rulesBatch = 256

func (w *Worker) rulesStep(_ context.Context) (bool, error) {
	now := w.opts.Now()
	jobs, err := w.store.Due(Rules, now, Job{}, rulesBatch)
	if err != nil {
		return false, fmt.Errorf("read the queue of episodes: %w", err)
	}
	if len(jobs) == 0 {
		return false, nil
	}
	jobs = sameProject(jobs)
	project := jobs[0].Project
	land, err := w.landscape(project)
	if err != nil {
		return false, err
	}
	memories, err := w.store.Memories(project, jobIDs(jobs))
	if err != nil {
		return false, fmt.Errorf("read memories to place: %w", err)
	}
	sessions := map[string][]Memory{}
	for _, m := range memories {
		sessions[m.Session] = append(sessions[m.Session], m)
	}
	o := Outcome{Project: project}
	change := change{land: land, w: w, now: now, later: map[graph.ID]time.Time{}}
	for _, s := range sortedKeys(sessions) {
		if err := change.session(project, s, sessions[s]); err != nil {
			return false, err
		}
	}
	if err := change.ended(project); err != nil {
		return false, err
	}
	for _, j := range jobs {
		until, later := change.later[j.Memory]
		delete(change.later, j.Memory)
		if later && until.After(now) {
			j.NotBefore, j.Reason = until, "its episode is still open"
			o.Later = append(o.Later, j)
		} else {
			o.Done = append(o.Done, j)
		}
	}
	for _, m := range sortedIDs(change.later) {
		o.Queue = append(o.Queue, Job{Pass: Rules, Project: project, Memory: m, NotBefore: change.later[m], Reason: "its episode is still open"})
	}
	o.Rows, o.Drop = change.rows()
	if w.chat != nil {
		for _, r := range o.Rows {
			if r.Closed {
				o.Queue = append(o.Queue, Job{Pass: Episode, Project: project, Memory: r.Basis[0]})
			}
		}
	}
	if err := w.store.Settle(o); err != nil {
		delete(w.lands, project)
		return false, fmt.Errorf("settle episodes: %w", err)
	}
	if len(o.Rows) > 0 && w.opts.Changed != nil {
		w.opts.Changed(project, o.Rows)
	}
	if w.chat != nil && len(o.Queue) > 0 {
		w.Wake()
	}
	return true, nil
}

// maxLands is how many projects' episodes are kept in memory between steps.
const maxLands = 8

func (w *Worker) landscape(project string) (*landscape, error) {
	w.mu.Lock()
	if w.stale[project] {
		delete(w.lands, project)
		delete(w.stale, project)
	}
	w.mu.Unlock()
	if l := w.lands[project]; l != nil {
		return l, nil
	}
	rows, err := w.store.Rows(project, EpisodeRow)
	if err != nil {
		return nil, fmt.Errorf("read episodes: %w", err)
	}
	if len(w.lands) >= maxLands {
		clear(w.lands)
	}
	l := newLandscape(rows)
	w.lands[project] = l
	return l, nil
}

// change collects what a step does to a landscape.
type change struct {
	land    *landscape
	w       *Worker
	now     time.Time
	later   map[graph.ID]time.Time // last memories of open episodes, and when those close
	written map[RowID]bool
	dropped map[RowID]bool
}

// session places memories of one session.
func (c *change) session(project, session string, added []Memory) error {
	episodes := c.land.session(session)
	var loose []Memory
	for _, m := range added {
		if id, ok := c.land.of[m.ID]; !ok || !c.land.episodes[id].Closed {
			loose = append(loose, m)
		}
	}
	if len(loose) == 0 {
		return nil
	}
	first, last := loose[0].At, loose[0].At
	for _, m := range loose {
		if m.At.Before(first) {
			first = m.At
		}
		if m.At.After(last) {
			last = m.At
		}
	}
	// The stretch to split: the loose memories with the episodes that they fall into, and the last one.
	from, to := time.Time{}, endOfTime
	stretch := map[RowID]bool{}
	for i, e := range episodes {
		tail := i == len(episodes)-1
		if !e.End.Before(first) && !e.Start.After(last) || tail && !e.End.After(first) {
			stretch[e.ID] = true
			if from.IsZero() || e.Start.Before(from) {
				from = *e.Start
			}
		}
	}
	if from.IsZero() || first.Before(from) {
		from = first
	}
	if n := len(episodes); n > 0 && episodes[n-1].End.After(last) {
		to = last
		for _, e := range episodes {
			if stretch[e.ID] && e.End.After(to) {
				to = *e.End
			}
		}
	}
	memories, err := c.w.store.Stream(project, session, from, to)
	if err != nil {
		return fmt.Errorf("read a session: %w", err)
	}
	memories = slices.DeleteFunc(memories, func(m Memory) bool {
		id, ok := c.land.of[m.ID]
		return ok && !stretch[id]
	})
	if len(memories) == 0 {
		return nil
	}
	ids := make([]RowID, 0, len(stretch))
	for id := range stretch {
		ids = append(ids, id)
	}
	return c.place(project, session, memories, ids, to == endOfTime)
}

// place splits memories into episodes that take the place of old ones. atEnd: nothing follows in the session.
func (c *change) place(project, session string, memories []Memory, old []RowID, atEnd bool) error {
	events := make([]Event, len(memories))
	for i, m := range memories {
		events[i] = Event{At: m.At, Words: Words(m.Text)}
	}
	over := !atEnd || c.over(session, memories[len(memories)-1])
	starts := []int{0}
	for _, b := range Split(events, c.w.opts.Episodes) {
		// What comes next may show that there is no shift of topic after all.
		if b.Why == ByShift && !over && len(memories)-b.Index < c.w.opts.Episodes.Window {
			break
		}
		starts = append(starts, b.Index)
	}
	keep := map[RowID]Derived{}
	for _, id := range old {
		keep[id] = c.land.episodes[id]
		c.land.drop(id)
		c.drop(id)
	}
	for i, from := range starts {
		to := len(memories)
		closed := true
		if i+1 < len(starts) {
			to = starts[i+1]
		} else if !over {
			closed = false
			c.later[memories[to-1].ID] = memories[to-1].Stored.Add(c.w.opts.Episodes.Pause)
		}
		e := c.episode(project, session, memories[from:to], closed)
		if was, ok := keep[e.ID]; ok && was.Closed == closed && slices.Equal(was.Basis, e.Basis) {
			e = was
		} else if closed {
			e.Topic, e.Confidence = c.land.topicFor(e.ID, e.Keywords)
		}
		c.land.put(e)
		c.write(e.ID)
	}
	return nil
}

// over says of the last memory of a session whether the session has ended: the clock went on, or another
// session, written later, did.
func (c *change) over(session string, last Memory) bool {
	pause := c.w.opts.Episodes.Pause
	if c.now.Sub(last.Stored) >= pause {
		return true
	}
	if any := c.land.newest; !last.ID.Less(any.id) || any.end.Sub(last.At) < pause {
		return false
	}
	for s, to := range c.land.latest {
		if s != session && last.ID.Less(to.id) && to.end.Sub(last.At) >= pause {
			return true
		}
	}
	return false
}

// ended closes the open episodes of sessions that have ended because others go on.
func (c *change) ended(project string) error {
	for _, e := range c.land.unclosed() {
		memories, err := c.w.store.Memories(project, e.Basis)
		if err != nil {
			return fmt.Errorf("read an episode: %w", err)
		}
		if len(memories) != len(e.Basis) {
			continue // one is being forgotten
		}
		if !c.over(e.Session, memories[len(memories)-1]) {
			continue
		}
		for _, m := range memories {
			delete(c.later, m.ID)
		}
		if err := c.place(project, e.Session, memories, []RowID{e.ID}, true); err != nil {
			return err
		}
	}
	return nil
}

// episode makes the row of an episode.
func (c *change) episode(project, session string, memories []Memory, closed bool) Derived {
	first, last := memories[0], memories[len(memories)-1]
	start, end := first.At, last.At
	e := Derived{
		ID: rowID(EpisodeRow, project, session, first.ID.String()), Kind: EpisodeRow, Pass: Rules, Prompt: rulesVersion,
		Session: session, Start: &start, End: &end, Closed: closed,
	}
	texts := make([]string, len(memories))
	for i, m := range memories {
		e.Basis = append(e.Basis, m.ID)
		texts[i] = m.Text
	}
	e.Keywords = Keywords(texts, episodeWords)
	var parts []string
	for _, x := range Summarize(texts, summaryLimit) {
		m := memories[x.Text]
		q := Quote{Memory: m.ID, From: x.From, To: x.To, Text: m.Text[x.From:x.To]}
		e.Evidence = append(e.Evidence, q)
		if m.Speaker != "" {
			parts = append(parts, m.Speaker+": "+q.Text)
		} else {
			parts = append(parts, q.Text)
		}
	}
	e.Text = strings.Join(parts, " ")
	return e
}

func (c *change) write(id RowID) {
	if c.written == nil {
		c.written = map[RowID]bool{}
	}
	c.written[id] = true
}

func (c *change) drop(id RowID) {
	if c.dropped == nil {
		c.dropped = map[RowID]bool{}
	}
	c.dropped[id] = true
}

// rows are what was written and is still there, and what was dropped and not written again.
func (c *change) rows() (rows []Derived, drop []RowID) {
	for id := range c.written {
		if e, ok := c.land.episodes[id]; ok {
			rows = append(rows, e)
		}
	}
	slices.SortFunc(rows, byTime)
	for id := range c.dropped {
		if _, ok := c.land.episodes[id]; !ok {
			drop = append(drop, id)
		}
	}
	slices.SortFunc(drop, func(a, b RowID) int { return slices.Compare(a[:], b[:]) })
	return rows, drop
}

func sortedIDs(m map[graph.ID]time.Time) []graph.ID {
	out := make([]graph.ID, 0, len(m))
	for id := range m {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b graph.ID) int { return cmp.Compare(a.String(), b.String()) })
	return out
}
