package memory

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const foreignSamples = "../testdata/foreign"

func TestImportOfOtherPrograms(t *testing.T) {
	for name, want := range map[string]struct {
		format     string
		stored     int
		bad        int
		query      string
		answer     string
		occurredAt string
		speaker    string
	}{
		"memory.jsonl":      {"knowledge-graph", 7, 3, "who is responsible for the Ledger?", "Lena_Fischer is responsible for Ledger", "", ""},
		"mem0.json":         {"mem0", 3, 1, "what does noor play?", "cello", "", ""},
		"openmemory.json":   {"mem0", 1, 0, "where is the spare key?", "behind the boiler", "2025-02-11T08:15:00Z", ""},
		"claude-code.jsonl": {"claude-code", 3, 1, "why does the upload test fail on Mondays?", "week numbers", "", ""},
		"chatgpt.json":      {"chatgpt", 3, 2, "why does bread fall flat?", "fall flat", "2025-05-01T09:00:01.25Z", "user"},
		"claude.json":       {"claude", 3, 1, "when is the ferry?", "ferry", "", ""},
		"notes":             {"markdown", 11, 1, "why do we drop the old engine?", "its index grew faster", "2025-04-02T00:00:00Z", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, paused)
			imp := func(o ImportOptions) ImportReport {
				t.Helper()
				rep, err := f.ImportFile(ctx, filepath.Join(foreignSamples, name), o)
				if err != nil {
					t.Fatal(err)
				}
				return rep
			}
			rep := imp(ImportOptions{})
			// A folder's other files, this one's README among them, are notes too.
			if rep.Stored != want.stored || rep.Bad != want.bad || rep.Format != want.format {
				t.Errorf("%+v", rep)
			}
			got := f.recall(Question{Query: want.query}).Memories
			if len(got) == 0 {
				t.Fatal("nothing is recalled")
			}
			found := false
			for _, m := range got {
				if strings.Contains(m.Content, want.answer) {
					found = true
					if want.occurredAt != "" && m.OccurredAt != want.occurredAt || want.speaker != "" && m.Speaker != want.speaker || m.WrittenBy != "import: "+want.format || m.Source == "" {
						t.Errorf("%+v", m)
					}
				}
			}
			if !found {
				t.Errorf("%q is not recalled", want.answer)
			}
			before := f.export(ExportOptions{})
			f.clock.add(24 * time.Hour)
			if rep := imp(ImportOptions{}); rep.Stored != 0 || rep.Known != want.stored {
				t.Errorf("again: %+v", rep)
			}
			if d := cmp.Diff(before, f.export(ExportOptions{})); d != "" {
				t.Errorf("importing again changed the store:\n%s", firstWords(d, 500))
			}
			// What was forgotten stays so, unless asked otherwise.
			if _, err := f.Forget(ctx, Choice{IDs: []string{got[0].ID}}); err != nil {
				t.Fatal(err)
			}
			if rep := imp(ImportOptions{}); rep.Forgotten != 1 || rep.Stored != 0 {
				t.Errorf("after forgetting: %+v", rep)
			}
			if rep := imp(ImportOptions{Revive: true}); rep.Stored != 1 {
				t.Errorf("reviving: %+v", rep)
			}
			// All or nothing.
			g := open(t, paused)
			_, err := g.ImportFile(ctx, filepath.Join(foreignSamples, name), ImportOptions{All: true})
			if (err != nil) != (want.bad > 0) {
				t.Errorf("all or nothing: %v", err)
			}
			if n := len(g.projectNames()); want.bad > 0 && n != 0 {
				t.Error("something was stored")
			}
		})
	}
}

func TestImportOfAnArchive(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(foreignSamples, "chatgpt.json"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{"conversations.json": string(raw), "../../../evil.jsonl": `{"type":"entity","name":"Eve","observations":["came by an archive"]}`, "user.json": `{"id":"u"}`} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, paused)
	var last, total int64
	rep, err := f.Import(ctx, fstest.MapFS{"x.zip": {Data: b.Bytes()}}, "x.zip", ImportOptions{Project: "Chats", Date: "2025-01-01", Progress: func(d, n int64) { last, total = d, n }})
	if err != nil || rep.Files != 2 || rep.Stored != 4 {
		t.Errorf("%+v, %v", rep, err)
	}
	if last == 0 || last > total {
		t.Errorf("progress ended at %d of %d", last, total)
	}
	if m := f.recall(Question{Query: "Eve archive", Project: "chats"}).Memories; len(m) == 0 || m[0].OccurredAt != "2025-01-01T00:00:00Z" || m[0].OccurredGrain != "day" {
		t.Errorf("%+v", m)
	}
}

