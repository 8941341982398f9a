package memory

import (
	"context"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// ReindexReport is what Reindex did. Left counts memories whose vectors failed for now and are tried again by
// themselves.
type ReindexReport struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
	Done       int    `json:"done"`
	Left       int    `json:"left"`
}

// reindexLook is how often Reindex looks how far the worker is.
const reindexLook = 200 * time.Millisecond

// Reindex waits for the embedder of the configuration's choice and then until every memory has its vectors,
// which the worker makes in any case; until then the earlier ones serve. It can be broken off and called
// again. progress may be nil.
func (b *Bank) Reindex(ctx context.Context, progress func(done, total int)) (ReindexReport, error) {
	var rep ReindexReport
	done, err := b.enter(ctx)
	if err != nil {
		return rep, err
	}
	defer done()
	e, err := b.awaitEmbedder(ctx)
	if err != nil {
		return rep, err
	}
	s := e.Space()
	rep.Provider, rep.Model, rep.Dimensions = s.Provider, s.Model, s.Dimensions
	if isBuiltin(e) {
		return rep, nil // its vectors follow from the words, and are always there
	}
	if b.o.Paused {
		return rep, Errorf(CodeInvalid, "reindex: background work is switched off; set consolidation.enabled to true")
	}
	tick := time.NewTicker(reindexLook)
	defer tick.Stop()
	total := 0
	b.back.worker.Wake()
	for {
		due, later, err := b.owedVectors()
		if err != nil {
			return rep, storageError("counting what is left", err)
		}
		total = max(total, due+later)
		rep.Done, rep.Left = total-due-later, later
		if progress != nil && total > 0 {
			progress(rep.Done, total)
		}
		if f := b.back.rows.flag(s.Fingerprint()); f.Aim && due == 0 && (f.Full || later > 0) {
			return rep, nil
		}
		if now, _, why := b.back.provider.Current(); now == nil {
			return rep, Errorf(CodeBusy, "reindex: %s; it goes on by itself, or call it again", why)
		}
		select {
		case <-ctx.Done():
			return rep, ctx.Err()
		case <-tick.C:
		}
	}
}

// awaitEmbedder waits while a model is being loaded.
func (b *Bank) awaitEmbedder(ctx context.Context) (embed.Embedder, error) {
	for {
		changed := b.back.provider.Changed()
		e, state, reason := b.back.provider.Current()
		switch {
		case state == embed.Ready && e != nil:
			return e, nil
		case state == embed.Away:
			return nil, Errorf(CodeBusy, "reindex: %s", reason)
		case state == embed.Off:
			return nil, Errorf(CodeInvalid, "reindex: %s; set embedding.provider", reason)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

// owedVectors counts the memories that are owed vectors, now and after a failure, over all projects.
func (b *Bank) owedVectors() (due, later int, err error) {
	now := b.o.Now().Unix()
	lo, hi := store.QueueRange(store.PassEmbed)
	err = visit(b.kv, lo, hi, func(_, v []byte) error {
		j, err := store.DecodeJob(v)
		if err == nil && j.NotBefore > now {
			later++
		} else {
			due++
		}
		return err
	})
	return due, later, err
}
