package foreign

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const bom = "\xef\xbb\xbf"

// LineReader reads lines of any length in bounded memory.
type LineReader struct {
	r   *bufio.Reader
	max int
	n   int
	buf []byte
}

// Lines reads r line by line; a line of more than limit bytes is a *Problem.
func Lines(r *bufio.Reader, limit int) *LineReader { return &LineReader{r: r, max: limit} }

// Number is the number of the last line, from 1.
func (l *LineReader) Number() int { return l.n }

// Next returns the next line that is not blank, without its end; it is valid until the next call. The last
// one is followed by io.EOF.
func (l *LineReader) Next() ([]byte, error) {
	for {
		line, err := l.next()
		if err != nil {
			return nil, err
		}
		if l.n == 1 {
			line = bytes.TrimPrefix(line, []byte(bom))
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

func (l *LineReader) next() ([]byte, error) {
	l.buf = l.buf[:0]
	over := false
	for {
		part, err := l.r.ReadSlice('\n')
		if !over {
			l.buf = append(l.buf, part...)
			if over = len(l.buf) > l.max+2; over {
				l.buf = nil // not kept for the lines that follow
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && !over && len(l.buf) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		}
		l.n++
		if over {
			return nil, &Problem{l.n, fmt.Sprintf("the line is longer than %d bytes", l.max)}
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(l.buf, []byte("\n")), []byte("\r")), nil
	}
}

// eachLine calls f for each line of JSON.
func eachLine(in *bufio.Reader, out *sink, f func(raw json.RawMessage, out *sink) error) error {
	lines := Lines(in, maxLine)
	for !out.done {
		line, err := lines.Next()
		out.line = lines.Number()
		var bad *Problem
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.As(err, &bad):
			out.problem("%s", bad.Why)
			continue
		case err != nil:
			return err
		}
		if err := f(line, out); err != nil {
			out.problem("%s", err)
		}
	}
	return nil
}

// bounded is a reader that fails where more than max bytes come between two resets.
type bounded struct {
	r    io.Reader
	left int
}

var errEntry = fmt.Errorf("an entry of more than %d MB", maxEntry>>20)

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errEntry
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// eachEntry calls f for each entry of a JSON array: the top one, or those of a top object under keys. It
// holds one entry at a time.
func eachEntry(in *bufio.Reader, out *sink, f func(key string, raw json.RawMessage, out *sink) error, keys ...string) error {
	if head, _ := in.Peek(len(bom)); string(head) == bom {
		_, _ = in.Discard(len(bom))
	}
	limit := &bounded{r: in, left: maxEntry}
	d := json.NewDecoder(limit)
	fault := func(err error) error {
		if errors.Is(err, errEntry) {
			return err
		}
		out.line++
		out.problem("it is not JSON, or is cut short; nothing after it can be read")
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) || errors.Is(err, errDeep) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	array := func(key string) error {
		for d.More() {
			if out.done {
				return nil
			}
			var raw json.RawMessage
			limit.left = maxEntry
			if err := d.Decode(&raw); err != nil {
				return err
			}
			out.line++
			if err := f(key, raw, out); err != nil {
				out.problem("%s", err)
			}
		}
		_, err := d.Token()
		return err
	}
	t, err := d.Token()
	switch {
	case err != nil:
		return fault(err)
	case t == json.Delim('['):
		if err := array(""); err != nil {
			return fault(err)
		}
		return nil
	case t != json.Delim('{'):
		out.line++
		out.problem("it is neither a list nor an object")
		return nil
	}
	for d.More() && !out.done {
		t, err := d.Token()
		if err != nil {
			return fault(err)
		}
		key, _ := t.(string)
		limit.left = maxEntry
		wanted := false
		for _, k := range keys {
			wanted = wanted || k == key
		}
		if t, err = d.Token(); err != nil {
			return fault(err)
		}
		switch {
		case wanted && t == json.Delim('['):
			err = array(key)
		case t == json.Delim('[') || t == json.Delim('{'):
			err = skip(d)
		}
		if err != nil {
			return fault(err)
		}
	}
	return nil
}

// maxDepth is how deep a value may be nested that is skipped; encoding/json has the same limit for what it decodes.
const maxDepth = 10000

var errDeep = fmt.Errorf("nested deeper than %d", maxDepth)

// skip reads to the end of the array or object that has begun.
func skip(d *json.Decoder) error {
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return err
		}
		switch t {
		case json.Delim('['), json.Delim('{'):
			if depth++; depth > maxDepth {
				return errDeep
			}
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return nil
}

// decode reads JSON strictly as to text: what is no text is an error, not a replacement character.
func decode(raw json.RawMessage, to any) error {
	if !utf8.Valid(raw) {
		return errors.New("it is not valid UTF-8")
	}
	if halfPair(raw) {
		return errors.New("it holds half of a surrogate pair")
	}
	if err := json.Unmarshal(raw, to); err != nil {
		var typ *json.UnmarshalTypeError
		if errors.As(err, &typ) && typ.Field != "" {
			return fmt.Errorf("%s: %s where %s is meant", typ.Field, typ.Value, typ.Type)
		}
		return errors.New("it is not JSON of this format")
	}
	return nil
}

// halfPair reports an escape of half a surrogate pair.
func halfPair(raw []byte) bool {
	unit := func(i int) uint64 {
		if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
			return 0
		}
		v, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
		if err != nil {
			return 0
		}
		return v
	}
	for i := 0; ; {
		j := bytes.IndexByte(raw[i:], '\\')
		if j < 0 {
			return false
		}
		i += j
		switch v := unit(i); {
		case v >= 0xD800 && v <= 0xDBFF:
			if w := unit(i + 6); w < 0xDC00 || w > 0xDFFF {
				return true
			}
			i += 12
		case v >= 0xDC00 && v <= 0xDFFF:
			return true
		default:
			if i += 2; i > len(raw) {
				return false
			}
		}
	}
}

// text is a JSON value that ought to be a string and sometimes is a number or null.
type text string

func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err == nil {
		*t = text(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(raw, &n); err == nil {
		*t = text(n.String())
	}
	return nil
}

// texts is a list of strings, or one of them.
type texts []string

func (l *texts) UnmarshalJSON(raw []byte) error {
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		many = []json.RawMessage{raw}
	}
	for _, m := range many {
		var s string
		var o struct{ Name, Content, Text string }
		if json.Unmarshal(m, &s) != nil && json.Unmarshal(m, &o) == nil {
			s = first(o.Content, o.Text, o.Name)
		}
		if s != "" {
			*l = append(*l, s)
		}
	}
	return nil
}

func first(l ...string) string {
	for _, s := range l {
		if s != "" {
			return s
		}
	}
	return ""
}

// instant is a JSON value that is a time: seconds since 1970, or text; empty where it is neither.
type instant string

func (t *instant) UnmarshalJSON(raw []byte) error {
	var x text
	_ = x.UnmarshalJSON(raw) // never fails
	*t = instant(when(string(x)))
	return nil
}

// when reads a time as programs write it: RFC 3339, the same without an offset (their own way of saying
// UTC), with a space, seconds or milliseconds since 1970, or a date. "" is none.
func when(s string) string {
	s = strings.Trim(strings.TrimSpace(s), `"'`)
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if f > 1e11 && f < 1e15 {
			f /= 1000
		}
		if f <= 0 || f > 253402300799 || math.IsNaN(f) { // the year 9999
			return ""
		}
		return time.UnixMicro(int64(math.Round(f * 1e6))).UTC().Format(time.RFC3339Nano)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999 -0700"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Format(time.RFC3339Nano)
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Format(time.RFC3339Nano)
		}
	}
	for _, layout := range []string{"2006-01-02", "2006/01/02", "January 2, 2006", "2 January 2006"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Format("2006-01-02")
		}
	}
	return ""
}
