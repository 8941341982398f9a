package memory

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// requestKept is how long the answer to a request id is kept: a process that takes over asks again within
// seconds of its owner's end.
const requestKept = 15 * time.Minute

// requestRow is what is kept of a write that another process asked for.
type requestRow struct {
	Expires int64           `json:"expires"` // Unix seconds
	Answer  json.RawMessage `json:"answer"`
	Text    string          `json:"text,omitempty"`
}

// RememberOnce is Remember for a caller that may ask again with the same request id (an attached process
// whose owner went away): the second time it gives the first answer and stores nothing.
func (b *Bank) RememberOnce(ctx context.Context, request string, n Note) (Receipt, error) {
	var rec Receipt
	if ok, err := b.answered(request, &rec, nil); ok || err != nil {
		return rec, err
	}
	done, err := b.enter(ctx)
	if err != nil {
		return Receipt{}, err
	}
	defer done()
	w, err := b.prepare(&n)
	if err != nil {
		return Receipt{}, err
	}
	w.request = request
	rec, commit, err := b.commit(w)
	if err != nil {
		return Receipt{}, storageError("storing the memory", err)
	}
	if commit != nil {
		err = commit.Wait()
	}
	return rec, storageError("storing the memory", err)
}

// ForgetOnce is Forget with a request id. Forgetting twice does nothing more, so the answer is kept after it.
func (b *Bank) ForgetOnce(ctx context.Context, request string, c Choice) (Removal, error) {
	var out Removal
	if ok, err := b.answered(request, &out, &out.Text); ok || err != nil {
		return out, err
	}
	out, err := b.Forget(ctx, c)
	if err != nil {
		return out, err
	}
	kept := out
	if out.Status == StatusForgotten {
		kept.Forgotten = slices.Clone(out.Forgotten)
		for i := range kept.Forgotten {
			kept.Forgotten[i].Words = "" // no word of what was forgotten stays
		}
		kept.Text = forgetText(&kept)
	}
	op, err := b.requestOp(request, kept, kept.Text)
	if err != nil {
		return out, err
	}
	commit, err := b.kv.Apply([]store.Op{op})
	if err == nil {
		err = commit.Wait()
	}
	return out, storageError("forgetting", err)
}

// dropTold adds the deletions of kept answers that speak of memories that go: a receipt holds words of its
// content. What is past its time goes with them. With purge the previews that named them go too: a choice is
// kept in the words in which it was made.
func (b *Bank) dropTold(ops []store.Op, gone []graph.ID, purge bool) ([]store.Op, error) {
	if len(gone) == 0 {
		return ops, nil
	}
	ids := map[string]bool{}
	for _, id := range gone {
		ids[id.String()] = true
	}
	now := b.o.Now().Unix()
	lo, hi := store.RequestRange()
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return nil, err
		}
		var r requestRow
		var a struct {
			ID        string      `json:"id"`
			Forgotten []Forgotten `json:"forgotten"` // of a preview
		}
		if json.Unmarshal(row.Value, &r) != nil || r.Expires < now || json.Unmarshal(r.Answer, &a) != nil || ids[a.ID] ||
			slices.ContainsFunc(a.Forgotten, func(f Forgotten) bool { return f.Words != "" && ids[f.ID] }) {
			ops = append(ops, store.Op{Kind: store.Delete, Key: row.Key})
		}
	}
	if !purge {
		return ops, nil
	}
	lo, hi = store.ConfirmRange()
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return nil, err
		}
		if v, err := store.DecodePreview(row.Value); err != nil || slices.ContainsFunc(v.IDs, func(id graph.ID) bool { return ids[id.String()] }) {
			ops = append(ops, store.Op{Kind: store.Delete, Key: row.Key})
		}
	}
	return ops, nil
}

// answered reads the kept answer to a request.
func (b *Bank) answered(request string, to any, text *string) (bool, error) {
	if request == "" {
		return false, nil
	}
	v, err := b.kv.Get(store.RequestKey(store.Sum("request", request)))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, storageError("looking for the request", err)
	}
	var row requestRow
	if err := json.Unmarshal(v, &row); err != nil {
		return false, nil // damaged: ask as if for the first time
	}
	if err := json.Unmarshal(row.Answer, to); err != nil {
		return false, nil
	}
	if text != nil {
		*text = row.Text
	}
	return true, nil
}

func (b *Bank) requestOp(request string, answer any, text string) (store.Op, error) {
	a, err := json.Marshal(answer)
	if err != nil {
		return store.Op{}, err
	}
	v, err := json.Marshal(requestRow{Expires: b.o.Now().Add(requestKept).Unix(), Answer: a, Text: text})
	return store.Op{Kind: store.Set, Key: store.RequestKey(store.Sum("request", request)), Value: v}, err
}

// dropRequests deletes the kept answers that are past their time; it runs when a store is opened.
func (b *Bank) dropRequests() error {
	var ops []store.Op
	lo, hi := store.RequestRange()
	now := b.o.Now().Unix()
	for row, err := range b.kv.Scan(lo, hi) {
		if err != nil {
			return err
		}
		var r requestRow
		if json.Unmarshal(row.Value, &r) != nil || r.Expires < now {
			ops = append(ops, store.Op{Kind: store.Delete, Key: row.Key})
		}
	}
	if len(ops) == 0 {
		return nil
	}
	_, err := b.kv.Apply(ops)
	return err
}
