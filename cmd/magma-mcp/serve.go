package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/attach"
	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/front"
	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// opened is the store as a command uses it: this process's own, or that of the process that owns it.
type opened struct {
	engine *attach.Engine
	scope  tools.Scope
}

// closeTimeout bounds closing the store at the end: a client kills a server ten seconds after it closed
// its input, and eight may have gone into answering. What was acknowledged is on disk already.
const closeTimeout = 1500 * time.Millisecond

// closePatience is the same for a command, which nobody kills: after an import of 100,000 memories the store still
// orders its files for seconds.
const closePatience = 2 * time.Minute

// cliClient is written_by of what the command line stores.
const cliClient = "magma-mcp command line"

// open begins to open the store and returns at once: calls wait until it is there.
func (a *app) open() (*opened, error) {
	scope, err := a.scope()
	if err != nil {
		return nil, err
	}
	scope.Client = cliClient
	return a.attach(a.ctx, scope)
}

// scope is the project and zone of this process's calls.
func (a *app) scope() (tools.Scope, error) {
	project := a.config.Project
	if project == "auto" {
		here, err := os.Getwd()
		if err != nil {
			return tools.Scope{}, fmt.Errorf("project auto: %w", err)
		}
		if project, err = autoProject(a.config.Store.DataDir, here); err != nil {
			return tools.Scope{}, fmt.Errorf("project auto: %w", err)
		}
	}
	if project != "" {
		if _, err := memory.CanonicalProject(project, "", true); err != nil {
			return tools.Scope{}, usageError{err}
		}
	}
	return tools.Scope{Project: project, Zone: a.config.Time.Zone}, nil
}

func (a *app) attach(ctx context.Context, scope tools.Scope) (*opened, error) {
	dir := a.config.Store.DataDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	for _, w := range attach.Warnings(dir) {
		a.log.Warn(w)
	}
	open := func() (memory.Engine, io.Closer, error) {
		bank, err := a.openBank(dir)
		if err != nil {
			return nil, nil, err
		}
		if scope.Client == cliClient { // a command of a moment
			return bank, bank, nil
		}
		return bank, a.keep(bank), nil
	}
	engine, err := attach.Open(context.WithoutCancel(ctx), dir, open, attach.Options{
		Version: buildVersion(), Logger: a.log, Verbs: verbs, Drain: time.Second,
	})
	if err != nil {
		return nil, err
	}
	return &opened{engine, scope}, nil
}

// close ends the use of the store within closeTimeout, or closePatience for a command.
func (o *opened) close() error {
	done := make(chan error, 1)
	go func() { done <- o.engine.Close() }()
	limit := closeTimeout
	if o.scope.Client == cliClient {
		limit = closePatience
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return errors.New("the store did not close in time; nothing acknowledged is lost, and the next start recovers it")
	}
}

type stdioCommand struct{}

// Run serves MCP on standard input and output until the client closes it or a signal comes.
func (stdioCommand) Run(a *app) error {
	scope, err := a.scope()
	if err != nil {
		return err
	}
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintln(a.stderr, "An MCP client is meant to sit at the other end. To see it work: magma-mcp demo. All commands: magma-mcp --help. To end: Ctrl-D.")
	}
	store, err := a.attach(a.ctx, scope)
	if err != nil {
		return err
	}
	a.log.Info("serving MCP on standard input and output", "version", buildVersion(), "data_dir", a.config.Store.DataDir, "project", scope.Project)
	s := front.New(front.Options{Engine: store.engine, Scope: scope, Version: buildVersion(), Log: a.log})
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
	updates := make(chan struct{})
	go func() {
		defer close(updates)
		_ = s.Run(ctx) // logged by itself; the session goes on without updates
	}()
	err = front.ServeStdio(a.ctx, s.MCP, a.stdin, a.stdout, a.log)
	cancel()
	err = errors.Join(err, store.close())
	<-updates
	return err
}
