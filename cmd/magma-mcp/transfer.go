package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/foreign"
	"github.com/magma-mcp/magma-mcp/tools"
)

// The commands that carry memories out of a store and in. The process that owns the store reads and writes
// the files, under absolute paths; a command whose file is standard input or output lays a private copy
// between, in the data folder.

const (
	verbExport   = "export"
	verbImport   = "import"
	verbProgress = "progress"
)

type exportRequest struct {
	Job     string   `json:"job"`
	Path    string   `json:"path"`
	Only    []string `json:"only,omitempty"` // absent: all
	Vectors bool     `json:"vectors,omitempty"`
	Force   bool     `json:"force,omitempty"`
}

type importRequest struct {
	Job     string         `json:"job"`
	Path    string         `json:"path"`
	Name    string         `json:"name,omitempty"` // the file's own name, where Path is a copy
	From    string         `json:"from,omitempty"`
	Project string         `json:"project,omitempty"`
	Default string         `json:"default,omitempty"`
	All     bool           `json:"all,omitempty"`
	Revive  bool           `json:"revive,omitempty"`
	Date    string         `json:"date,omitempty"`
	Session memory.Session `json:"session"`
}

// transferer is what they need of the engine that openBank returns.
type transferer interface {
	Export(context.Context, io.Writer, memory.ExportOptions) (memory.ExportReport, error)
	ImportFile(context.Context, string, memory.ImportOptions) (memory.ImportReport, error)
}

func transfer(e memory.Engine) (transferer, error) {
	t, ok := e.(transferer)
	if !ok {
		return nil, memory.Errorf(memory.CodeInternal, "this engine has no memories to carry")
	}
	return t, nil
}

// jobs is how far the transfers of this process are, by the name their command gave them.
var jobs struct {
	mu   sync.Mutex
	done map[string]memory.Progress
}

// watched returns a progress function for a job, and one that forgets it.
func watched(job string) (progress func(done, total int64), forget func()) {
	return func(done, total int64) {
			jobs.mu.Lock()
			defer jobs.mu.Unlock()
			if jobs.done == nil {
				jobs.done = map[string]memory.Progress{}
			}
			jobs.done[job] = memory.Progress{Done: int(done), Total: int(total)}
		}, func() {
			jobs.mu.Lock()
			defer jobs.mu.Unlock()
			delete(jobs.done, job)
		}
}

func runProgress(_ context.Context, _ memory.Engine, in json.RawMessage) (any, error) {
	var job string
	if err := json.Unmarshal(in, &job); err != nil {
		return nil, err
	}
	jobs.mu.Lock()
	defer jobs.mu.Unlock()
	return jobs.done[job], nil
}

// runExport writes the file under another name first, so that it is whole when it is there.
func runExport(ctx context.Context, e memory.Engine, in json.RawMessage) (any, error) {
	var q exportRequest
	if err := json.Unmarshal(in, &q); err != nil {
		return nil, err
	}
	t, err := transfer(e)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(q.Path); err == nil && !q.Force {
		return nil, memory.Errorf(memory.CodeInvalid, "%s is there already; --force replaces it", q.Path)
	}
	f, err := os.CreateTemp(filepath.Dir(q.Path), ".magma-export-*") // 0600
	if err != nil {
		return nil, memory.Errorf(memory.CodeInvalid, "make the file: %w", err)
	}
	progress, forget := watched(q.Job)
	defer forget()
	rep, err := t.Export(ctx, f, memory.ExportOptions{Projects: q.Only, Vectors: q.Vectors, Progress: func(done, total int) { progress(int64(done), int64(total)) }})
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), q.Path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
		if memory.CodeOf(err) == memory.CodeInternal {
			err = memory.Errorf(memory.CodeStorage, "write %s: %w", q.Path, err)
		}
		return nil, err
	}
	return rep, nil
}

func runImport(ctx context.Context, e memory.Engine, in json.RawMessage) (any, error) {
	var q importRequest
	if err := json.Unmarshal(in, &q); err != nil {
		return nil, err
	}
	t, err := transfer(e)
	if err != nil {
		return nil, err
	}
	progress, forget := watched(q.Job)
	defer forget()
	rep, err := t.ImportFile(ctx, q.Path, memory.ImportOptions{From: q.From, Name: q.Name, Project: q.Project, Default: q.Default, All: q.All, Revive: q.Revive,
		Date: q.Date, Session: q.Session, Progress: progress})
	return importAnswer{rep, faultOf(err)}, nil
}

