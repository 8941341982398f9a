package foreign

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"
)

// Source is a file, the files of a folder, or those of a zip archive.
type Source struct {
	fsys  fs.FS
	name  string
	size  int64
	dir   bool
	zip   *zip.Reader
	close func() error
}

// File is one file of a Source. Alone is set where it is all there is: then it has to be in some format.
type File struct {
	Name  string
	Alone bool
	Open  func() (io.ReadCloser, error)
}

// Open looks at what name is.
func Open(fsys fs.FS, name string) (*Source, error) {
	st, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	s := &Source{fsys: fsys, name: name, size: st.Size(), dir: st.IsDir(), close: func() error { return nil }}
	if s.dir {
		s.size = 0
		return s, nil
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is neither a file nor a folder", name)
	}
	if strings.EqualFold(path.Ext(name), ".zip") {
		f, err := fsys.Open(name)
		if err != nil {
			return nil, err
		}
		at, ok := f.(io.ReaderAt)
		if !ok {
			return nil, errors.Join(fmt.Errorf("%s cannot be read as an archive; unpack it first", name), f.Close())
		}
		if s.zip, err = zip.NewReader(at, st.Size()); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
		}
		s.close, s.size = f.Close, 0
		for _, z := range s.zip.File {
			if wanted(z.Name) {
				s.size += int64(min(z.UncompressedSize64, 1<<40))
			}
		}
	}
	return s, nil
}

// Size is how many bytes there are to read, 0 where that is not known.
func (s *Source) Size() int64 { return s.size }

// Close closes an archive.
func (s *Source) Close() error { return s.close() }

// wanted tells, by its name, a file that may hold memories; names in archives are nothing but names.
func wanted(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".jsonl", ".json":
		return !strings.HasPrefix(path.Base(name), ".")
	}
	return false
}

// Files yields the files in the order of their names. Links and hidden folders are not followed.
func (s *Source) Files() iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		switch {
		case s.zip != nil:
			files := slices.Clone(s.zip.File)
			slices.SortStableFunc(files, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
			for _, z := range files {
				if z.Mode().IsRegular() && wanted(z.Name) && !yield(File{Name: z.Name, Open: z.Open}, nil) {
					return
				}
			}
		case s.dir:
			err := fs.WalkDir(s.fsys, s.name, func(p string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					if !yield(File{}, err) {
						return fs.SkipAll
					}
					if d != nil && d.IsDir() {
						return fs.SkipDir
					}
				case d.IsDir() && p != s.name && strings.HasPrefix(d.Name(), "."):
					return fs.SkipDir
				case d.Type().IsRegular() && wanted(p):
					shown := strings.TrimPrefix(strings.TrimPrefix(p, s.name), "/")
					if !yield(File{Name: shown, Open: s.opener(p)}, nil) {
						return fs.SkipAll
					}
				}
				return nil
			})
			if err != nil {
				yield(File{}, err)
			}
		default:
			yield(File{Name: path.Base(s.name), Alone: true, Open: s.opener(s.name)}, nil)
		}
	}
}

func (s *Source) opener(p string) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) { return s.fsys.Open(p) }
}
