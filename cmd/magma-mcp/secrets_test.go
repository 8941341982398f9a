package main

import (
	"strings"
	"testing"

	"github.com/magma-mcp/magma-mcp/memory"
)

func TestSecretsPolicy(t *testing.T) {
	const text = "The wifi password is correct-horse-77 at home."
	const secret = "correct-horse-77"
	for policy, want := range map[string]struct {
		kept, refused bool
	}{"warn": {true, false}, "mask": {false, false}, "refuse": {false, true}} {
		stored, warnings, err := inspector(policy)(text)
		if strings.Contains(stored, secret) != want.kept || (memory.CodeOf(err) == memory.CodeRefused) != want.refused {
			t.Errorf("%s: %q, %v, %v", policy, stored, warnings, err)
		}
		if !want.refused && len(warnings) != 1 {
			t.Errorf("%s: warnings %v", policy, warnings)
		}
		said := strings.Join(warnings, " ")
		if err != nil {
			said += err.Error()
		}
		if strings.Contains(said, secret) {
			t.Errorf("%s shows the secret: %s", policy, said)
		}
		if stored, warnings, err := inspector(policy)("We met at noon."); stored != "We met at noon." || warnings != nil || err != nil {
			t.Errorf("%s: a plain text gave %q, %v, %v", policy, stored, warnings, err)
		}
	}
}