// importAnswer is the report with the error that ended it: what was stored until then is stored.
type importAnswer struct {
	memory.ImportReport
	Fault *memory.Error `json:"fault,omitempty"`
}

func faultOf(err error) *memory.Error {
	var e *memory.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	}
	return memory.Errorf(memory.CodeOf(err), "import: %w", err)
}

type exportCommand struct {
	File    string   `arg:"" optional:"" help:"File to write; standard output where left out or -."`
	Only    []string `placeholder:"NAME" help:"These projects alone (also --project); all by default."`
	Vectors bool     `help:"With the vectors, which are made again otherwise."`
	Force   bool     `help:"Replace a file that is there."`
	JSON    bool     `name:"json" help:"Print what was written for programs (to standard error where the file is standard output)."`
}

func (c *exportCommand) Run(a *app) (err error) {
	only := c.Only
	if p := a.flags.Project; p != "" && p != "*" {
		only = append(only, p)
	}
	q := exportRequest{Only: only, Vectors: c.Vectors, Force: c.Force}
	toStdout := c.File == "" || c.File == "-"
	if toStdout {
		dir, remove, err := a.between()
		if err != nil {
			return err
		}
		defer remove()
		q.Path = filepath.Join(dir, "export.jsonl")
	} else if q.Path, err = filepath.Abs(c.File); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	var rep memory.ExportReport
	q.Job = jobName()
	a.wholesale = true
	if err := a.longDo(verbExport, "export", q.Job, q, &rep); err != nil {
		return err
	}
	if toStdout {
		f, err := os.Open(q.Path)
		if err != nil {
			return fmt.Errorf("read the export: %w", err)
		}
		_, err = io.Copy(a.stdout, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
		if c.JSON {
			return json.NewEncoder(a.stderr).Encode(rep)
		}
		_, err = fmt.Fprintln(a.stderr, plain(exportText(rep)))
		return err
	}
	if c.JSON {
		return a.printJSON(rep)
	}
	return a.print(exportText(rep) + " to " + q.Path)
}

func exportText(r memory.ExportReport) string {
	s := fmt.Sprintf("Exported %s, %s and %s of %s", memory.Counted(r.Memories), count(r.Tombstones, "tombstone"), count(r.ExportCounts.Derived, "derived row"), count(len(r.Projects), "project"))
	if r.Vectors > 0 {
		s += fmt.Sprintf(", with %d vectors", r.Vectors)
	}
	if r.Damaged > 0 {
		s += fmt.Sprintf("; %d damaged rows are NOT in it, run `magma-mcp repair`", r.Damaged)
	}
	return s
}

type importCommand struct {
	File   string `arg:"" help:"An export, another program's file, a folder or a .zip of such; - is standard input."`
	From   string `placeholder:"FORMAT" help:"Its format, where it is not seen: magma-mcp, knowledge-graph, mem0, markdown, claude-code, chatgpt or claude."`
	All    bool   `name:"all-or-nothing" help:"Store nothing where one line cannot be read."`
	Revive bool   `help:"Bring back what was forgotten here."`
	Date   string `placeholder:"WHEN" help:"The date of texts that carry none (now)."`
	JSON   bool   `name:"json" help:"Print the report for programs."`
}

func (c *importCommand) Run(a *app) (err error) {
	if c.From != "" && c.From != memory.NativeFormat && !known(c.From) {
		return usageError{fmt.Errorf("--from: %q came; allowed are %s, %s", c.From, memory.NativeFormat, foreign.Names())}
	}
	scope, err := a.scope()
	if err != nil {
		return err
	}
	q := importRequest{From: c.From, Project: a.flags.Project, All: c.All, Revive: c.Revive, Date: c.Date, Job: jobName()}
	if q.Default, err = scope.ProjectFor("", false); err != nil {
		return err
	}
	if c.File == "-" {
		dir, remove, err := a.between()
		if err != nil {
			return err
		}
		defer remove()
		q.Path, q.Name = filepath.Join(dir, "import"), "standard input"
		f, err := os.OpenFile(q.Path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("keep standard input: %w", err)
		}
		_, err = io.Copy(f, bufio.NewReader(a.stdin))
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("keep standard input: %w", err)
		}
	} else if q.Path, err = filepath.Abs(c.File); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	var rep importAnswer
	a.wholesale = true
	if err := a.longDo(verbImport, "import", q.Job, q, &rep); err != nil {
		return err
	}
	if c.JSON {
		err = a.printJSON(rep)
	} else {
		err = a.print(importText(rep.ImportReport))
	}
	if rep.Fault != nil {
		return errors.Join(err, errors.New(tools.FaultLine(a.log, "import", rep.Fault)))
	}
	if rep.Bad > 0 {
		return errors.Join(err, fmt.Errorf("import: %s could not be taken in; the rest was", count(rep.Bad, "part")))
	}
	return err
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func known(format string) bool {
	for _, f := range foreign.Formats {
		if string(f) == format {
			return true
		}
	}
	return false
}

func importText(r memory.ImportReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Imported (%s, %s): %d new", r.Format, count(r.Files, "file"), r.Stored)
	for _, x := range []struct {
		n    int
		what string
	}{{r.Known, "known already"}, {r.Merged, "merged"}, {r.Conflicts, "in conflict, both kept and tagged " + memory.ConflictTag}, {r.Forgotten, "left forgotten (--revive brings them back)"},
		{r.Revived, "revived"}, {r.Tombstones, "tombstones"}, {r.Derived, "derived rows"}, {r.Vectors, "vectors"}, {r.Bad, "NOT taken in"}} {
		if x.n > 0 {
			fmt.Fprintf(&b, ", %d %s", x.n, x.what)
		}
	}
	b.WriteByte('.')
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "\n- %s, line %d: %s", oneLine(p.File), p.Line, oneLine(p.Why))
	}
	if n := r.Bad - len(r.Problems); n > 0 {
		fmt.Fprintf(&b, "\n- and %d more", n)
	}
	for _, w := range r.Warnings {
		b.WriteString("\nWarning: " + oneLine(w))
	}
	return b.String()
}

