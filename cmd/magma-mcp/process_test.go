package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// session starts a stdio server, greets it and stores one memory.
func session(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out *bufio.Reader, log *bytes.Buffer) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log = &bytes.Buffer{}
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // ended already, unless the test failed
	out = bufio.NewReader(stdout)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"process-test","version":"1"}}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remember","arguments":{"content":"The boat is green."}}}`)
	for range 2 {
		line, err := out.ReadString('\n')
		if err != nil || !strings.Contains(line, `"result"`) {
			t.Fatalf("%v: %s\n%s", err, line, log.String())
		}
	}
	return in, out, log
}

// A client that is gone, by any way, ends the server within two seconds, and the store is in order.
func TestServerEndsWithItsClient(t *testing.T) {
	for name, end := range map[string]struct {
		by   func(*exec.Cmd, io.WriteCloser) error
		code int
	}{
		"stdin closed": {func(_ *exec.Cmd, in io.WriteCloser) error { return in.Close() }, exitOK},
		"SIGTERM":      {func(cmd *exec.Cmd, _ io.WriteCloser) error { return cmd.Process.Signal(syscall.SIGTERM) }, exitOK},
		"SIGINT":       {func(cmd *exec.Cmd, _ io.WriteCloser) error { return cmd.Process.Signal(os.Interrupt) }, exitOK},
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && name != "stdin closed" {
				t.Skip("Windows has no such signals")
			}
			cmd := program(t)
			in, _, log := session(t, cmd)
			began := time.Now()
			if err := end.by(cmd, in); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if d := time.Since(began); d > 2*time.Second {
				t.Errorf("took %v", d)
			}
			if code := cmd.ProcessState.ExitCode(); code != end.code {
				t.Errorf("exit code %d, want %d:\n%s", code, end.code, log.String())
			}
			wellKept(t, cmd)
		})
	}
}

// A client that closed its end of standard output is noticed at the next answer, and not by a signal
// that kills the process with the store open.
func TestServerEndsWhenNobodyReads(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a closed pipe shows differently")
	}
	cmd := program(t)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	read.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remember","arguments":{"content":"The boat is green."}}}`)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != exitFault {
		t.Errorf("exit code %d", code)
	}
	wellKept(t, cmd)
}

// wellKept checks that the store of an ended server holds the one memory and nothing is wrong with it.
func wellKept(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	again := exec.Command(cmd.Path, append(cmd.Args[1:len(cmd.Args):len(cmd.Args)], "check")...)
	again.Env = cmd.Env
	out, err := again.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "1 memory") {
		t.Errorf("check: %v\n%s", err, out)
	}
}

// Initialize does not wait for the store: it is answered while the store cannot even be opened.
func TestInitializeDoesNotWaitForTheStore(t *testing.T) {
	cmd := program(t)
	dir := cmd.Args[2]
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// A store of a newer format, or any file in the way, keeps it shut.
	if err := os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("not a store\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remember","arguments":{"content":"x"}}}
`)
	var log bytes.Buffer
	cmd.Stderr = &log
	began := time.Now()
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%v\n%s", err, log.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"serverInfo"`) || !strings.Contains(lines[1], `"isError":true`) {
		t.Errorf("got %s\n%s", out, log.String())
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}
