package memory

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// The rows of an export that are no memories: tombstones, idempotency keys, derived rows, vectors.

func (im *importer) tombstone(project string, line []byte) error {
	var l tombstoneLine
	if err := decodeLine(line, &l); err != nil {
		return err
	}
	id, err := readIDText("id", l.ID)
	if err != nil || id.IsZero() {
		return lineErrorf("id: it is missing or no id")
	}
	at, err := readStampText(l.At)
	if err != nil {
		return lineErrorf("at: %w", err)
	}
	if len(l.Reason) > maxField || l.RefLength > 26 || l.RefLength > 0 && l.RefLength < 7 {
		return lineErrorf("reason or ref_length: out of range")
	}
	im.counts.Tombstones++
	im.tombs[project] = append(im.tombs[project], tombstone{id, store.Tombstone{At: at, Purged: l.Purged, Reason: l.Reason, RefLen: l.RefLength}})
	if len(im.tombs[project]) >= importRows {
		if err := im.flush(); err != nil {
			return err
		}
		return im.bury()
	}
	return nil
}

// bury keeps the file's tombstones: what they name is forgotten here too, but for what is revived.
func (im *importer) bury() error {
	if im.dry {
		clear(im.tombs)
	}
	names := make([]string, 0, len(im.tombs))
	for n := range im.tombs {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := im.buryIn(name, im.tombs[name]); err != nil {
			return err
		}
		delete(im.tombs, name)
	}
	return nil
}

func (im *importer) buryIn(name string, tombs []tombstone) error {
	b := im.b
	var here []graph.ID
	if p, ok := b.project(name); ok {
		for _, t := range tombs {
			r, _, err := b.get(p, t.id)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			if r.PartOf.IsZero() {
				here = append(here, t.id)
			}
		}
		if len(here) > 0 && !im.o.Revive {
			out := Removal{Project: name}
			if _, err := b.remove(im.ctx, p, here, &Choice{Reason: "forgotten in the imported file"}, "", out); err != nil {
				return err
			}
			im.rep.Forgotten += len(here)
		}
	}
	commit, err := im.writeTombs(name, tombs, here)
	if err != nil || commit == nil {
		return err
	}
	return commit.Wait()
}

