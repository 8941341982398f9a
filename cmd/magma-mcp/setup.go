package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/setup"
)

type setupCommand struct {
	Client    string `arg:"" optional:"" help:"claude-desktop, claude-code, codex, cursor, gemini, vscode, windsurf or zed; without it, the list."`
	Rule      bool   `help:"Also put the short rule that makes a model use the memory into the client's instruction file."`
	Hooks     bool   `help:"Also set the client's hooks, where it has any: context at the start, request and outcome at the end."`
	DryRun    bool   `help:"Say what would be done, and do nothing."`
	Undo      bool   `help:"Take it out again."`
	Print     bool   `help:"Print the entry, to be pasted by hand."`
	PrintRule bool   `help:"Print the rule, to be pasted by hand."`
	Name      string `default:"magma-mcp" help:"Name of the server in the client's settings."`
}

// Run writes or prints what a client needs to start this program.
func (c *setupCommand) Run(a *app) error {
	switch {
	case c.PrintRule:
		return a.print(setup.Rule)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return fmt.Errorf("find the home folder: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	// The name on the PATH outlives an update where the file behind it does not (Homebrew, asdf).
	if named, err := exec.LookPath("magma-mcp"); err == nil {
		there, errThere := os.Stat(named)
		here, errHere := os.Stat(self)
		if abs, err := filepath.Abs(named); err == nil && errThere == nil && errHere == nil && os.SameFile(there, here) {
			self = abs
		}
	}
	place := setup.Place{OS: runtime.GOOS, Home: home, Getenv: os.Getenv}
	server := setup.Server{Name: c.Name, Command: self, Args: a.flags.again()}
	if c.Client == "" {
		return c.list(a, place, server)
	}
	if c.Print {
		path, text, err := setup.Snippet(c.Client, place, server)
		if err != nil {
			return usageError{err}
		}
		fmt.Fprintf(a.stderr, "For %s:\n", path)
		return a.print(text)
	}
	// Undo looks everywhere: what was chosen then need not be said again.
	files, note, err := setup.Plan(c.Client, place, server, setup.Choice{Rule: c.Rule || c.Undo, Hooks: c.Hooks || c.Undo})
	if err != nil {
		return usageError{err}
	}
	do := setup.Do
	if c.Undo {
		do = setup.Undo
	}
	changes, err := do(files, c.DryRun)
	var b strings.Builder
	verb := map[bool]string{false: "done", true: "would be done"}[c.DryRun]
	for _, change := range changes {
		fmt.Fprintf(&b, "%-7s %-7s %s (%s)\n", change.Action, change.What, change.Path, verb)
		if change.Backup != "" {
			fmt.Fprintf(&b, "        before: %s\n", change.Backup)
		}
		if c.DryRun && (change.Action == "create" || change.Action == "change") {
			for line := range strings.Lines(string(change.New)) {
				b.WriteString("    " + line)
			}
			b.WriteString("\n")
		}
	}
	if !c.Undo && err == nil {
		b.WriteString(note + "\n")
		if !c.Rule {
			b.WriteString("A server alone does not make a model remember: --rule adds the short rule that does.\n")
		}
	}
	if b.Len() > 0 {
		if printing := a.print(b.String()); err == nil {
			err = printing
		}
	}
	return err
}

// list says of each client whether it is set up.
func (c *setupCommand) list(a *app, place setup.Place, server setup.Server) error {
	var b strings.Builder
	for _, id := range setup.Clients() {
		path, state := setup.State(id, place, server)
		fmt.Fprintf(&b, "%-15s %-16s %s\n", id, state, path)
	}
	b.WriteString("magma-mcp setup CLIENT writes a client's settings; --dry-run shows what it would write, --undo takes it out again.\n")
	return a.print(b.String())
}

// again is the flags that a client has to give, so that its server is the one of this call: paths are
// absolute, since a client starts it elsewhere.
func (s settings) again() []string {
	var args []string
	add := func(name, value string) {
		if value != "" {
			args = append(args, name, value)
		}
	}
	absolute := func(path string) string {
		if abs, err := filepath.Abs(path); err == nil && path != "" {
			return abs
		}
		return path
	}
	add("--config", absolute(s.Config))
	add("--data-dir", absolute(s.DataDir))
	add("--project", s.Project)
	add("--zone", s.Zone)
	add("--log-level", s.LogLevel)
	return args
}

type hookCommand struct {
	Client string `arg:"" enum:"claude-code" help:"claude-code."`
	Event  string `arg:"" enum:"start,stop" help:"start or stop."`
}

// Run answers a client's hook: what a session starts with, what is kept of its end.
func (c *hookCommand) Run(a *app) error {
	ctx, cancel := context.WithTimeout(a.ctx, setup.HookLimit(c.Event))
	defer cancel()
	o, err := a.open()
	if err != nil {
		return err
	}
	project, err := o.scope.ProjectFor("", false)
	if err == nil {
		if c.Event == "start" {
			err = setup.ClaudeCodeStart(ctx, o.engine, project, a.stdin, a.stdout)
		} else {
			err = setup.ClaudeCodeStop(ctx, o.engine, project, a.stdin)
		}
	}
	if closing := o.close(); err == nil {
		err = closing
	}
	return err
}
