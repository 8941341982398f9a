//go:build unix

package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// runtimeDirs are the folders to try for the socket, best first.
func runtimeDirs() []string {
	var dirs []string
	if x := os.Getenv("XDG_RUNTIME_DIR"); x != "" {
		dirs = append(dirs, filepath.Join(x, "magma-mcp"))
	}
	own := "magma-mcp-" + strconv.Itoa(os.Getuid())
	return append(dirs, filepath.Join(os.TempDir(), own), filepath.Join("/tmp", own))
}

// privateDir makes dir, or checks that the one there is a folder of this user that nobody else can enter.
func privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil {
		return nil
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !fi.IsDir() || !ok || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder of this user", dir)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}
