package temporal

import (
	"bufio"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what Find answers now into testdata/temporal; read the difference before you commit it")

// TestCases reads testdata/temporal/*.txt: lines "text | words | start end grain", several times of one text
// parted by ";", a "-" for no time; "@" lines set the reference ("@ 2023-06-09T19:55:00Z", or a local time
// and the name of a zone). An open edge is "..".
func TestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "temporal", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal("no cases in testdata/temporal:", err)
	}
	r := New(Options{})
	total := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			var ref time.Time
			in := bufio.NewScanner(strings.NewReader(string(raw)))
			for n := 1; in.Scan(); n++ {
				line := in.Text()
				switch {
				case line == "" || line[0] == '#':
				case line[0] == '@':
					ref = reference(t, strings.TrimSpace(line[1:]))
				default:
					text, want, _ := strings.Cut(line, " | ")
					got := said(r.Find(text, ref), ref)
					if got != want && !*update {
						t.Errorf("%s:%d: %s\n got %s\nwant %s", filepath.Base(file), n, text, got, want)
					}
					line = text + " | " + got
					total++
				}
				out.WriteString(line + "\n")
			}
			if *update {
				if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	t.Logf("%d cases", total)
}

// reference reads "2023-06-09T19:55:00Z" or "2023-03-12T09:00 America/Los_Angeles".
func reference(t *testing.T, s string) time.Time {
	stamp, zone, named := strings.Cut(s, " ")
	if !named {
		ref, err := time.Parse(time.RFC3339, stamp)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		t.Skip("no time zone database:", err)
	}
	ref, err := time.ParseInLocation("2006-01-02T15:04", stamp, loc)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

func said(ms []Mention, ref time.Time) string {
	if len(ms) == 0 {
		return "-"
	}
	var out []string
	for _, m := range ms {
		out = append(out, m.Text+" | "+edge(m.Start, m.OpenStart)+" "+edge(m.End, m.OpenEnd)+" "+m.Grain.String())
	}
	return strings.Join(out, " ; ")
}

func edge(t time.Time, open bool) string {
	switch {
	case open:
		return ".."
	case midnight(t):
		return t.Format("2006-01-02")
	case t.Second() != 0:
		return t.Format("2006-01-02T15:04:05")
	}
	return t.Format("2006-01-02T15:04")
}
