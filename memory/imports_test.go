package memory_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/magma-mcp/magma-mcp/"

// arrows says which packages of ours each package may import, tests apart. Every arrow points to a row
// further down, so the table is also the order in which to read the program, from the bottom up.
var arrows = map[string][]string{
	// The program: wiring, settings, transports.
	"cmd/magma-mcp": {"cmd/magma-mcp/attach", "cmd/magma-mcp/front", "cmd/magma-mcp/httpd", "cmd/magma-mcp/setup", "tools", "resources", "prompts", "testdata/demo",
		"memory", "memory/consolidate", "memory/embed", "memory/embed/builtin", "memory/embed/ollama", "memory/eval", "memory/foreign", "memory/graph", "memory/query", "memory/secrets", "memory/store", "memory/temporal"},
	"cmd/magma-mcp/httpd":  {"cmd/magma-mcp/front", "tools", "memory"},
	"cmd/magma-mcp/front":  {"tools", "resources", "prompts", "memory"},
	"cmd/magma-mcp/attach": {"memory"},
	"cmd/magma-mcp/setup":  {"memory"},
	"testdata/demo":        {},

	// What an agent sees. The prompts read a question's kind as the query path does.
	"prompts":   {"tools", "memory", "memory/query"},
	"resources": {"tools", "memory"},
	"tools":     {"memory"},

	// Measuring, from outside the engine.
	"memory/eval": {"memory", "memory/query", "memory/graph"},

	// The engine: the verbs, and the one place that starts goroutines.
	"memory": {"memory/consolidate", "memory/query", "memory/index", "memory/store", "memory/extract", "memory/temporal", "memory/embed", "memory/embed/builtin",
		"memory/foreign", "memory/text", "memory/graph"},

	// Reading well; noticing later. Neither knows the other, and query never sees an embedder: a question
	// arrives with its vector.
	"memory/query":                       {"memory/index", "memory/extract", "memory/temporal", "memory/text", "memory/graph"},
	"memory/consolidate":                 {"memory/embed", "memory/embed/ollama", "memory/extract", "memory/text", "memory/graph"},
	"memory/consolidate/consolidatetest": {"memory/consolidate", "memory/embed", "memory/graph"},

	// What is found by words, times, names and vectors, and the bytes.
	"memory/index":           {"memory/store", "memory/text", "memory/graph"},
	"memory/store":           {"memory/graph"},
	"memory/store/storetest": {"memory/store", "memory/graph"},

	// Vectors, and what a text says by rule. These know nothing of a memory.
	"memory/embed/builtin":                            {"memory/embed", "memory/text"},
	"memory/embed/builtin/gen":                        {"memory/text"},
	"memory/embed":                                    {"memory/embed/ollama"},
	"memory/embed/ollama":                             {},
	"memory/embed/ollamatest":                         {"memory/embed/ollamatest/tinymodel"},
	"memory/embed/ollamatest/tinymodel":               {},
	"memory/embed/ollamatest/tinymodel/cmd/tinymodel": {"memory/embed/ollamatest/tinymodel"},
	"memory/extract":                                  {},
	"memory/temporal":                                 {},
	"memory/text":                                     {},
	"memory/foreign":                                  {},
	"memory/secrets":                                  {},

	// The vocabulary.
	"memory/graph": {},
}

// fences says where alone a library may be imported, tests apart: behind these folders it can be replaced
// without anybody noticing.
var fences = []struct{ library, within, why string }{
	{"github.com/cockroachdb/pebble", "memory/store", "another backend has to fit under store.KV"},
	{"github.com/mark3labs/mcp-go", "tools resources prompts cmd", "the engine knows no protocol"},
	{"github.com/ollama/ollama", "memory/embed/ollama memory/eval", "one place asks a model server, and eval for its answers and judges"},
	{"github.com/modelcontextprotocol/go-sdk", "", "a second client, for tests"},
}

// within reports whether pkg is one of the folders (separated by spaces) or below one.
func within(pkg, folders string) bool {
	for _, f := range strings.Fields(folders) {
		if pkg == f || strings.HasPrefix(pkg, f+"/") {
			return true
		}
	}
	return false
}

// imports reads what each package of the module imports outside its tests, whatever the platform of a file.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	root := ".." // the test runs in memory/
	found := map[string][]string{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(filepath.ToSlash(name), root+"/internal/lab") {
				return fs.SkipDir // somebody's trials, which git does not have
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); name != root && (err == nil || strings.HasPrefix(d.Name(), ".")) {
				return fs.SkipDir // a module of its own is no package of ours
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		pkg := path.Dir(filepath.ToSlash(rel))
		f, err := parser.ParseFile(files, name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		found[pkg] = append(found[pkg], "")
		for _, i := range f.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			found[pkg] = append(found[pkg], p)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg, list := range found {
		slices.Sort(list)
		found[pkg] = slices.Compact(list)
	}
	return found
}

func TestImportsPointDown(t *testing.T) {
	found := imports(t)
	if len(found) < 20 {
		t.Fatalf("found %d packages only; where are the others?", len(found))
	}
	for _, pkg := range slices.Sorted(maps.Keys(found)) {
		allowed, ok := arrows[pkg]
		if !ok {
			t.Errorf("package %s is not in the table of arrows: say there what it may import", pkg)
			continue
		}
		for _, to := range found[pkg] {
			if ours, ok := strings.CutPrefix(to, module); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s, which the table of arrows does not allow", pkg, ours)
			}
			for _, f := range fences {
				if (to == f.library || strings.HasPrefix(to, f.library+"/")) && !within(pkg, f.within) {
					t.Errorf("%s imports %s: that belongs within %q alone, since %s", pkg, to, f.within, f.why)
				}
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(arrows)) {
		if found[pkg] == nil {
			t.Errorf("the table of arrows has %s, which is no package", pkg)
		}
	}
}

// TestArrowsMakeNoCircle holds the table itself to its word: from no package does a way lead back to it.
func TestArrowsMakeNoCircle(t *testing.T) {
	done := map[string]bool{}
	var visit func(pkg string, way []string)
	visit = func(pkg string, way []string) {
		if slices.Contains(way, pkg) {
			t.Errorf("a circle: %s", strings.Join(append(way, pkg), " -> "))
			return
		}
		if done[pkg] {
			return
		}
		for _, to := range arrows[pkg] {
			if _, ok := arrows[to]; !ok {
				t.Errorf("%s may import %s, which the table does not have", pkg, to)
			}
			visit(to, append(slices.Clone(way), pkg))
		}
		done[pkg] = true
	}
	for _, pkg := range slices.Sorted(maps.Keys(arrows)) {
		visit(pkg, nil)
	}
}

// TestTourNamesFilesThatAreThere looks for each file that the tour in doc.go sends its reader to.
func TestTourNamesFilesThatAreThere(t *testing.T) {
	tour, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`[a-z][a-z_/]*\.go\b`).FindAllString(string(tour), -1)
	if len(named) < 20 {
		t.Errorf("the tour names %d files; does this test still see them?", len(named))
	}
	for _, f := range named {
		if _, err := os.Stat(filepath.FromSlash(f)); err != nil {
			t.Errorf("the tour sends its reader to %s, which is not there", f)
		}
	}
}
