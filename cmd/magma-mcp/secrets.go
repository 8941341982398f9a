package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/secrets"
)

// inspector is memory.Options.Inspect for a policy of the configuration: "warn" stores the text and
// names what it holds, "mask" stores it with the secrets cut out, "refuse" stores nothing.
func inspector(policy string) func(string) (string, []string, error) {
	return func(content string) (string, []string, error) {
		found := secrets.Find(content)
		if len(found) == 0 {
			return content, nil, nil
		}
		var rules []string
		for _, f := range found {
			if !slices.Contains(rules, f.Rule) {
				rules = append(rules, f.Rule)
			}
		}
		named := strings.Join(rules, ", ")
		switch policy {
		case "refuse":
			return "", nil, memory.Errorf(memory.CodeRefused, "content: it holds what looks like a secret (%s), and nothing was stored; leave it out and store the rest", named)
		case "mask":
			return secrets.Mask(content, found), []string{fmt.Sprintf("what looks like a secret (%s) was cut out before the text was stored", named)}, nil
		}
		return content, []string{fmt.Sprintf("this text holds what looks like a secret (%s) and is stored as it is; forget it with purge if that was not meant", named)}, nil
	}
}
