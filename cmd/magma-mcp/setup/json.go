package setup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// member is one member of an object that is written in a given order.
type member struct {
	key   string
	value any
}

var bom = []byte("\xef\xbb\xbf")

// jsonServer edits settings in JSON, with comments and trailing commas where the client allows them: the
// server is a member of the object called list.
func jsonServer(list string, entry func(Server) []member) func(Server) editor {
	return func(s Server) editor {
		return editor{
			set: func(now []byte) ([]byte, error) {
				return editJSON(now, func(d *document) error { return d.set([]string{list, s.Name}, entry(s)) })
			},
			remove: func(now []byte) ([]byte, error) {
				return editJSON(now, func(d *document) error { return d.remove([]string{list, s.Name}) })
			},
			snippet: string(render([]member{{list, []member{{s.Name, entry(s)}}}}, "  ", "\n", 0)) + "\n",
		}
	}
}

// document is a JSON file whose bytes stay as they are but for what is set and removed.
type document struct {
	root    hujson.Value
	indent  string
	newline string
}

// editJSON parses now (nil or empty: an empty object), lets do change it, and prints it.
func editJSON(now []byte, do func(*document) error) ([]byte, error) {
	text, marked := bytes.CutPrefix(now, bom)
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("it is not valid JSON: %w; mend it first", err)
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, errors.New("it does not hold a JSON object; mend it first")
	}
	d := &document{root: root, indent: indentOf(text), newline: "\n"}
	if bytes.Contains(text, []byte("\r\n")) {
		d.newline = "\r\n"
	}
	if err := do(d); err != nil {
		return nil, err
	}
	out := d.root.Pack()
	if _, err := hujson.Parse(out); err != nil {
		return nil, fmt.Errorf("the edited file would not be valid JSON: %w; nothing was written", err)
	}
	if marked {
		out = append(slices.Clone(bom), out...)
	}
	return out, nil
}

// indentOf is what the first indented line begins with, two spaces where there is none.
func indentOf(text []byte) string {
	for line := range strings.SplitSeq(string(text), "\n") {
		rest := strings.TrimLeft(line, " \t")
		if len(rest) < len(line) && strings.HasPrefix(rest, `"`) {
			return line[:len(line)-len(rest)]
		}
	}
	return "  "
}

// set makes the value at path, objects on the way included.
func (d *document) set(path []string, value any) error {
	obj := d.root.Value.(*hujson.Object)
	for depth, key := range path {
		last := depth == len(path)-1
		i := index(obj, key)
		if i < 0 {
			v := value
			for _, k := range slices.Backward(path[depth+1:]) {
				v = []member{{k, v}}
			}
			return d.append(obj, depth, key, v)
		}
		at := &obj.Members[i].Value
		if last {
			v, err := hujson.Parse(render(value, d.indent, d.newline, depth+1))
			if err != nil {
				return fmt.Errorf("write %s: %w", key, err)
			}
			if !same(at.Value, v.Value) { // as it is, it may be laid out otherwise
				at.Value = v.Value
			}
			return nil
		}
		next, ok := at.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("%q in it is not an object; mend it first", strings.Join(path[:depth+1], "."))
		}
		obj = next
	}
	return nil
}

// append adds a member after the last one.
func (d *document) append(obj *hujson.Object, depth int, key string, value any) error {
	v, err := hujson.Parse(render(value, d.indent, d.newline, depth+1))
	if err != nil {
		return fmt.Errorf("write %s: %w", key, err)
	}
	pad := d.newline + strings.Repeat(d.indent, depth+1)
	m := hujson.ObjectMember{Name: hujson.Value{BeforeExtra: hujson.Extra(pad), Value: hujson.String(key)}, Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: v.Value}}
	if n := len(obj.Members); n > 0 {
		prev := &obj.Members[n-1]
		if prev.Value.AfterExtra != nil {
			// A trailing comma stood after the last member; it stands after the new one now.
			m.Value.AfterExtra, prev.Value.AfterExtra = hujson.Extra(""), nil
		}
		// What followed the last member on its own line (a comment) stays there.
		if rest := string(obj.AfterExtra); strings.TrimSpace(rest) != "" {
			cut := strings.LastIndex(strings.TrimRight(rest, " \t"), "\n")
			if cut < 0 {
				cut = len(rest)
			} else if cut > 0 && rest[cut-1] == '\r' {
				cut--
			}
			m.Name.BeforeExtra = hujson.Extra(strings.TrimRight(rest[:cut], "\r\n") + pad)
			obj.AfterExtra = hujson.Extra(rest[cut:])
		}
	} else if strings.TrimSpace(string(obj.AfterExtra)) != "" { // comments alone
		m.Name.BeforeExtra = hujson.Extra(strings.TrimRight(string(obj.AfterExtra), " \t\r\n") + pad)
		obj.AfterExtra = nil
	}
	if !strings.Contains(string(obj.AfterExtra), "\n") {
		obj.AfterExtra = append(obj.AfterExtra, d.newline+strings.Repeat(d.indent, depth)...)
	}
	obj.Members = append(obj.Members, m)
	return nil
}

