package store

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// sealedFile is what the two layouts share when they are written. An empty file has no header.
type sealedFile struct {
	vfs.File // the sealed bytes
	fs       *cryptFS
	aead     cipher.AEAD
	number   uint64 // of the next frame
	plain    int64  // bytes taken so far
	buf      []byte
	err      error // the first, after which nothing is written: a frame may be half there
}

var errSealedRead = errors.New("a file that is being written cannot be read")

func (*sealedFile) Read([]byte) (int, error)           { return 0, errSealedRead }
func (*sealedFile) ReadAt([]byte, int64) (int, error)  { return 0, errSealedRead }
func (*sealedFile) WriteAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }
func (*sealedFile) Prefetch(int64, int64) error        { return nil }

func (f *sealedFile) Stat() (vfs.FileInfo, error) {
	st, err := f.File.Stat()
	if err != nil {
		return nil, err
	}
	return plainInfo{st, f.plain}, nil
}

// begin puts the header into buf if it is not written yet.
func (f *sealedFile) begin(layout byte) {
	f.buf = f.buf[:0]
	if f.aead == nil && f.err == nil {
		var h []byte
		if h, f.aead, f.err = f.fs.newHeader(layout); f.err == nil {
			f.buf = append(f.buf, h...)
		}
	}
}

// end writes buf.
func (f *sealedFile) end() error {
	if f.err == nil && len(f.buf) > 0 {
		var n int
		if n, f.err = f.File.Write(f.buf); f.err == nil && n < len(f.buf) {
			f.err = io.ErrShortWrite
		}
	}
	return f.err
}

// sealedStream writes each Write as frames at once.
type sealedStream struct {
	sealedFile
	synced int64
	strict bool // what tells of a sync is synced too
}

func (f *sealedStream) Write(p []byte) (int, error) {
	f.begin(layoutStream)
	for rest := p; f.err == nil && len(rest) > 0; {
		n := min(len(rest), streamFrame)
		f.frame(rest[:n])
		rest = rest[n:]
	}
	if err := f.end(); err != nil {
		return 0, err
	}
	f.plain += int64(len(p))
	return len(p), nil
}

// frame puts a frame into buf.
func (f *sealedStream) frame(p []byte) {
	at := len(f.buf)
	f.buf = binary.BigEndian.AppendUint32(f.buf, frameMagic)
	f.buf = binary.BigEndian.AppendUint32(f.buf, uint32(len(p)))
	f.buf = binary.BigEndian.AppendUint64(f.buf, f.number)
	f.buf = binary.BigEndian.AppendUint64(f.buf, uint64(f.synced))
	f.buf = f.aead.Seal(f.buf, nonce(f.number, 0), p, f.buf[at:at+frameHeader])
	f.number++
}

// sync notes that all that was written is synced. Writes and syncs do not overlap.
func (f *sealedStream) sync(call func() error) error {
	if f.err != nil {
		return f.err
	}
	if err := call(); err != nil {
		return err
	}
	if f.synced == f.plain {
		return nil
	}
	f.synced = f.plain
	f.buf = f.buf[:0]
	f.frame(nil)
	if err := f.end(); err != nil || !f.strict {
		return err
	}
	return call()
}

func (f *sealedStream) Sync() error     { return f.sync(f.File.Sync) }
func (f *sealedStream) SyncData() error { return f.sync(f.File.SyncData) }

func (f *sealedStream) SyncTo(int64) (full bool, err error) {
	st, err := f.File.Stat()
	if err != nil {
		return false, err
	}
	return f.File.SyncTo(st.Size())
}

// sealedTable collects whole frames; the last one is written by Close.
type sealedTable struct {
	sealedFile
	rest   []byte // less than a frame, or just one
	closed bool
}

func (f *sealedTable) Write(p []byte) (int, error) {
	f.begin(layoutTable)
	f.plain += int64(len(p))
	for left := p; f.err == nil && len(left) > 0; {
		if len(f.rest) == tableFrame { // and more comes: it is not the last
			f.seal(0)
		}
		n := min(len(left), tableFrame-len(f.rest))
		f.rest = append(f.rest, left[:n]...)
		left = left[n:]
	}
	if err := f.end(); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *sealedTable) seal(mark uint32) {
	f.buf = f.aead.Seal(f.buf, nonce(f.number, mark), f.rest, nil)
	f.rest = f.rest[:0]
	f.number++
}

func (f *sealedTable) SyncTo(int64) (full bool, err error) {
	st, err := f.File.Stat()
	if err != nil {
		return false, err
	}
	_, err = f.File.SyncTo(st.Size())
	return false, err
}

// Close writes the last frame and syncs it: Pebble's sync came before.
func (f *sealedTable) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.begin(layoutTable)
	if f.err == nil {
		f.seal(lastFrame)
	}
	if err := f.end(); err != nil {
		return errors.Join(err, f.File.Close())
	}
	return errors.Join(f.File.Sync(), f.File.Close())
}
