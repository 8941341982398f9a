package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// requestKept is how long the answer to a request id is kept: a process that takes over asks again within
// seconds of its owner's end.
const requestKept = 15 * time.Minute

// requestSweep is after how many requests those past their time are deleted, beside what opening and forgetting delete:
// an owner may run for months.
const requestSweep = 1024

// requestRow is what is kept of a write that another process asked for.
type requestRow struct {
	Expires int64           `json:"expires"` // Unix seconds
	Answer  json.RawMessage `json:"answer"`
	Text    string          `json:"text,omitempty"`
	// Begun says that this is a forgetting on its way, and Answer what it removed so far; a Preview under
	// intentKey holds what it is to remove. Reason is the one it was asked with, which is not kept for a purge.
	Begun  bool   `json:"begun,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// RememberOnce is Remember for a caller that may ask again with the same request id (an attached process
// whose owner went away): the second time it gives the first answer and stores nothing.
func (b *Bank) RememberOnce(ctx context.Context, request string, n Note) (Receipt, error) {
	var rec Receipt
	if _, ok, err := b.answered(request, &rec); ok || err != nil {
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
	if err == nil && b.requests.Add(1)%requestSweep == 0 {
		err = b.dropRequests()
	}
	return rec, storageError("storing the memory", err)
}

// ForgetOnce is Forget with a request id: the second time it gives the first answer. Where the owner ended in the
// middle, it removes what is left of what was chosen then, and answers for all of it.
func (b *Bank) ForgetOnce(ctx context.Context, request string, c Choice) (Removal, error) {
	if request == "" {
		return b.Forget(ctx, c)
	}
	var out Removal
	row, ok, err := b.answered(request, &out)
	switch {
	case err != nil:
		return out, err
	case ok && !row.Begun:
		out.Text = row.Text
		return out, nil
	case ok:
		out, err = b.resume(ctx, request, row, c, out)
	default:
		out, err = b.forget(ctx, c, request)
	}
	if err != nil {
		return out, err
	}
	kept := out
	if out.Status == StatusForgotten {
		kept = wordless(out)
		kept.Text = forgetText(&kept)
	}
	op, err := b.requestOp(request, kept, kept.Text)
	if err != nil {
		return out, err
	}
	commit, err := b.kv.Apply([]store.Op{op, {Kind: store.Delete, Key: intentKey(request)}})
	if err == nil {
		err = commit.Wait()
	}
	return out, storageError("forgetting", err)
}

// wordless is a removal without a word of what was forgotten.
func wordless(out Removal) Removal {
	out.Forgotten = slices.Clone(out.Forgotten)
	for i := range out.Forgotten {
		out.Forgotten[i].Words = ""
	}
	return out
}

// resume goes on with a forgetting that an owner began and did not end.
func (b *Bank) resume(ctx context.Context, request string, row requestRow, c Choice, out Removal) (Removal, error) {
	done, err := b.enter(ctx)
	if err != nil {
		return Removal{}, err
	}
	defer done()
	if !c.From.allowed(out.Project) {
		return Removal{}, Errorf(CodeRefused, "project: this token may not forget in that project")
	}
	v, err := b.kv.Get(intentKey(request))
	if err != nil {
		return out, storageError("forgetting", fmt.Errorf("what was begun: %w", err))
	}
	intent, err := store.DecodePreview(v)
	if err != nil {
		return out, storageError("forgetting", err)
	}
	c.Reason = row.Reason
	return b.remove(ctx, intent.Project, intent.IDs, &c, request, out)
}

// intentKey is where the ids lie that a request is to forget: among the previews, without a choice.
func intentKey(request string) []byte { return store.ConfirmKey(store.Sum("request", request)) }

// begin writes down what a request is to forget, in one batch with ops. It need not be waited for: what is
// removed comes after it.
func (b *Bank) begin(request string, p store.Project, ids []graph.ID, c *Choice, out Removal, ops []store.Op) error {
	if request != "" {
		out.Status = StatusForgotten
		op, err := b.progressOp(request, c, out)
		if err != nil {
			return err
		}
		intent := store.Preview{Project: p, Expires: b.o.Now().Add(requestKept).Unix(), IDs: ids}
		ops = append(ops, op, store.Op{Kind: store.Set, Key: intentKey(request), Value: intent.Encode()})
	}
	if len(ops) == 0 {
		return nil
	}
	_, err := b.kv.Apply(ops)
	return err
}

// progressOp is the row that says what a forgetting has removed so far.
func (b *Bank) progressOp(request string, c *Choice, out Removal) (store.Op, error) {
	out = wordless(out)
	out.Text = ""
	a, err := json.Marshal(out)
	if err != nil {
		return store.Op{}, err
	}
	row := requestRow{Expires: b.o.Now().Add(requestKept).Unix(), Answer: a, Begun: true}
	if !c.Purge {
		row.Reason = c.Reason
	}
	return row.op(request)
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
		if v, err := store.DecodePreview(row.Value); err != nil || len(v.Choice) > 0 && slices.ContainsFunc(v.IDs, func(id graph.ID) bool { return ids[id.String()] }) {
			ops = append(ops, store.Op{Kind: store.Delete, Key: row.Key})
		}
	}
	return ops, nil
}

// answered reads the kept answer to a request; ok is false where there is none.
func (b *Bank) answered(request string, to any) (row requestRow, ok bool, _ error) {
	if request == "" {
		return row, false, nil
	}
	v, err := b.kv.Get(store.RequestKey(store.Sum("request", request)))
	if errors.Is(err, store.ErrNotFound) {
		return row, false, nil
	}
	if err != nil {
		return row, false, storageError("looking for the request", err)
	}
	// A damaged row: ask as if for the first time.
	ok = json.Unmarshal(v, &row) == nil && json.Unmarshal(row.Answer, to) == nil
	return row, ok, nil
}

func (b *Bank) requestOp(request string, answer any, text string) (store.Op, error) {
	a, err := json.Marshal(answer)
	if err != nil {
		return store.Op{}, err
	}
	return requestRow{Expires: b.o.Now().Add(requestKept).Unix(), Answer: a, Text: text}.op(request)
}

func (r requestRow) op(request string) (store.Op, error) {
	v, err := json.Marshal(r)
	return store.Op{Kind: store.Set, Key: store.RequestKey(store.Sum("request", request)), Value: v}, err
}

// dropRequests deletes the kept answers that are past their time; it runs when a store is opened, and now and then.
// Damage among them is no reason not to open it: what can be read of the memories stays readable.
func (b *Bank) dropRequests() error {
	var ops []store.Op
	lo, hi := store.RequestRange()
	now := b.o.Now().Unix()
	err := visit(b.kv, lo, hi, func(k, v []byte) error {
		var r requestRow
		if json.Unmarshal(v, &r) != nil || r.Expires < now {
			ops = append(ops, store.Op{Kind: store.Delete, Key: bytes.Clone(k)})
		}
		return nil
	})
	if errors.Is(err, store.ErrCorrupt) {
		b.o.Logger.Error("kept answers cannot be read; run `magma-mcp repair`", "error", err)
		err = nil
	}
	if err != nil || len(ops) == 0 {
		return err
	}
	_, err = b.kv.Apply(ops)
	return err
}
