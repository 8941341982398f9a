package setup

import (
	"fmt"
	"slices"
	"strings"
)

// Place is where a client's settings are looked for.
type Place struct {
	OS     string // as runtime.GOOS: "linux", "darwin" or "windows"
	Home   string
	Getenv func(string) string
}

// Server is how a client starts the memory.
type Server struct {
	Name    string // the key in the client's settings
	Command string // absolute path of the program
	Args    []string
	Env     map[string]string
}

// Choice is what to set up beside the server itself.
type Choice struct {
	Rule  bool // the rule in the client's instruction file
	Hooks bool // the client's hooks, where it has any
}

// File is one file of a client and what becomes of it.
type File struct {
	Path string
	What string // "server", "rule" or "hooks"
	// Edit returns the file with our part in it, given what it holds now (nil: it is not there).
	Edit func(now []byte) ([]byte, error)
	// Remove returns it without our part.
	Remove func(now []byte) ([]byte, error)
}

// client is one row of the table.
type client struct {
	id, name string
	path     func(Place) string
	edit     func(s Server) editor
	rule     func(Place) string // path of the instruction file, nil where there is none for a user
	ruleHead string             // what a new instruction file begins with
	hooks    func(Place) string // path of the settings with hooks
	note     string             // what to do afterwards
}

// editor puts an entry into one format of settings and takes it out.
type editor struct {
	set, remove func(now []byte) ([]byte, error)
	snippet     string // the entry alone, for --print
}

var clients = []client{
	{
		id: "claude-desktop", name: "Claude Desktop",
		path: func(p Place) string { return p.config("Claude", "claude_desktop_config.json") },
		edit: jsonServer("mcpServers", plainEntry),
		note: "Quit Claude Desktop and start it again. For the rule, paste `magma-mcp setup claude-desktop --print-rule` into Settings, Profile, personal preferences.",
	},
	{
		id: "claude-code", name: "Claude Code",
		path:  func(p Place) string { return p.home(".claude.json") },
		edit:  jsonServer("mcpServers", typedEntry),
		rule:  func(p Place) string { return p.claude("CLAUDE.md") },
		hooks: func(p Place) string { return p.claude("settings.json") },
		note:  "Start a new session; /mcp lists the server, /hooks the hooks.",
	},
	{
		id: "cursor", name: "Cursor",
		path: func(p Place) string { return p.home(".cursor", "mcp.json") },
		edit: jsonServer("mcpServers", plainEntry),
		note: "Turn the server on in Settings, MCP. For the rule, paste `magma-mcp setup cursor --print-rule` into Settings, Rules, user rules, or into AGENTS.md of a project.",
	},
	{
		id: "vscode", name: "VS Code",
		path:     func(p Place) string { return p.config("Code", "User", "mcp.json") },
		edit:     jsonServer("servers", typedEntry),
		rule:     func(p Place) string { return p.config("Code", "User", "prompts", "magma-memory.instructions.md") },
		ruleHead: "---\napplyTo: '**'\n---\n",
		note:     "VS Code asks once whether to trust the server; MCP: List Servers starts it.",
	},
	{
		id: "windsurf", name: "Windsurf",
		path: func(p Place) string { return p.home(".codeium", "windsurf", "mcp_config.json") },
		edit: jsonServer("mcpServers", plainEntry),
		rule: func(p Place) string { return p.home(".codeium", "windsurf", "memories", "global_rules.md") },
		note: "Refresh the list of MCP servers in Cascade.",
	},
	{
		id: "zed", name: "Zed",
		path: func(p Place) string {
			if p.OS == "windows" {
				return p.config("Zed", "settings.json")
			}
			return p.xdg("zed", "settings.json")
		},
		edit: jsonServer("context_servers", zedEntry),
		note: "Zed picks the server up at once. For the rule, paste `magma-mcp setup zed --print-rule` into the rules library, or into .rules of a project.",
	},
	{
		id: "codex", name: "Codex CLI",
		path: func(p Place) string { return p.codex("config.toml") },
		edit: tomlServer,
		rule: func(p Place) string { return p.codex("AGENTS.md") },
		note: "Start a new session; /mcp lists the server.",
	},
	{
		id: "gemini", name: "Gemini CLI",
		path: func(p Place) string { return p.home(".gemini", "settings.json") },
		edit: jsonServer("mcpServers", plainEntry),
		rule: func(p Place) string { return p.home(".gemini", "GEMINI.md") },
		note: "Start a new session; /mcp lists the server.",
	},
}