func (im *importer) writeTombs(name string, tombs []tombstone, removed []graph.ID) (store.Commit, error) {
	b := im.b
	b.write.Lock()
	defer b.write.Unlock()
	w := &batchWriter{im: im, names: map[string]store.Project{}, touched: map[store.Project][]string{}, tails: map[string][]string{}, states: map[stateKey]*store.State{}}
	p := w.project(name)
	n := 0
	for _, t := range tombs {
		if _, err := b.kv.Get(store.RecordKey(p, t.id)); err == nil {
			continue // revived, or a segment whose whole is kept
		} else if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		_, err := b.kv.Get(store.TombstoneKey(p, t.id))
		if err == nil && !slices.Contains(removed, t.id) {
			continue
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		n++
		w.ops = append(w.ops,
			store.Op{Kind: store.Set, Key: store.TombstoneKey(p, t.id), Value: t.t.Encode()},
			store.Op{Kind: store.Set, Key: store.TailKey(p, t.id), Value: []byte{}})
	}
	if len(w.ops) == 0 {
		return nil, nil
	}
	commit, err := b.kv.Apply(w.ops)
	if err != nil {
		return nil, err
	}
	im.rep.Tombstones += n
	b.imported(w.names, nil)
	return commit, nil
}

// checkRow reads a row that is no memory, for a look beforehand.
func (im *importer) checkRow(typ string, line []byte) error {
	_, err := im.parseRow(typ, line)
	return err
}

// row writes a row that is no memory.
func (im *importer) row(typ, project string, line []byte) error {
	x, err := im.parseRow(typ, line)
	if err != nil {
		return err
	}
	p, ok := im.b.project(project)
	if !ok {
		return nil // none of its memories was taken in
	}
	ops, err := x.ops(im, p)
	if err != nil || len(ops) == 0 {
		return err
	}
	im.ops = append(im.ops, ops...)
	return im.rows(false)
}

// rows writes the collected rows where there are enough, or all.
func (im *importer) rows(all bool) error {
	if len(im.ops) == 0 || !all && len(im.ops) < importRows {
		return nil
	}
	commit, err := im.writeRows()
	if err != nil {
		return err
	}
	return commit.Wait()
}

func (im *importer) writeRows() (store.Commit, error) {
	b := im.b
	b.write.Lock()
	defer b.write.Unlock()
	commit, err := b.kv.Apply(im.ops)
	touched := map[store.Project][]string{}
	for _, op := range im.ops {
		touched[store.ProjectOf(op.Key)] = nil
	}
	im.ops = nil
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	for p := range touched {
		delete(b.shards, p)
	}
	b.mu.Unlock()
	return commit, nil
}

// rowOf makes the changes for a row, none where it has no place here.
type rowOf interface {
	ops(im *importer, p store.Project) ([]store.Op, error)
}

type (
	keyRow struct {
		key, request store.Digest
		memory       graph.ID
	}
	derivedRow struct {
		derivedKey
		value []byte
		basis []graph.ID
	}
	vectorRow struct {
		space string
		id    graph.ID
		chunk uint16
		value []byte
	}
)

func (im *importer) parseRow(typ string, line []byte) (rowOf, error) {
	fault := func(err error) (rowOf, error) { return nil, &lineError{err} }
	switch typ {
	case lineKey:
		var l keyLine
		if err := decodeLine(line, &l); err != nil {
			return nil, err
		}
		k, err1 := readDigestText("key", l.Key)
		q, err2 := readDigestText("request", l.Request)
		id, err3 := readIDText("memory", l.Memory)
		if err := errors.Join(err1, err2, err3); err != nil {
			return fault(err)
		}
		im.counts.Keys++
		return &keyRow{k, q, id}, nil
	case lineDerived:
		var l derivedLine
		if err := decodeLine(line, &l); err != nil {
			return nil, err
		}
		pass, d, v, err := l.row()
		if err != nil {
			return fault(err)
		}
		basis, err := derivedBasis(pass, d, v)
		if err != nil {
			return fault(err)
		}
		im.counts.Derived++
		return &derivedRow{derivedKey{pass, d}, v, basis}, nil
	}
	var l vectorLine
	if err := decodeLine(line, &l); err != nil {
		return nil, err
	}
	id, err := readIDText("id", l.ID)
	if err != nil {
		return fault(err)
	}
	hash, err1 := hex.DecodeString(l.TextHash)
	vec, err2 := base64.StdEncoding.DecodeString(l.Vector)
	if err1 != nil || err2 != nil || len(hash) != 8 || len(vec) == 0 || len(vec)%2 != 0 || l.Space == "" || len(l.Space) > maxField {
		return fault(errors.New("space, text_hash or vector: not what an export writes"))
	}
	v := append(hash, vec...)
	_, xs, err := store.DecodeVector(v)
	norm := 0.0
	for _, x := range xs {
		norm += float64(x) * float64(x)
	}
	if err != nil || math.Abs(norm-1) > 1e-2 {
		return fault(errors.New("vector: it has no length"))
	}
	im.counts.Vectors++
	return &vectorRow{l.Space, id, l.Chunk, v}, nil
}

func (im *importer) here(p store.Project, id graph.ID) (bool, error) {
	_, err := im.b.kv.Get(store.RecordKey(p, id))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func (x *keyRow) ops(im *importer, p store.Project) ([]store.Op, error) {
	if ok, err := im.here(p, x.memory); !ok {
		return nil, err
	}
	k := store.IdemKey(p, x.key)
	if _, err := im.b.kv.Get(k); !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	im.rep.Keys++
	return []store.Op{{Kind: store.Set, Key: k, Value: append(bytes.Clone(x.memory[:]), x.request[:]...)}}, nil
}

// A derived row all of whose memories are here comes in; one that rests on a forgotten memory may quote it. A
// quote has to stand in its memory.
func (x *derivedRow) ops(im *importer, p store.Project) ([]store.Op, error) {
	k := store.DerivedKey(p, x.pass, x.key)
	if _, err := im.b.kv.Get(k); !errors.Is(err, store.ErrNotFound) {
		return nil, err // ours stays
	}
	content := map[graph.ID]string{}
	ops := []store.Op{{Kind: store.Set, Key: k, Value: x.value}}
	for _, id := range x.basis {
		r, _, err := im.b.get(p, id)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		content[id] = r.Content
		ops = append(ops, store.Op{Kind: store.Set, Key: store.BasisKey(p, id, x.pass, x.key), Value: []byte{}})
	}
	if len(x.basis) > 0 {
		r, err := readDerived(x.value)
		if err != nil {
			return nil, err
		}
		for _, q := range r.Evidence {
			if c := content[q.Memory]; q.To > len(c) || c[q.From:q.To] != q.Text {
				return nil, lineErrorf("evidence: its words do not stand in the memory")
			}
		}
	}
	im.rep.Derived++
	return ops, nil
}

func (x *vectorRow) ops(im *importer, p store.Project) ([]store.Op, error) {
	if ok, err := im.here(p, x.id); !ok {
		return nil, err
	}
	var s embed.Space
	if err := json.Unmarshal([]byte(x.space), &s); err == nil && len(x.value) != 8+2*s.Dimensions {
		return nil, lineErrorf("vector: it is not of the %d dimensions that its space has", s.Dimensions)
	}
	m, err := im.b.modelNumber(x.space)
	if err != nil {
		return nil, err
	}
	k := store.VectorKey(p, m, x.id, x.chunk)
	if _, err := im.b.kv.Get(k); !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	im.rep.Vectors++
	return []store.Op{{Kind: store.Set, Key: k, Value: x.value}}, nil
}

// modelNumber is the number of a vector space, made where it is new.
func (b *Bank) modelNumber(space string) (uint32, error) {
	b.write.Lock()
	defer b.write.Unlock()
	b.mu.RLock()
	next := uint32(1)
	for m, name := range b.models {
		if name == space {
			b.mu.RUnlock()
			return m, nil
		}
		next = max(next, m+1)
	}
	b.mu.RUnlock()
	commit, err := b.kv.Apply([]store.Op{{Kind: store.Set, Key: store.ModelKey(next), Value: []byte(space)}})
	if err != nil {
		return 0, err
	}
	b.mu.Lock()
	b.models[next] = space
	b.mu.Unlock()
	return next, commit.Wait()
}
