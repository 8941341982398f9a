package memory

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// longText is a text of n paragraphs that becomes several segments; each holds word.
func longText(n int, word string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Paragraph %d tells of the %s and of what the crew did with it on that day. %s\n\n", i, word, strings.Repeat("The weather was fair and the work went on as it had before. ", 12))
	}
	return b.String()
}

func TestLongTextCountsOnce(t *testing.T) {
	f := open(t)
	long := f.remember(Note{Content: longText(40, "zeppelin")})
	if len(long.Segments) < 8 {
		t.Fatalf("only %d segments", len(long.Segments))
	}
	for i := range 4 {
		f.say(fmt.Sprintf("Short note %d about a zeppelin.", i))
	}
	r := f.recall(Question{Query: "zeppelin", Limit: 5, MaxTokens: 20_000})
	texts, segments := map[string]bool{}, 0
	for _, m := range r.Memories {
		if m.PartOf == "" {
			texts[m.ID] = true
			continue
		}
		texts[m.PartOf] = true
		segments++
	}
	if len(texts) != 5 || segments == 0 || segments > 3 || r.Omitted != 0 {
		t.Errorf("%d memories, %d segments, %d omitted; want the long text once and all four notes", len(texts), segments, r.Omitted)
	}
	if r := f.recall(Question{Limit: 3}); len(r.Memories) != 3 || r.Omitted != 2 {
		t.Errorf("the newest: %d memories, %d omitted; want 3 and 2", len(r.Memories), r.Omitted)
	}
}

func TestSegmentsCarryWhatTheWholeSays(t *testing.T) {
	f := open(t)
	long := f.remember(Note{Content: "Ana: I baked bread.\nBo: I fixed the bike.\n" + longText(6, "lantern"), Speaker: "Scribe"})
	f.remember(Note{Content: "The lantern story was wrong.", Supersedes: []string{long.ID}})
	for _, m := range f.recall(Question{Query: "lantern crew weather", IncludeSuperseded: true}).Memories {
		if m.PartOf == long.ID && (m.SupersededBy == "" || m.Speaker != "Scribe") {
			t.Errorf("a segment is not marked: superseded by %q, speaker %q", m.SupersededBy, m.Speaker)
		}
	}
}

func TestOwnOutputWithOtherWordsIsNew(t *testing.T) {
	f := open(t)
	f.say("The gate code is 4711.")
	text := f.recall(Question{Query: "gate code"}).Text
	if r := f.say(text); r.Status != StatusDuplicate {
		t.Errorf("our own block: %s, want duplicate", r.Status)
	}
	if r := f.say(strings.Replace(text, "4711", "9022", 1)); r.Status != StatusStored {
		t.Errorf("a block with another code: %s, want stored", r.Status)
	}
}

func TestWhyOutputIsOwnOutput(t *testing.T) {
	f := open(t)
	cause := f.say("The pump failed in the night.")
	f.remember(Note{Content: "The cellar is under water.", BecauseOf: []string{cause.ID}})
	w, err := f.Why(ctx, WhyQuestion{Query: "why is the cellar under water?"})
	if err != nil || !w.Found {
		t.Fatalf("%+v, %v", w, err)
	}
	if r := f.say(w.Text); r.Status != StatusDuplicate {
		t.Errorf("the answer of why: %s, want duplicate\n%s", r.Status, w.Text)
	}
}

func TestBudgetHolds(t *testing.T) {
	f := open(t)
	last := f.say("The first domino fell over.")
	for i := range 6 {
		last = f.remember(Note{Content: fmt.Sprintf("Domino number %d fell over, %s.", i, strings.Repeat("slowly ", 40)), BecauseOf: []string{last.ID}})
	}
	for _, n := range []int{1, 5, 20, 50, 80, 200} {
		r := f.recall(Question{Query: "domino fell over", MaxTokens: n})
		w, err := f.Why(ctx, WhyQuestion{ID: last.ID, Depth: 8, MaxTokens: n})
		if err != nil {
			t.Fatal(err)
		}
		if got := tokens(r.Text); got > n || r.Tokens != got {
			t.Errorf("recall within %d tokens: %d, says %d", n, got, r.Tokens)
		}
		if got := tokens(w.Text); got > n {
			t.Errorf("why within %d tokens: %d", n, got)
		}
	}
}

