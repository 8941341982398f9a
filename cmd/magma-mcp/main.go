// Command magma-mcp is a local-first memory for agents: an MCP server on stdio and HTTP, and the same
// verbs on the command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/magma-mcp/magma-mcp/memory"
)

// Exit codes.
const (
	exitOK    = 0
	exitFault = 1 // the work could not be done
	exitUsage = 2 // the command line or the configuration makes no sense
)

// version is set by the release build (-ldflags "-X main.version=v1.2.3"); otherwise the build says.
var version = ""

func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(len(s.Value), 12)]
		}
	}
	return "devel"
}

func main() {
	collectEarly()
	out := guardStdout()
	// A client that is gone shows as a failed write, after which the store is closed in order; the
	// signal would end the process on the spot.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdin, out, os.Stderr)
	stop()
	os.Exit(code)
}

// guardStdout returns standard output, which carries the protocol and answers alone: whatever else
// prints there, a library say, goes to standard error from now on.
func guardStdout() *os.File {
	out := os.Stdout
	os.Stdout = os.Stderr
	return out
}

// app is what every command works with.
type app struct {
	ctx    context.Context
	config Config
	flags  settings // as given; setup hands them on to clients
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	log    *slog.Logger
	// wholesale is set by a command that moves the whole store: work in the background waits for the next server.
	wholesale bool
}

// usageError is a fault of the command line: exitUsage.
type usageError struct{ error }

// run does what args say and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	grammar := newGrammar()
	type exited int
	parser, err := kong.New(&grammar.cli, append(grammar.options,
		kong.Name("magma-mcp"),
		kong.Description("A local-first memory for agents. Without a command it serves MCP on standard input and output."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(code int) { panic(exited(code)) }), // after --help
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	)...)
	if err != nil {
		panic("magma-mcp: the command grammar is broken: " + err.Error())
	}
	defer func() {
		if p := recover(); p != nil {
			e, ok := p.(exited)
			if !ok {
				panic(p)
			}
			code = int(e)
		}
	}()
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "magma-mcp: %v\nTry: magma-mcp --help\n", err)
		return exitUsage
	}
	config, err := load(grammar.cli.settings, os.Getenv)
	if err != nil {
		fmt.Fprintf(stderr, "magma-mcp: %v\n", err)
		return exitUsage
	}
	level := config.LogLevel
	if level == "info" && !serves[parsed.Selected().Name] {
		level = "warn" // a command of a moment says what it was asked for, and what went wrong
	}
	a := &app{ctx: ctx, config: config, flags: grammar.cli.settings, stdin: stdin, stdout: stdout, stderr: stderr, log: newLog(stderr, level)}
	if err = grammar.run(parsed, a); err == nil {
		return exitOK
	}
	fmt.Fprintf(stderr, "magma-mcp: %s\n", plain(err.Error()))
	var usage usageError
	if errors.As(err, &usage) || memory.CodeOf(err) == memory.CodeInvalid {
		return exitUsage
	}
	return exitFault
}

// serves are the commands that run for long and log what they do.
var serves = map[string]bool{"stdio": true, "serve": true}

func newLog(w io.Writer, level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil { // load let only known ones through
		l = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l}))
}
