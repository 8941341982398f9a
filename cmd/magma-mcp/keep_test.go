package main

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

func TestServerKeepsItsStore(t *testing.T) {
	dir := t.TempDir()
	a := &app{ctx: t.Context(), config: Default(), stderr: io.Discard, log: slog.New(slog.DiscardHandler)}
	a.config.Store.DataDir = dir
	a.config.Backup.Every = Duration(time.Hour)
	a.config.Retention = []RetentionConfig{{Project: "*", Kind: "error", Days: 1}}
	a.config.Consolidation.Enabled = false
	a.config.Embedding.Provider = "none"
	o, err := a.bankOptions()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(-48 * time.Hour)
	o.Now = func() time.Time { return now }
	bank, err := memory.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"error", "decision"} {
		if _, err := bank.Remember(a.ctx, memory.Note{Content: "A memory of the kind " + kind, Kind: kind}); err != nil {
			t.Fatal(err)
		}
	}
	if err := bank.Close(); err != nil {
		t.Fatal(err)
	}
	if bank, err = a.openBank(dir); err != nil {
		t.Fatal(err)
	}
	closer := a.keep(bank)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		have, err := memory.Backups(a.backupDir(), o)
		if err != nil {
			t.Fatal(err)
		}
		list, err := bank.Recent(a.ctx, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(have) == 1 && len(list) == 1 && list[0].Kind == "decision" {
			break
		}
		select {
		case <-tick.C:
		case <-a.ctx.Done():
			t.Fatal(a.ctx.Err())
		}
	}
	if err := closer.Close(); err != nil {
		t.Error(err)
	}
}

func TestKeys(t *testing.T) {
	raw := []byte("0123456789abcdefghijklmnopqrstuv")
	for text, good := range map[string]bool{
		hex.EncodeToString(raw):                     true,
		base64.StdEncoding.EncodeToString(raw):      true,
		base64.RawURLEncoding.EncodeToString(raw):   true,
		" " + hex.EncodeToString(raw) + "\r\n":      true,
		string(raw):                                 false, // a password of 32 letters
		hex.EncodeToString(raw[:16]):                false,
		base64.StdEncoding.EncodeToString(raw[:31]): false,
		"":                          false,
		strings.Repeat("00", 1<<16): false,
		base64.StdEncoding.EncodeToString(raw) + "x": false,
	} {
		key, err := parseKey(text)
		if (err == nil) != good || good && string(key) != string(raw) {
			t.Errorf("%.50q: %v", text, err)
		}
		if err != nil && len(text) > 8 && strings.Contains(err.Error(), text[:8]) {
			t.Errorf("the error tells the key: %v", err)
		}
	}
	path := filepath.Join(t.TempDir(), "key")
	key, made, err := newKey(path)
	if err != nil || !made || len(key) != 32 {
		t.Fatal(made, err)
	}
	again, made, err := newKey(path)
	if err != nil || made || string(again) != string(key) {
		t.Fatal(made, err)
	}
	if os.PathSeparator == '/' {
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readKey(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("a key that others may read: %v", err)
		}
	}
	c := Default()
	c.Store.KeyFile = path
	if _, err := c.storeKey(func(string) string { return "swordfish" }); err == nil || strings.Contains(err.Error(), "swordfish") {
		t.Errorf("a bad key in the environment: %v", err)
	}
	if got, err := c.storeKey(func(string) string { return hex.EncodeToString(raw) }); err != nil || string(got) != string(raw) {
		t.Errorf("the environment does not win: %v", err)
	}
}
