package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/natefinch/atomic"
)

// Retrieved is one line of retrieved/<setting>.jsonl: what came back for one question.
type Retrieved struct {
	Conversation string `json:"conversation"`
	Question     string `json:"question"`
	// Of is the conversation whose question this is where another one was asked ("foreign"), and
	// Renamed tells that its speakers' names were replaced by this one's.
	Of      string `json:"of,omitempty"`
	Renamed bool   `json:"renamed,omitempty"`

	Intent    string    `json:"intent,omitempty"`
	Confident bool      `json:"confident"`
	Ranked    []string  `json:"ranked"`             // sources, the most relevant first
	Contexts  []Context `json:"contexts,omitempty"` // one for each budget
	Why       []string  `json:"why,omitempty"`      // sources as the why tool ranks them, for questions that ask a reason
	WhyAsked  bool      `json:"why_asked,omitempty"`
	Micros    int64     `json:"micros"`
	Degraded  []string  `json:"degraded,omitempty"`
}

// Context is what fits a token budget (characters / 4).
type Context struct {
	Budget int     `json:"budget"`
	Tokens float64 `json:"tokens"` // of the whole text block
	Whole  []Shown `json:"whole"`  // memories shown whole
	Text   string  `json:"text,omitempty"`
}

// Shown is one memory in a context, with the tokens of its words alone.
type Shown struct {
	Source string  `json:"source"`
	Tokens float64 `json:"tokens"`
}

// key names a record within its file, so that a resumed run skips it.
func (r Retrieved) key() string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%t", r.Conversation, r.Question, r.Of, r.Renamed)
}

// readJSON reads a whole file.
func readJSON(path string, to any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// writeJSON replaces a file as a whole.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, append(data, '\n'))
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := atomic.WriteFile(path, bytes.NewReader(data)); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// readLines reads a JSON-lines file; a missing one is empty, and a last line that was cut off by a
// crash is dropped.
func readLines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []T
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("read %s, line %d: %w", path, len(list)+1, err)
		}
		list = append(list, v)
	}
}

// lines appends to a JSON-lines file, after cutting off a half line that a crash left.
type lines struct {
	f *os.File
	w *bufio.Writer
}

func openLines(path string) (*lines, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	end := len(data)
	for end > 0 && data[end-1] != '\n' {
		end--
	}
	if err := f.Truncate(int64(end)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Seek(int64(end), io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &lines{f, bufio.NewWriterSize(f, 1<<16)}, nil
}

func (l *lines) add(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.w.Write(append(data, '\n'))
	return err
}

// keep is add for what took a model to make: a run that is stopped has it in the file.
func (l *lines) keep(v any) error {
	if err := l.add(v); err != nil {
		return err
	}
	return l.w.Flush()
}

func (l *lines) close() error {
	return errors.Join(l.w.Flush(), l.f.Close())
}
