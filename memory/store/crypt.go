package store

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Sealed files. With a key, every file that Pebble writes with anything in it is encrypted: tables, logs,
// manifests, options. Without one, logs and manifests alone are framed in the same way, with checksums in
// place of the cipher: Pebble takes damage near the end of them for the end, and what came after for never
// written, so that a flipped byte would lose acknowledged writes, or whole tables, without a word.
// Never sealed are the names and sizes of files, Pebble's empty marker and lock files, and ownerFile.
//
//	file    = header, frames
//	header  = magic[8] version[1] layout[1] zero[6] salt[32] check[16]
//	key     = HKDF-SHA256(secret: the store's key, salt: salt, info: label version layout), AES-256-GCM
//	check   = the tag over header[:48], with a nonce no frame has
//
// Each file has a salt of its own from the system's random source, so each has a key of its own, and within
// a file frames are numbered; the number is the nonce. Frames are only ever appended: a tail that was
// synced half full is never written again (it would need a second nonce, and a crash in the middle would
// take acknowledged bytes along). Files are never opened for writing twice. So no nonce comes twice under
// one key. The order of frames is sealed by their numbers.
//
// Two layouts:
//
//	stream  = { magic[4] length[4] number[8] synced[8] sealed[length] tag }   logs, manifests, options
//	table   = { sealed[tableFrame] tag } sealed[0..tableFrame] tag            *.sst, *.blob
//
// A stream is read from its start and may end anywhere, torn by a crash. A frame that does not open is the
// torn end if nothing behind it shows that it was once synced: each frame says how many plain bytes had
// been synced when it was written, and an empty one that says so is written after each sync. Else it is
// damage, ErrCorrupt. That empty frame is not waited for, but in a manifest: when the power fails at once
// (not when the process is killed) it may be missing, and damage to the last synced write then looks like
// a torn end.
// A table has frames of one size, so that any byte is found by arithmetic; the last one is marked in its
// nonce, so that cutting the file at a frame shows. It is complete when it is closed.
//
// What encryption does not do: hide how much is stored and when it changes; or notice that someone who can
// write to the disk has put back an older state of the whole store, or removed its newest files.
const (
	cryptMagic   = "magmaenc"
	checkMagic   = "magmachk" // framed without a key
	cryptVersion = 1
	cryptHeader  = 64
	cryptTag     = 16

	layoutStream = 1
	layoutTable  = 2

	frameMagic  = 0x9c4d4631 // "\x9cMF1"
	frameHeader = 24
	// The most plain bytes of a stream's frame: Pebble writes logs in blocks of this size.
	streamFrame = 32 << 10
	// Plain bytes of a table's frame. A block of 8 KiB lies in two or three. Smaller frames cost more tags
	// and calls, larger ones decrypt more than was asked for.
	tableFrame = 4 << 10
)

// KeyBytes is the length of an encryption key.
const KeyBytes = 32

// keyFile tells, beside the store's files, that they are encrypted, and lets a wrong key be told at once.
// It is a sealed stream like the rest. Losing it loses nothing: it is made again.
const keyFile = "KEY"

var keyText = []byte("This store is encrypted.\n")

// cryptFS seals what is written through it and opens what is read.
type cryptFS struct {
	vfs.FS
	key []byte // nil: checksums

	salvage bool // a damaged stream ends at the damage
}

