package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// plain is text with everything that steers a terminal made visible: a stored memory may hold escape
// sequences that clear the screen, change the title or write to the clipboard. Line ends and tabs
// stay. Characters that only change the direction of text stay in a memory, but not here.
func plain(text string) string {
	steers := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
	}
	if !strings.ContainsFunc(text, steers) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case !steers(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune('\u2400' + r) // its picture, as in ␛
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// refHead is the ref at the head of a line, which stands out in colour.
var refHead = regexp.MustCompile(`(?m)^(\s*(?:\d+\. |- )?)(\[[0-9A-Za-z]{6,26}\])`)

// print prints text for a person, with a line end.
func (a *app) print(text string) error {
	text = plain(text)
	if a.colour() {
		text = refHead.ReplaceAllString(text, "$1\x1b[1;36m$2\x1b[0m")
	}
	_, err := fmt.Fprintln(a.stdout, strings.TrimRight(text, "\n"))
	return err
}

// colour is on at a terminal, unless NO_COLOR is set (no-color.org) or the terminal is dumb.
func (a *app) colour() bool {
	f, ok := a.stdout.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// printJSON prints a value for programs, indented; what could steer a terminal is written as \u escapes.
func (a *app) printJSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	var out strings.Builder
	for _, r := range b.String() {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	_, err := fmt.Fprint(a.stdout, out.String())
	return err
}
