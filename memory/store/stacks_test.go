package store_test

import "runtime"

func stacks(buf []byte) int { return runtime.Stack(buf, true) }
