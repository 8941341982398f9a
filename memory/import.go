package memory

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/foreign"
)

// ImportOptions say how a file is taken in. The zero value takes what can be read, as what it looks like.
type ImportOptions struct {
	// From is the format: "" looks at the file; "magma-mcp" is an export; the others are package foreign's.
	From string
	// Name is how the file is called, where the one given is a copy; "" is its own.
	Name string
	// Project is where the memories go; of an export it takes one project's alone. "" leaves an export's in
	// their own projects, and puts those of another program into Default.
	Project string
	Default string // "" is the Bank's default project
	// All refuses the whole file for one bad line, before anything is stored.
	All bool
	// Revive brings back what was forgotten here; otherwise tombstones win, those in the file too.
	Revive bool
	// Date is the day of texts that carry none, as remember takes it; "" is now.
	Date string
	// Session is who imports. An export keeps who wrote each memory.
	Session Session
	// Progress hears of the bytes read; total is 0 where it is not known.
	Progress func(done, total int64)
}

// ImportReport says what became of a file. Stored, Known, Merged, Conflicts, Forgotten count memories, each
// whole once; a memory is in one of them.
type ImportReport struct {
	Format    string `json:"format"`
	Files     int    `json:"files"`
	Lines     int    `json:"lines"`     // or conversations, or documents
	Stored    int    `json:"stored"`    // new here
	Known     int    `json:"known"`     // here already, the same
	Merged    int    `json:"merged"`    // here already; tags, sightings or links were added
	Conflicts int    `json:"conflicts"` // same id, other content: both kept, both tagged ConflictTag
	Forgotten int    `json:"forgotten"` // forgotten here, or by a tombstone of the file, and left so
	Revived   int    `json:"revived"`   // of Stored: had been forgotten
	// Rows that come with memories.
	Tombstones int `json:"tombstones"`
	Keys       int `json:"keys"`
	Derived    int `json:"derived"`
	Vectors    int `json:"vectors"`
	// Bad counts what could not be read; Problems says where and why, the first 100 of them.
	Bad      int       `json:"bad"`
	Problems []Problem `json:"problems,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	// Cut is set where the file ends before its header says it does.
	Cut bool `json:"cut,omitempty"`
}

// Problem is a line, or an entry of a file without lines, that could not be taken in. It holds no memory's text.
type Problem struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Why  string `json:"why"`
}

// ConflictTag marks both memories where two stores have the same id with different content.
const ConflictTag = "import-conflict"

// NativeFormat is the name of our own export among the formats.
const NativeFormat = "magma-mcp"

// Import takes in the file (or the folder, or the zip archive) name of fsys: an export of ours, or another
// program's memories or conversations (package foreign). It can be run again, after a crash too: what is
// there is known. What it stored is durable when it returns, also after an error.
func (b *Bank) Import(ctx context.Context, fsys fs.FS, name string, o ImportOptions) (ImportReport, error) {
	rep := ImportReport{}
	done, err := b.enter(ctx)
	if err != nil {
		return rep, err
	}
	defer done()
	if o.Project != "" {
		if o.Project, err = CanonicalProject(o.Project, "", false); err != nil {
			return rep, err
		}
	}
	if o.Default == "" {
		o.Default = b.o.DefaultProject
	}
	src, err := foreign.Open(fsys, name)
	if err != nil {
		return rep, Errorf(CodeInvalid, "import: %w", err)
	}
	defer src.Close()
	if o.All {
		dry := &importer{b: b, ctx: ctx, o: &o, rep: &ImportReport{}, dry: true}
		if err := dry.run(src); err != nil {
			return *dry.rep, storageError("importing", err)
		}
		if dry.rep.Bad > 0 || dry.rep.Cut {
			p := Problem{Why: "the file is cut short"}
			if len(dry.rep.Problems) > 0 {
				p = dry.rep.Problems[0]
			}
			return *dry.rep, Errorf(CodeInvalid, "import: %d bad lines (%s, line %d: %s); nothing was stored", dry.rep.Bad, p.File, p.Line, p.Why)
		}
	}
	im := &importer{b: b, ctx: ctx, o: &o, rep: &rep}
	err = im.run(src)
	return rep, storageError("importing", err)
}

// ImportFile is Import of a path of the operating system.
func (b *Bank) ImportFile(ctx context.Context, path string, o ImportOptions) (ImportReport, error) {
	return b.Import(ctx, os.DirFS(filepath.Dir(path)), filepath.Base(path), o)
}

// importer takes in one source.
type importer struct {
	b    *Bank
	ctx  context.Context
	o    *ImportOptions
	rep  *ImportReport
	dry  bool // reads and checks alone
	file string

	read, total int64 // bytes

	native
	strange
}

// maxProblemsShown bounds the list of problems.
const maxProblemsShown = 100

func (im *importer) bad(line int, why error) {
	im.rep.Bad++
	if len(im.rep.Problems) < maxProblemsShown {
		im.rep.Problems = append(im.rep.Problems, Problem{File: im.file, Line: line, Why: oneLine(why.Error(), 300)})
	}
}

// warn keeps each warning once.
func (im *importer) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	for _, x := range im.rep.Warnings {
		if x == w {
			return
		}
	}
	if len(im.rep.Warnings) < maxProblemsShown {
		im.rep.Warnings = append(im.rep.Warnings, w)
	}
}

func (im *importer) run(src *foreign.Source) error {
	im.total = src.Size()
	for f, err := range src.Files() {
		if err != nil {
			im.bad(0, err)
			continue
		}
		if err := im.one(f); err != nil {
			return err
		}
	}
	if im.rep.Files == 0 {
		return Errorf(CodeInvalid, "import: nothing there that can be read; --from names the format where it is not seen: %s", foreign.Names())
	}
	return nil
}

func (im *importer) one(f foreign.File) error {
	r, err := f.Open()
	if err != nil {
		im.file = f.Name
		im.bad(0, err)
		return nil
	}
	defer r.Close()
	im.file = f.Name
	if f.Alone && im.o.Name != "" {
		im.file = im.o.Name
	}
	in := bufio.NewReaderSize(&counter{r: r, im: im}, 64<<10)
	head, err := in.Peek(64 << 10)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		im.bad(0, err)
		return nil
	}
	format := im.o.From
	if format == "" {
		if isExport(head) {
			format = NativeFormat
		} else if format = string(foreign.Detect(im.file, head)); format == "" {
			if f.Alone {
				return Errorf(CodeInvalid, "import: %s is in no format that is known; --from names it: %s, %s", f.Name, NativeFormat, foreign.Names())
			}
			return nil // a folder holds other things too
		}
	}
	im.rep.Files++
	im.rep.Format = format
	if format == NativeFormat {
		return im.export(in)
	}
	return im.notes(foreign.Format(format), in)
}

// counter tells the progress.
type counter struct {
	r    io.Reader
	im   *importer
	said int64
}

// progressBytes lies between two calls of Progress.
const progressBytes = 1 << 18

func (c *counter) Read(p []byte) (int, error) {
	if err := c.im.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.im.read += int64(n)
	if c.im.o.Progress != nil && !c.im.dry && (c.im.read-c.said >= progressBytes || err != nil) {
		c.said = c.im.read
		c.im.o.Progress(c.im.read, c.im.total)
	}
	return n, err
}

// isExport reports whether a file begins as our export does.
func isExport(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	var h struct{ Type string }
	return json.NewDecoder(bytes.NewReader(head)).Decode(&h) == nil && h.Type == lineHeader
}

// checkJSON refuses text that decoding would change without a word.
func checkJSON(line []byte) error {
	if !utf8.Valid(line) {
		return errors.New("it is not valid UTF-8")
	}
	if loneSurrogate(line) {
		return errors.New("it holds half of a surrogate pair")
	}
	return nil
}
