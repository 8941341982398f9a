package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/attach"
	"github.com/magma-mcp/magma-mcp/memory"
)

// The commands that look after a store. They run in the process that owns it, since they need it open.

const (
	verbCheck   = "check"
	verbRebuild = "rebuild"
)

// maintainer is what they need of the engine that openBank returns.
type maintainer interface {
	Check(context.Context) (memory.CheckReport, error)
	Rebuild(ctx context.Context, progress func(done, total int)) error
}

var verbs = map[string]attach.Verb{
	verbCheck: func(ctx context.Context, e memory.Engine, _ json.RawMessage) (any, error) {
		m, err := maintain(e)
		if err != nil {
			return nil, err
		}
		return m.Check(ctx)
	},
	verbRebuild: func(ctx context.Context, e memory.Engine, _ json.RawMessage) (any, error) {
		m, err := maintain(e)
		if err != nil {
			return nil, err
		}
		return struct{}{}, m.Rebuild(ctx, nil)
	},
	verbExport:   runExport,
	verbImport:   runImport,
	verbProgress: runProgress,
	verbReindex:  runReindex,
	verbBackup:   runBackup,
}

func maintain(e memory.Engine) (maintainer, error) {
	m, ok := e.(maintainer)
	if !ok {
		return nil, memory.Errorf(memory.CodeInternal, "this engine cannot be maintained")
	}
	return m, nil
}

type checkCommand struct {
	JSON bool `name:"json" help:"Print the structured answer for programs."`
}

// Run checks the store and fails where something is wrong with it.
func (c *checkCommand) Run(a *app) error {
	var r memory.CheckReport
	if err := a.do(verbCheck, &r); err != nil {
		return err
	}
	var err error
	if c.JSON {
		err = a.printJSON(r)
	} else {
		err = a.print(checkText(r))
	}
	if len(r.Problems) > 0 {
		err = errors.Join(err, fmt.Errorf("check: %d problems; `magma-mcp rebuild` makes every derived row anew", len(r.Problems)))
	}
	return err
}

func checkText(r memory.CheckReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d projects, %s, %d forgotten, %d vectors, %d derived rows: ", r.Projects, memory.Counted(r.Records), r.Tombstones, r.Vectors, r.Derived)
	if len(r.Problems) == 0 {
		b.WriteString("all is well.")
	}
	for _, p := range r.Problems {
		b.WriteString("\n- " + oneLine(p))
	}
	return b.String()
}

type rebuildCommand struct{}

func (rebuildCommand) Run(a *app) error {
	began := time.Now()
	if err := a.do(verbRebuild, nil); err != nil {
		return err
	}
	return a.print(fmt.Sprintf("Every derived row is made anew (%.1f s).", time.Since(began).Seconds()))
}

// do runs a verb in the process that owns the store.
func (a *app) do(verb string, out any) error {
	o, err := a.open()
	if err != nil {
		return err
	}
	if err := o.engine.Do(a.ctx, verb, nil, out); err != nil {
		return errors.Join(a.fault(verb, err), o.close())
	}
	return o.close()
}
