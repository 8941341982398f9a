package main

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/setup"
)

const repository = "../.."

func readText(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(repository, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// fence is a block of code, indented or between backticks: what looks like a link there is none.
	fence = regexp.MustCompile("(?ms)^```.*?^```|^    [^\n]*$")
)

// TestLinksLead looks for the file behind every relative link of the pages that people read.
func TestLinksLead(t *testing.T) {
	for _, page := range []string{"README.md", ".github/CONTRIBUTING.md", "testdata/README.md"} {
		text := fence.ReplaceAllString(readText(t, page), "")
		links := 0
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(repository, filepath.Dir(page), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: the link %s leads nowhere", page, m[1])
			}
		}
		if page == "README.md" && links < 5 {
			t.Errorf("%s: only %d links found; does this test still see them?", page, links)
		}
	}
}

// TestReadmeNamesEveryCommand holds the README to the command line there is, both ways.
func TestReadmeNamesEveryCommand(t *testing.T) {
	readme := readText(t, "README.md")
	grammar := newGrammar()
	parser, err := kong.New(&grammar.cli, append(grammar.options, kong.Name("magma-mcp"), kong.Writers(io.Discard, io.Discard))...)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"COMMAND": true, "CLIENT": true}
	for _, node := range parser.Model.Children {
		known[node.Name] = true
		if node.Hidden || node.Name == "stdio" { // what no command does
			continue
		}
		if !strings.Contains(readme, "`"+node.Name+"`") && !strings.Contains(readme, "magma-mcp "+node.Name) {
			t.Errorf("the README does not name the command %s", node.Name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)(?:^    |`+"`"+`)magma-mcp ([a-z]+)`).FindAllStringSubmatch(readme, -1) {
		if !known[m[1]] {
			t.Errorf("the README tells to run magma-mcp %s, which there is not", m[1])
		}
	}
	for _, id := range setup.Clients() {
		if !strings.Contains(readme, "`"+id+"`") {
			t.Errorf("the README does not name the client %s, which setup knows", id)
		}
	}
}

// TestReadmeNamesEveryDependency looks whether the README says of each module that ours imports what it is for,
// and of none that is not required.
func TestReadmeNamesEveryDependency(t *testing.T) {
	readme := readText(t, "README.md")
	_, section, ok := strings.Cut(readme, "## What it is built on\n")
	if !ok {
		t.Fatal("the README has no section on what the program is built on")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var named []string
	for _, m := range regexp.MustCompile("`([a-z0-9.-]+\\.[a-z]+/[^`\\s]+)`").FindAllStringSubmatch(section, -1) {
		named = append(named, m[1])
	}
	var direct []string
	for line := range strings.Lines(readText(t, "go.mod")) {
		f := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(f) < 2 || !strings.HasPrefix(f[1], "v") || !strings.Contains(f[0], ".") || strings.Contains(line, "// indirect") {
			continue
		}
		direct = append(direct, f[0])
		if !slices.Contains(named, f[0]) {
			t.Errorf("go.mod requires %s, and the README does not say what for", f[0])
		}
	}
	for _, n := range named {
		if len(direct) > 0 && !slices.Contains(direct, n) {
			t.Errorf("the README names %s, which no package of ours needs", n)
		}
	}
}

// TestTestDataIsDescribed looks whether each folder of test data is in the table that says what it holds.
func TestTestDataIsDescribed(t *testing.T) {
	table := readText(t, "testdata/README.md")
	entries, err := os.ReadDir(filepath.Join(repository, "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !strings.Contains(table, "| `"+e.Name()+"/` |") {
			t.Errorf("testdata/README.md does not say what testdata/%s holds", e.Name())
		}
	}
}

// TestReadmeNamesRealSettings: what the README calls a setting is one.
func TestReadmeNamesRealSettings(t *testing.T) {
	known := map[string]bool{}
	sections := map[string]bool{}
	for _, key := range keysOf(reflect.TypeFor[Config](), "") {
		known[key] = true
		if section, _, ok := strings.Cut(key, "."); ok {
			sections[section] = true
		}
	}
	named := 0
	for _, m := range regexp.MustCompile("`([a-z_]+)\\.([a-z_]+)`").FindAllStringSubmatch(readText(t, "README.md"), -1) {
		if !sections[m[1]] {
			continue
		}
		if named++; !known[m[1]+"."+m[2]] {
			t.Errorf("%s.%s is no setting", m[1], m[2])
		}
	}
	if named < 5 {
		t.Errorf("only %d settings are named", named)
	}
}