func TestPrintedRefsResolve(t *testing.T) {
	n := 0
	f := open(t, func(o *Options) {
		o.NewID = func(ms int64) graph.ID { // all ids end alike
			n++
			id := NewIDs(uint64(n))(ms)
			copy(id[12:], []byte{1, 2, 3, 4})
			return id
		}
	})
	old := f.say("The door code is 1234.")
	now := f.remember(Note{Content: "The door code is 5678.", Supersedes: []string{old.ID}, BecauseOf: []string{old.ID}})
	if len(now.Ref) <= 6 {
		t.Fatalf("ref %s does not collide", now.Ref)
	}
	r := f.recall(Question{Query: "door code", IncludeSuperseded: true})
	if !strings.Contains(r.Text, "superseded by "+now.Ref) {
		t.Errorf("the successor's ref %s is not printed:\n%s", now.Ref, r.Text)
	}
	w, err := f.Why(ctx, WhyQuestion{ID: now.ID})
	if err != nil || !strings.Contains(w.Text, old.Ref+" caused "+now.Ref+" ") {
		t.Errorf("why does not print the refs %s and %s (%v):\n%s", old.Ref, now.Ref, err, w.Text)
	}
}

func TestWhyOfLongTexts(t *testing.T) {
	f := open(t)
	report := f.remember(Note{Content: longText(8, "reactor")})
	stop := f.remember(Note{Content: longText(8, "shutdown"), BecauseOf: []string{report.ID}})
	w, err := f.Why(ctx, WhyQuestion{ID: stop.Segments[2]})
	if err != nil || !w.Found || w.Chains[0].Steps[0].Cause != report.ID {
		t.Fatalf("what is stated of a text is not found from its segment: %+v, %v", w.Chains, err)
	}
	for _, m := range w.Memories {
		if m.Content == "" {
			t.Errorf("%s is shown without its content", m.ID)
		}
	}
}

func TestBlankChoiceChoosesNothing(t *testing.T) {
	f := open(t)
	f.say("Keep this.")
	for _, c := range []Choice{{Query: " "}, {Since: "\t"}, {Until: " "}} {
		_, err := f.Forget(ctx, c)
		wantCode(t, err, CodeInvalid, "ids")
	}
}

func TestBoundsAtTheEpoch(t *testing.T) {
	f := open(t)
	f.remember(Note{Content: "A moon landing was watched.", OccurredAt: "1969-07-20T20:17:40Z"})
	f.remember(Note{Content: "A moon rock was shown.", OccurredAt: "1971-01-01T10:30:00.5Z"})
	for _, c := range []struct {
		filter Filter
		want   int
	}{{Filter{Since: "1970-01-01T00:00:00Z"}, 1}, {Filter{Until: "1970-01-01T00:00:00Z"}, 1}, {Filter{Since: "1971-01-01T10:30:00.6Z"}, 0},
		{Filter{Until: "1971-01-01T10:30:00.5Z"}, 1}, {Filter{Until: "1971-01-01T10:30:00.6Z"}, 2}} {
		if r := f.recall(Question{Query: "moon", Filter: c.filter}); len(r.Memories) != c.want {
			t.Errorf("%+v: %d memories, want %d", c.filter, len(r.Memories), c.want)
		}
	}
}

func TestValidUntilCoversItsDay(t *testing.T) {
	f := open(t)
	f.remember(Note{Content: "The pass to the museum is Ana's.", ValidFrom: "2025-01-01", ValidUntil: "2025-03-31"})
	for day, want := range map[string]int{"2024-12-31": 0, "2025-01-01": 1, "2025-03-31T23:59:59Z": 1, "2025-04-01": 0} {
		if r := f.recall(Question{Query: "museum pass", Filter: Filter{AsOf: day}}); len(r.Memories) != want {
			t.Errorf("as of %s: %d memories, want %d", day, len(r.Memories), want)
		}
	}
}

