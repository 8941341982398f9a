package attach

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/magma-mcp/magma-mcp/memory"
)

// Hold takes the store in dir for work that nobody may see half done, such as putting another store in its
// place: no process can own it until release is called. One that owns it now makes Hold fail with
// CodeLocked, which names it.
func Hold(dir string) (release func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, memory.Errorf(memory.CodeStorage, "make the data directory: %w", err)
	}
	lock := flock.New(filepath.Join(dir, lockName), flock.SetPermissions(0o600))
	taken, err := lock.TryLock()
	if err != nil {
		return nil, memory.Errorf(memory.CodeStorage, "lock the store in %s: %w", dir, err)
	}
	if !taken {
		who := "another process"
		if of, err := readOwner(dir); err == nil {
			who = fmt.Sprintf("process %d", of.PID)
		} else if !errors.Is(err, os.ErrNotExist) {
			who = fmt.Sprintf("another process (%v)", err)
		}
		return nil, memory.Errorf(memory.CodeLocked, "the store in %s is in use by %s: end the clients that use it, and try again", dir, who)
	}
	return lock.Unlock, nil
}