func TestImportKeepsWhatIsSaidTwice(t *testing.T) {
	f := open(t, paused)
	text := `[{"uuid":"c","name":"n","chat_messages":[{"sender":"human","text":"ok"},{"sender":"assistant","text":"What?"},{"sender":"human","text":"ok"}]}]`
	for i, want := range []int{3, 0} {
		rep, err := f.Import(ctx, file("c.json", text), "c.json", ImportOptions{})
		if err != nil || rep.Stored != want {
			t.Errorf("import %d: %+v, %v", i+1, rep, err)
		}
	}
	// A later export of the same conversation adds what is new.
	rep, err := f.Import(ctx, file("c.json", strings.Replace(text, `]}]`, `,{"sender":"assistant","text":"Fine."}]}]`, 1)), "c.json", ImportOptions{})
	if err != nil || rep.Stored != 1 || rep.Known != 3 {
		t.Errorf("%+v, %v", rep, err)
	}
	_, err = f.Import(ctx, file("c.json", strings.Replace(text, "What?", strings.Repeat("x", 2<<20), 1)), "c.json", ImportOptions{All: true})
	wantCode(t, err, CodeInvalid, "over the limit")
}

func TestMergedRefsStayTold(t *testing.T) {
	// Two stores that gave ids with the same ending: both refs go on to mean what they meant.
	a := open(t, paused)
	r := a.say("The first store says this")
	text := a.export(ExportOptions{})
	other := r.ID[:9] + "7" + r.ID[10:] // as long, another id, the same ending
	if other == r.ID {
		t.Fatal("the same id")
	}
	b := open(t, paused)
	b.imported(strings.ReplaceAll(strings.Replace(text, "first store", "second store", 1), r.ID, other), ImportOptions{})
	if rep := b.imported(text, ImportOptions{}); rep.Stored != 1 {
		t.Fatalf("%+v", rep)
	}
	for id, words := range map[string]string{r.ID: "first", other: "second"} {
		m, err := b.Get(ctx, "", id)
		if err != nil || !strings.Contains(m.Content, words) {
			t.Fatalf("%+v, %v", m, err)
		}
		if again, err := b.Get(ctx, "", m.Ref); err != nil || again.ID != id {
			t.Errorf("ref %s of %s means %s (%v)", m.Ref, id, again.ID, err)
		}
	}
	want := b.export(ExportOptions{})
	c := open(t, paused)
	c.imported(want, ImportOptions{})
	if d := cmp.Diff(want, c.export(ExportOptions{})); d != "" {
		t.Error(d)
	}
}

func BenchmarkExport(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprintf("memories=%d", n), func(b *testing.B) {
			bank := benchStore(b, n)
			var size int64
			for b.Loop() {
				var c byteCounter
				if _, err := bank.Export(ctx, &c, ExportOptions{}); err != nil {
					b.Fatal(err)
				}
				size = int64(c)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "memories/s")
			b.SetBytes(size)
		})
	}
}

func BenchmarkImport(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprintf("memories=%d", n), func(b *testing.B) {
			bank := benchStore(b, n)
			var buf bytes.Buffer
			if _, err := bank.Export(ctx, &buf, ExportOptions{}); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(buf.Len()))
			for b.Loop() {
				to, err := Open(b.TempDir(), Options{Paused: true})
				if err != nil {
					b.Fatal(err)
				}
				rep, err := to.Import(ctx, fstest.MapFS{"x": {Data: buf.Bytes()}}, "x", ImportOptions{})
				if err != nil || rep.Stored != n {
					b.Fatal(rep, err)
				}
				if err := to.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "memories/s")
		})
	}
}

type byteCounter int64

func (c *byteCounter) Write(p []byte) (int, error) { *c += byteCounter(len(p)); return len(p), nil }

// benchStore is a store on disk with n memories of some 150 bytes.
func benchStore(b *testing.B, n int) *Bank {
	b.Helper()
	bank, err := Open(b.TempDir(), Options{Paused: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := bank.Close(); err != nil {
			b.Error(err)
		}
	})
	var text bytes.Buffer
	fmt.Fprintf(&text, `{"type":"magma-mcp export","format":1,"projects":["default"]}`+"\n")
	id := NewIDs(7)
	for i := range n {
		at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Minute)
		fmt.Fprintf(&text, `{"type":"memory","project":"default","id":%q,"content":"On turn %d the team of harbour %d said that part %d was late, because the crane at quay %d stood still since last Tuesday.","speaker":"Speaker %d","session":"s%d","occurred_at":%q,"recorded_at":%q}`+"\n",
			id(at.UnixMilli()).String(), i, i%97, i%1013, i%31, i%7, i/200, at.Format(time.RFC3339), at.Format(time.RFC3339))
	}
	rep, err := bank.Import(ctx, fstest.MapFS{"x": {Data: text.Bytes()}}, "x", ImportOptions{})
	if err != nil || rep.Stored != n {
		b.Fatal(rep, err)
	}
	return bank
}
