package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// cli is the grammar of the command line but for the five tools, which newGrammar makes from their
// own properties: what a tool takes, its command takes.
type cli struct {
	settings

	Stdio    stdioCommand    `cmd:"" default:"1" help:"Serve MCP on standard input and output (what no command does)."`
	Serve    serveCommand    `cmd:"" help:"Serve MCP over HTTP: /mcp (streamable) and /sse."`
	Token    tokenCommand    `cmd:"" help:"Tokens for HTTP: add, list, revoke."`
	Timeline timelineCommand `cmd:"" help:"What happened, in order of time."`
	Topics   topicsCommand   `cmd:"" help:"What sessions have in common, with their episodes."`
	Stats    statsCommand    `cmd:"" help:"Counts, embedder and background work of the project."`
	Projects projectsCommand `cmd:"" help:"All projects of the store."`
	Rebuild  rebuildCommand  `cmd:"" help:"Make every derived row anew from the memories."`
	Reindex  reindexCommand  `cmd:"" help:"Wait until every memory has the vectors of the model in use, with a bar."`
	Check    checkCommand    `cmd:"" help:"Check the store: every row against the memories."`
	Export   exportCommand   `cmd:"" help:"Write the memories to a file of JSON lines that imports to the same bytes."`
	Import   importCommand   `cmd:"" help:"Take in an export, or what another program remembered: notes, conversations, knowledge graphs."`
	Backup   backupCommand   `cmd:"" help:"Copy the store into a dated folder while it is used, and check the copy."`
	Restore  restoreCommand  `cmd:"" help:"Put a backup in the place of the store, once it is checked."`
	Repair   repairCommand   `cmd:"" help:"Salvage a damaged store: keep what can be read, make the rest anew."`
	Encrypt  encryptCommand  `cmd:"" help:"Encrypt the store with a key in a file or the keyring, or give it another key."`
	Decrypt  decryptCommand  `cmd:"" help:"Write the store without encryption."`
	Key      keyCommand      `cmd:"" help:"Print the store's encryption key, for a copy in a safe place."`
	Setup    setupCommand    `cmd:"" help:"Write a client's settings, so that it starts the memory; --undo takes it back."`
	Doctor   doctorCommand   `cmd:"" help:"Check everything between a client and its memories; say what to do."`
	Eval     evalCommand     `cmd:"" help:"Measure what is found on conversations with questions; a table, JSON and a page with plots."`
	Hook     hookCommand     `cmd:"" hidden:"" help:"What clients' hooks run."`
	Demo     demoCommand     `cmd:"" help:"See it work: a real server, a real client, a conversation; leaves nothing behind."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

// command is what a subcommand of cli does.
type command interface{ Run(*app) error }

// grammar is the command line: cli and one command for each tool.
type grammar struct {
	cli     cli
	options []kong.Option
	tools   map[string]*toolCommand
}

// toolCommand is one tool on the command line. values is a pointer to a struct with a field for each
// property, Text or IDs for what stands without a flag, and JSON.
type toolCommand struct {
	tool   tools.Tool
	values reflect.Value
}

// positional says which property of a tool is given without a flag, and its help.
var positional = map[string]struct{ property, help string }{
	"remember": {"content", "The text to keep, in one argument or several; from standard input where left out or -."},
	"recall":   {"query", "The question."},
	"why":      {"query", "What to explain."},
	"when":     {"query", "What to date."},
	"forget":   {"ids", "Ids or refs to remove now."},
}

// commandHelp is one line for a person; a tool's own description speaks to a model.
var commandHelp = map[string]string{
	"remember": "Store one memory.",
	"recall":   "Find what is remembered about a question.",
	"why":      "The causes of something, with evidence.",
	"when":     "The time of something.",
	"forget":   "Remove memories: by ids at once, by a choice after a preview.",
}

func newGrammar() *grammar {
	g := &grammar{tools: map[string]*toolCommand{}}
	for _, t := range tools.All() {
		c := &toolCommand{tool: t, values: reflect.New(commandType(t))}
		g.tools[t.Name] = c
		g.options = append(g.options, kong.DynamicCommand(t.Name, commandHelp[t.Name], "", c.values.Interface()))
	}
	return g
}

// commandType is the struct that kong reads a tool's command from.
func commandType(t tools.Tool) reflect.Type {
	var fields []reflect.StructField
	add := func(name string, typ reflect.Type, tag string) {
		fields = append(fields, reflect.StructField{Name: "P" + name, Type: typ, Tag: reflect.StructTag(tag)})
	}
	text, texts, number, flag := reflect.TypeFor[string](), reflect.TypeFor[[]string](), reflect.TypeFor[int](), reflect.TypeFor[bool]()
	for _, p := range t.Properties {
		help := fmt.Sprintf(" help:%q", p.Description)
		switch {
		case p.Name == "project": // a flag of every command
		case p.Name == positional[t.Name].property:
			add(p.Name, texts, fmt.Sprintf(`arg:"" optional:"" name:%q help:%q`, p.Name, positional[t.Name].help))
		case p.Type == "array":
			add(p.Name, texts, fmt.Sprintf(`name:%q sep:"none" placeholder:"X"`, flagName(p.Name))+help)
		case p.Type == "integer":
			add(p.Name, number, fmt.Sprintf(`name:%q placeholder:"N"`, flagName(p.Name))+help)
		case p.Type == "boolean":
			add(p.Name, flag, fmt.Sprintf(`name:%q`, flagName(p.Name))+help)
		default:
			add(p.Name, text, fmt.Sprintf(`name:%q placeholder:"X"`, flagName(p.Name))+help)
		}
	}
	add("json", flag, `name:"json" help:"Print the structured answer for programs."`)
	return reflect.StructOf(fields)
}

func flagName(property string) string { return strings.ReplaceAll(property, "_", "-") }

// run runs the command that was parsed.
func (g *grammar) run(parsed *kong.Context, a *app) error {
	node := parsed.Selected()
	if c := g.tools[node.Name]; c != nil {
		return c.run(a)
	}
	c, ok := node.Target.Addr().Interface().(command)
	if !ok {
		return fmt.Errorf("%s is not a command of its own", node.Name)
	}
	return c.Run(a)
}

// run calls the tool as a client would, and prints its answer.
func (c *toolCommand) run(a *app) error {
	args := map[string]any{}
	for _, p := range c.tool.Properties {
		field := c.values.Elem().FieldByName("P" + p.Name)
		if !field.IsValid() || field.IsZero() {
			continue
		}
		args[p.Name] = field.Interface()
	}
	place := positional[c.tool.Name].property
	if place != "ids" {
		words, _ := args[place].([]string)
		delete(args, place)
		if len(words) > 0 {
			args[place] = strings.Join(words, " ")
		}
		if place == "content" && (len(words) == 0 || slices.Equal(words, []string{"-"})) {
			content, err := a.readContent()
			if err != nil {
				return err
			}
			args[place] = content
		}
	}
	raw, err := marshalArguments(args)
	if err != nil {
		return err
	}
	store, err := a.open()
	if err != nil {
		return err
	}
	text, structured, err := c.tool.Call(a.ctx, store.engine, store.scope, raw)
	if err == nil {
		if c.values.Elem().FieldByName("Pjson").Bool() {
			err = a.printJSON(structured)
		} else {
			err = a.print(text)
		}
	} else {
		err = a.fault(c.tool.Name, err)
	}
	return errors.Join(err, store.close())
}

// fault is err as one line for a person, with the code it had.
func (a *app) fault(doing string, err error) error {
	return memory.Errorf(memory.CodeOf(err), "%s", tools.FaultLine(a.log, doing, err))
}

// marshalArguments is args as JSON. Text that is no UTF-8 is refused, where json.Marshal would put
// replacement characters.
func marshalArguments(args map[string]any) (json.RawMessage, error) {
	for name, v := range args {
		texts, _ := v.([]string)
		if s, ok := v.(string); ok {
			texts = []string{s}
		}
		for _, s := range texts {
			if !utf8.ValidString(s) {
				return nil, usageError{fmt.Errorf("%s: not valid UTF-8; convert the text first, with iconv say", name)}
			}
		}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, fmt.Errorf("read the arguments: %w", err)
	}
	return raw, nil
}

// readContent reads a memory from standard input: byte for byte, but for the one newline that a shell
// puts at the end.
func (a *app) readContent() (string, error) {
	if f, ok := a.stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return "", usageError{errors.New("remember: content is missing; give the text, or pipe it in")}
	}
	limit := int64(a.config.Store.MaxContentKB)<<10 + 2
	raw, err := io.ReadAll(io.LimitReader(a.stdin, limit))
	if err != nil {
		return "", fmt.Errorf("read the text from standard input: %w", err)
	}
	raw = bytes.TrimSuffix(raw, []byte("\n"))
	return string(raw), nil
}
