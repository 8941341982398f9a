package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory"
)

// call is one call's arguments, read leniently because models and clients send them so: "5" for 5,
// "true" for true, a JSON array in a string or one bare string for a list, null for absent, names
// nobody knows. What cannot be read is noted, and err tells all of it in one line.
type call struct {
	raw        map[string]json.RawMessage
	complaints []string

	scope   Scope
	session memory.Session
}

// longestValue bounds what a complaint shows of a value: enough to recognise it.
const longestValue = 40

// readCall reads the arguments object. raw is the JSON as it came over the wire, since a decoded
// string no longer tells bad UTF-8 or a lone surrogate from a replacement character.
func readCall(raw json.RawMessage) (*call, error) {
	if bad := BadText(raw); bad != "" {
		return nil, memory.Errorf(memory.CodeInvalid, "arguments: %s; send the text as valid UTF-8", bad)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return &call{}, nil
	}
	if raw[0] == '"' { // an object in a string: some clients encode twice
		var inner string
		if json.Unmarshal(raw, &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") {
			raw = []byte(inner)
		}
	}
	c := &call{}
	if err := json.Unmarshal(raw, &c.raw); err != nil {
		return nil, memory.Errorf(memory.CodeInvalid, "arguments: %s came; an object with named arguments is allowed", kind(raw))
	}
	return c, nil
}

func (c *call) complain(format string, args ...any) {
	c.complaints = append(c.complaints, fmt.Sprintf(format, args...))
}

// mostComplaints is how many faults one line tells: a call that has more is wrong as a whole.
const mostComplaints = 5

// err is the complaints so far in one line, or nil.
func (c *call) err() error {
	if len(c.complaints) == 0 {
		return nil
	}
	line := strings.Join(c.complaints[:min(len(c.complaints), mostComplaints)], "; ")
	if more := len(c.complaints) - mostComplaints; more > 0 {
		line += fmt.Sprintf("; and %d more", more)
	}
	return memory.Errorf(memory.CodeInvalid, "%s", line)
}

// value is the raw value of a property, nil where it is absent or null.
func (c *call) value(name string) json.RawMessage {
	v := bytes.TrimSpace(c.raw[name])
	if string(v) == "null" {
		return nil
	}
	return v
}

// text reads a string; a number or a boolean is taken as it is written.
func (c *call) text(name string) string {
	v := c.value(name)
	if v == nil {
		return ""
	}
	switch v[0] {
	case '"':
		var s string
		if err := json.Unmarshal(v, &s); err == nil {
			return s
		}
	case '{', '[':
		c.complain("%s: %s came; a string is allowed", name, kind(v))
		return ""
	}
	return string(v)
}

// required reads a string that has to be there.
func (c *call) required(name, what string) string {
	s := c.text(name)
	if s == "" && len(c.complaints) == 0 {
		c.complain("%s: missing; give %s", name, what)
	}
	return s
}

// choice reads a string that is one of allowed, in any letter case, or absent.
func (c *call) choice(name string, allowed []string) string {
	s := strings.ToLower(strings.TrimSpace(c.text(name)))
	if s == "" {
		return ""
	}
	for _, a := range allowed {
		if s == a {
			return a
		}
	}
	c.complain("%s: %s came; allowed are %s", name, show([]byte(strconv.Quote(s))), strings.Join(allowed, ", "))
	return ""
}