// Clients are the ids that Plan knows, sorted.
func Clients() []string {
	var ids []string
	for _, c := range clients {
		ids = append(ids, c.id)
	}
	slices.Sort(ids)
	return ids
}

// Plan is what a client's set-up consists of: the files to edit, in order, and what is left for the user
// to do. It reads nothing.
func Plan(id string, p Place, s Server, ch Choice) (files []File, note string, err error) {
	c, err := find(id)
	if err != nil {
		return nil, "", err
	}
	e := c.edit(s)
	files = append(files, File{Path: c.path(p), What: "server", Edit: e.set, Remove: e.remove})
	if ch.Rule && c.rule != nil {
		files = append(files, File{Path: c.rule(p), What: "rule",
			Edit:   func(now []byte) ([]byte, error) { return setRule(now, c.ruleHead), nil },
			Remove: func(now []byte) ([]byte, error) { return removeRule(now, c.ruleHead), nil }})
	}
	if ch.Hooks && c.hooks != nil {
		files = append(files, File{Path: c.hooks(p), What: "hooks",
			Edit:   func(now []byte) ([]byte, error) { return setHooks(now, s, p.OS) },
			Remove: func(now []byte) ([]byte, error) { return removeHooks(now) }})
	}
	return files, c.note, nil
}

// Snippet is the entry alone, to be pasted by hand, and the path of the file that it belongs into.
func Snippet(id string, p Place, s Server) (path, text string, err error) {
	c, err := find(id)
	if err != nil {
		return "", "", err
	}
	return c.path(p), c.edit(s).snippet, nil
}

func find(id string) (client, error) {
	want := strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(id))
	for _, c := range clients {
		same := func(s string) bool {
			return strings.NewReplacer(" ", "", "-", "").Replace(strings.ToLower(s)) == want
		}
		if same(c.id) || same(c.name) || same(strings.TrimSuffix(c.name, " CLI")) {
			return c, nil
		}
	}
	return client{}, fmt.Errorf("no client %q: there are %s", id, strings.Join(Clients(), ", "))
}

// join joins with the separator of the place's system, not of this one.
func (p Place) join(parts ...string) string {
	sep := "/"
	if p.OS == "windows" {
		sep = `\`
	}
	out := strings.TrimRight(parts[0], `/\`)
	for _, s := range parts[1:] {
		out += sep + s
	}
	return out
}

func (p Place) home(parts ...string) string { return p.join(append([]string{p.Home}, parts...)...) }

// env is the variable's value, or def where it is not set.
func (p Place) env(name string, def string) string {
	if p.Getenv != nil {
		if v := p.Getenv(name); v != "" {
			return v
		}
	}
	return def
}

// xdg is below the XDG configuration folder, on macOS too, where Zed uses it.
func (p Place) xdg(parts ...string) string {
	return p.join(append([]string{p.env("XDG_CONFIG_HOME", p.home(".config"))}, parts...)...)
}

// config is below the folder where applications of the system keep their settings.
func (p Place) config(parts ...string) string {
	switch p.OS {
	case "darwin":
		return p.home(append([]string{"Library", "Application Support"}, parts...)...)
	case "windows":
		return p.join(append([]string{p.env("APPDATA", p.home("AppData", "Roaming"))}, parts...)...)
	}
	return p.xdg(parts...)
}

func (p Place) claude(file string) string {
	return p.join(p.env("CLAUDE_CONFIG_DIR", p.home(".claude")), file)
}

func (p Place) codex(file string) string { return p.join(p.env("CODEX_HOME", p.home(".codex")), file) }

// What the clients want to find under the server's name, in the order in which it is written.

func plainEntry(s Server) []member { return entry(s) }

func typedEntry(s Server) []member {
	return append([]member{{"type", "stdio"}}, entry(s)...)
}

func zedEntry(s Server) []member {
	return append([]member{{"source", "custom"}}, entry(s)...)
}

func entry(s Server) []member {
	args := s.Args
	if args == nil {
		args = []string{}
	}
	m := []member{{"command", s.Command}, {"args", args}}
	if len(s.Env) > 0 {
		m = append(m, member{"env", s.Env})
	}
	return m
}
