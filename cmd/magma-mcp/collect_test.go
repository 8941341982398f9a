package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestCollectEarly: the percentage follows what is in use, up and down again.
func TestCollectEarly(t *testing.T) {
	t.Setenv("GOGC", "")
	was := debug.SetGCPercent(100)
	defer debug.SetGCPercent(was)
	collectEarly()
	now := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	if p := now(); p != 50 {
		t.Fatalf("the collector waits for %d %%, want 50", p)
	}
	await := func(want int) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); now() != want; runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("the collector waits for %d %%, want %d", now(), want)
			}
			runtime.GC()
		}
	}
	held := make([]byte, 450<<20) // never written: it takes no memory but counts
	await(30)
	runtime.KeepAlive(held)
	held = nil
	await(50)
}
