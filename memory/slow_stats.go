package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// parkedShown is how many parked pieces of work stats names.
const parkedShown = 20

// owedTo is what stats calls a pass's work.
func owedTo(pass store.Pass) string {
	if pass == store.PassEmbed {
		return "embedding"
	}
	return "consolidation"
}

// slowStats says what runs in the background and what is owed. What can be done now is pending; what waits
// for a provider, or for its time, stands apart with the reason.
func (b *Bank) slowStats(p store.Project, known bool, st *Stats) {
	st.Embedder = b.embedderInfo()
	status := b.back.worker.Status()
	if st.LastError == "" {
		st.LastError = status.LastError
	}
	if !known {
		return
	}
	if err := b.countOwed(p, &status, st); err != nil {
		st.LastError = err.Error()
	}
}

func (b *Bank) embedderInfo() EmbedderInfo {
	e, state, _ := b.back.provider.Current()
	info := EmbedderInfo{Provider: "none", State: string(state)}
	if e != nil {
		s := e.Space()
		info.Provider, info.Model, info.Dimensions = s.Provider, s.Model, s.Dimensions
	} else if state != embed.Off {
		info.Provider = "ollama"
	}
	return info
}

func (b *Bank) countOwed(p store.Project, status *consolidate.Status, st *Stats) error {
	now := b.o.Now().Unix()
	wait := func(pass store.Pass, reason string) {
		if st.Waiting == nil {
			st.Waiting = map[string]Waiting{}
		}
		w := st.Waiting[owedTo(pass)]
		w.Count++
		if w.Reason == "" {
			w.Reason = reason
		}
		st.Waiting[owedTo(pass)] = w
	}
	e, _, away := storedOnly{b.back.provider}.Current()
	for pass := store.PassEmbed; pass <= store.PassEpisode; pass++ {
		reason, waits := status.Waiting[consolidate.Pass(pass)]
		switch {
		case b.o.Paused:
			reason, waits = "background work is switched off", true
		case pass == store.PassEmbed:
			reason, waits = away, e == nil // the worker's own word can be older than the provider's
		case pass >= store.PassModel && b.o.Chat == nil:
			reason, waits = "no consolidation model is set", true
		}
		err := visit(b.kv, store.QueueKey(pass, p, graph.Zero), store.QueueKey(pass, p+1, graph.Zero), func(_, v []byte) error {
			j, err := store.DecodeJob(v)
			switch {
			case err != nil:
				return err
			case j.NotBefore > now:
				wait(pass, j.Reason)
			case waits:
				wait(pass, reason)
			case pass == store.PassEmbed:
				st.Pending.Embedding++
			default:
				st.Pending.Consolidation++
			}
			return nil
		})
		if err != nil {
			return err
		}
		err = visit(b.kv, store.ParkedKey(pass, p, graph.Zero), store.ParkedKey(pass, p+1, graph.Zero), func(k, v []byte) error {
			j, err := store.DecodeJob(v)
			if err != nil {
				return err
			}
			if st.Failed++; len(st.Parked) < parkedShown {
				st.Parked = append(st.Parked, Parked{ID: store.IDOf(k).String(), Pass: consolidate.Pass(pass).String(), Reason: j.Reason, Tries: int(j.Tries)})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// episodeStats counts a project's episodes, and the topics that link two or more of them.
func (b *Bank) episodeStats(p store.Project) (episodes, topics int, err error) {
	members := map[consolidate.RowID]int{}
	for _, pass := range passesOf(consolidate.EpisodeRow) {
		lo, hi := store.PassRange(p, pass)
		if err := visit(b.kv, lo, hi, func(_, v []byte) error {
			if kindOf(v) != consolidate.EpisodeRow {
				return nil
			}
			var r struct { // of consolidate.Derived: there may be many, and most of a row is words
				Closed bool              `json:"closed"`
				Topic  consolidate.RowID `json:"topic"`
			}
			if err := json.Unmarshal(v, &r); err != nil {
				return fmt.Errorf("%w: derived row: %w", store.ErrCorrupt, err)
			}
			episodes++
			if r.Closed {
				if members[r.Topic]++; members[r.Topic] == 2 {
					topics++
				}
			}
			return nil
		}); err != nil {
			return 0, 0, err
		}
	}
	return episodes, topics, nil
}

// pendingOf is what is owed to one memory, in the receipt's words.
func (b *Bank) pendingOf(p store.Project, id graph.ID) []string {
	var out []string
	for _, pass := range []store.Pass{store.PassEmbed, store.PassModel} {
		_, err := b.kv.Get(store.QueueKey(pass, p, id))
		if err == nil && !slices.Contains(out, owedTo(pass)) {
			out = append(out, owedTo(pass))
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			return out
		}
	}
	return out
}