// remove takes the value at path away, and objects on the way that are empty then.
func (d *document) remove(path []string) error {
	objs := []*hujson.Object{d.root.Value.(*hujson.Object)}
	for _, key := range path[:len(path)-1] {
		i := index(objs[len(objs)-1], key)
		if i < 0 {
			return nil
		}
		next, ok := objs[len(objs)-1].Members[i].Value.Value.(*hujson.Object)
		if !ok {
			return nil
		}
		objs = append(objs, next)
	}
	for depth := len(path) - 1; depth >= 0; depth-- {
		obj := objs[depth]
		i := index(obj, path[depth])
		if i < 0 {
			return nil
		}
		last := i == len(obj.Members)-1
		gone := obj.Members[i]
		obj.Members = slices.Delete(obj.Members, i, i+1)
		if kept := commentsOf(gone.Name.BeforeExtra); kept != "" {
			if last {
				obj.AfterExtra = append(hujson.Extra(strings.TrimRight(string(gone.Name.BeforeExtra), " \t\r\n")), obj.AfterExtra...)
			} else {
				obj.Members[i].Name.BeforeExtra = append(hujson.Extra(strings.TrimRight(string(gone.Name.BeforeExtra), " \t\r\n")), obj.Members[i].Name.BeforeExtra...)
			}
		}
		if last && len(obj.Members) > 0 && gone.Value.AfterExtra != nil {
			obj.Members[len(obj.Members)-1].Value.AfterExtra = hujson.Extra("")
		}
		if len(obj.Members) > 0 || strings.TrimSpace(string(obj.AfterExtra)) != "" {
			return nil
		}
		obj.AfterExtra = nil
	}
	return nil
}

// same reports whether two values mean the same.
func same(a, b hujson.ValueTrimmed) bool {
	plain := func(v hujson.ValueTrimmed) (out any) {
		c := hujson.Value{Value: v}.Clone()
		c.Standardize()
		json.Unmarshal(c.Pack(), &out) // parsed already
		return out
	}
	return reflect.DeepEqual(plain(a), plain(b))
}

func commentsOf(e hujson.Extra) string { return strings.TrimSpace(string(e)) }

func index(obj *hujson.Object, key string) int {
	return slices.IndexFunc(obj.Members, func(m hujson.ObjectMember) bool {
		l, ok := m.Name.Value.(hujson.Literal)
		return ok && l.String() == key
	})
}

// render prints value as JSON with an indent, members in their order, as it stands at depth.
func render(value any, indent, newline string, depth int) []byte {
	switch v := value.(type) {
	case []member:
		if len(v) == 0 {
			return []byte("{}")
		}
		var b bytes.Buffer
		b.WriteString("{")
		for i, m := range v {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(newline + strings.Repeat(indent, depth+1))
			b.Write(hujson.String(m.key))
			b.WriteString(": ")
			b.Write(render(m.value, indent, newline, depth+1))
		}
		b.WriteString(newline + strings.Repeat(indent, depth) + "}")
		return b.Bytes()
	case []any:
		var b bytes.Buffer
		b.WriteString("[")
		for i, e := range v {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(newline + strings.Repeat(indent, depth+1))
			b.Write(render(e, indent, newline, depth+1))
		}
		b.WriteString(newline + strings.Repeat(indent, depth) + "]")
		return b.Bytes()
	case map[string]string:
		var m []member
		for _, k := range sortedKeys(v) {
			m = append(m, member{k, v[k]})
		}
		return render(m, indent, newline, depth)
	case string:
		return hujson.String(v)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(fmt.Sprintf("setup: a value of this package has no JSON: %v", err))
	}
	return bytes.TrimSpace(b.Bytes())
}

func sortedKeys(m map[string]string) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
