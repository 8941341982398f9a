package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// disk is a small durable engine: every write is one synced line of a file, with its request id, so that
// it offers Once as a real store does. Only one process may have the file at a time; that is what is tested.
type disk struct {
	memory.Engine // what the tests do not call
	mu            sync.Mutex
	f             *os.File
	seen          map[string]int    // content -> sightings
	done          map[string]string // request -> content
	linger        time.Duration     // between commit and answer: where a kill hurts most
	recall        func(context.Context, memory.Question) (memory.Recollection, error)
	changes       hub
}

type diskLine struct {
	Content string `json:"content"`
	Request string `json:"request,omitempty"`
}

func openDisk(dir string, linger time.Duration) (*disk, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lines"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	d := &disk{f: f, seen: map[string]int{}, done: map[string]string{}, linger: linger}
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var l diskLine
		if json.Unmarshal(sc.Bytes(), &l) == nil { // a torn line was never acknowledged
			d.seen[l.Content]++
			d.done[l.Request] = l.Content
		}
	}
	return d, nil
}

func (d *disk) Close() error { d.changes.close(); return d.f.Close() }

func (d *disk) Remember(ctx context.Context, n memory.Note) (memory.Receipt, error) {
	return d.RememberOnce(ctx, "", n)
}

func (d *disk) RememberOnce(_ context.Context, request string, n memory.Note) (memory.Receipt, error) {
	if n.Content == "panic" {
		panic("as asked")
	}
	if n.Content == "" {
		return memory.Receipt{}, memory.Errorf(memory.CodeInvalid, "content is empty")
	}
	d.mu.Lock()
	if request == "" || d.done[request] == "" {
		line, err := json.Marshal(diskLine{n.Content, request})
		if err != nil {
			d.mu.Unlock()
			return memory.Receipt{}, err
		}
		// A leading newline ends what a killed process tore.
		if _, err := d.f.Write(append(append([]byte{'\n'}, line...), '\n')); err != nil {
			d.mu.Unlock()
			return memory.Receipt{}, memory.Errorf(memory.CodeStorage, "write: %w", err)
		}
		if err := d.f.Sync(); err != nil {
			d.mu.Unlock()
			return memory.Receipt{}, memory.Errorf(memory.CodeStorage, "sync: %w", err)
		}
		d.seen[n.Content]++
		if request != "" {
			d.done[request] = n.Content
		}
	}
	r := memory.Receipt{ID: n.Content, Status: memory.StatusStored, SeenCount: d.seen[n.Content]}
	d.mu.Unlock()
	d.changes.send(memory.Change{Kind: "remembered", IDs: []string{n.Content}})
	if d.linger > 0 {
		time.Sleep(d.linger)
	}
	return r, nil
}

func (d *disk) Recall(ctx context.Context, q memory.Question) (memory.Recollection, error) {
	if d.recall != nil {
		return d.recall(ctx, q)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r := memory.Recollection{Text: "text of " + q.Query, Project: q.Project}
	if n := d.seen[q.Query]; n > 0 {
		r.Memories = []memory.Memory{{ID: q.Query, Content: q.Query, SeenCount: n}}
	}
	return r, nil
}

func (d *disk) Watch(ctx context.Context) (<-chan memory.Change, error) {
	return d.changes.watch(ctx), nil
}

// opener is what Open wants, for a disk in dir.
func opener(dir string) func() (memory.Engine, io.Closer, error) {
	return func() (memory.Engine, io.Closer, error) {
		d, err := openDisk(dir, 0)
		if err != nil {
			return nil, nil, err
		}
		return d, d, nil
	}
}

func (d *disk) ForgetOnce(context.Context, string, memory.Choice) (memory.Removal, error) {
	return memory.Removal{Text: "gone", Status: memory.StatusForgotten}, nil
}

var _ Once = (*disk)(nil)
