//go:build !unix

package memory

import "time"

func cpuTime() time.Duration { return -1 }
