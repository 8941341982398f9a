package index

import (
	"testing"
	"unsafe"
)

// TestDocIsTwoCacheLines: a million of them are read by a question, and stand in memory.
func TestDocIsTwoCacheLines(t *testing.T) {
	if n := unsafe.Sizeof(Doc{}); unsafe.Sizeof(uintptr(0)) == 8 && n != 128 {
		t.Errorf("a Doc takes %d bytes, want 128", n)
	}
}
