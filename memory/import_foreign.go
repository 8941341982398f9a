package memory

import (
	"bufio"
	"errors"

	"github.com/magma-mcp/magma-mcp/memory/foreign"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// strange is the state of an import of another program's file. Its notes go the way of Remember, each with
// an idempotency key made of the program, the place and the words: a file that is imported again, or a later
// export of the same conversations, adds what is new and nothing else, and brings back nothing that was
// forgotten or superseded since.
type strange struct {
	commit store.Commit
	n      int
}

// noteBatch is how many notes are written between two waits for the disk.
const noteBatch = 256

// notes reads another program's file.
func (im *importer) notes(format foreign.Format, in *bufio.Reader) error {
	im.strange = strange{}
	var fault error
	lines := map[int]bool{}
	for n, err := range foreign.Read(format, im.file, in) {
		var bad *foreign.Problem
		if errors.As(err, &bad) {
			im.rep.Lines++
			im.bad(bad.Line, errors.New(bad.Why))
			continue
		}
		if err != nil {
			if im.ctx.Err() != nil {
				fault = im.ctx.Err()
			} else {
				im.bad(n.Line, err)
			}
			break
		}
		if !lines[n.Line] {
			clear(lines) // they come in order
			lines[n.Line] = true
			im.rep.Lines++
		}
		if err := im.note(format, &n); err != nil {
			if code := CodeOf(err); code == CodeInvalid || code == CodeTooLarge || code == CodeRefused || code == CodeConflict {
				im.bad(n.Line, err)
				continue
			}
			fault = err
			break
		}
	}
	return errors.Join(fault, im.settle())
}

// settle waits until what was stored is durable: batches become so in their order.
func (im *importer) settle() error {
	c := im.commit
	im.commit, im.n = nil, 0
	if c == nil {
		return nil
	}
	return c.Wait()
}

// note stores one note.
func (im *importer) note(format foreign.Format, f *foreign.Note) error {
	b := im.b
	at := f.OccurredAt
	if at == "" {
		at = im.o.Date
	}
	place := store.Sum(string(format), f.Source, f.Session, f.Speaker, f.OccurredAt, f.Content)
	key := "import:" + digestText(place[:])
	from := im.o.Session
	from.Client = "import: " + string(format)
	project := im.o.Project
	if project == "" {
		project = im.o.Default
	}
	n := Note{Content: f.Content, Project: project, OccurredAt: at, Speaker: f.Speaker, Session: f.Session, Kind: f.Kind, Source: f.Source,
		Entities: f.Entities, Tags: f.Tags, IdempotencyKey: key, From: from}
	if name, err := CanonicalProject(n.Project, b.o.DefaultProject, false); err != nil {
		return err
	} else if p, ok := b.project(name); ok && !im.dry {
		done, err := im.known(p, key)
		if done || err != nil {
			return err
		}
	}
	w, err := b.prepare(&n)
	if err != nil {
		return err
	}
	for _, x := range w.warnings {
		im.warn("%s", x)
	}
	if im.dry {
		return nil
	}
	w.own, w.ownOnly = nil, false // what another program kept is not our output
	rec, commit, err := b.commit(w)
	if err != nil {
		return err
	}
	if rec.Status == StatusStored {
		im.rep.Stored++
	} else {
		im.rep.Known++
	}
	if commit != nil {
		im.commit = commit
		if im.n++; im.n >= noteBatch {
			return im.settle()
		}
	}
	return nil
}

// known reports whether a note was taken in before, and is here or was forgotten since.
func (im *importer) known(p store.Project, key string) (bool, error) {
	v, err := im.b.kv.Get(store.IdemKey(p, store.Sum("key", key)))
	if errors.Is(err, store.ErrNotFound) || err == nil && len(v) != 32 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	id := graph.ID(v[:16])
	here, err := im.here(p, id)
	if err != nil {
		return false, err
	}
	if here {
		im.rep.Known++
		return true, nil
	}
	if im.o.Revive {
		return false, nil
	}
	im.rep.Forgotten++
	return true, nil
}
