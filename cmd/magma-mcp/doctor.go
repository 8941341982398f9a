package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/attach"
	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/httpd"
	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/setup"
	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/tools"
)

// doctorProject is where the doctor tries the memory out. It is the same each time, so that a store does
// not fill with names; what it stores there has a word that nothing else has.
const doctorProject = "magma-mcp-doctor"

// doctorTimeout bounds the whole examination: opening may recover a store after a crash.
const doctorTimeout = 60 * time.Second

type doctorCommand struct {
	JSON bool `name:"json" help:"Print the findings for programs."`
}

// The states of a finding, from good to bad.
const (
	findingOK   = "ok"
	findingNote = "note" // works, and could be better
	findingBad  = "bad"
)

// finding is one thing that the doctor looked at.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"`
	Found  string `json:"found"`
	Advice string `json:"advice,omitempty"`
}

// doctor collects findings.
type doctor struct {
	a        *app
	findings []finding
}

func (d *doctor) note(check, state, advice, format string, args ...any) {
	d.findings = append(d.findings, finding{check, state, fmt.Sprintf(format, args...), advice})
}

// Run looks at every link between a client and its memories, in the order in which a call passes them,
// and says for each that does not hold what to do.
func (c *doctorCommand) Run(a *app) error {
	d := &doctor{a: a}
	ctx, cancel := context.WithTimeout(a.ctx, doctorTimeout)
	defer cancel()
	d.program()
	d.clients()
	if d.folder() {
		if err := d.store(ctx); err != nil {
			return err
		}
	}
	d.ollama(ctx)
	d.tokens()

	bad := 0
	for _, f := range d.findings {
		if f.State == findingBad {
			bad++
		}
	}
	if c.JSON {
		if err := a.printJSON(map[string]any{"ok": bad == 0, "version": buildVersion(), "data_dir": a.config.Store.DataDir, "findings": d.findings}); err != nil {
			return err
		}
	} else if err := a.print(d.text(bad)); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("the doctor found %d that do not work", bad)
	}
	return nil
}

func (d *doctor) text(bad int) string {
	var b strings.Builder
	for _, f := range d.findings {
		sign := map[string]string{findingOK: "ok  ", findingNote: "note", findingBad: "BAD "}[f.State]
		fmt.Fprintf(&b, "%s  %-10s %s\n", sign, f.Check, f.Found)
		if f.Advice != "" {
			fmt.Fprintf(&b, "%17sto do: %s\n", "", f.Advice)
		}
	}
	if bad == 0 {
		b.WriteString("The memory works.\n")
	}
	return b.String()
}

func (d *doctor) program() {
	self, err := os.Executable()
	if err != nil {
		d.note("program", findingNote, "", "magma-mcp %s; where it lies cannot be told: %v", buildVersion(), err)
		return
	}
	if strings.HasPrefix(self, filepath.Clean(os.TempDir())+string(filepath.Separator)) {
		d.note("program", findingNote, "install it where it stays (go install), before a client is set up with this path", "magma-mcp %s runs from the temporary folder: %s", buildVersion(), self)
		return
	}
	d.note("program", findingOK, "", "magma-mcp %s, %s/%s, %s", buildVersion(), runtime.GOOS, runtime.GOARCH, self)
}

// clients says which clients start the memory.
func (d *doctor) clients() {
	home, err := os.UserHomeDir()
	if err != nil {
		d.note("clients", findingNote, "", "find the home folder: %v", err)
		return
	}
	self, err := os.Executable()
	if err != nil {
		self = "magma-mcp"
	}
	place := setup.Place{OS: runtime.GOOS, Home: home, Getenv: os.Getenv}
	var with []string
	for _, id := range setup.Clients() {
		path, state := setup.State(id, place, setup.Server{Name: setup.DefaultName, Command: self})
		switch state {
		case setup.StateSet, setup.StateOther: // other flags, or a program elsewhere: its user's choice
			with = append(with, id)
		case setup.StateUnreadable:
			d.note("clients", findingNote, "mend the file; its client cannot read it either", "cannot be read as what it should be: %s", path)
		}
	}
	if len(with) == 0 {
		d.note("clients", findingNote, "magma-mcp setup CLIENT writes a client's settings", "no client of this user starts the memory")
		return
	}
	d.note("clients", findingOK, "", "set up: %s", strings.Join(with, ", "))
}

