//go:build unix

package memory

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used, -1 where it cannot be told.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