// between makes a private folder in the data folder for a file that comes from or goes to a pipe.
func (a *app) between() (dir string, remove func(), err error) {
	if err := os.MkdirAll(a.config.Store.DataDir, 0o700); err != nil {
		return "", nil, fmt.Errorf("make the data folder: %w", err)
	}
	if dir, err = os.MkdirTemp(a.config.Store.DataDir, "transfer-*"); err != nil { // 0700
		return "", nil, fmt.Errorf("make a folder for the file: %w", err)
	}
	return dir, func() {
		if err := os.RemoveAll(dir); err != nil {
			a.log.Warn("remove the copy", "error", err)
		}
	}, nil
}

func jobName() string { return fmt.Sprintf("%d-%d", os.Getpid(), time.Now().UnixNano()) }

// progressEvery is how often a bar asks how far the work is.
const progressEvery = 200 * time.Millisecond

// longDo runs a verb in the process that owns the store, with a bar on standard error where that is a terminal.
func (a *app) longDo(verb, doing, job string, in, out any) error {
	o, err := a.open()
	if err != nil {
		return err
	}
	stop := a.bar(doing, func(ctx context.Context) (p memory.Progress, err error) {
		return p, o.engine.Do(ctx, verbProgress, job, &p)
	})
	err = o.engine.Do(a.ctx, verb, in, out)
	stop()
	if err != nil {
		return errors.Join(errors.New(tools.FaultLine(a.log, doing, err)), o.close())
	}
	return o.close()
}

// bar shows how far a job is until the function it returns is called.
func (a *app) bar(doing string, ask func(context.Context) (memory.Progress, error)) (stop func()) {
	f, ok := a.stderr.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(a.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(a.stderr), progressbar.OptionSetDescription(doing),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(true), progressbar.OptionThrottle(progressEvery))
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		defer func() { _ = bar.Finish() }() // a bar that cannot be drawn matters to nobody
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			p, err := ask(ctx)
			if err != nil || p.Total == 0 {
				continue
			}
			bar.ChangeMax(p.Total)
			_ = bar.Set(min(p.Done, p.Total))
		}
	}()
	return func() { cancel(); <-done }
}
