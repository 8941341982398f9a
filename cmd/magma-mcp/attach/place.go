package attach

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/natefinch/atomic"
)

// ownerFile is owner.json in the data folder: who owns the store and where to reach them. It may be
// stale; the lock alone decides.
type ownerFile struct {
	Address  string `json:"address"`
	PID      int    `json:"pid"`
	Host     string `json:"host,omitempty"`
	Version  string `json:"version,omitempty"`
	Instance string `json:"instance"`
}

func readOwner(dir string) (ownerFile, error) {
	var of ownerFile
	b, err := os.ReadFile(filepath.Join(dir, ownerName))
	if err != nil {
		return of, err
	}
	if err := json.Unmarshal(b, &of); err != nil {
		return of, fmt.Errorf("read %s: %w", ownerName, err)
	}
	return of, nil
}

func writeOwner(dir string, of ownerFile) error {
	b, err := json.Marshal(of)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, ownerName)
	if err := atomic.WriteFile(path, strings.NewReader(string(b)+"\n")); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Chmod(path, 0o600)
}

// storeHash tells stores apart by where they really lie.
func storeHash(dir string) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("resolve the data directory: %w", err)
	}
	sum := sha256.Sum256([]byte(real))
	return hex.EncodeToString(sum[:8]), nil
}

// cloudFolders are names of folders that a program keeps in step with other machines. Such a program
// copies a database's files one by one and restores old ones: the store would be damaged.
var cloudFolders = []string{
	"dropbox", "onedrive", "google drive", "googledrive", "my drive", "icloud drive", "iclouddrive", "mobile documents",
	"cloudstorage", "nextcloud", "owncloud", "pclouddrive", "pcloud", "box sync", "creative cloud files", "syncthing", "sync.com", "yandex.disk",
}

// Warnings says what is unwise about keeping a store in dir: network file systems, whose locks cannot
// be relied on, and folders that are synchronised between machines. Empty is well.
func Warnings(dir string) []string {
	var out []string
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	for part := range strings.SplitSeq(filepath.ToSlash(abs), "/") {
		p := strings.ToLower(part)
		for _, c := range cloudFolders {
			if p == c || strings.HasPrefix(p, c+" -") || strings.HasPrefix(p, c+" (") {
				out = append(out, fmt.Sprintf("%s lies in %q, which looks like a cloud-synced folder: syncing an open database damages it; choose another --data-dir and use export or backup to carry memories between machines", abs, part))
			}
		}
	}
	// A folder that is not there yet lies on its nearest parent's file system.
	probe := abs
	for {
		if _, err := os.Stat(probe); err == nil || filepath.Dir(probe) == probe {
			break
		}
		probe = filepath.Dir(probe)
	}
	if fs := networkFS(probe); fs != "" {
		out = append(out, fmt.Sprintf("%s lies on a network file system (%s), where locks between machines cannot be relied on: choose a --data-dir on a local disk", abs, fs))
	}
	return out
}
