package setup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// hookMark is in each command that this package writes, so that it finds them again.
const hookMark = "hook claude-code"

// hookEvents are the hooks of Claude Code that are used, with what they match.
var hookEvents = []struct {
	event, matcher, verb string
	timeout              int // seconds
}{
	// A session's start, also after its context was cleared or shortened: the memory comes back in.
	{"SessionStart", "startup|resume|clear|compact", "start", 10},
	// The end of an answer: request and outcome are kept. Asynchronous work is left to the store's owner.
	{"Stop", "", "stop", 20},
}

// HookLimit is how long a hook may take: a little less than its client gives it, so that the store is
// closed in order. event is "start" or "stop".
func HookLimit(event string) time.Duration {
	for _, h := range hookEvents {
		if h.verb == event {
			return time.Duration(h.timeout-2) * time.Second
		}
	}
	return 5 * time.Second
}

// setHooks adds the hooks to Claude Code's settings, in place of those that are there from before.
func setHooks(now []byte, s Server, os string) ([]byte, error) {
	return editJSON(now, func(d *document) error {
		for _, h := range hookEvents {
			ours := []member{{"hooks", []any{[]member{
				{"type", "command"}, {"command", hookCommand(s, h.verb, os)}, {"timeout", h.timeout},
			}}}}
			if h.matcher != "" {
				ours = append([]member{{"matcher", h.matcher}}, ours...)
			}
			if err := d.setHook(h.event, ours); err != nil {
				return err
			}
		}
		return nil
	})
}

func removeHooks(now []byte) ([]byte, error) {
	return editJSON(now, func(d *document) error {
		for _, h := range hookEvents {
			list, err := d.hookList(h.event)
			if err != nil || list == nil {
				return err
			}
			list.Elements = slices.DeleteFunc(list.Elements, isOurs)
			if len(list.Elements) == 0 {
				if err := d.remove([]string{"hooks", h.event}); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// hookCommand is a line for the shell that Claude Code gives it to. An exit code of 2 would keep the
// session from ending, so whatever goes wrong becomes 1, which is only shown.
func hookCommand(s Server, verb, os string) string {
	words := append([]string{s.Command}, s.Args...)
	words = append(words, "hook", "claude-code", verb)
	for i, w := range words {
		words[i] = quote(w, os)
	}
	return strings.Join(words, " ") + " || exit 1"
}

// quote is one word for the shell: double quotes on Windows, where cmd and Git Bash both know them.
func quote(w, os string) string {
	if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=") == "" {
		return w
	}
	if os == "windows" {
		return `"` + strings.ReplaceAll(w, `"`, `\"`) + `"`
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// hookList is the list of an event's hooks, nil where there is none.
func (d *document) hookList(event string) (*hujson.Array, error) {
	obj := d.root.Value.(*hujson.Object)
	i := index(obj, "hooks")
	if i < 0 {
		return nil, nil
	}
	hooks, ok := obj.Members[i].Value.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf(`"hooks" in it is not an object; mend it first`)
	}
	i = index(hooks, event)
	if i < 0 {
		return nil, nil
	}
	list, ok := hooks.Members[i].Value.Value.(*hujson.Array)
	if !ok {
		return nil, fmt.Errorf(`"hooks.%s" in it is not a list; mend it first`, event)
	}
	return list, nil
}

// setHook puts ours into the event's list: where an earlier one of ours stands, else at the end.
func (d *document) setHook(event string, ours []member) error {
	list, err := d.hookList(event)
	if err != nil {
		return err
	}
	if list == nil {
		return d.set([]string{"hooks", event}, []any{ours})
	}
	v, err := hujson.Parse(render(ours, d.indent, d.newline, 3))
	if err != nil {
		return fmt.Errorf("write hooks.%s: %w", event, err)
	}
	if i := slices.IndexFunc(list.Elements, isOurs); i >= 0 {
		if !same(list.Elements[i].Value, v.Value) {
			list.Elements[i].Value = v.Value
		}
		return nil
	}
	v.BeforeExtra = hujson.Extra(d.newline + strings.Repeat(d.indent, 3))
	if n := len(list.Elements); n > 0 && list.Elements[n-1].AfterExtra != nil {
		v.AfterExtra, list.Elements[n-1].AfterExtra = hujson.Extra(""), nil
	}
	list.Elements = append(list.Elements, v)
	if !strings.Contains(string(list.AfterExtra), "\n") {
		list.AfterExtra = hujson.Extra(d.newline + strings.Repeat(d.indent, 2))
	}
	return nil
}

// isOurs reports whether a hook is one that this package wrote.
func isOurs(v hujson.ArrayElement) bool {
	plain := v.Clone()
	plain.Standardize()
	return strings.Contains(string(plain.Pack()), hookMark)
}
