package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/magma-mcp/magma-mcp/tools"
)

// asMain makes this test binary the program itself, for tests that need a process.
const asMain = "MAGMA_TEST_AS_MAIN"

func TestMain(m *testing.M) {
	switch os.Getenv(asMain) {
	case "1":
		main()
	case "noisy": // something in the program prints where only the protocol may
		out := guardStdout()
		fmt.Println("noise of a library")
		os.Exit(run(context.Background(), os.Args[1:], os.Stdin, out, os.Stderr))
	}
	testscript.Main(m, map[string]func(){"magma-mcp": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../../testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("MAGMA_DATA_DIR", env.WorkDir+"/data")
			env.Setenv("MAGMA_ZONE", "UTC")
			env.Setenv("XDG_CONFIG_HOME", env.WorkDir+"/config")
			env.Setenv("OLLAMA_HOST", "127.0.0.1:1") // nothing is there
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// code N args...: magma-mcp args ends with exit code N.
			"code": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: code N args...")
				}
				got := 0
				var exit *exec.ExitError
				if err := ts.Exec("magma-mcp", args[1:]...); errors.As(err, &exit) {
					got = exit.ExitCode()
				} else if err != nil {
					got = -1
				}
				if strconv.Itoa(got) != args[0] {
					ts.Fatalf("exit code %d, want %s", got, args[0])
				}
			},
		},
	})
}

// Standard output holds JSON-RPC lines alone, whatever else prints.
func TestStdoutCarriesTheProtocolAlone(t *testing.T) {
	cmd := program(t, "--log-level", "debug")
	cmd.Env = append(cmd.Env, asMain+"=noisy")
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	var noise bytes.Buffer
	cmd.Stderr = &noise
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, noise.String())
	}
	if want := `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"; string(out) != want {
		t.Errorf("standard output holds %q", out)
	}
	if !strings.Contains(noise.String(), "noise of a library") {
		t.Error("the noise went nowhere")
	}
}

// Every argument of a tool is an argument of its command.
func TestCommandsMirrorTheTools(t *testing.T) {
	g := newGrammar()
	for _, tool := range tools.All() {
		typ := g.tools[tool.Name].values.Elem().Type()
		for _, p := range tool.Properties {
			if p.Name == "project" {
				continue
			}
			f, ok := typ.FieldByName("P" + p.Name)
			if !ok {
				t.Errorf("%s has no %s", tool.Name, p.Name)
				continue
			}
			if want := strings.ReplaceAll(p.Name, "_", "-"); f.Tag.Get("name") != want {
				t.Errorf("%s: --%s is called %s", tool.Name, want, f.Tag.Get("name"))
			}
		}
		if commandHelp[tool.Name] == "" || positional[tool.Name].property == "" {
			t.Errorf("%s has no help", tool.Name)
		}
	}
	if reflect.TypeFor[cli]().NumField() < 5 {
		t.Error("the grammar lost its commands")
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"plain text\twith\nlines":      "plain text\twith\nlines",
		"clear\x1b[2Jscreen":           "clear␛[2Jscreen",
		"back\rover":                   "back␍over",
		"csi\u009bm del\x7f":           "csi<U+009B>m del<U+007F>",
		"left\u202eright":              "left<U+202E>right",
		"日本 \U0001F600 café":           "日本 \U0001F600 café",
		"title\x1b]0;x\x07":            "title␛]0;x␇",
		"soft\u2028line \u2066isolate": "soft<U+2028>line <U+2066>isolate",
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestJSONHoldsNoControls(t *testing.T) {
	var out bytes.Buffer
	a := &app{ctx: context.Background(), stdout: &out, stderr: io.Discard}
	if err := a.printJSON(map[string]string{"a": "\x1b\u009b\x7f\u202e<b> é"}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"a\": \"\\u001b\\u009b\\u007f\\u202e<b> é\"\n}\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
