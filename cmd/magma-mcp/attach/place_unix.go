//go:build unix

package attach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// maxSocketPath is the shortest limit on a socket's path among the platforms: 104 bytes with the
// closing zero on macOS and the BSDs (108 on Linux and Windows).
const maxSocketPath = 103

// localAddress is where the owner of the store in dir listens.
func localAddress(dir, runtime, _ string) (string, error) { return socketPath(dir, runtime) }

// listenLocal binds the socket in place of whatever lies there; only this user can connect.
func listenLocal(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("unlink the old socket: %w", err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false) // withdraw does that, under the lock
	if err := os.Chmod(path, 0o600); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

func dialLocal(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

func unlinkLocal(path string) { os.Remove(path) }

// sweptAway reports whether the socket is gone, and makes one that is there young.
func sweptAway(path string) bool {
	now := time.Now()
	return errors.Is(os.Chtimes(path, now, now), fs.ErrNotExist)
}

// socketPath is where the owner of the store in dir listens: a hash of the store's real path, in the
// first runtime folder that is private and short enough. Many mounts (and every long home) have no room
// for a socket beside the data.
func socketPath(dir, runtime string) (string, error) {
	hash, err := storeHash(dir)
	if err != nil {
		return "", err
	}
	name := "magma-" + hash + ".sock"
	candidates := runtimeDirs()
	if runtime != "" {
		candidates = []string{runtime}
	}
	var last error
	for _, c := range candidates {
		path := filepath.Join(c, name)
		if len(path) > maxSocketPath {
			last = fmt.Errorf("%s is too long for a socket", path)
			continue
		}
		if last = privateDir(c); last == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("find a private folder for the socket: %w", last)
}

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
