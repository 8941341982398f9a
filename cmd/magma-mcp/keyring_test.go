package main

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	secret "github.com/zalando/go-keyring"

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// TestKeyring encrypts a store with a key in the keyring, opens it by the configuration alone, and says what is wrong
// where the key, or the keyring, is not there.
func TestKeyring(t *testing.T) {
	secret.MockInit()
	dir := t.TempDir()
	config := filepath.Join(dir, "config.toml")
	t.Setenv("MAGMA_CONFIG", config)
	t.Setenv("MAGMA_DATA_DIR", filepath.Join(dir, "data"))
	t.Setenv("OLLAMA_HOST", "127.0.0.1:1")
	configure := func(text string) {
		t.Helper()
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	do := func(code int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(t.Context(), args, strings.NewReader(""), &out, &errs); got != code {
			t.Fatalf("%q: exit code %d, want %d: %s%s", args, got, code, out.String(), errs.String())
		}
		return out.String() + errs.String()
	}
	configure("")
	do(exitOK, "remember", "The lamp in the hall is green.")
	for _, args := range [][]string{{"encrypt"}, {"encrypt", filepath.Join(dir, "key"), "--keyring", "home"}} {
		if text := do(exitUsage, args...); !strings.Contains(text, "--keyring NAME") {
			t.Errorf("%q: %s", args, text)
		}
	}
	if text := do(exitOK, "encrypt", "--keyring", "home"); !strings.Contains(text, `store.keyring = "home"`) || !strings.Contains(text, "magma-mcp key") {
		t.Error(text)
	}
	kept, err := secret.Get(keyringService, "home")
	if err != nil {
		t.Fatal(err)
	}
	if key, err := base64.StdEncoding.DecodeString(kept); err != nil || len(key) != store.KeyBytes {
		t.Fatalf("the keyring holds %d characters, %v", len(kept), err)
	}
	if text := do(exitFault, "recall", "lamp"); !strings.Contains(text, "store.keyring") {
		t.Errorf("without the key: %s", text)
	}
	configure("[store]\nkeyring = \"home\"\n")
	if text := do(exitOK, "recall", "lamp"); !strings.Contains(text, "green") {
		t.Errorf("with the key: %s", text)
	}
	if text := do(exitOK, "key"); strings.TrimSpace(text) != kept {
		t.Errorf("key prints %s", text)
	}
	if text := do(exitOK, "encrypt", "--keyring", "home"); strings.Contains(text, "The key is new") {
		t.Errorf("a second time: %s", text)
	}
	if again, err := secret.Get(keyringService, "home"); err != nil || again != kept {
		t.Error("the key was replaced", err)
	}

	configure("[store]\nkeyring = \"work\"\n")
	if text := do(exitFault, "recall", "lamp"); !strings.Contains(text, `no key "work"`) {
		t.Errorf("another name: %s", text)
	}
	if err := secret.Set(keyringService, "work", "swordfish"); err != nil {
		t.Fatal(err)
	}
	if text := do(exitFault, "recall", "lamp"); !strings.Contains(text, "not 32 bytes") || strings.Contains(text, "swordfish") {
		t.Errorf("no key: %s", text)
	}
	configure("[store]\nkeyring = \"home\"\nkey_file = \"/key\"\n")
	if text := do(exitUsage, "recall", "lamp"); !strings.Contains(text, "both set") {
		t.Errorf("file and keyring: %s", text)
	}
	configure("[store]\nkeyring = \"home\"\n")
	secret.MockInitWithError(errors.New("no bus to talk to"))
	for _, args := range [][]string{{"recall", "lamp"}, {"encrypt", "--keyring", "new"}} {
		if text := do(exitFault, args...); !strings.Contains(text, "no bus to talk to") || !strings.Contains(text, "store.key_file") {
			t.Errorf("%q without a keyring: %s", args, text)
		}
	}
	t.Setenv(keyEnv, kept)
	if text := do(exitOK, "recall", "lamp"); !strings.Contains(text, "green") {
		t.Errorf("with the key in the environment: %s", text)
	}
}
