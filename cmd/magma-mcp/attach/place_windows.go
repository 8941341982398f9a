package attach

import (
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// runtimeDirs: the temporary folder lies in the user's profile, which is private by its access list.
func runtimeDirs() []string {
	return []string{filepath.Join(os.TempDir(), "magma-mcp")}
}

func privateDir(dir string) error { return os.MkdirAll(dir, 0o700) }

// checkPeer: Windows has no peer credentials on AF_UNIX sockets; the profile's access list guards them.
func checkPeer(net.Conn) error { return nil }

func networkFS(dir string) string {
	if strings.HasPrefix(dir, `\\`) {
		return "a share"
	}
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(dir) + `\`)
	if err == nil && windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "a mapped drive"
	}
	return ""
}