func TestForgottenSuccessorRevivesNothing(t *testing.T) {
	f := open(t)
	old := f.remember(Note{Content: "The phone number is 111.", OccurredAt: "2025-01-01"})
	now := f.remember(Note{Content: "The phone number is 222.", OccurredAt: "2025-06-01", Supersedes: []string{old.ID}})
	if _, err := f.Forget(ctx, Choice{IDs: []string{now.ID}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, as := range []string{"", "2025-06-10", "1960-01-01"} {
			if r := f.recall(Question{Query: "phone number", Filter: Filter{AsOf: as}}); len(r.Memories) != 0 {
				t.Errorf("as of %q: %s", as, r.Text)
			}
		}
		f.reopen()
	}
}

func TestSpeakersAndAliasesAreEntities(t *testing.T) {
	f := open(t)
	f.remember(Note{Content: "I sold the boat.", Speaker: "Caroline"})
	f.remember(Note{Content: "We met Ana Silva at the boat."})
	for name, want := range map[string]string{"caroline": "I sold the boat.", "Silva": "We met Ana Silva at the boat."} {
		r := f.recall(Question{Query: "boat", Filter: Filter{Entities: []string{name}}})
		if len(r.Memories) != 1 || r.Memories[0].Content != want {
			t.Errorf("%s: %s", name, r.Text)
		}
	}
}

func TestTraceTellsAnchorsBySignal(t *testing.T) {
	f := open(t)
	f.say("The kiln is lit at dawn.")
	f.say("The kiln was lit again and the kiln cracked.")
	for _, q := range []string{"kiln", ""} {
		r := f.recall(Question{Query: q, Explain: true})
		if r.Trace == nil {
			t.Fatalf("%q: no trace", q)
		}
		if q != "" && (len(r.Trace.Anchors) != 2 || r.Trace.Anchors[0].Ranks["keyword"] == 0 || r.Trace.Anchors[0].Score != 1) {
			t.Errorf("anchors: %+v", r.Trace.Anchors)
		}
	}
}

func TestKeyOfADuplicateIsUsed(t *testing.T) {
	f := open(t)
	f.say("Tea at four.")
	f.remember(Note{Content: "Tea at four.", IdempotencyKey: "k"})
	_, err := f.Remember(ctx, Note{Content: "Coffee at five.", IdempotencyKey: "k"})
	wantCode(t, err, CodeConflict, "idempotency_key")
}

func TestKeptAnswersKeepNoForgottenWord(t *testing.T) {
	f := open(t)
	rec, err := f.RememberOnce(ctx, "r1", Note{Content: "Xylograph Quimby meets us on 3 May 2025."})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.ForgetOnce(ctx, "r2", Choice{Query: "Quimby"}); err != nil {
		t.Fatal(err)
	}
	out, err := f.ForgetOnce(ctx, "r3", Choice{IDs: []string{rec.ID}, Purge: true})
	if err != nil || !out.Purged {
		t.Fatalf("%+v, %v", out, err)
	}
	again, err := f.ForgetOnce(ctx, "r3", Choice{IDs: []string{rec.ID}, Purge: true})
	if err != nil || again.Count != 1 || again.Removed != out.Removed {
		t.Errorf("asked again: %+v, %v", again, err)
	}
	for row, err := range f.kv.Scan(nil, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if s := strings.ToLower(string(row.Value)); strings.Contains(s, "quimby") || strings.Contains(s, "xylograph") {
			t.Errorf("row %x still holds a word: %s", row.Key[:1], row.Value)
		}
	}
}

func TestPurgeKeepsTheTombstone(t *testing.T) {
	f := open(t)
	rec := f.say("A secret of some length.")
	if _, err := f.Forget(ctx, Choice{IDs: []string{rec.ID}, Reason: "asked to"}); err != nil {
		t.Fatal(err)
	}
	read := func() *store.Tombstone {
		p, _ := f.project("default")
		id, _ := graph.ParseID(rec.ID)
		v, err := f.kv.Get(store.TombstoneKey(p, id))
		if err != nil {
			t.Fatal(err)
		}
		ts, err := store.DecodeTombstone(v)
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	before := read()
	f.clock.add(time.Hour)
	if _, err := f.Forget(ctx, Choice{IDs: []string{rec.ID}, Purge: true}); err != nil {
		t.Fatal(err)
	}
	if after := read(); after.At != before.At || !after.Purged || after.Reason != "" {
		t.Errorf("%+v, was %+v", after, before)
	}
}

func TestCloseWhileCallsBegin(t *testing.T) {
	for range 20 {
		f := open(t)
		done := make(chan bool)
		for range 4 {
			go func() {
				for {
					if _, err := f.Recall(ctx, Question{Query: "x"}); err != nil {
						done <- CodeOf(err) == CodeClosed
						return
					}
				}
			}()
		}
		if err := f.Bank.Close(); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if !<-done {
				t.Error("a call failed otherwise than by the memory being closed")
			}
		}
		f.reopen()
	}
}

// What is told later must not change an answer by when it was told: a store that is opened again answers the same.
func TestSameAfterLaterSightings(t *testing.T) {
	f := open(t)
	for i := range 30 {
		f.remember(Note{Content: fmt.Sprintf("Zoe Quartz and Bo Amber met at pier %d about the barge.", i%7), Session: fmt.Sprint(i % 3)})
	}
	f.remember(Note{Content: "Zoe Quartz and Bo Amber met at pier 3 about the barge.", Session: "0", Entities: []string{"Aaron", "Zoe Quartz"}, Tags: []string{"late"}})
	ask := func() string {
		var out []any
		for _, q := range []string{"who met at pier 3?", "Aaron barge", "when did Zoe meet Bo?"} {
			r := f.recall(Question{Query: q, Explain: true})
			out = append(out, r, r.Text)
		}
		s, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(s)
	}
	before := ask()
	f.reopen()
	if after := ask(); after != before {
		t.Errorf("before: %s\nafter: %s", before, after)
	}
}

// A reply gives the reason that the turn before it asked for: found from the question's words and from the reply's.
func TestRepliesGiveReasons(t *testing.T) {
	f := open(t)
	f.remember(Note{Content: "Lovely weather for the picnic.", Speaker: "Bo", Session: "1"})
	asked := f.remember(Note{Content: "Why did you cancel the hike?", Speaker: "Bo", Session: "1"})
	reason := f.remember(Note{Content: "My ankle is swollen like a balloon.", Speaker: "Ana", Session: "1"})
	f.remember(Note{Content: "The ankle of the table is loose.", Speaker: "Cy", Session: "2"})
	for _, q := range []string{"Why did Ana cancel the hike?", "Why cancel the hike, ankle?"} {
		w, err := f.Why(ctx, WhyQuestion{Query: q})
		if err != nil || !w.Found || w.Chains[0].Steps[0].Cause != reason.ID || w.Chains[0].Steps[0].Effect != asked.ID {
			t.Errorf("%+v: %+v, %v", q, w.Chains, err)
		}
	}
	if w, err := f.Why(ctx, WhyQuestion{Query: "Why did Ana cancel the subscription to the newspaper of the town?"}); err != nil || w.Found {
		t.Errorf("another thing that was cancelled: %+v, %v", w.Chains, err)
	}
}

// What has little to do with the question does not stand beside the chain that answers it.
func TestWhyLeavesOutTheUnrelated(t *testing.T) {
	f := open(t)
	for i := range 30 {
		f.say(fmt.Sprintf("The night bus number %d was late.", i))
	}
	cause := f.say("A fuse blew in the cellar.")
	f.remember(Note{Content: "The greenhouse pump stopped in the night.", BecauseOf: []string{cause.ID}})
	w, err := f.Why(ctx, WhyQuestion{Query: "Why did the greenhouse pump stop in the night?"})
	if err != nil || !w.Found || len(w.Memories) != 2 {
		t.Errorf("%d memories, %v\n%s", len(w.Memories), err, w.Text)
	}
}

// Turns that have nothing to do with one another have no cause, whoever says them.
func TestUnrelatedTurnsHaveNoCause(t *testing.T) {
	data, err := os.ReadFile("../testdata/extract/unrelated.txt")
	if err != nil {
		t.Fatal(err)
	}
	f := open(t)
	var ids []string
	for _, line := range strings.Split(string(data), "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			ids = append(ids, f.remember(Note{Content: line, Speaker: []string{"Ana", "Bo"}[len(ids)%2], Session: "1"}).ID)
		}
	}
	for _, id := range ids {
		if w, err := f.Why(ctx, WhyQuestion{ID: id}); err != nil || w.Found {
			t.Errorf("%s: %+v, %v", id, w.Chains, err)
		}
	}
	if len(ids) < 20 {
		t.Errorf("only %d turns", len(ids))
	}
}

