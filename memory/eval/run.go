package eval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
)

// Steps in their order. Config.Steps chooses among them.
var Steps = []string{"strip", "build", "retrieve", "answer", "judge", "score"}

// Config says what to measure. Data, Out and Open are needed.
type Config struct {
	// Data is a file in the shape of LoCoMo or of LongMemEval, Only the conversations of it to take (none: all).
	Data string
	Only []string
	// Apart are conversations that no parameter was chosen on: they get tables of their own.
	Apart []string
	// Out is the folder for everything a run leaves. A run that was stopped goes on from it.
	Out string
	// Open opens the store in dir, which may not be there yet.
	Open func(ctx context.Context, dir string) (Store, error)
	// Version names the program under measure (BuildID by default). Results of another one in Out are refused.
	Version string
	// Fresh removes what an earlier run left in Out.
	Fresh bool

	Steps   []string // nil: all; answer and judge run only where Answers is set
	Budgets []int    // nil: 500, 1000, 2000 tokens
	Ablate  bool
	Corrupt string // a graph, "" for none
	Seed    uint64
	// Foreign is how many questions of other conversations each is asked, to see whether it knows that it
	// does not know. 0 is 30; negative is none.
	Foreign int
	Answers *Answers

	// Progress gets a progress bar (standard error); nil is silent.
	Progress io.Writer
	Now      func() time.Time
}

func (c *Config) defaults() error {
	if c.Data == "" || c.Out == "" || c.Open == nil {
		return errors.New("eval needs a data file, a folder for its results and a way to open a store")
	}
	if c.Version == "" {
		c.Version = BuildID()
	}
	if c.Budgets == nil {
		c.Budgets = []int{500, 1000, 2000}
	}
	if c.Foreign == 0 {
		c.Foreign = 30
	}
	if c.Steps == nil {
		c.Steps = Steps
	}
	for _, s := range c.Steps {
		if !slices.Contains(Steps, s) {
			return fmt.Errorf("step %q is unknown: use some of %v", s, Steps)
		}
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return nil
}

func (c *Config) path(parts ...string) string {
	return filepath.Join(append([]string{c.Out}, parts...)...)
}

// manifest says what the files in Out came from.
type manifest struct {
	Data    string   `json:"data"` // SHA-256 of the data file
	Only    []string `json:"only,omitempty"`
	Version string   `json:"version"`
}

// BuildID names this executable by its content.
func BuildID() string {
	path, err := os.Executable()
	if err != nil {
		return "unknown"
	}
	sum, err := digest(path)
	if err != nil {
		return "unknown"
	}
	return "build " + sum[:12]
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Run measures. It blocks until done or ctx ends; what is done by then is kept in Out and not done again.
// The report is that of the score step, zero where that step was not chosen.
func Run(ctx context.Context, c Config) (Report, error) {
	if err := c.defaults(); err != nil {
		return Report{}, err
	}
	if err := os.MkdirAll(c.Out, 0o755); err != nil {
		return Report{}, fmt.Errorf("make the folder for results: %w", err)
	}
	sum, err := digest(c.Data)
	if err != nil {
		return Report{}, fmt.Errorf("read the questions: %w", err)
	}
	want := manifest{Data: sum, Only: c.Only, Version: c.Version}
	if c.Fresh {
		for _, name := range []string{"manifest.json", "stripped.json", "gold.json", "built.jsonl", "store", "retrieved", "answers", "judged", "report.json", "report.html"} {
			if err := os.RemoveAll(c.path(name)); err != nil {
				return Report{}, fmt.Errorf("clear the folder for results: %w", err)
			}
		}
	}
	var have manifest
	switch err := readJSON(c.path("manifest.json"), &have); {
	case errors.Is(err, fs.ErrNotExist):
		if err := writeJSON(c.path("manifest.json"), want); err != nil {
			return Report{}, err
		}
	case err != nil:
		return Report{}, err
	case have.Data != want.Data || !slices.Equal(have.Only, want.Only) || have.Version != want.Version:
		return Report{}, fmt.Errorf("%s holds results of other questions or of another build: use --fresh to measure anew, or another folder", c.Out)
	}
	var report Report
	for _, step := range Steps {
		if !slices.Contains(c.Steps, step) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		var err error
		switch step {
		case "strip":
			err = c.strip()
		case "build":
			err = c.withStore(ctx, c.build)
		case "retrieve":
			err = c.withStore(ctx, c.retrieve)
		case "answer":
			if c.Answers != nil {
				err = c.Answers.answer(ctx, &c)
			}
		case "judge":
			if c.Answers != nil {
				err = c.Answers.judge(ctx, &c)
			}
		case "score":
			report, err = c.score()
		}
		if err != nil {
			return Report{}, fmt.Errorf("eval, step %s: %w", step, err)
		}
	}
	return report, nil
}

// strip is the one step that reads the data file.
func (c *Config) strip() error {
	list, key, err := Load(c.Data, c.Only)
	if err != nil {
		return err
	}
	if err := writeJSON(c.path("stripped.json"), list); err != nil {
		return err
	}
	return writeJSON(c.path("gold.json"), key)
}

func (c *Config) stripped() ([]Conversation, error) {
	var list []Conversation
	err := readJSON(c.path("stripped.json"), &list)
	return list, err
}

func (c *Config) withStore(ctx context.Context, f func(context.Context, Store) error) error {
	s, err := c.Open(ctx, c.path("store"))
	if err != nil {
		return fmt.Errorf("open the store under measure: %w", err)
	}
	return errors.Join(f(ctx, s), s.Close())
}

// bar is a progress bar of n steps on the progress writer.
func (c *Config) bar(what string, n int) *progressbar.ProgressBar {
	return progressbar.NewOptions(n,
		progressbar.OptionSetWriter(c.Progress),
		progressbar.OptionSetDescription(fmt.Sprintf("%-32s", what)),
		progressbar.OptionSetWidth(24),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(200*time.Millisecond),
		progressbar.OptionOnCompletion(func() { fmt.Fprintln(c.Progress) }),
	)
}
