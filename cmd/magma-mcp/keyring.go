package main

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	secret "github.com/zalando/go-keyring"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// keyring is the name of a key in the operating system's keyring: the Keychain of macOS, the Credential Manager of
// Windows, the Secret Service (GNOME Keyring, KWallet) of a Linux desktop.
type keyring string

// keyringService is what keyrings show as the program that a key belongs to.
const keyringService = "magma-mcp"

// keyringPatience bounds the wait for a keyring: a locked one asks its user for a password, who may be away. A client
// waits about a minute for its first answer.
const keyringPatience = 45 * time.Second

// key is the key that the keyring holds.
func (k keyring) key() ([]byte, error) {
	text, err := k.ask("read", func() (string, error) { return secret.Get(keyringService, string(k)) })
	if errors.Is(err, secret.ErrNotFound) {
		return nil, fmt.Errorf("keyring: it holds no key %q of %s; `magma-mcp encrypt --keyring NAME` makes one, and store.keyring names it", string(k), keyringService)
	}
	if err != nil {
		return nil, err
	}
	key, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("keyring: %q of %s: %w", string(k), keyringService, err)
	}
	return key, nil
}

// newKey is the key that the keyring holds, or a random one that it holds from now on. It is read back, since a
// keyring may keep what it is given until the user logs out.
func (k keyring) newKey() (key []byte, made bool, err error) {
	text, err := k.ask("read", func() (string, error) { return secret.Get(keyringService, string(k)) })
	if err == nil {
		key, err = parseKey(text)
		return key, false, err
	}
	if !errors.Is(err, secret.ErrNotFound) {
		return nil, false, err
	}
	key = make([]byte, store.KeyBytes)
	rand.Read(key)
	want := base64.StdEncoding.EncodeToString(key)
	if _, err := k.ask("write", func() (string, error) { return "", secret.Set(keyringService, string(k), want) }); err != nil {
		return nil, false, err
	}
	got, err := k.ask("read", func() (string, error) { return secret.Get(keyringService, string(k)) })
	if err == nil && got != want {
		err = errors.New("keyring: what was written does not come back; use a key file")
	}
	return key, true, err
}

// ask waits for the keyring. One that is not there, or does not answer, is told from one without the key.
func (k keyring) ask(doing string, f func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	ch := make(chan answer, 1)
	go func() {
		text, err := f()
		ch <- answer{text, err}
	}()
	select {
	case a := <-ch:
		if a.err != nil && !errors.Is(a.err, secret.ErrNotFound) {
			return "", fmt.Errorf("keyring: %s the key %q: %w; where no keyring runs (a server, a container), use store.key_file or %s", doing, string(k), a.err, keyEnv)
		}
		return a.text, a.err
	case <-time.After(keyringPatience):
		return "", fmt.Errorf("keyring: no answer for %s while asked to %s the key %q: unlock it and start again, or use store.key_file or %s", keyringPatience, doing, string(k), keyEnv)
	}
}
