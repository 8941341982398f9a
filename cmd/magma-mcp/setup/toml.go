package setup

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

const tomlList = "mcp_servers"

// tomlServer edits the settings of Codex: the server is a table mcp_servers.NAME.
func tomlServer(s Server) editor {
	block := tomlBlock(s)
	return editor{
		set: func(now []byte) ([]byte, error) {
			if there := tomlTable(now, s.Name); there != nil && reflect.DeepEqual(there, tomlTable([]byte(block), s.Name)) {
				return now, nil
			}
			return editTOML(now, s.Name, func(rest []byte) []byte {
				out := bytes.TrimRight(rest, " \t\r\n")
				if len(out) > 0 {
					out = append(out, "\n\n"...)
				}
				return append(out, block...)
			})
		},
		remove: func(now []byte) ([]byte, error) {
			if tomlTable(now, s.Name) == nil {
				return now, nil
			}
			return editTOML(now, s.Name, func(rest []byte) []byte {
				if out := bytes.TrimRight(rest, " \t\r\n"); len(out) > 0 {
					return append(out, '\n')
				}
				return nil
			})
		},
		snippet: block,
	}
}

// tomlTable is what the server's table means, nil where there is none or the file cannot be read.
func tomlTable(text []byte, name string) any {
	var m map[string]any
	if toml.Unmarshal(bytes.TrimPrefix(text, bom), &m) != nil {
		return nil
	}
	servers, _ := m[tomlList].(map[string]any)
	return servers[name]
}

// tomlBlock is the table, written by hand so that it reads like the rest of such a file.
func tomlBlock(s Server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[%s.%s]\ncommand = %s\nargs = [", tomlList, tomlKey(s.Name), tomlString(s.Command))
	for i, a := range s.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(tomlString(a))
	}
	b.WriteString("]\n")
	if len(s.Env) > 0 {
		fmt.Fprintf(&b, "\n[%s.%s.env]\n", tomlList, tomlKey(s.Name))
		for _, k := range sortedKeys(s.Env) {
			fmt.Fprintf(&b, "%s = %s\n", tomlKey(k), tomlString(s.Env[k]))
		}
	}
	return b.String()
}

func tomlKey(k string) string {
	if k != "" && strings.Trim(k, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == "" {
		return k
	}
	return tomlString(k)
}

// tomlString is a basic string; Windows paths read better as a literal one.
func tomlString(s string) string {
	if strings.Contains(s, `\`) && !strings.ContainsAny(s, "'\n\r\t") {
		return "'" + s + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// editTOML takes the server's tables out of now, lets put add what it likes at the end, and checks that
// nothing else has changed in meaning.
func editTOML(now []byte, name string, put func(rest []byte) []byte) ([]byte, error) {
	text, marked := bytes.CutPrefix(now, bom)
	crlf := bytes.Contains(text, []byte("\r\n"))
	plain := bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	before, err := readTOML(plain, name)
	if err != nil {
		return nil, fmt.Errorf("it is not valid TOML: %w; mend it first", err)
	}
	rest, err := cutTable(plain, name)
	if err != nil {
		return nil, err
	}
	out := put(rest)
	after, err := readTOML(out, name)
	if err != nil {
		return nil, fmt.Errorf("the edited file would not be valid TOML: %w; nothing was written", err)
	}
	if !reflect.DeepEqual(before, after) {
		return nil, fmt.Errorf("%s.%s is written in a way that cannot be changed without touching the rest: remove it by hand first", tomlList, name)
	}
	if crlf {
		out = bytes.ReplaceAll(out, []byte("\n"), []byte("\r\n"))
	}
	if marked {
		out = append(slices.Clone(bom), out...)
	}
	return out, nil
}

// readTOML is what the file means, without the server.
func readTOML(text []byte, name string) (map[string]any, error) {
	m := map[string]any{}
	if err := toml.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	if servers, ok := m[tomlList].(map[string]any); ok {
		delete(servers, name)
		if len(servers) == 0 {
			delete(m, tomlList)
		}
	}
	return m, nil
}

// cutTable removes the tables mcp_servers.NAME and below, with the comments that directly precede each.
func cutTable(text []byte, name string) ([]byte, error) {
	type table struct {
		start int
		ours  bool
	}
	var tables []table
	p := unstable.Parser{}
	p.Reset(text)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var key []string
		offset := -1
		for it := e.Key(); it.Next(); {
			n := it.Node()
			if offset < 0 {
				offset = int(n.Raw.Offset)
			}
			key = append(key, string(n.Data))
		}
		if offset < 0 {
			return nil, errors.New("a table without a name")
		}
		start := bytes.LastIndexByte(text[:offset], '\n') + 1
		tables = append(tables, table{start, len(key) >= 2 && key[0] == tomlList && key[1] == name})
	}
	if err := p.Error(); err != nil {
		return nil, err
	}
	var out []byte
	from := 0
	for i, t := range tables {
		if !t.ours {
			continue
		}
		end := len(text)
		if i+1 < len(tables) {
			end = tables[i+1].start
			// A comment just above the next table belongs to that one.
			for {
				line := bytes.LastIndexByte(text[:max(end-1, 0)], '\n') + 1
				if line <= t.start || line >= end || !bytes.HasPrefix(bytes.TrimSpace(text[line:end]), []byte("#")) {
					break
				}
				end = line
			}
		}
		out = append(out, text[from:t.start]...)
		from = end
	}
	return append(out, text[from:]...), nil
}
