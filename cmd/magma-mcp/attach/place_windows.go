package attach

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// localAddress is a named pipe: Windows has them in every version, and their access list keeps other
// users out, which a Unix socket's file there does not promise. The instance makes the name one that
// nobody can take beforehand; owner.json tells it.
func localAddress(dir, _, instance string) (string, error) {
	hash, err := storeHash(dir)
	if err != nil {
		return "", err
	}
	return `\\.\pipe\magma-mcp-` + hash + "-" + instance, nil
}

// listenLocal makes the pipe, for this user and the system alone.
func listenLocal(address string) (net.Listener, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, fmt.Errorf("who runs this: %w", err)
	}
	const buffer = 64 << 10
	return winio.ListenPipe(address, &winio.PipeConfig{
		SecurityDescriptor: "D:P(A;;GA;;;" + user.User.Sid.String() + ")(A;;GA;;;SY)",
		InputBufferSize:    buffer,
		OutputBufferSize:   buffer,
	})
}

func dialLocal(ctx context.Context, address string) (net.Conn, error) {
	return winio.DialPipeContext(ctx, address)
}

// A pipe goes with its process.

func unlinkLocal(string)    {}
func sweptAway(string) bool { return false }

// checkPeer: the pipe's access list has done it.
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