// newCryptFS puts sealing between dir, a store or a folder to be one, and its user. It returns ErrKey
// before anything is touched if the files and the key do not agree.
func newCryptFS(fs vfs.FS, dir string, key []byte, readOnly bool) (*cryptFS, error) {
	if key != nil && len(key) != KeyBytes {
		return nil, fmt.Errorf("%w: it has %d bytes, not %d", ErrKey, len(key), KeyBytes)
	}
	names, err := fs.List(dir)
	if err != nil {
		return nil, storageError("list the folder", err)
	}
	sealed, plain := "", ""
	for _, name := range names {
		if name != keyFile && !strings.HasPrefix(name, "MANIFEST-") && !strings.HasSuffix(name, ".sst") {
			continue
		}
		head, err := readHead(fs, fs.PathJoin(dir, name))
		switch {
		case err != nil:
			return nil, storageError("look at "+name, err)
		case bytes.HasPrefix(head, []byte(cryptMagic)):
			if len(head) == cryptHeader && (sealed == "" || name == keyFile) {
				sealed = name
			}
		case name != keyFile && !zero(head):
			plain = name
		}
	}
	if key == nil {
		if sealed != "" {
			return nil, fmt.Errorf("%w: the store is encrypted, and no key was given", ErrKey)
		}
		return &cryptFS{FS: fs}, nil
	}
	c := &cryptFS{FS: fs, key: bytes.Clone(key)}
	switch {
	case sealed == "" && plain != "":
		return nil, fmt.Errorf("%w: the store is not encrypted (copy it into an encrypted one)", ErrKey)
	case sealed != "":
		f, err := c.Open(fs.PathJoin(dir, sealed))
		if errors.Is(err, ErrCorrupt) && sealed == keyFile {
			return nil, fmt.Errorf("%w (if you are sure of the key, remove the file %s)", ErrKey, keyFile)
		}
		if errors.Is(err, ErrCorrupt) {
			return nil, fmt.Errorf("%w, or %s is damaged", ErrKey, sealed)
		}
		if err != nil {
			return nil, storageError("look at "+sealed, err)
		}
		if err := f.Close(); err != nil {
			return nil, storageError("look at "+sealed, err)
		}
	}
	if sealed != keyFile && !readOnly {
		if err := c.writeKeyFile(dir); err != nil {
			return nil, storageError("write the key's check", err)
		}
	}
	return c, nil
}

// writeKeyFile makes keyFile in dir, whole or not at all.
func (c *cryptFS) writeKeyFile(dir string) error {
	name := c.PathJoin(dir, keyFile)
	f, err := c.Create(name+".tmp", vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(bytes.Clone(keyText))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if vfs.Root(c.FS) == vfs.Default {
		if err := os.Chmod(name+".tmp", 0o600); err != nil {
			return err
		}
	}
	if err := c.FS.Rename(name+".tmp", name); err != nil {
		return err
	}
	return syncDir(c.FS, dir)
}

func readHead(fs vfs.FS, name string) ([]byte, error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, cryptHeader)
	n, err := io.ReadFull(f, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

func zero(p []byte) bool { return len(bytes.Trim(p, "\x00")) == 0 }

// checkNonce and lastFrame are set in the four bytes of a nonce before the frame's number.
const (
	lastFrame  = 1
	checkNonce = 2
)

func nonce(number uint64, mark uint32) []byte {
	n := make([]byte, 12)
	binary.BigEndian.PutUint32(n, mark)
	binary.BigEndian.PutUint64(n[4:], number)
	return n
}

// newHeader makes the header of a new file and the cipher of its frames.
func (c *cryptFS) newHeader(layout byte) ([]byte, cipher.AEAD, error) {
	h := make([]byte, cryptHeader-cryptTag, cryptHeader)
	copy(h, c.magic())
	h[8], h[9] = cryptVersion, layout
	if _, err := rand.Read(h[16:48]); err != nil {
		return nil, nil, err
	}
	aead, err := c.cipher(h)
	if err != nil {
		return nil, nil, err
	}
	return aead.Seal(h, nonce(0, checkNonce), nil, h)[:cryptHeader], aead, nil
}

func (c *cryptFS) magic() string {
	if c.key == nil {
		return checkMagic
	}
	return cryptMagic
}

func (c *cryptFS) cipher(header []byte) (cipher.AEAD, error) {
	if c.key == nil {
		return checksum{}, nil
	}
	info := fmt.Sprintf("magma-mcp store file %d %d", header[8], header[9])
	key, err := hkdf.Key(sha256.New, c.key, header[16:48], info, KeyBytes)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// openHeader checks a file's header.
func (c *cryptFS) openHeader(h []byte) (layout byte, _ cipher.AEAD, _ error) {
	if !bytes.HasPrefix(h, []byte(c.magic())) || h[9] != layoutStream && h[9] != layoutTable {
		return 0, nil, fmt.Errorf("%w: not an encrypted file", ErrCorrupt)
	}
	aead, err := c.cipher(h)
	if err != nil {
		return 0, nil, err
	}
	if _, err := aead.Open(nil, nonce(0, checkNonce), h[48:cryptHeader], h[:48]); err != nil {
		return 0, nil, fmt.Errorf("%w: the header does not open with this key", ErrCorrupt)
	}
	if h[8] > cryptVersion { // a later version keeps the check as it is
		return 0, nil, fmt.Errorf("%w: sealed files of format %d", ErrNewerFormat, h[8])
	}
	return h[9], aead, nil
}

func isTable(name string) bool {
	return strings.HasSuffix(name, ".sst") || strings.HasSuffix(name, ".blob")
}

func (c *cryptFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := c.FS.Create(name, category)
	if err != nil {
		return nil, err
	}
	base := c.FS.PathBase(name)
	switch {
	case c.key == nil && !isStream(base):
		return f, nil
	case isTable(base):
		return &sealedTable{sealedFile: sealedFile{File: f, fs: c}}, nil
	}
	return &sealedStream{sealedFile: sealedFile{File: f, fs: c}, strict: isManifest(base)}, nil
}

func isManifest(base string) bool { return strings.HasPrefix(base, "MANIFEST-") }

// isStream is for the files that are framed without a key too.
func isStream(base string) bool { return isManifest(base) || strings.HasSuffix(base, ".log") }

func (c *cryptFS) Open(name string, opts ...vfs.OpenOption) (vfs.File, error) {
	f, err := c.FS.Open(name, opts...)
	if err != nil {
		return nil, err
	}
	r, err := c.opened(f, name)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", c.FS.PathBase(name), err)
	}
	return r, nil
}

func (c *cryptFS) opened(f vfs.File, name string) (vfs.File, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.IsDir() {
		return f, nil
	}
	h := make([]byte, cryptHeader)
	n, err := f.ReadAt(h, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	// Nothing was ever synced of such a file, or it is a marker.
	switch {
	case c.key == nil && !isStream(c.FS.PathBase(name)):
		return f, nil
	case n < cryptHeader && !isTable(name) || zero(h):
		return &openStream{openFile: openFile{File: f}}, nil
	case n < cryptHeader:
		return nil, fmt.Errorf("%w: cut short", ErrCorrupt)
	}
	layout, aead, err := c.openHeader(h)
	if errors.Is(err, ErrCorrupt) && c.salvage && !isTable(name) {
		return &openStream{openFile: openFile{File: f}}, nil
	}
	if err != nil {
		return nil, err
	}
	if layout == layoutTable {
		return newOpenTable(f, aead, st.Size())
	}
	s, err := newOpenStream(f, aead, st.Size())
	if err == nil {
		s.salvage = c.salvage
	}
	return s, err
}

// List leaves out Pebble's record of its options when salvaging: a damaged one would keep it from opening.
func (c *cryptFS) List(dir string) ([]string, error) {
	names, err := c.FS.List(dir)
	if c.salvage {
		names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "OPTIONS-") })
	}
	return names, err
}

