package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adrg/xdg"
	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/query"
)

const example = "../../config.example.toml"

func TestExampleIsTheDefault(t *testing.T) {
	raw, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	var c Config
	if err := decode(raw, &c); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), c); diff != "" {
		t.Errorf("config.example.toml and Default differ (-Default +file):\n%s", diff)
	}
	if err := c.check(); err != nil {
		t.Error(err)
	}
	// Every key is there with a comment, and every comment block says where its values come from.
	text := strings.ReplaceAll(string(raw), "\r\n", "\n")
	for _, key := range keysOf(reflect.TypeFor[Config](), "") {
		_, name, _ := strings.Cut("."+key, ".")
		name = name[strings.LastIndexByte(name, '.')+1:]
		if !strings.Contains(text, "\n"+name+" = ") && !strings.Contains(text, "\n["+key+"]") {
			t.Errorf("%s is not documented", key)
		}
	}
	for _, block := range strings.Split(text, "\n\n")[1:] {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if strings.HasPrefix(lines[0], "[") {
			lines = lines[1:]
		}
		if len(lines) > 0 && (!strings.HasPrefix(lines[0], "#") || !strings.Contains(strings.ReplaceAll(block, "\n# ", " "), "Source:")) {
			t.Errorf("no comment with a Source:\n%s", block)
		}
	}
}

// keysOf lists the dotted keys of a configuration struct.
func keysOf(typ reflect.Type, prefix string) []string {
	var keys []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		key := prefix + f.Tag.Get("toml")
		if f.Type.Kind() == reflect.Struct && f.Tag.Get("toml") != "" {
			keys = append(keys, keysOf(f.Type, key+".")...)
			continue
		}
		keys = append(keys, key)
	}
	return keys
}

func TestConfigIsReadStrictly(t *testing.T) {
	for file, want := range map[string]string{
		"[store]\ncach_mb = 3\n":                           "unknown key store.cach_mb",
		"colour = true\n[http]\nport = 1\n":                "unknown key colour, http.port",
		"[store]\ncache_mb = \"much\"\n":                   "line 2",
		"[store\n":                                         "line 1",
		"[query]\nembed_deadline = \"fast\"\n":             "invalid duration",
		"log_level = \"loud\"\n":                           `log_level: "loud" came; allowed are debug, info, warn, error`,
		"[time]\nzone = \"Mars/Olympus\"\n":                `time.zone: "Mars/Olympus" is no IANA time zone`,
		"[store]\nmax_content_kb = 0\n":                    "store.max_content_kb: 0 came",
		"[store]\nmax_content_kb = 100000\n":               "store.max_content_kb: 100000 came; at most 8192",
		"[query.tuning]\nwobble = 1\n":                     "query.tuning.wobble: no such value; there are anchors,",
		"[query.tuning]\nbeam = 1.5\n":                     "query.tuning.beam: 1.5 came; a whole number is allowed",
		"[secrets]\npolicy = \"eat\"\n":                    "secrets.policy",
		"[time]\nweek_start = \"friday\"\n":                "time.week_start",
		"[embedding]\nprovider = \"cloud\"\nbatch = 0\n":   "embedding.batch: 0 came",
		"[embedding.prefixes.x]\nquery = \"q\"\nqwe = 1\n": "unknown key embedding.prefixes.x.qwe",
	} {
		path := filepath.Join(t.TempDir(), "c.toml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := load(settings{Config: path}, func(string) string { return "" })
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", file, err, want)
		}
	}
}

func TestConfigPrecedence(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "mémoire config.toml")
	file := "\xef\xbb\xbfproject = \"from-file\"\r\nlog_level = \"warn\"\r\n[store]\r\ndata_dir = 'file'\r\n[time]\r\nzone = \"Asia/Kolkata\"\r\n[embedding]\r\nhost = \"file:1\"\r\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"MAGMA_CONFIG": path}
	get := func(flags settings) Config {
		t.Helper()
		c, err := load(flags, func(k string) string { return env[k] })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	here, _ := filepath.Abs("file")
	if c := get(settings{}); c.Project != "from-file" || c.Store.DataDir != here || c.LogLevel != "warn" || c.Embedding.Host != "file:1" {
		t.Errorf("file: %+v", c)
	}
	env["MAGMA_PROJECT"], env["MAGMA_DATA_DIR"], env["OLLAMA_HOST"], env["MAGMA_ZONE"], env["MAGMA_LOG_LEVEL"] = "from-env", dir, "env:2", "UTC", "error"
	if c := get(settings{}); c.Project != "from-env" || c.Store.DataDir != dir || c.Embedding.Host != "env:2" || c.Time.Zone != "UTC" || c.LogLevel != "error" {
		t.Errorf("environment: %+v", c)
	}
	other := filepath.Join(dir, "other")
	if c := get(settings{Project: "flag", DataDir: other, Zone: "Europe/Berlin", LogLevel: "debug"}); c.Project != "flag" || c.Store.DataDir != other || c.Time.Zone != "Europe/Berlin" || c.LogLevel != "debug" {
		t.Errorf("flags: %+v", c)
	}
	if _, err := load(settings{Config: filepath.Join(dir, "absent.toml")}, func(string) string { return "" }); err == nil {
		t.Error("a named file that is not there passed")
	}
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("XDG_DATA_HOME", dir)
	xdg.Reload()
	t.Cleanup(xdg.Reload)
	c, err := load(settings{}, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(xdg.DataHome, "magma-mcp"); c.Store.DataDir != want || !filepath.IsAbs(want) {
		t.Errorf("data dir %s, want %s", c.Store.DataDir, want)
	}
}

func TestAutoProject(t *testing.T) {
	data := t.TempDir()
	repo := func(parts ...string) string {
		t.Helper()
		dir := filepath.Join(append([]string{t.TempDir()}, parts...)...)
		if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	one, two := repo("work", "API"), repo("other", "api")
	inside := filepath.Join(one, "cmd", "deep")
	if err := os.MkdirAll(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	name := func(dir string) string {
		t.Helper()
		n, err := autoProject(data, dir)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := name(inside); n != "api" {
		t.Errorf("got %q", n)
	}
	second := name(two)
	if second == "api" || !strings.HasPrefix(second, "api-") {
		t.Errorf("two repositories of one name: %q", second)
	}
	if name(one) != "api" || name(two) != second {
		t.Error("the names do not last")
	}
	var wg sync.WaitGroup
	names := make([]string, 8)
	for i := range names {
		dir := repo("at-once")
		wg.Go(func() { names[i], _ = autoProject(data, dir) })
	}
	wg.Wait()
	slices.Sort(names)
	if len(slices.Compact(names)) != 8 || names[0] == "" {
		t.Errorf("eight repositories at once: %v", names)
	}
	if n := name(t.TempDir()); n == "" || n == "api" {
		t.Errorf("outside a repository: %q", n)
	}
}

func TestTuned(t *testing.T) {
	got, err := tuned(map[string]float64{"max_nodes": 7, "walk": 0.5, "no_walk": 1, "k1": 2, "weight_why_causal": 0.25})
	if err != nil {
		t.Fatal(err)
	}
	want := query.Default()
	want.MaxNodes, want.Walk, want.NoWalk, want.K1 = 7, 0.5, true, 2
	want.Weights[query.Why][graph.Causal] = 0.25
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