// folder looks at the data folder, and reports whether there is any use in opening the store.
func (d *doctor) folder() bool {
	dir := d.a.config.Store.DataDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		d.note("folder", findingBad, "choose another with --data-dir, or make it writable", "%s cannot be made: %v", dir, err)
		return false
	}
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		d.note("folder", findingBad, "make it writable for you: memories cannot be stored", "%s cannot be written to: %v", dir, err)
		return false
	}
	err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	if err != nil {
		d.note("folder", findingBad, "look at the disk", "%s: %v", dir, err)
		return false
	}
	state, advice := findingOK, ""
	if fi, err := os.Stat(dir); err == nil && runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
		state, advice = findingNote, "chmod 700 keeps other users of this machine out"
	}
	d.note("folder", state, advice, "memories are kept in %s", dir)
	for _, w := range attach.Warnings(dir) {
		d.note("folder", findingNote, "", "%s", w)
	}
	return true
}

// store opens or attaches, looks at the background work, and remembers, recalls and forgets.
func (d *doctor) store(ctx context.Context) (err error) {
	o, err := d.a.attach(d.a.ctx, tools.Scope{})
	if err != nil {
		d.note("store", findingBad, "", "%v", err)
		return nil
	}
	defer func() { err = errors.Join(err, o.close()) }()
	if err := o.engine.Ready(ctx); err != nil {
		d.note("store", findingBad, storeAdvice(err), "%v", err)
		return nil
	}
	switch st := o.engine.State(); st.Role {
	case attach.RoleAttached:
		d.note("store", findingOK, "", "open in process %d (magma-mcp %s), which this one shares it with", st.PID, st.Version)
		if st.Version != buildVersion() {
			d.note("store", findingNote, "restart the clients, so that all run the same version", "its owner is version %s, this is %s", st.Version, buildVersion())
		}
	default:
		d.note("store", findingOK, "", "opens; no other process holds it")
	}
	d.background(ctx, o)
	d.roundTrip(ctx, o.engine)
	return nil
}

func storeAdvice(err error) string {
	switch memory.CodeOf(err) {
	case memory.CodeLocked:
		return "end the process that holds it; a socket that cannot be reached (another container or machine) cannot be shared"
	case memory.CodeFormat:
		return "use the newest magma-mcp for all clients; `magma-mcp version` says which one this is"
	case memory.CodeStorage:
		return "look at the free space and the disk; then restore from a backup if it is damaged"
	case memory.CodeBusy:
		return "wait: a store that was cut off is recovered when it opens; then try again"
	}
	return "run it again with --log-level debug and look at what it says"
}

// background looks at the embedder and at the work that is still to do, over all projects.
func (d *doctor) background(ctx context.Context, o *opened) {
	projects, err := o.engine.Projects(ctx)
	if err != nil {
		d.note("projects", findingBad, storeAdvice(err), "%v", err)
		return
	}
	memories, asked := 0, map[string]bool{doctorProject: true}
	names := []string{doctorProject}
	for _, p := range projects {
		memories += p.Memories
		if !asked[p.Project] {
			asked[p.Project] = true
			names = append(names, p.Project)
		}
	}
	d.note("projects", findingOK, "", "%s in %d projects", memory.Counted(memories), len(names)-1)
	var pending memory.PendingCounts
	var failed int
	var embedder memory.EmbedderInfo
	waiting := map[string]memory.Waiting{}
	lastError := ""
	for _, name := range names {
		s, err := o.engine.Stats(ctx, name)
		if err != nil {
			d.note("work", findingBad, storeAdvice(err), "%v", err)
			return
		}
		embedder = s.Embedder
		pending.Embedding += s.Pending.Embedding
		pending.Consolidation += s.Pending.Consolidation
		failed += s.Failed
		if s.LastError != "" {
			lastError = s.LastError
		}
		for pass, w := range s.Waiting {
			w.Count += waiting[pass].Count
			waiting[pass] = w
		}
	}
	switch embedder.State {
	case "ready":
		d.note("embedder", findingOK, "", "%s %s, %d dimensions", embedder.Provider, embedder.Model, embedder.Dimensions)
	case "loading":
		d.note("embedder", findingNote, "wait, and ask again", "%s %s is loading; words, times and graphs answer meanwhile", embedder.Provider, embedder.Model)
	default:
		d.note("embedder", findingNote, "for search by meaning: install Ollama (ollama.com) and run `ollama pull embeddinggemma`; the memory finds it by itself", "none (%s); words, times, entities and causes answer", embedder.State)
	}
	d.note("work", findingOK, "", "to do in the background: %d vectors, %d consolidations", pending.Embedding, pending.Consolidation)
	for _, pass := range []string{"embedding", "consolidation"} {
		if w := waiting[pass]; w.Count > 0 {
			d.note("work", findingNote, "nothing is lost; it is done when that is there", "%d wait (%s): %s", w.Count, pass, w.Reason)
		}
	}
	if failed > 0 {
		d.note("work", findingNote, "`magma-mcp stats` names them", "%d pieces of background work failed too often and are parked", failed)
	}
	if lastError != "" {
		d.note("work", findingNote, "", "last error: %s", lastError)
	}
}