// list reads a list of strings: an array, an array in a string, or one bare string.
func (c *call) list(name string) []string {
	v := c.value(name)
	if v == nil {
		return nil
	}
	if v[0] == '"' {
		var s string
		if json.Unmarshal(v, &s) == nil {
			trimmed := strings.TrimSpace(s)
			if trimmed == "" {
				return nil
			}
			if !strings.HasPrefix(trimmed, "[") || !json.Valid([]byte(trimmed)) {
				return []string{s}
			}
			v = []byte(trimmed)
		}
	}
	if v[0] == '{' {
		c.complain("%s: %s came; a list of strings is allowed", name, kind(v))
		return nil
	}
	if v[0] != '[' {
		return []string{string(v)}
	}
	var items []json.RawMessage
	if err := json.Unmarshal(v, &items); err != nil {
		c.complain("%s: %s came; a list of strings is allowed", name, kind(v))
		return nil
	}
	var out []string
	for i, item := range items {
		item = bytes.TrimSpace(item)
		var s string
		switch {
		case string(item) == "null":
			continue
		case item[0] == '{' || item[0] == '[':
			c.complain("%s[%d]: %s came; a string is allowed", name, i, kind(item))
			continue
		case item[0] == '"':
			if json.Unmarshal(item, &s) != nil {
				continue
			}
		default:
			s = string(item)
		}
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// choices reads a list each of which is one of allowed.
func (c *call) choices(name string, allowed []string) []string {
	given := c.list(name)
	if len(given) == 1 && strings.Contains(given[0], ",") {
		given = strings.Split(given[0], ",")
	}
	var out []string
next:
	for _, g := range given {
		s := strings.ToLower(strings.TrimSpace(g))
		for _, a := range allowed {
			if s == a {
				out = append(out, a)
				continue next
			}
		}
		c.complain("%s: %s came; allowed are %s", name, show([]byte(strconv.Quote(s))), strings.Join(allowed, ", "))
	}
	return out
}

// number reads a whole number from 1 to most; absent and 0 are 0, the engine's default. A larger one
// is taken as most: it asks for everything there is.
func (c *call) number(name string, most int) int {
	v := c.value(name)
	if v == nil {
		return 0
	}
	text := string(v)
	if v[0] == '"' {
		var s string
		if json.Unmarshal(v, &s) == nil {
			text = strings.TrimSpace(s)
		}
		if text == "" {
			return 0
		}
	}
	n, ok := wholeNumber(text)
	switch {
	case !ok:
		c.complain("%s: %s came; a whole number from 1 to %d is allowed", name, show(v), most)
		return 0
	case n < 0:
		c.complain("%s: %d came; a whole number from 1 to %d is allowed", name, n, most)
		return 0
	}
	return min(n, most)
}

// wholeNumber reads 5, 5.0, 5e0 and the like; 5.5 is not whole.
func wholeNumber(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	if len(text) > 64 {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) {
		return 0, false
	}
	if math.Abs(f) >= math.MaxInt32 {
		return int(math.Copysign(math.MaxInt32, f)), true
	}
	return int(f), true
}

// flag reads a boolean; absent is false.
func (c *call) flag(name string) bool {
	v := c.value(name)
	if v == nil {
		return false
	}
	text := string(v)
	if v[0] == '"' {
		var s string
		if json.Unmarshal(v, &s) == nil {
			text = s
		}
	}
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0", "":
		return false
	}
	c.complain("%s: %s came; true or false is allowed", name, show(v))
	return false
}

// kind names the JSON type of v for a complaint.
func kind(v []byte) string {
	if len(v) == 0 {
		return "nothing"
	}
	switch v[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// show is v as a complaint quotes it, on one line and cut at a character.
func show(v []byte) string {
	if len(v) > 0 && (v[0] == '{' || v[0] == '[') {
		return kind(v)
	}
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, string(v))
	if utf8.RuneCountInString(s) <= longestValue {
		return s
	}
	return string([]rune(s)[:longestValue]) + "..."
}

// BadText says what is wrong with the text of a JSON value, "" for nothing: bytes that are no UTF-8,
// or a \u escape that is one half of a surrogate pair. Both would otherwise turn into U+FFFD unseen.
func BadText(raw []byte) string {
	if !utf8.Valid(raw) {
		return "bytes that are not valid UTF-8"
	}
	high := false // the escape just read was the first half of a pair
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			if high {
				return "a lone surrogate (half of a \\u pair)"
			}
			continue
		}
		i++
		if raw[i] != 'u' || i+4 >= len(raw) {
			if high {
				return "a lone surrogate (half of a \\u pair)"
			}
			continue
		}
		n, err := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
		i += 4
		low := err == nil && n >= 0xDC00 && n < 0xE000
		if high != low {
			return "a lone surrogate (half of a \\u pair)"
		}
		high = err == nil && n >= 0xD800 && n < 0xDC00
	}
	return ""
}
