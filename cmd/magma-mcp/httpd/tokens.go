package httpd

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/natefinch/atomic"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

const (
	secretName = "http-token"  // the built-in token itself, for its owner to copy
	tokensName = "tokens.json" // the named ones, hashed
	tokensLock = "tokens.lock"

	// secretBytes is 256 bits: nobody guesses it, so a plain SHA-256 keeps it safe at rest; a slow hash
	// protects what people choose, and would cost every request.
	secretBytes  = 32
	secretPrefix = "magma_" // for scanners that look for leaked keys
)

// PrivateFiles are the files in the data folder that only its owner may read.
var PrivateFiles = []string{secretName, tokensName}

// Token is a named token without its secret, which is shown once and never stored.
type Token struct {
	Name string `json:"name"`
	// Projects are the canonical names it may see, prefixes where they end in "/"; nil is all.
	Projects []string `json:"projects,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
	// Project is the one of a call that names none; "" refuses such a call.
	Project string    `json:"project,omitempty"`
	Created time.Time `json:"created"`
	Hash    string    `json:"hash"` // hex SHA-256 of the secret
}

// Tokens are the tokens kept in one data folder. All methods are safe for concurrent use, by several
// processes too; a running server sees what another process adds or revokes with the next request.
type Tokens struct {
	dir string

	mu      sync.Mutex
	cached  []Token
	builtin string // hash of the built-in one
	stamps  [2]stamp
}

type stamp struct {
	mod  time.Time
	size int64
}

// OpenTokens makes no file; dir need not exist yet.
func OpenTokens(dir string) *Tokens { return &Tokens{dir: dir} }

var tokenName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Add stores a new token and returns its secret, the only time that it can be seen. Of tok, Hash and
// Created are ignored; Projects has to name at least one, "*" for all.
func (t *Tokens) Add(tok Token, now time.Time) (secret string, err error) {
	if !tokenName.MatchString(tok.Name) {
		return "", fmt.Errorf("token name %q: 1 to 64 of a-z, 0-9, dot, dash and underscore, beginning with a letter or digit", tok.Name)
	}
	if len(tok.Projects) == 0 {
		return "", fmt.Errorf("token %q: say which projects it may see, or \"*\" for all", tok.Name)
	}
	tok.Projects = slices.Clone(tok.Projects)
	for i, p := range tok.Projects {
		if strings.TrimSpace(p) == "" {
			return "", fmt.Errorf("token %q: a project without a name", tok.Name)
		}
		if tok.Projects[i], err = memory.CanonicalProject(p, "", true); err != nil {
			return "", err
		}
	}
	if slices.Contains(tok.Projects, "*") {
		tok.Projects = nil
	}
	slices.Sort(tok.Projects)
	tok.Projects = slices.Compact(tok.Projects)
	if tok.Project != "" {
		if tok.Project, err = (tools.Scope{Allowed: tok.Projects}).ProjectFor(tok.Project, false); err != nil {
			return "", fmt.Errorf("default project of token %q: %w", tok.Name, err)
		}
	}
	secret = newSecret()
	tok.Hash, tok.Created = hash(secret), now.UTC().Truncate(time.Second)
	return secret, t.change(func(all []Token) ([]Token, error) {
		if slices.ContainsFunc(all, func(o Token) bool { return o.Name == tok.Name }) {
			return nil, fmt.Errorf("there is a token %q already: revoke it first, or choose another name", tok.Name)
		}
		return append(all, tok), nil
	})
}

// List is the named tokens by name.
func (t *Tokens) List() ([]Token, error) {
	all, err := t.read()
	slices.SortFunc(all, func(a, b Token) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// Revoke removes a token; a server that runs refuses it from the next request on.
func (t *Tokens) Revoke(name string) error {
	return t.change(func(all []Token) ([]Token, error) {
		left := slices.DeleteFunc(all, func(o Token) bool { return o.Name == name })
		if len(left) == len(all) {
			return nil, fmt.Errorf("there is no token %q: `magma-mcp token list` shows those there are", name)
		}
		return left, nil
	})
}

// Builtin returns the token of the data folder's owner and the file it lies in, made where there is none.
// To replace it, delete the file.
func (t *Tokens) Builtin() (secret, path string, err error) {
	path = filepath.Join(t.dir, secretName)
	unlock, err := t.lock()
	if err != nil {
		return "", path, err
	}
	defer unlock()
	b, err := os.ReadFile(path)
	if err == nil {
		secret = strings.TrimSpace(string(b))
		if len(secret) < len(secretPrefix)+secretBytes {
			return "", path, fmt.Errorf("the token in %s is too short to be one: delete the file, and a new one is made", path)
		}
		return secret, path, os.Chmod(path, 0o600)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", path, fmt.Errorf("read the HTTP token: %w", err)
	}
	secret = newSecret()
	return secret, path, writePrivate(path, []byte(secret+"\n"))
}

// check finds whose secret it is. builtin is set for the built-in token; Token is empty then.
func (t *Tokens) check(secret string) (tok Token, builtin, ok bool) {
	all, own, err := t.current()
	if err != nil {
		return Token{}, false, false
	}
	h := hash(secret)
	for _, o := range all { // all of them, so that the time says nothing
		if subtle.ConstantTimeCompare([]byte(o.Hash), []byte(h)) == 1 {
			tok, ok = o, true
		}
	}
	if own != "" && subtle.ConstantTimeCompare([]byte(own), []byte(h)) == 1 {
		return Token{}, true, true
	}
	return tok, false, ok
}

// current is what the files say, read again where they changed.
func (t *Tokens) current() ([]Token, string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var now [2]stamp
	for i, name := range []string{tokensName, secretName} {
		if fi, err := os.Stat(filepath.Join(t.dir, name)); err == nil {
			now[i] = stamp{fi.ModTime(), fi.Size()}
		}
	}
	if now == t.stamps {
		return t.cached, t.builtin, nil
	}
	all, err := t.read()
	if err != nil {
		return nil, "", err
	}
	t.builtin = ""
	if b, err := os.ReadFile(filepath.Join(t.dir, secretName)); err == nil && len(strings.TrimSpace(string(b))) >= len(secretPrefix)+secretBytes {
		t.builtin = hash(strings.TrimSpace(string(b)))
	}
	t.cached, t.stamps = all, now
	return t.cached, t.builtin, nil
}

type tokensFile struct {
	Tokens []Token `json:"tokens"`
}

func (t *Tokens) read() ([]Token, error) {
	path := filepath.Join(t.dir, tokensName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the tokens: %w", err)
	}
	var f tokensFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("read the tokens in %s: %w; mend the file, or delete it and add the tokens again", path, err)
	}
	return f.Tokens, nil
}

func (t *Tokens) change(do func([]Token) ([]Token, error)) error {
	unlock, err := t.lock()
	if err != nil {
		return err
	}
	defer unlock()
	all, err := t.read()
	if err != nil {
		return err
	}
	if all, err = do(slices.Clone(all)); err != nil {
		return err
	}
	b, err := json.MarshalIndent(tokensFile{all}, "", "  ")
	if err != nil {
		return err
	}
	return writePrivate(filepath.Join(t.dir, tokensName), append(b, '\n'))
}

func (t *Tokens) lock() (func(), error) {
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	l := flock.New(filepath.Join(t.dir, tokensLock), flock.SetPermissions(0o600))
	if err := l.Lock(); err != nil {
		return nil, fmt.Errorf("lock the tokens: %w", err)
	}
	return func() { l.Unlock() }, nil
}

// writePrivate replaces a file whole; only its owner can read it, at no moment anybody else.
func writePrivate(path string, b []byte) error {
	// atomic.WriteFile's temporary file is made 0600 by os.CreateTemp, and keeps the mode of an old one.
	if err := os.Chmod(path, 0o600); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := atomic.WriteFile(path, strings.NewReader(string(b))); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Chmod(path, 0o600)
}

func newSecret() string {
	var b [secretBytes]byte
	rand.Read(b[:])
	return secretPrefix + base64.RawURLEncoding.EncodeToString(b[:])
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