// roundTrip remembers, recalls, forgets, and finds nothing again.
func (d *doctor) roundTrip(ctx context.Context, e memory.Engine) {
	var raw [6]byte
	rand.Read(raw[:])
	word := "probe" + hex.EncodeToString(raw[:])
	fail := func(doing string, err error) {
		d.note("try", findingBad, storeAdvice(err), "%s: %v", doing, err)
	}
	from := memory.Session{Client: cliClient}
	began := time.Now()
	r, err := e.Remember(ctx, memory.Note{Content: "The doctor's word is " + word + ".", Project: doctorProject, Kind: "fact", From: from})
	if err != nil {
		fail("remember", err)
		return
	}
	wrote := time.Since(began)
	forgotten := false
	defer func() {
		if !forgotten { // whatever went wrong, nothing of it stays
			e.Forget(context.WithoutCancel(ctx), memory.Choice{IDs: []string{r.ID}, Project: doctorProject, From: from})
		}
	}()
	holds := func() (bool, error) {
		found, err := e.Recall(ctx, memory.Question{Query: "What is " + word + "?", Project: doctorProject, From: from})
		if err != nil {
			return false, err
		}
		for _, m := range found.Memories {
			if m.ID == r.ID || strings.Contains(m.Content, word) {
				return true, nil
			}
		}
		return false, nil
	}
	began = time.Now()
	found, err := holds()
	if err != nil {
		fail("recall", err)
		return
	}
	read := time.Since(began)
	if !found {
		d.note("try", findingBad, "please report this: it is a bug", "what was just remembered is not found again")
		return
	}
	gone, err := e.Forget(ctx, memory.Choice{IDs: []string{r.ID}, Project: doctorProject, From: from})
	if err != nil {
		fail("forget", err)
		return
	}
	forgotten = true
	if found, err = holds(); err != nil {
		fail("recall after forgetting", err)
		return
	}
	_, err = e.Get(ctx, doctorProject, r.ID)
	if found || !gone.Verified || memory.CodeOf(err) != memory.CodeNotFound {
		d.note("try", findingBad, "please report this: it is a bug", "what was forgotten is still found (recall %v, verified %v, by id %v)", found, gone.Verified, err == nil)
		return
	}
	d.note("try", findingOK, "", "remembered (%v), recalled (%v), forgot, and found it gone again", wrote.Round(10*time.Microsecond), read.Round(10*time.Microsecond))
}

// ollama says whether a server answers and what it has.
func (d *doctor) ollama(ctx context.Context) {
	c := d.a.config.Embedding
	if c.Provider != "auto" && c.Provider != "ollama" {
		return
	}
	s, err := ollama.New(ollama.Config{Host: c.Host, AllowRemote: c.AllowRemote, Probe: time.Duration(c.Probe)})
	if err != nil {
		d.note("ollama", findingBad, "set embedding.host, or OLLAMA_HOST", "%v", err)
		return
	}
	defer s.Close()
	models, err := s.Installed(ctx)
	if err != nil {
		d.note("ollama", findingNote, "nothing, if it is not wanted; else start it (`ollama serve`), or set OLLAMA_HOST", "no answer from %s: %v", s.Host(), err)
		return
	}
	var names []string
	for _, m := range models {
		names = append(names, m.Name)
	}
	if len(names) == 0 {
		d.note("ollama", findingNote, "`ollama pull embeddinggemma` gives search by meaning", "%s answers, and has no model", s.Host())
		return
	}
	d.note("ollama", findingOK, "", "%s answers; models: %s", s.Host(), strings.Join(names, ", "))
}

// tokens looks at the files that let programs in over HTTP.
func (d *doctor) tokens() {
	dir := d.a.config.Store.DataDir
	list, err := httpd.OpenTokens(dir).List()
	if err != nil {
		d.note("http", findingBad, "", "%v", err)
		return
	}
	for _, name := range httpd.PrivateFiles {
		path := filepath.Join(dir, name)
		fi, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			d.note("http", findingNote, "", "%v", err)
		} else if runtime.GOOS != "windows" && fi.Mode().Perm()&0o077 != 0 {
			d.note("http", findingBad, "chmod 600, and make new tokens if others use this machine", "other users can read %s", path)
		}
	}
	if len(list) > 0 {
		d.note("http", findingOK, "", "%d named tokens", len(list))
	}
}
