package main

import (
	"fmt"
	"os"
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
	case c.Client == "":
		return a.print("Clients: " + strings.Join(setup.Clients(), ", "))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return fmt.Errorf("find the home folder: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	place := setup.Place{OS: runtime.GOOS, Home: home, Getenv: os.Getenv}
	server := setup.Server{Name: c.Name, Command: self, Args: a.flags.again()}
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
	o, err := a.open()
	if err != nil {
		return err
	}
	project, err := o.scope.ProjectFor("", false)
	if err == nil {
		if c.Event == "start" {
			err = setup.ClaudeCodeStart(a.ctx, o.engine, project, a.stdin, a.stdout)
		} else {
			err = setup.ClaudeCodeStop(a.ctx, o.engine, project, a.stdin)
		}
	}
	if closing := o.close(); err == nil {
		err = closing
	}
	return err
}
