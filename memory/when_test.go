package memory

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestWhenTold plays the files of testdata/when (its README.md has the format).
func TestWhenTold(t *testing.T) {
	datadriven.Walk(t, filepath.Join("..", "testdata", "when"), func(t *testing.T, path string) {
		if filepath.Ext(path) != ".txt" {
			return
		}
		f := open(t)
		ids := map[string]string{}
		said := map[string]string{} // id -> speaker
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arg := func(key string) (v string) {
				if d.HasArg(key) {
					d.ScanArgs(t, key, &v)
				}
				return v
			}
			n := 1
			d.MaybeScanArgs(t, "n", &n)
			switch d.Cmd {
			case "tell":
				note := Note{Content: strings.TrimSpace(d.Input), OccurredAt: arg("at"), Speaker: arg("by"), Session: arg("session"), ValidFrom: arg("valid_from")}
				if s := arg("supersedes"); s != "" {
					note.Supersedes = []string{ids[s]}
				}
				r := f.remember(note)
				ids[arg("name")] = r.ID
				said[r.ID] = arg("by")
				return ""
			case "when":
				a, err := f.When(ctx, WhenQuestion{Query: d.Input, Since: arg("since"), Until: arg("until"), AsOf: arg("as_of")})
				if err != nil {
					return err.Error()
				}
				return printWhen(a, n, said)
			case "recall":
				q := Question{Query: d.Input}
				q.Since, q.Until, q.AsOf = arg("since"), arg("until"), arg("as_of")
				var b strings.Builder
				r := f.recall(q)
				for rank := 1; rank <= n; rank++ {
					for _, m := range r.Memories {
						if m.Rank == rank {
							b.WriteString(m.Content + "\n")
						}
					}
				}
				if len(r.Memories) == 0 {
					return firstLine(r.Text)
				}
				return b.String()
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func firstLine(s string) string {
	l, _, _ := strings.Cut(s, "\n")
	return l
}

// printWhen is the lines before the answers, refs left out, and the first n answers.
func printWhen(a WhenAnswer, n int, said map[string]string) string {
	var b strings.Builder
	for _, l := range strings.Split(a.Text, "\n") {
		if strings.HasPrefix(l, "- ") || len(a.Answers) == 0 && b.Len() > 0 || l == "" || strings.HasPrefix(l, leadFound) {
			break
		}
		if i := strings.LastIndex(l, " ["); i > 0 {
			l = l[:i] + "."
		}
		b.WriteString(l + "\n")
	}
	day := func(s *string) string {
		if s == nil {
			return "?"
		}
		return strings.TrimSuffix(*s, "T00:00:00Z")
	}
	for _, x := range a.Answers[:min(n, len(a.Answers))] {
		fmt.Fprintf(&b, "%s / %s %s, %s", day(x.Start), day(x.End), x.Grain, x.Basis)
		if x.Expression != "" {
			fmt.Fprintf(&b, " %q", x.Expression)
		}
		fmt.Fprintf(&b, ", %s\n", said[x.Memory])
	}
	return b.String()
}
