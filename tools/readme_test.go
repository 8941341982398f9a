package tools_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/magma-mcp/magma-mcp/tools"
)

// TestReadmeTable holds the README's table of tools to what a client is told. -update writes it.
func TestReadmeTable(t *testing.T) {
	const readme, begin, end = "../README.md", "<!-- tools -->\n", "<!-- /tools -->\n"
	raw, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(strings.ReplaceAll(string(raw), "\r\n", "\n"), begin)
	got, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("the README has no place for the table of tools (%q to %q)", begin, end)
	}
	want := readmeTable()
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("the README's table of tools is not what clients are told; -update writes it:\n%s", want)
	}
	if err := os.WriteFile(readme, []byte(head+begin+want+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readmeTable() string {
	var b strings.Builder
	b.WriteString("\n| tool | what the model is told | arguments |\n|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\n", " ")
	for _, tool := range tools.All() {
		var args []string
		for _, p := range tool.Properties {
			star := ""
			if p.Required {
				star = "*"
			}
			args = append(args, "`"+p.Name+"`"+star)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", tool.Name, cell.Replace(tool.Description), strings.Join(args, ", "))
	}
	b.WriteString("\n")
	return b.String()
}
