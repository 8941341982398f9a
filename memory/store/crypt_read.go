package store

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// openFile is what the two layouts share when they are read. ReadAt may be called from many goroutines.
type openFile struct {
	vfs.File // the sealed bytes
	aead     cipher.AEAD
	size     int64 // plain bytes
	at       int64 // of the next Read
}

func (*openFile) Write([]byte) (int, error)          { return 0, errors.ErrUnsupported }
func (*openFile) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

func (f *openFile) Stat() (vfs.FileInfo, error) {
	st, err := f.File.Stat()
	if err != nil {
		return nil, err
	}
	return plainInfo{st, f.size}, nil
}

// read is Read by way of readAt.
func (f *openFile) read(p []byte, readAt func([]byte, int64) (int, error)) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := readAt(p, f.at)
	f.at += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

// openTable reads a table.
type openTable struct {
	openFile
	frames int64
}

func newOpenTable(f vfs.File, aead cipher.AEAD, size int64) (*openTable, error) {
	body := size - cryptHeader
	frames := (body + tableFrame + cryptTag - 1) / (tableFrame + cryptTag)
	if plain := body - frames*cryptTag; frames > 0 && plain >= (frames-1)*tableFrame {
		return &openTable{openFile{File: f, aead: aead, size: plain}, frames}, nil
	}
	return nil, fmt.Errorf("%w: cut short", ErrCorrupt)
}

func (f *openTable) Read(p []byte) (int, error) { return f.read(p, f.ReadAt) }

var frameBufs = sync.Pool{New: func() any { return new([]byte) }}

func (f *openTable) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, errors.ErrUnsupported
	}
	if off >= f.size {
		return 0, io.EOF
	}
	want := min(int64(len(p)), f.size-off)
	if want == 0 {
		return 0, nil
	}
	first, last := off/tableFrame, (off+want-1)/tableFrame
	buf := frameBufs.Get().(*[]byte)
	defer frameBufs.Put(buf)
	need := int(last-first+1) * (tableFrame + cryptTag)
	if cap(*buf) < need {
		*buf = make([]byte, need)
	}
	sealed := (*buf)[:need]
	n, err := f.File.ReadAt(sealed, cryptHeader+first*(tableFrame+cryptTag))
	if err != nil && err != io.EOF {
		return 0, err
	}
	sealed = sealed[:n]
	done := 0
	for i := first; i <= last; i++ {
		frame := sealed[:min(len(sealed), tableFrame+cryptTag)]
		sealed = sealed[len(frame):]
		mark := uint32(0)
		if i == f.frames-1 {
			mark = lastFrame
		}
		plain, err := f.aead.Open(frame[:0], nonce(uint64(i), mark), frame, nil)
		if err != nil {
			return done, fmt.Errorf("%w: frame %d does not open", ErrCorrupt, i)
		}
		if i == first {
			plain = plain[min(int64(len(plain)), off-first*tableFrame):]
		}
		done += copy(p[done:want], plain)
	}
	if int64(done) < want {
		return done, fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

func (f *openTable) Prefetch(off, length int64) error {
	first, last := off/tableFrame, (off+length)/tableFrame
	return f.File.Prefetch(cryptHeader+first*(tableFrame+cryptTag), (last-first+1)*(tableFrame+cryptTag))
}

// openStream reads a stream as it was when it was opened.
type openStream struct {
	openFile
	salvage bool
	frames  []streamPos
	end     int64 // where the last of them ends in the file

	mu    sync.Mutex
	last  int // the frame that is in plain, -1 none
	plain []byte
}

type streamPos struct{ off, at int64 } // of a frame: its first plain byte; its header in the file

func newOpenStream(f vfs.File, aead cipher.AEAD, size int64) (*openStream, error) {
	s := &openStream{openFile: openFile{File: f, aead: aead}, end: cryptHeader, last: -1}
	for {
		h, err := s.header(s.end)
		if err != nil {
			return nil, err
		}
		if h == nil || h.number != uint64(len(s.frames)) || s.end+h.len() > size {
			break
		}
		s.frames = append(s.frames, streamPos{s.size, s.end})
		s.size += h.plain
		s.end += h.len()
	}
	// Look at the last frame, and at what is behind it: a torn end is no part of the file.
	for len(s.frames) > 0 {
		_, err := s.load(len(s.frames) - 1)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrCorrupt) {
			return nil, err
		}
		s.cut(len(s.frames) - 1)
	}
	if synced, err := s.syncedAfter(s.end, size); err != nil {
		return nil, err
	} else if synced > s.size {
		// Reading up to here is as good as ever; the damage is told where it begins.
		s.frames = append(s.frames, streamPos{s.size, -1})
		s.size++
	}
	return s, nil
}

