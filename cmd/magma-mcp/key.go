package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// keyEnv holds an encryption key in place of a file.
const keyEnv = "MAGMA_KEY"

// storeKey is the key of the store: from the environment, else from the configured file or keyring; nil is none.
func (c Config) storeKey(getenv func(string) string) ([]byte, error) {
	if v := getenv(keyEnv); v != "" {
		key, err := parseKey(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyEnv, err)
		}
		return key, nil
	}
	if c.Store.KeyFile != "" {
		return readKey(c.Store.KeyFile)
	}
	if c.Store.Keyring != "" {
		return keyring(c.Store.Keyring).key()
	}
	return nil, nil
}

// readKey reads a key file. On systems with such permissions it must be its owner's alone.
func readKey(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the encryption key: %w", err)
	}
	if os.PathSeparator == '/' && st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: others may read this key; chmod 600 it", path)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the encryption key: %w", err)
	}
	key, err := parseKey(string(raw))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// parseKey reads 32 bytes in base64 or hexadecimal. A password is refused: it is no key.
func parseKey(s string) ([]byte, error) {
	s = strings.TrimSpace(s)
	for _, decode := range []func(string) ([]byte, error){hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString, base64.URLEncoding.DecodeString, base64.RawURLEncoding.DecodeString} {
		if key, err := decode(s); err == nil && len(key) == store.KeyBytes {
			return key, nil
		}
	}
	return nil, fmt.Errorf("not %d bytes in base64 or hexadecimal; `magma-mcp encrypt FILE` makes a key", store.KeyBytes)
}

// newKey reads the key in a file, which is made with a random one where it is not there.
func newKey(path string) (key []byte, made bool, err error) {
	key, err = readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, false, err
	}
	key = make([]byte, store.KeyBytes)
	rand.Read(key)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("write the encryption key: %w", err)
	}
	_, err = fmt.Fprintln(f, base64.StdEncoding.EncodeToString(key))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, false, fmt.Errorf("write the encryption key: %w", err)
	}
	return key, true, nil
}

type encryptCommand struct {
	KeyFile string `arg:"" optional:"" help:"File with the new key, 32 bytes in base64 or hexadecimal; made where it is not there."`
	Keyring string `placeholder:"NAME" help:"Keep the new key under this name in the operating system's keyring, in place of a file; made where it is not there."`
}

// Run encrypts a store, or gives an encrypted one another key.
func (c *encryptCommand) Run(a *app) error {
	if (c.KeyFile == "") == (c.Keyring == "") {
		return memory.Errorf(memory.CodeInvalid, "encrypt: say where the key lies, FILE or --keyring NAME, one of them")
	}
	keep := keyring(c.Keyring).newKey
	where, setting := "the keyring of this user, under "+c.Keyring, fmt.Sprintf("store.keyring = %q", c.Keyring)
	if c.KeyFile != "" {
		path, err := filepath.Abs(c.KeyFile)
		if err != nil {
			return fmt.Errorf("%s: %w", c.KeyFile, err)
		}
		keep = func() ([]byte, bool, error) { return newKey(path) }
		where, setting = path, fmt.Sprintf("store.key_file = %q", filepath.ToSlash(path))
	}
	return a.alone("encrypt", func(dir string, o memory.Options) error {
		key, made, err := keep()
		if err != nil {
			return err
		}
		rep, err := memory.Rekey(a.ctx, dir, key, o)
		if err != nil {
			return err
		}
		text := fmt.Sprintf("Encrypted: %s, checked under the new key.", memory.Counted(rep.Check.Records))
		if made {
			text += "\nThe key is new, in " + where + ". Keep a copy elsewhere (`magma-mcp key` prints it): without it nobody reads the store again."
		}
		text += "\nNow set " + setting + " in the configuration (or put the key into " + keyEnv + "), and start the clients again."
		return a.print(text + besideText(rep, "the old key, or none"))
	})
}

type keyCommand struct{}

// Run prints the key, for a copy in a safe place.
func (keyCommand) Run(a *app) error {
	key, err := a.config.storeKey(os.Getenv)
	if err != nil {
		return err
	}
	if key == nil {
		return memory.Errorf(memory.CodeNotFound, "no key is set: store.key_file, store.keyring and %s are empty", keyEnv)
	}
	return a.print(base64.StdEncoding.EncodeToString(key))
}

type decryptCommand struct{}

func (decryptCommand) Run(a *app) error {
	return a.alone("decrypt", func(dir string, o memory.Options) error {
		if o.Pebble.Key == nil {
			return memory.Errorf(memory.CodeInvalid, "no key is set: give the present one as store.key_file, store.keyring or %s", keyEnv)
		}
		rep, err := memory.Rekey(a.ctx, dir, nil, o)
		if err != nil {
			return err
		}
		return a.print(fmt.Sprintf("Decrypted: %s, checked. Now take store.key_file or store.keyring out of the configuration.", memory.Counted(rep.Check.Records)) + besideText(rep, "the old key"))
	})
}

// besideText warns of copies that the change did not reach.
func besideText(r memory.RekeyReport, with string) string {
	if len(r.Beside) == 0 {
		return ""
	}
	return fmt.Sprintf("\nAs they were, with %s, are the earlier stores in the data folder: %s. Remove what is not wanted.", with, strings.Join(r.Beside, ", "))
}