// More than one batch goes: the answer still names the oldest first.
func TestForgetManyNamesTheOldest(t *testing.T) {
	f := open(t)
	var first Receipt
	for i := range removeBatch + 60 {
		r := f.say(fmt.Sprintf("Pebble %d of the beach.", i))
		if i == 0 {
			first = r
		}
	}
	p, err := f.Forget(ctx, Choice{Everything: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Forget(ctx, Choice{Confirm: p.Confirm})
	if err != nil || r.Count != removeBatch+60 || !r.Verified || len(r.Forgotten) != previewShown || r.Forgotten[0].ID != first.ID || r.Forgotten[previewShown-1].ID != p.Forgotten[previewShown-1].ID {
		t.Errorf("%d of %d, %v", r.Count, removeBatch+60, err)
	}
}

// TestKeyOfWhatIsGone: a key whose memory was forgotten or superseded stores anew, once, and says so; with other
// content it stays an error until the memory is purged, with which the digest of its words goes.
func TestKeyOfWhatIsGone(t *testing.T) {
	f := open(t)
	note := Note{Content: "Tea at four.", IdempotencyKey: "k"}
	first := f.remember(note)
	again := func(want string) Receipt {
		t.Helper()
		r := f.remember(note)
		if r.Status != want || (want == StatusStored) != (len(r.Warnings) == 1 && strings.Contains(r.Warnings[0], "idempotency_key")) {
			t.Fatalf("%s, %q, want %s", r.Status, r.Warnings, want)
		}
		return r
	}
	if r := again(StatusDuplicate); r.ID != first.ID {
		t.Error("another memory")
	}
	forget := func(r Receipt, purge bool) {
		t.Helper()
		if out, err := f.Forget(ctx, Choice{IDs: []string{r.ID}, Purge: purge}); err != nil || !out.Verified || out.Purged != purge {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	forget(first, false)
	second := again(StatusStored)
	if r := again(StatusDuplicate); r.ID != second.ID {
		t.Error("the key does not name the new memory")
	}
	f.remember(Note{Content: "Tea at five.", Supersedes: []string{second.ID}})
	third := f.remember(Note{Content: "Tea at four."}) // it flipped back, told without the key
	if third.Status != StatusStored {
		t.Fatal(third.Status)
	}
	if r := again(StatusDuplicate); r.ID != third.ID {
		t.Error("a third memory of the same words")
	}
	_, err := f.Remember(ctx, Note{Content: "Coffee at six.", IdempotencyKey: "k"})
	wantCode(t, err, CodeConflict, "idempotency_key")
	forget(third, true)
	forget(second, true)
	forget(first, true)
	lo, hi := store.IdemRange(1)
	for range f.kv.Scan(lo, hi) {
		t.Error("a digest of purged words is left")
	}
	if r := f.remember(Note{Content: "Coffee at six.", IdempotencyKey: "k"}); r.Status != StatusStored || len(r.Warnings) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestPurgeRightAfterPurge: what one purge left to merge does not keep the words of the next. On a busy machine one
// store in fifty had a table that no list of old files had.
func TestPurgeRightAfterPurge(t *testing.T) {
	stores := 25
	if long {
		stores = 500
	}
	for n := range stores {
		f := &fixture{t: t, fs: vfs.NewMem(), clock: &clock{t: time.Date(2025, 6, 16, 9, 0, 0, 0, time.UTC)}}
		f.opts = Options{Now: f.clock.now, NewID: NewIDs(1), Zone: time.UTC, Paused: true}
		f.reopen()
		first := f.say("Tea at four.")
		if _, err := f.Forget(ctx, Choice{IDs: []string{first.ID}}); err != nil {
			t.Fatal(err)
		}
		second := f.say("Tea at four.")
		f.remember(Note{Content: "Tea at five.", Supersedes: []string{second.ID}})
		third := f.say("Tea at four.")
		for _, r := range []Receipt{third, second, first} {
			if out, err := f.Forget(ctx, Choice{IDs: []string{r.ID}, Purge: true}); err != nil || !out.Verified || !out.Purged {
				t.Fatalf("store %d: %s: purged %t, %v", n, r.ID, out.Purged, err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPurgeOfWordsThatAreKept: the same words in another project, or inside another memory, are no sign that a purge
// left anything.
func TestPurgeOfWordsThatAreKept(t *testing.T) {
	f := open(t)
	a := f.say("The harbour office closes at noon.")
	f.remember(Note{Content: "The harbour office closes at noon.", Project: "other"})
	b := f.say("Supper is at seven on Fridays.")
	f.say("Ana says: Supper is at seven on Fridays. So be it.")
	c := f.say("Nobody is to know of the boat.")
	out, err := f.Forget(ctx, Choice{IDs: []string{a.ID, b.ID, c.ID}, Purge: true})
	if err != nil || !out.Purged || out.Count != 3 {
		t.Fatalf("%d, purged %t, %v", out.Count, out.Purged, err)
	}
	if files, err := f.kv.(store.Finder).FindBytes(ctx, [][]byte{[]byte("know of the boat")}); err != nil || len(files) > 0 {
		t.Errorf("%v, %v", files, err)
	}
}
