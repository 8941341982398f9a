package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/attach"
	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// What keeps a store over the years: backups and retention while it is served, and the commands that put
// another store in its place, which need it for themselves.

const verbBackup = "backup"

// keeper closes a Bank and what runs beside it.
type keeper struct {
	bank *memory.Bank
	stop context.CancelFunc
	jobs sync.WaitGroup
}

func (k *keeper) Close() error {
	k.stop()
	err := k.bank.Close()
	k.jobs.Wait()
	return err
}

// retainEvery is how often what is over age is looked for: ages are counted in days.
const retainEvery = time.Hour

// keep starts the backups and the retention of the configuration on a Bank that is served.
func (a *app) keep(bank *memory.Bank) io.Closer {
	ctx, stop := context.WithCancel(context.Background())
	k := &keeper{bank: bank, stop: stop}
	run := func(what string, f func() error) {
		k.jobs.Go(func() {
			if err := f(); err != nil {
				a.log.Error(what+" stopped", "error", err)
			}
		})
	}
	if c := a.config.Backup; c.Every > 0 {
		run("backups", func() error { return bank.BackupEvery(ctx, a.backupDir(), time.Duration(c.Every), c.Keep) })
	}
	if rules := a.retention(); len(rules) > 0 {
		run("retention", func() error { return bank.RetainEvery(ctx, retainEvery, rules) })
	}
	return k
}

func (a *app) retention() []memory.Retention {
	var rules []memory.Retention
	for _, r := range a.config.Retention {
		rules = append(rules, memory.Retention{Project: r.Project, Kind: r.Kind, Age: time.Duration(r.Days) * 24 * time.Hour})
	}
	return rules
}

// backupDir is where backups go.
func (a *app) backupDir() string {
	return cmp.Or(a.config.Backup.Dir, filepath.Join(a.config.Store.DataDir, memory.BackupFolder))
}

type backupRequest struct {
	Dir  string `json:"dir"`
	Keep int    `json:"keep"`
}

func runBackup(ctx context.Context, e memory.Engine, in json.RawMessage) (any, error) {
	var q backupRequest
	if err := json.Unmarshal(in, &q); err != nil {
		return nil, err
	}
	b, ok := e.(interface {
		Backup(context.Context, string, int) (memory.BackupReport, error)
	})
	if !ok {
		return nil, memory.Errorf(memory.CodeInternal, "this engine cannot be backed up")
	}
	return b.Backup(ctx, q.Dir, q.Keep)
}

type backupCommand struct {
	Dir  string `arg:"" optional:"" help:"Folder for this store's backups (backup.dir, or backups in the data folder)."`
	Keep int    `placeholder:"N" help:"Remove the oldest beyond this many; 0 removes none."`
	JSON bool   `name:"json" help:"Print the report for programs."`
}

// Run backs the store up while it is used.
func (c *backupCommand) Run(a *app) (err error) {
	if c.Keep < 0 {
		return usageError{fmt.Errorf("--keep: %d came; a number from 0 is allowed", c.Keep)}
	}
	q := backupRequest{Dir: cmp.Or(c.Dir, a.backupDir()), Keep: c.Keep}
	if q.Dir, err = filepath.Abs(q.Dir); err != nil {
		return fmt.Errorf("%s: %w", c.Dir, err)
	}
	var rep memory.BackupReport
	if err := a.doWith(verbBackup, q, &rep); err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(rep)
	}
	text := fmt.Sprintf("Backed up %s to %s, and checked the copy.", memory.Counted(rep.Check.Records), rep.Path)
	if len(rep.Removed) > 0 {
		text += fmt.Sprintf("\nRemoved %s.", strings.Join(rep.Removed, ", "))
	}
	return a.print(text)
}

// doWith runs a verb that takes something in the process that owns the store.
func (a *app) doWith(verb string, in, out any) error {
	o, err := a.open()
	if err != nil {
		return err
	}
	if err := o.engine.Do(a.ctx, verb, in, out); err != nil {
		return errors.Join(errors.New(tools.FaultLine(a.log, verb, err)), o.close())
	}
	return o.close()
}

// alone runs f with the store for itself: no process has it, and none can take it meanwhile.
func (a *app) alone(doing string, f func(dir string, o memory.Options) error) error {
	o, err := a.bankOptions()
	if err != nil {
		return err
	}
	dir := a.config.Store.DataDir
	release, err := attach.Hold(dir)
	if err == nil {
		err = errors.Join(f(dir, o), release())
	}
	if err != nil {
		return errors.New(tools.FaultLine(a.log, doing, err))
	}
	return nil
}

type restoreCommand struct {
	From    string `arg:"" type:"existingdir" help:"A backup's folder."`
	Replace bool   `help:"Where there are memories: move the store aside and put the backup in its place."`
	JSON    bool   `name:"json" help:"Print the report for programs."`
}

func (c *restoreCommand) Run(a *app) error {
	return a.alone("restore", func(dir string, o memory.Options) error {
		from, err := filepath.Abs(c.From)
		if err != nil {
			return err
		}
		rep, err := memory.Restore(a.ctx, dir, from, c.Replace, o)
		if err != nil {
			return err
		}
		if c.JSON {
			return a.printJSON(rep)
		}
		text := fmt.Sprintf("Restored %s of %s from %s, checked before and after.", memory.Counted(rep.Check.Records), count(rep.Check.Projects, "project"), rep.From)
		if rep.Aside != "" {
			text += "\nThe store that was there is in " + rep.Aside + "; remove that folder when it is not wanted."
		}
		return a.print(text)
	})
}

type repairCommand struct {
	JSON bool `name:"json" help:"Print the report for programs."`
}

func (c *repairCommand) Run(a *app) error {
	return a.alone("repair", func(dir string, o memory.Options) error {
		rep, err := memory.Repair(a.ctx, dir, o)
		if err != nil {
			return err
		}
		if c.JSON {
			return a.printJSON(rep)
		}
		return a.print(repairText(rep))
	})
}

func repairText(r memory.RepairReport) string {
	if r.Sound {
		return fmt.Sprintf("The store is sound: %s. Nothing was changed.", memory.Counted(r.Kept.Records))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Repaired: %s of %d projects and %d tombstones are kept; the rest is made anew and checked.", memory.Counted(r.Kept.Records), r.Kept.Projects, r.Kept.Tombstones)
	for _, what := range sortedKeys(r.Lost) {
		fmt.Fprintf(&b, "\nLost: %d %s.", r.Lost[what], what)
	}
	for _, g := range r.Gaps {
		fmt.Fprintf(&b, "\nDamaged, with an unknown loss: %s.", g)
	}
	if r.Loose > 0 {
		fmt.Fprintf(&b, "\n%d parts of long texts are memories of their own now.", r.Loose)
	}
	if len(r.Named) > 0 {
		fmt.Fprintf(&b, "\nProjects whose name was lost: %s.", oneLine(strings.Join(r.Named, ", ")))
	}
	fmt.Fprintf(&b, "\nThe damaged store is in %s.", r.Aside)
	return b.String()
}

func sortedKeys(m map[string]int) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