// cut drops the frames from the i-th.
func (s *openStream) cut(i int) {
	s.size = s.frames[i].off
	if s.frames[i].at >= 0 {
		s.end = s.frames[i].at
	}
	s.frames = s.frames[:i]
}

type streamHeader struct {
	raw    [frameHeader]byte
	plain  int64
	number uint64
	synced int64
}

func (h *streamHeader) len() int64 { return frameHeader + h.plain + cryptTag }

// header reads what may be a frame's header; nil if it cannot be one.
func (s *openStream) header(at int64) (*streamHeader, error) {
	h := new(streamHeader)
	n, err := s.File.ReadAt(h.raw[:], at)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if n < frameHeader || binary.BigEndian.Uint32(h.raw[:]) != frameMagic {
		return nil, nil
	}
	h.plain = int64(binary.BigEndian.Uint32(h.raw[4:]))
	h.number = binary.BigEndian.Uint64(h.raw[8:])
	h.synced = int64(binary.BigEndian.Uint64(h.raw[16:]))
	if h.plain > streamFrame {
		return nil, nil
	}
	return h, nil
}

// open reads and opens the frame at a place; ErrCorrupt if there is none.
func (s *openStream) open(at int64) (*streamHeader, []byte, error) {
	h, err := s.header(at)
	if err != nil {
		return nil, nil, err
	}
	if h == nil {
		return nil, nil, ErrCorrupt
	}
	sealed := make([]byte, h.plain+cryptTag)
	if n, err := s.File.ReadAt(sealed, at+frameHeader); n < len(sealed) {
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		return nil, nil, ErrCorrupt
	}
	plain, err := s.aead.Open(sealed[:0], nonce(h.number, 0), sealed, h.raw[:])
	if err != nil {
		return nil, nil, ErrCorrupt
	}
	return h, plain, nil
}

// syncedAfter returns the largest number of synced bytes that a whole frame at or behind a place tells of.
func (s *openStream) syncedAfter(at, size int64) (synced int64, err error) {
	const piece = 64 << 10
	buf := make([]byte, piece)
	for at < size {
		n, err := s.File.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if n < frameHeader {
			break
		}
		i := 0
		for ; i+frameHeader <= n; i++ {
			if binary.BigEndian.Uint32(buf[i:]) != frameMagic {
				continue
			}
			h, _, err := s.open(at + int64(i))
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					return 0, err
				}
				continue
			}
			synced = max(synced, h.synced)
		}
		at += int64(i)
	}
	return synced, nil
}

// load returns the plain bytes of the i-th frame; s.mu is held, or s is not shared yet.
func (s *openStream) load(i int) ([]byte, error) {
	if s.last == i {
		return s.plain, nil
	}
	if s.frames[i].at < 0 {
		return nil, fmt.Errorf("%w: bytes that were synced are gone", ErrCorrupt)
	}
	h, plain, err := s.open(s.frames[i].at)
	if err != nil {
		return nil, err
	}
	if h.number != uint64(i) {
		return nil, ErrCorrupt
	}
	s.last, s.plain = i, plain
	return plain, nil
}

func (s *openStream) Read(p []byte) (int, error) { return s.read(p, s.ReadAt) }

func (s *openStream) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if off < 0 {
		return 0, errors.ErrUnsupported
	}
	done := 0
	i := sort.Search(len(s.frames), func(i int) bool { return s.frames[i].off > off }) - 1
	for ; done < len(p) && off+int64(done) < s.size; i++ {
		plain, err := s.load(i)
		if errors.Is(err, ErrCorrupt) && s.frames[i].at >= 0 {
			// A frame before the last does not open. Was it synced?
			synced, serr := s.syncedAfter(s.frames[i].at+1, s.end)
			switch {
			case serr != nil:
				err = serr
			case synced > s.frames[i].off:
				err = fmt.Errorf("%w: frame %d does not open", ErrCorrupt, i)
			default:
				s.cut(i)
				err = io.EOF
			}
		}
		if err != nil && s.salvage && errors.Is(err, ErrCorrupt) {
			s.cut(i)
			err = io.EOF
		}
		if err != nil {
			return done, err
		}
		done += copy(p[done:], plain[off+int64(done)-s.frames[i].off:])
	}
	if done < len(p) {
		return done, io.EOF
	}
	return done, nil
}

func (*openStream) Prefetch(int64, int64) error { return nil }
