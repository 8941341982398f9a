//go:build linux || darwin || freebsd

package attach

import (
	"fmt"
	"net"
	"os"
)

// checkPeer refuses the other end of a socket unless it belongs to this user, or to root.
func checkPeer(c net.Conn) error {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("not a local socket: %T", c)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return err
	}
	var uid uint32
	var asking error
	if err := raw.Control(func(fd uintptr) { uid, asking = peerUID(int(fd)) }); err != nil {
		return err
	}
	if asking != nil {
		return fmt.Errorf("ask who is at the other end: %w", asking)
	}
	return allowUID(int(uid), os.Getuid())
}

func allowUID(theirs, ours int) error {
	if theirs != ours && theirs != 0 {
		return fmt.Errorf("the other end of the socket belongs to user %d, not to %d", theirs, ours)
	}
	return nil
}
