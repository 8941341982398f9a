package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Go lets the heap grow to twice what is in use before it collects garbage. Of an index of a gigabyte that is a
// gigabyte for nothing, on somebody's laptop; collecting such a heap more often costs little, since what a question
// leaves behind is small beside it.

// collectAt is how far the heap may grow beyond what is in use, in percent, by how many bytes are in use. Measured with
// a store of 100,000 memories with vectors (TestScale, MAGMA_SCALE_DIM=384), asked 200 times: at most 313 MB resident with
// Go's 100, 244 MB with 50, and no more processor time than a measurement varies by.
func collectAt(inUse uint64) int {
	switch {
	case inUse < 400<<20:
		return 50
	case inUse < 800<<20:
		return 30
	}
	return 20
}

// collectEarly keeps the garbage collector's percentage at collectAt of what is in use, unless the environment
// (GOGC) says what it is to be.
func collectEarly() {
	if os.Getenv("GOGC") != "" {
		return
	}
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	now := 0
	var after func()
	after = func() {
		metrics.Read(sample)
		if sample[0].Value.Kind() == metrics.KindUint64 {
			if p := collectAt(sample[0].Value.Uint64()); p != now {
				now = p
				debug.SetGCPercent(p)
			}
		}
		// What nothing refers to is cleaned up after the next collection, which is when to look again.
		runtime.AddCleanup(new([64]byte), func(struct{}) { after() }, struct{}{})
	}
	after()
}
