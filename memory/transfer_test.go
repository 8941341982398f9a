package memory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/store/storetest"
)

// file is a file system of one file.
func file(name, text string) fs.FS { return fstest.MapFS{name: {Data: []byte(text)}} }

func (f *fixture) export(o ExportOptions) string {
	f.t.Helper()
	var b bytes.Buffer
	if _, err := f.Export(ctx, &b, o); err != nil {
		f.t.Fatalf("export: %v", err)
	}
	return b.String()
}

func (f *fixture) imported(text string, o ImportOptions) ImportReport {
	f.t.Helper()
	rep, err := f.Import(ctx, file("x.jsonl", text), "x.jsonl", o)
	if err != nil {
		f.t.Fatalf("import: %v", err)
	}
	return rep
}

// put writes rows as a background pass or an older program would have.
func (f *fixture) put(ops ...store.Op) {
	f.t.Helper()
	c, err := f.kv.Apply(ops)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) id(s string) graph.ID {
	f.t.Helper()
	id, err := graph.ParseID(s)
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

// paused keeps the background work from writing in between.
func paused(o *Options) { o.Paused = true }

// filled is a store with all that a store can hold.
func filled(t *testing.T) *fixture {
	f := open(t, paused)
	cert := f.remember(Note{Content: "The certificate of the login service expired on 3 May 2025.", OccurredAt: "2025-05-03T22:10:00+02:00", Speaker: "Ana",
		Session: "ops", Kind: "event", Source: "log/2025-05-03.md", Tags: []string{"tls", "été"}, Entities: []string{"Login Service"}, Pinned: true, From: Session{Client: "claude-code"}})
	f.remember(Note{Content: "The rollout of auth failed last night, because the certificate had expired. 🎉👩‍👩‍👧‍👦\u2028<&>\x00\u202e", OccurredAt: "4 May 2025", BecauseOf: []string{cert.ID}, Session: "ops", IdempotencyKey: "k1"})
	old := f.say("The router is at 192.168.7.1")
	f.remember(Note{Content: "The router is at 192.168.9.1", Supersedes: []string{old.ID}, ValidFrom: "2025-06-01", ValidUntil: "2026-01-01"})
	f.say("The router is at 192.168.9.1!")
	f.remember(Note{Content: "We meet on Fridays.", Tags: []string{"a"}})
	f.clock.add(time.Hour)
	f.remember(Note{Content: "We meet on Fridays.", Tags: []string{"b"}, Entities: []string{"Team"}})
	f.remember(Note{Content: "A duel in 1453, as the chronicle says", OccurredAt: "1453-05-29", Project: "Hîstory / ünï"})
	var long strings.Builder
	for i := range 60 {
		fmt.Fprintf(&long, "Ana: On day %d we looked at part %d of the plan and found it wanting in several ways.\nBo: I will mend part %d by Tuesday, and tell you what it took to do so.\n\n", i, i, i)
	}
	w := f.remember(Note{Content: long.String(), Session: "minutes", Source: "minutes.txt"})
	if len(w.Segments) < 2 {
		t.Fatal("the long text was not split")
	}
	gone := f.remember(Note{Content: "My PIN is written under the lamp", IdempotencyKey: "secret"})
	if _, err := f.Forget(ctx, Choice{IDs: []string{gone.ID}, Reason: "private"}); err != nil {
		t.Fatal(err)
	}
	p, _ := f.project("default")
	d := store.Sum("fact")
	row, err := json.Marshal(consolidate.Derived{ID: consolidate.RowID(d), Kind: consolidate.FactRow, Pass: consolidate.Model, Model: "m", Prompt: "1", Basis: []graph.ID{f.id(cert.ID)},
		Subject: "the certificate", Predicate: "<expired> on", Object: "3 May", Evidence: []consolidate.Quote{{Memory: f.id(cert.ID), Text: "expired", From: 37, To: 44}}})
	if err != nil {
		t.Fatal(err)
	}
	f.put(
		store.Op{Kind: store.Set, Key: store.DerivedKey(p, store.PassModel, d), Value: row},
		store.Op{Kind: store.Set, Key: store.BasisKey(p, f.id(cert.ID), store.PassModel, d), Value: []byte{}},
		store.Op{Kind: store.Set, Key: store.DerivedKey(p, store.PassUser, store.Sum("join")), Value: []byte{0, 1, 2, 255}},
		store.Op{Kind: store.Set, Key: store.ModelKey(7), Value: []byte("space-b")},
		store.Op{Kind: store.Set, Key: store.ModelKey(9), Value: []byte("space-a")},
		store.Op{Kind: store.Set, Key: store.VectorKey(p, 7, f.id(cert.ID), 0), Value: store.EncodeVector(42, []float32{0.6, -0.8})},
		store.Op{Kind: store.Set, Key: store.VectorKey(p, 9, f.id(cert.ID), 1), Value: store.EncodeVector(43, []float32{1, 0, 0})},
	)
	return f
}

func TestExportRoundTrip(t *testing.T) {
	a := filled(t)
	want := a.export(ExportOptions{Vectors: true})
	b := open(t, paused)
	rep := b.imported(want, ImportOptions{All: true})
	if rep.Bad != 0 || rep.Cut || len(rep.Problems) > 0 {
		t.Fatalf("report %+v", rep)
	}
	if rep.Stored != 8 || rep.Tombstones != 1 || rep.Keys != 1 || rep.Derived != 2 || rep.Vectors != 2 {
		t.Errorf("report %+v", rep)
	}
	if d := cmp.Diff(want, b.export(ExportOptions{Vectors: true})); d != "" {
		t.Errorf("the round trip changed the export:\n%s", d)
	}
	b.reopen()
	if d := cmp.Diff(want, b.export(ExportOptions{Vectors: true})); d != "" {
		t.Errorf("reopening changed the export:\n%s", d)
	}
	for _, q := range []string{"why did the rollout of auth fail?", "where is the router?", "when did the certificate expire?", "part 17 of the plan", "the team's meeting"} {
		x, y := a.recall(Question{Query: q}), b.recall(Question{Query: q})
		if d := cmp.Diff(x, y); d != "" {
			t.Errorf("%s: the answer changed:\n%s", q, d)
		}
	}
	x, err := a.Why(ctx, WhyQuestion{Query: "why did the rollout of auth fail?"})
	if err != nil || !x.Found {
		t.Fatal(x, err)
	}
	y, err := b.Why(ctx, WhyQuestion{Query: "why did the rollout of auth fail?"})
	if err != nil || !cmp.Equal(x, y) {
		t.Errorf("why changed: %v\n%s", err, cmp.Diff(x, y))
	}
	if strings.Contains(want, "lamp") {
		t.Error("the export holds what was forgotten")
	}
	// Again: nothing new.
	rep = b.imported(want, ImportOptions{})
	if rep.Stored != 0 || rep.Merged != 0 || rep.Conflicts != 0 || rep.Known != 8 {
		t.Errorf("a second import: %+v", rep)
	}
	if d := cmp.Diff(want, b.export(ExportOptions{Vectors: true})); d != "" {
		t.Errorf("a second import changed the export:\n%s", d)
	}
	// Duplicates and keys are known as before.
	if r := b.say("The router is at 192.168.9.1!"); r.Status != StatusDuplicate {
		t.Errorf("a memory that came in is not known: %+v", r)
	}
	if _, err := b.Remember(ctx, Note{Content: "other", IdempotencyKey: "k1"}); CodeOf(err) != CodeConflict {
		t.Errorf("an idempotency key was lost: %v", err)
	}
}

func TestExportOfOneProject(t *testing.T) {
	a := filled(t)
	text := a.export(ExportOptions{Projects: []string{"HÎSTORY / ünï", "nowhere"}})
	b := open(t, paused)
	if rep := b.imported(text, ImportOptions{}); rep.Stored != 1 {
		t.Fatalf("%+v", rep)
	}
	if got := b.projectNames(); !cmp.Equal(got, []string{"hîstory / ünï"}) {
		t.Errorf("projects %q", got)
	}
	c := open(t, paused)
	if rep := c.imported(text, ImportOptions{Project: "Elsewhere"}); rep.Stored != 1 {
		t.Fatalf("%+v", rep)
	}
	if got := c.projectNames(); !cmp.Equal(got, []string{"elsewhere"}) {
		t.Errorf("projects %q", got)
	}
	_, err := c.Import(ctx, file("x", a.export(ExportOptions{})), "x", ImportOptions{Project: "one"})
	wantCode(t, err, CodeInvalid, "2 projects")
}

func TestTombstonesWin(t *testing.T) {
	a := open(t, paused)
	r := a.say("The vault's code is 1234, says Rosalind.")
	a.say("Tea is at five.")
	before := a.export(ExportOptions{})
	if _, err := a.Forget(ctx, Choice{IDs: []string{r.ID}}); err != nil {
		t.Fatal(err)
	}
	after := a.export(ExportOptions{})
	rep := a.imported(before, ImportOptions{})
	if rep.Forgotten != 1 || rep.Known != 1 || rep.Stored != 0 {
		t.Errorf("%+v", rep)
	}
	if got := a.export(ExportOptions{}); got != after {
		t.Errorf("an old export brought back what was forgotten:\n%s", cmp.Diff(after, got))
	}
	// Its tombstone forgets the memory elsewhere.
	b := open(t, paused)
	b.imported(before, ImportOptions{})
	b.recall(Question{Query: "vault"})
	rep = b.imported(after, ImportOptions{})
	if rep.Forgotten != 1 || rep.Known != 1 {
		t.Errorf("%+v", rep)
	}
	if got := b.export(ExportOptions{}); got != after {
		t.Errorf("the tombstone did not come in:\n%s", cmp.Diff(after, got))
	}
	if got := b.recall(Question{Query: "vault code Rosalind"}); got.Confident {
		t.Errorf("found after its tombstone: %+v", got.Memories)
	}
	// Asked to, it comes back, and a tombstone in the file does not take it again.
	rep = b.imported(before, ImportOptions{Revive: true})
	if rep.Stored != 1 || rep.Revived != 1 {
		t.Errorf("%+v", rep)
	}
	if got := b.export(ExportOptions{}); got != before {
		t.Errorf("not revived:\n%s", cmp.Diff(before, got))
	}
	if rep = b.imported(after, ImportOptions{Revive: true}); rep.Forgotten != 0 || rep.Known != 1 {
		t.Errorf("%+v", rep)
	}
}

func TestForgottenTakesItsDerivedRows(t *testing.T) {
	a := filled(t)
	old := a.export(ExportOptions{Vectors: true})
	var id string
	for _, l := range strings.Split(old, "\n") {
		if strings.Contains(l, "certificate of the login") {
			var m memoryLine
			if err := json.Unmarshal([]byte(l), &m); err != nil {
				t.Fatal(err)
			}
			id = m.ID
		}
	}
	if _, err := a.Forget(ctx, Choice{IDs: []string{id}}); err != nil {
		t.Fatal(err)
	}
	b := open(t, paused)
	b.imported(a.export(ExportOptions{}), ImportOptions{})
	b.imported(old, ImportOptions{})
	if got := b.export(ExportOptions{Vectors: true}); strings.Contains(got, "<expired> on") || strings.Contains(got, `"derived","project":"default","pass":3`) || strings.Contains(got, `"vector"`) {
		t.Error("rows that rest on a forgotten memory came in")
	}
}

func TestMergeOfTwoStores(t *testing.T) {
	a := open(t, paused)
	shared := a.say("The office is in Ghent.")
	base := a.export(ExportOptions{})
	b := open(t, paused, func(o *Options) { o.NewID = NewIDs(1 << 20) })
	b.imported(base, ImportOptions{})
	// Each goes its way.
	a.remember(Note{Content: "The office is in Ghent.", Tags: []string{"address"}})
	a.say("Ana likes tea.")
	b.remember(Note{Content: "The office is in Bruges.", Supersedes: []string{shared.ID}})
	rep := a.imported(b.export(ExportOptions{}), ImportOptions{})
	if rep.Stored != 1 || rep.Merged != 1 || rep.Known != 0 {
		t.Errorf("%+v", rep)
	}
	m, err := a.Get(ctx, "", shared.ID)
	if err != nil || m.SupersededBy == "" || !cmp.Equal(m.Tags, []string{"address"}) || m.SeenCount != 2 {
		t.Errorf("merged: %+v, %v", m, err)
	}
	b.imported(a.export(ExportOptions{}), ImportOptions{})
	if d := cmp.Diff(a.export(ExportOptions{}), b.export(ExportOptions{})); d != "" {
		t.Errorf("merged both ways, the stores differ:\n%s", d)
	}
}

func TestConflictKeepsBoth(t *testing.T) {
	a := open(t, paused)
	r := a.say("The limit is 10.")
	var long strings.Builder
	for i := range 60 {
		fmt.Fprintf(&long, "Ana: On day %d we looked at part %d of the plan and found it wanting in several ways.\nBo: I will mend it by Tuesday, and tell you what it took to do so.\n\n", i, i)
	}
	a.say(long.String())
	text := a.export(ExportOptions{})
	changed := strings.ReplaceAll(strings.Replace(text, "The limit is 10.", "The limit is 99.", 1), "found it wanting", "found it perfect")
	for range 2 {
		rep := a.imported(changed, ImportOptions{})
		if rep.Bad > 0 {
			t.Fatalf("%+v", rep)
		}
	}
	m, err := a.Get(ctx, "", r.ID)
	if err != nil || m.Content != "The limit is 10." || !cmp.Equal(m.Tags, []string{ConflictTag}) {
		t.Errorf("ours: %+v, %v", m, err)
	}
	both := a.recall(Question{Query: "what is the limit?", Filter: Filter{Tags: []string{ConflictTag}}})
	var got []string
	for _, m := range both.Memories {
		if strings.HasPrefix(m.Content, "The limit") {
			got = append(got, m.Content)
		}
	}
	if len(got) != 2 {
		t.Errorf("not both are kept and tagged: %q", got)
	}
	st, err := a.Stats(ctx, "")
	if err != nil || st.Memories != 4 {
		t.Errorf("%d memories, want 4 (%v)", st.Memories, err)
	}
}

func TestBadLines(t *testing.T) {
	a := open(t, paused)
	a.say("one fish")
	a.say("two fish")
	a.say("red fish")
	good := strings.Split(strings.TrimSpace(a.export(ExportOptions{})), "\n")
	line := func(change func(m map[string]any)) string {
		var m map[string]any
		if err := json.Unmarshal([]byte(good[2]), &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		out, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	set := func(k string, v any) string { return line(func(m map[string]any) { m[k] = v }) }
	derived := func(more string) string {
		zero := strings.Repeat("0", 32)
		return `{"type":"derived","project":"default","pass":3,"key":"` + zero + `","value":{"id":"` + zero + `","kind":"entity","pass":3,` + more + `}}`
	}
	for name, bad := range map[string]string{
		"no JSON":        `{"type":"memory",`,
		"a path":         set("id", "../../../etc/passwd"),
		"no id":          set("id", ""),
		"small letters":  set("id", "01jxv3pr80000000000000000z"),
		"a giant":        set("content", strings.Repeat("a", 2<<20)),
		"a giant line":   set("content", strings.Repeat("a", 9<<20)),
		"a deep one":     `{"type":"memory","project":"default","x":` + strings.Repeat("[", 200000) + strings.Repeat("]", 200000) + `}`,
		"half a pair":    strings.Replace(good[2], "two fish", `two \ud83d fish`, 1),
		"no UTF-8":       strings.Replace(good[2], "two fish", "two \xff fish", 1),
		"empty":          set("content", " \n"),
		"a number":       set("content", 7),
		"no time":        set("occurred_at", "yesterday"),
		"a long list":    set("tags", make([]string, 300)),
		"a long field":   set("speaker", strings.Repeat("x", 5000)),
		"control":        set("project", "a\nb"),
		"no project":     set("project", nil),
		"star":           set("project", "*"),
		"no segments":    set("segments", []string{"01JXV3PR80000000000000000Z"}),
		"a long ref":     set("ref_length", 200),
		"a bad vector":   `{"type":"vector","project":"default","space":"s","id":"01JXV3PR80000000000000000Z","text_hash":"0000000000000000","vector":"AAAA"}`,
		"half a number":  `{"type":"vector","project":"default","space":"s","id":"01JXV3PR80000000000000000Z","text_hash":"0000000000000000","vector":"AADA"}`,
		"a bad key":      `{"type":"key","project":"default","key":"zz","request":"","memory":"01JXV3PR80000000000000000Z"}`,
		"a bad derived":  `{"type":"derived","project":"default","pass":3,"key":"00000000000000000000000000000000","bytes":"?"}`,
		"no basis":       derived(`"basis":[]`),
		"a false basis":  derived(`"basis":["` + strings.Repeat("0", 26) + `"]`),
		"another key":    strings.Replace(derived(`"basis":["01JXV3PR80000000000000000Z"]`), `"key":"0`, `"key":"1`, 1),
		"a wild quote":   derived(`"basis":["01JXV3PR80000000000000000Z"],"evidence":[{"memory":"01JXV3PR80000000000000000Z","text":"x","from":-1,"to":0}]`),
		"over sure":      derived(`"basis":["01JXV3PR80000000000000000Z"],"confidence":7`),
		"a bad grave":    `{"type":"tombstone","project":"default","id":"../x","at":"2025-01-01T00:00:00Z"}`,
		"a giant offset": set("occurred_at", "@1,2,999999999"),
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join([]string{good[0], good[1], bad, good[3]}, "\n")
			b := open(t, paused)
			rep := b.imported(text, ImportOptions{})
			if rep.Bad != 1 || len(rep.Problems) != 1 || rep.Problems[0].Line != 3 || rep.Problems[0].Why == "" || strings.Contains(rep.Problems[0].Why, "fish") {
				t.Errorf("%+v", rep)
			}
			if rep.Stored != 2 {
				t.Errorf("the rest did not go on: %+v", rep)
			}
			c := open(t, paused)
			rep, err := c.Import(ctx, file("x.jsonl", text), "x.jsonl", ImportOptions{All: true})
			wantCode(t, err, CodeInvalid, "line 3")
			if got := c.projectNames(); len(got) != 0 {
				t.Errorf("something was stored: %v, %+v", got, rep)
			}
		})
	}
}

func TestImportRefusesWhatIsNotForIt(t *testing.T) {
	f := open(t, paused)
	_, err := f.Import(ctx, file("x.jsonl", `{"type":"magma-mcp export","format":99,"projects":[],"counts":{}}`+"\n"), "x.jsonl", ImportOptions{})
	wantCode(t, err, CodeFormat, "newer")
	_, err = f.Import(ctx, file("x.bin", "\x00\x01\x02"), "x.bin", ImportOptions{})
	wantCode(t, err, CodeInvalid, "--from")
	_, err = f.Import(ctx, file("x", ""), "y", ImportOptions{})
	wantCode(t, err, CodeInvalid, "y")
	_, err = f.Import(ctx, file("x.json", "[]"), "x.json", ImportOptions{From: "word-perfect"})
	if err != nil {
		t.Logf("%v", err)
	}
	a := filled(t)
	text := a.export(ExportOptions{})
	lines := strings.SplitAfter(text, "\n")
	rep := f.imported(strings.Join(lines[:5], ""), ImportOptions{})
	if !rep.Cut {
		t.Errorf("a file that is cut short is not told: %+v", rep)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := f.Import(cancelled, file("x", text), "x", ImportOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestRoundTripAfterConsolidation has rows of the rules in it, which importing makes due again.
func TestRoundTripAfterConsolidation(t *testing.T) {
	a := filled(t)
	for i := range 300 {
		a.clock.add(20 * time.Minute)
		a.remember(Note{Content: fmt.Sprintf("Turn %d is about %s and the harbour, for the %d. time", i, []string{"boats", "bread", "tax", "Ana's garden"}[i/7%4], i), Session: fmt.Sprint(i / 40), Speaker: "Bo"})
	}
	for range 2 {
		if err := a.Settle(ctx); err != nil {
			t.Fatal(err)
		}
		a.clock.add(48 * time.Hour)
	}
	want := a.export(ExportOptions{})
	b := open(t, paused)
	b.clock.t = a.clock.t
	rep := b.imported(want, ImportOptions{})
	if rep.Derived < 20 || rep.Bad > 0 {
		t.Errorf("%+v", rep)
	}
	for _, when := range []string{"after the import", "after the background work"} {
		if d := cmp.Diff(want, b.export(ExportOptions{})); d != "" {
			t.Errorf("%s the export differs:\n%s", when, d)
		}
		if err := b.Settle(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRoundTripOfAnything holds the promise for records no client would write.
func TestRoundTripOfAnything(t *testing.T) {
	stamp := rapid.Custom(func(t *rapid.T) store.Stamp {
		return store.Stamp{Sec: rapid.Int64Range(-1<<40, 1<<40).Draw(t, "sec"), Nanos: int32(rapid.IntRange(0, 1e9-1).Draw(t, "nanos")), Offset: int32(rapid.IntRange(-86400, 86400).Draw(t, "offset"))}
	})
	text := rapid.StringN(0, 40, 200)
	rapid.Check(t, func(rt *rapid.T) {
		maybe := func(name string) *store.Stamp {
			if !rapid.Bool().Draw(rt, name+"?") {
				return nil
			}
			s := stamp.Draw(rt, name)
			return &s
		}
		texts := func(name string) []string { return rapid.SliceOfN(text, 0, 3).Draw(rt, name) }
		var ops []store.Op
		f := &fixture{t: t, clock: &clock{}}
		f.Bank = memBank(rt)
		defer f.Close()
		ids := []graph.ID{}
		n := rapid.IntRange(1, 6).Draw(rt, "n")
		for i := range n {
			id := graph.ID{}
			copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, "id"))
			id[0] &= 0x0F
			id[5] = byte(i)
			ids = append(ids, id)
		}
		links := func(name string) []graph.ID { return rapid.SliceOfN(rapid.SampledFrom(ids), 0, 2).Draw(rt, name) }
		p := store.Project(1)
		ops = append(ops, store.Op{Kind: store.Set, Key: store.ProjectKey(p), Value: []byte("p")})
		for i, id := range ids {
			r := &store.Record{ID: id, Content: "x" + text.Draw(rt, "content"), Speaker: text.Draw(rt, "speaker"), Session: text.Draw(rt, "session"), Kind: text.Draw(rt, "kind"),
				Source: text.Draw(rt, "source"), Writer: text.Draw(rt, "writer"), Tags: texts("tags"), Entities: texts("entities"), At: stamp.Draw(rt, "at"),
				Until: maybe("until"), Grain: text.Draw(rt, "grain"), Given: text.Draw(rt, "given"), Recorded: stamp.Draw(rt, "recorded"), BecauseOf: links("because"), Supersedes: links("supersedes"),
				ValidFrom: maybe("from"), ValidUntil: maybe("to"), Pinned: rapid.Bool().Draw(rt, "pinned"), RefLen: uint8(20 + i)}
			ops = append(ops, store.Op{Kind: store.Set, Key: store.RecordKey(p, id), Value: r.Encode()})
			st := &store.State{Seen: uint64(rapid.IntRange(0, 5).Draw(rt, "seen")), Tags: texts("stags"), BecauseOf: links("sbecause"), SupersededBy: rapid.SampledFrom(append(ids, graph.Zero)).Draw(rt, "by")}
			if s := maybe("sighting"); s != nil {
				st.Sightings = append(st.Sightings, *s)
			}
			if v := st.Encode(); len(v) > 0 {
				ops = append(ops, store.Op{Kind: store.Set, Key: store.StateKey(p, id), Value: v})
			}
			ops = append(ops, store.Op{Kind: store.Set, Key: store.DerivedKey(p, store.PassUser, store.Sum(id.String())), Value: rapid.SliceOf(rapid.Byte()).Draw(rt, "derived")})
		}
		f.put(ops...)
		f.Bank.projects["p"], f.Bank.names[p], f.Bank.nextProj = p, "p", p
		want := f.export(ExportOptions{})
		g := &fixture{t: t, Bank: memBank(rt)}
		defer g.Close()
		rep := g.imported(want, ImportOptions{})
		if rep.Bad > 0 || rep.Stored != n {
			rt.Fatalf("%+v\n%s", rep, want)
		}
		if d := cmp.Diff(want, g.export(ExportOptions{})); d != "" {
			rt.Fatalf("the round trip changed the export:\n%s", d)
		}
	})
}

func FuzzImport(f *testing.F) {
	b := memBank(f)
	var buf bytes.Buffer
	for _, n := range []Note{{Content: "one", Tags: []string{"t"}}, {Content: "two", Pinned: true, IdempotencyKey: "k"}} {
		if _, err := b.Remember(ctx, n); err != nil {
			f.Fatal(err)
		}
	}
	if _, err := b.Export(ctx, &buf, ExportOptions{}); err != nil {
		f.Fatal(err)
	}
	if err := b.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Add([]byte(`{"type":"magma-mcp export","format":1}` + "\n" + `{"type":"tombstone","project":"p","id":"01JXV3PR80000000000000000Z","at":"2025-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := memBank(t)
		if _, err := b.Import(ctx, file("x", string(text)), "x", ImportOptions{}); CodeOf(err) == CodeInternal || CodeOf(err) == CodeStorage {
			t.Fatalf("import: %v", err)
		}
		for _, name := range b.projectNames() { // what came in is read without a crash
			if _, err := b.Recall(ctx, Question{Query: "what happened, and why?", Project: name}); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Timeline(ctx, TimelineQuery{Project: name}); err != nil {
				t.Fatal(err)
			}
		}
		rep, err := b.Check(ctx)
		if err != nil || len(rep.Problems) > 0 {
			t.Fatalf("the store is not clean: %v %v", rep.Problems, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// fataler is what testing and rapid have in common.
type fataler interface {
	Helper()
	Fatal(...any)
}

func memBank(t fataler) *Bank {
	t.Helper()
	b, err := Open("store", Options{KV: storetest.NewMap(), Now: (&clock{t: time.Date(2025, 6, 16, 9, 0, 0, 0, time.UTC)}).now, NewID: NewIDs(1), Zone: time.UTC, Paused: true})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestImportedSpaceOfNoDimensions: a file whose vector space says nonsense of its dimensions costs its vectors and
// nothing else.
func TestImportedSpaceOfNoDimensions(t *testing.T) {
	for _, dims := range []string{"8", "0", "-5"} {
		src := open(t)
		id, _ := graph.ParseID(src.say("The anchor chain broke in the harbour.").ID)
		sp := embed.Space{Provider: "ollama", Model: "a", Dimensions: 16}
		if err := src.back.rows.Aim([]embed.Space{sp}); err != nil {
			t.Fatal(err)
		}
		if err := src.back.rows.Settle(consolidate.Outcome{Space: sp.Fingerprint(), Vectors: []consolidate.Vector{{Memory: id, Project: "default", Values: append([]float32{1}, make([]float32, 15)...)}}}); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if _, err := src.Export(ctx, &out, ExportOptions{Vectors: true}); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(out.String(), `\"dimensions\":16`, `\"dimensions\":`+dims)
		if text == out.String() {
			t.Fatal(text)
		}
		f := open(t)
		rep, err := f.Import(ctx, fstest.MapFS{"x.jsonl": {Data: []byte(text)}}, "x.jsonl", ImportOptions{})
		t.Logf("dimensions %s: imported %+v %v", dims, rep.Vectors, err)
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("dimensions %s: panic %v", dims, p)
				}
			}()
			if _, err = f.Recall(ctx, Question{Query: "anchor"}); err != nil {
				t.Errorf("dimensions %s: the project can no longer be asked: %v", dims, err)
			}
		}()
	}
}
