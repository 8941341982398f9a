package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magma-mcp/magma-mcp/memory"
)

// Stored words stay on their line.
func TestTopicsText(t *testing.T) {
	got := topicsText([]memory.TopicInfo{{ID: "01", Name: "ferry,\npier", Start: "2025-06-01T10:00:00Z", End: "2025-06-05T10:00:00Z", Sessions: []string{"a", "b"}, EpisodeCount: 2, MemoryCount: 6,
		Links:    []memory.TopicLink{{Kind: "causal", Other: "storm\n", OtherID: "02"}},
		Episodes: []memory.EpisodeInfo{{Start: "2025-06-01T10:00:00Z", Session: "a", Summary: "The ferry\nis late."}}}}, "p")
	want := "ferry, pier: 2 episodes of 2 sessions, 6 memories, 2025-06-01 to 2025-06-05 (01)\n  causal: storm (02)\n  2025-06-01 a: The ferry is late.\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