// Stat of a file gives the size of its plain text, for which it is opened.
func (c *cryptFS) Stat(name string) (vfs.FileInfo, error) {
	st, err := c.FS.Stat(name)
	if err != nil || st.IsDir() || st.Size() == 0 {
		return st, err
	}
	f, err := c.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Stat()
}

func (c *cryptFS) ReuseForWrite(oldname, newname string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := c.FS.Remove(oldname); err != nil {
		return nil, err
	}
	return c.Create(newname, category)
}

// OpenReadWrite would write over what is sealed. Pebble uses it for shared storage alone.
func (c *cryptFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, &os.PathError{Op: "open for writing again", Path: name, Err: errors.ErrUnsupported}
}

func (c *cryptFS) Unwrap() vfs.FS { return c.FS }

// checksum is a cipher.AEAD that hides nothing: the tag is a CRC-32C. It keeps cryptHeader's length.
type checksum struct{}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (checksum) NonceSize() int { return 12 }
func (checksum) Overhead() int  { return cryptTag }

func (checksum) tag(nonce, plain, extra []byte) (t [cryptTag]byte) {
	sum := crc32.Update(crc32.Update(crc32.Checksum(nonce, castagnoli), castagnoli, extra), castagnoli, plain)
	binary.BigEndian.PutUint32(t[:], sum)
	return t
}

func (c checksum) Seal(dst, nonce, plain, extra []byte) []byte {
	t := c.tag(nonce, plain, extra)
	return append(append(dst, plain...), t[:]...)
}

func (c checksum) Open(dst, nonce, sealed, extra []byte) ([]byte, error) {
	if len(sealed) < cryptTag {
		return nil, ErrCorrupt
	}
	plain, tag := sealed[:len(sealed)-cryptTag], sealed[len(sealed)-cryptTag:]
	if t := c.tag(nonce, plain, extra); !bytes.Equal(t[:], tag) {
		return nil, ErrCorrupt
	}
	return append(dst, plain...), nil
}

// plainInfo is a file's info with the size of its plain text.
type plainInfo struct {
	vfs.FileInfo
	size int64
}

func (i plainInfo) Size() int64 { return i.size }
