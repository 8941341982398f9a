package memory

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// A plain picture of what a memory is to hold, and the real Bank: both are told the same and must agree.

// long is set for the long forms of tests: minutes instead of seconds.
var long = os.Getenv("MAGMA_LONG") == "1"

// seedOf is a seed that changes from run to run and is printed; MAGMA_SEED repeats one.
func seedOf(t testing.TB) uint64 {
	seed := uint64(time.Now().UnixNano()) % 1e9
	if s := os.Getenv("MAGMA_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &seed); err != nil {
			t.Fatalf("MAGMA_SEED=%s is no number", s)
		}
	}
	t.Logf("MAGMA_SEED=%d repeats this run", seed)
	return seed
}

// told is one memory as the picture keeps it.
type told struct {
	note         Note
	id, ref      string
	project      string
	words        []string // made for this content; a duplicate by another speaker has the same
	segments     []string
	identity     string
	seen         int
	supersededBy string
	forgotten    bool
	tags         []string
	because      []string
	supersedes   []string
}

func (m *told) live() bool { return !m.forgotten }

// usedKey is an idempotency key with what it was used for.
type usedKey struct {
	text string
	memo *told
}

// model is the picture beside the Bank under test.
type model struct {
	t        *testing.T
	f        *fixture
	r        *rand.Rand
	all      []*told // in the order of writing
	byID     map[string]*told
	keys     map[string]usedKey
	words    int
	purged   [][]byte
	log      []string
	counts   map[string]int
	compared int
}

var modelProjects = []string{"alpha", "beta"}

// word is a word that nobody used before and that stems to itself.
func (m *model) word() string {
	const letters = "bcdfghjklmnpqrtvwx"
	m.words++
	s := "zo"
	for n := m.words; n > 0; n /= len(letters) {
		s += string(letters[n%len(letters)])
	}
	return s + "ak"
}

func (m *model) pick(l ...string) string { return l[m.r.IntN(len(l))] }

func (m *model) chance(percent int) bool { return m.r.IntN(100) < percent }

// some is a random memory of a project that passes; nil where none does.
func (m *model) some(project string, pass func(*told) bool) *told {
	var l []*told
	for _, x := range m.all {
		if x.project == project && pass(x) {
			l = append(l, x)
		}
	}
	if len(l) == 0 {
		return nil
	}
	return l[m.r.IntN(len(l))]
}

// named is the id or the ref of a memory.
func (m *model) named(x *told) string {
	if m.chance(50) {
		return x.id
	}
	return strings.ToLower(x.ref)
}

func (m *model) fail(format string, args ...any) {
	m.t.Helper()
	from := max(0, len(m.log)-25)
	m.t.Fatalf(format+"\nlast steps:\n  %s", append(args, strings.Join(m.log[from:], "\n  "))...)
}

// fresh is a note of new content.
func (m *model) fresh(project string) (Note, []string) {
	n := Note{Project: project, Speaker: m.pick("Ana", "Bo", "", "Åsa"), Session: m.pick("s1", "s2", "s3", ""), Kind: m.pick("", "fact", "event"), Source: m.pick("", "D1:3", "notes/plan.md"),
		Pinned: m.chance(5), From: Session{Client: m.pick("", "claude-code", "cursor")}}
	var words []string
	say := func() string {
		w := m.word()
		words = append(words, w)
		return fmt.Sprintf(m.pick("The %s was moved to the attic.", "We bought a %s because the old one broke.", "Klara Winter asked about %s 12.", "%s is late again, so we wait.", "Is the %s green or blue?"), w)
	}
	n.Content = say()
	if m.chance(7) { // long enough for segments
		var b strings.Builder
		words = nil
		for range 30 {
			b.WriteString(say() + " Nobody had seen it since the spring, and the others went on with their work in the yard.\n\n")
		}
		n.Content = b.String()
	}
	n.OccurredAt = m.pick("", "", "", "2025-03-04", "2025-03-05T10:00:00+02:00", "2024-11-30T23:59:59.5Z")
	if n.OccurredAt == "" && m.chance(15) {
		n.Content += " It came yesterday."
	}
	if m.chance(15) {
		n.ValidFrom = "2025-01-01"
	}
	for _, tag := range []string{"infra", "home"} {
		if m.chance(25) {
			n.Tags = append(n.Tags, tag)
		}
	}
	if m.chance(20) {
		n.Entities = []string{"Thing " + strings.ToUpper(m.word())}
		words = append(words, strings.ToLower(strings.TrimPrefix(n.Entities[0], "Thing ")))
	}
	if m.chance(10) {
		n.IdempotencyKey = fmt.Sprint("key", m.r.IntN(30))
	}
	return n, words
}

// relate adds references to memories that are there.
func (m *model) relate(n *Note) (because, supersedes []*told) {
	live := func(x *told) bool { return x.live() }
	n.BecauseOf, n.Supersedes = nil, nil
	for range m.r.IntN(3) {
		if x := m.some(n.Project, live); x != nil && m.chance(40) && !slices.Contains(because, x) {
			because = append(because, x)
			n.BecauseOf = append(n.BecauseOf, m.named(x))
		}
	}
	if x := m.some(n.Project, live); x != nil && m.chance(15) {
		supersedes = append(supersedes, x)
		n.Supersedes = append(n.Supersedes, m.named(x))
	}
	return because, supersedes
}

func (m *model) identity(n *Note, at time.Time) string {
	given := "=" + n.OccurredAt
	if n.OccurredAt == "" {
		given = ""
		if strings.Contains(n.Content, "yesterday") {
			given = at.Format("2006-01-02")
		}
	}
	return strings.Join([]string{n.Content, n.Speaker, n.Session, n.Source, given}, "\x00")
}

func add(list *[]string, more ...string) {
	for _, x := range more {
		if !slices.Contains(*list, x) {
			*list = append(*list, x)
		}
	}
}

// remember tells both.
func (m *model) remember(n Note, words []string) {
	because, supersedes := m.relate(&n)
	now := m.f.clock.next()
	identity := m.identity(&n, now)
	// What the picture says will happen.
	var want *told
	keyed := false
	if n.IdempotencyKey != "" {
		text := strings.Join([]string{n.Content, n.Speaker, n.Session, n.Source, n.Kind, n.OccurredAt}, "\x00")
		k := n.Project + "/" + n.IdempotencyKey
		if u, ok := m.keys[k]; ok {
			if u.text != text {
				_, err := m.f.Remember(ctx, n)
				if CodeOf(err) != CodeConflict {
					m.fail("key %s used again with other content: %v", n.IdempotencyKey, err)
				}
				m.counts["conflicts"]++
				return
			}
			if want = u.memo; want.forgotten || want.supersededBy != "" {
				want = nil
			}
			keyed = want != nil
		}
	}
	if !keyed {
		for _, x := range m.all {
			if x.project == n.Project && x.identity == identity && x.live() && x.supersededBy == "" {
				want = x
			}
		}
	}
	r, err := m.f.Remember(ctx, n)
	if err != nil {
		m.fail("remember: %v", err)
	}
	m.purged = slices.DeleteFunc(m.purged, func(w []byte) bool { return strings.Contains(n.Content, string(w)) }) // told again
	x := want
	if want != nil {
		m.counts["duplicates"]++
		want.seen++
		if r.Status != StatusDuplicate || r.ID != want.id || r.SeenCount != want.seen {
			m.fail("want a duplicate of %s seen %d times, got %s %s seen %d", want.id, want.seen, r.Status, r.ID, r.SeenCount)
		}
	} else {
		m.counts["stored"]++
		if r.Status != StatusStored || m.byID[r.ID] != nil {
			m.fail("want a new memory, got %s %s", r.Status, r.ID)
		}
		x = &told{note: n, id: r.ID, ref: r.Ref, project: n.Project, words: words, segments: r.Segments, identity: identity, seen: 1}
		m.all = append(m.all, x)
		m.byID[x.id] = x
		if len(r.Segments) > 0 {
			m.counts["segmented"]++
		}
	}
	add(&x.tags, n.Tags...)
	for _, c := range because {
		if c != x {
			add(&x.because, c.id)
		}
	}
	for _, old := range supersedes {
		if old != x && !slices.Contains(x.supersedes, old.id) {
			x.supersedes = append(x.supersedes, old.id)
			old.supersededBy = x.id
		}
	}
	if n.IdempotencyKey != "" {
		m.keys[n.Project+"/"+n.IdempotencyKey] = usedKey{strings.Join([]string{n.Content, n.Speaker, n.Session, n.Source, n.Kind, n.OccurredAt}, "\x00"), x}
	}
}

func (m *model) note(x *told) {
	x.forgotten = true
	m.counts["forgotten"]++
}

func (m *model) purgedNow(l []*told) {
	maps.DeleteFunc(m.keys, func(_ string, u usedKey) bool { return slices.Contains(l, u.memo) })
	for _, x := range l {
		for _, w := range x.words {
			if !m.wordLives(w) {
				m.purged = append(m.purged, []byte(w))
			}
		}
	}
}

func (m *model) wordLives(w string) bool {
	for _, x := range m.all {
		if x.live() && slices.Contains(x.words, w) {
			return true
		}
	}
	return false
}

// forgetIDs forgets one to three memories by id, ref or the id of a segment.
func (m *model) forgetIDs(project string) {
	var l []*told
	var ids []string
	for range 1 + m.r.IntN(3) {
		x := m.some(project, func(x *told) bool { return x.live() || m.r.IntN(10) == 0 })
		if x == nil {
			continue
		}
		name := m.named(x)
		if len(x.segments) > 0 && m.chance(50) {
			name = x.segments[m.r.IntN(len(x.segments))]
		}
		if !slices.Contains(ids, name) {
			ids = append(ids, name)
		}
		if x.live() && !slices.Contains(l, x) {
			l = append(l, x)
		}
	}
	if len(ids) == 0 {
		return
	}
	if m.chance(10) {
		_, err := m.f.Forget(ctx, Choice{IDs: append(slices.Clone(ids), "00000000000000000000000000"), Project: project})
		if CodeOf(err) != CodeNotFound {
			m.fail("forgetting an unknown id too: %v", err)
		}
	}
	purge := m.chance(4)
	r, err := m.f.Forget(ctx, Choice{IDs: ids, Project: project, Purge: purge})
	if err != nil || r.Status != StatusForgotten || r.Count != len(l) || !r.Verified || r.Purged != purge {
		m.fail("forget %v: %+v, %v; want %d", ids, r, err, len(l))
	}
	for _, x := range l {
		m.note(x)
	}
	if purge {
		m.purgedNow(l)
		m.counts["purges"]++
	}
}

// forgetChoice forgets what a random choice picks, after its preview.
func (m *model) forgetChoice(project string) {
	c := Choice{Project: project}
	x := m.some(project, (*told).live)
	if x == nil {
		return
	}
	var match func(*told) bool
	w := x.words[m.r.IntN(len(x.words))]
	byWord := func(y *told) bool { return strings.Contains(y.note.Content, w) }
	switch m.r.IntN(6) {
	case 0, 1:
		w = x.words[0]
		c.Query, match = "the "+w, byWord
	case 2:
		w = x.words[0]
		c.Query, c.Speaker = w, x.note.Speaker
		match = func(y *told) bool { return byWord(y) && (c.Speaker == "" || y.note.Speaker == c.Speaker) }
	case 3:
		if x.note.Source == "" || x.note.Session == "" {
			return
		}
		c.Source, c.Session, c.WrittenBy = x.note.Source, x.note.Session, x.note.From.Client
		match = func(y *told) bool {
			return y.note.Source == x.note.Source && y.note.Session == x.note.Session && (c.WrittenBy == "" || y.note.From.Client == c.WrittenBy)
		}
	case 4:
		if len(x.tags) == 0 || x.note.Speaker == "" {
			return
		}
		c.Tags, c.Speaker = []string{strings.ToUpper(x.tags[0])}, x.note.Speaker
		match = func(y *told) bool { return slices.Contains(y.tags, x.tags[0]) && y.note.Speaker == x.note.Speaker }
	case 5:
		c.Since, c.Until = "2025-03-04", "2025-03-04"
		match = func(y *told) bool { return y.note.OccurredAt == "2025-03-04" }
	}
	chosen := func() (l []*told) {
		for _, y := range m.all {
			if y.project == project && y.live() && match(y) {
				l = append(l, y)
			}
		}
		return l
	}
	want := chosen()
	r, err := m.f.Forget(ctx, c)
	if err != nil || r.Status != StatusPreview || r.Count != len(want) || (r.Confirm == "") != (len(want) == 0) {
		m.fail("preview of %+v: %d, %v; want %d", c, r.Count, err, len(want))
	}
	m.counts["previews"]++
	if len(want) == 0 {
		return
	}
	if m.chance(20) {
		m.reopen()
	}
	if m.chance(10) {
		m.f.clock.add(16 * time.Minute)
		if _, err := m.f.Forget(ctx, Choice{Confirm: r.Confirm}); CodeOf(err) != CodeExpired {
			m.fail("an old code: %v", err)
		}
		return
	}
	if m.chance(25) { // one of them goes meanwhile: a new preview
		m.forget(want[0])
		again, err := m.f.Forget(ctx, Choice{Confirm: r.Confirm})
		if err != nil || again.Status != StatusPreview || again.Count != len(want)-1 {
			m.fail("confirming what changed: %+v %v", again, err)
		}
		return
	}
	purge := m.chance(4)
	done, err := m.f.Forget(ctx, Choice{Confirm: r.Confirm, Purge: purge})
	if err != nil || done.Status != StatusForgotten || done.Count != len(want) || !done.Verified || done.Purged != purge {
		m.fail("confirm %+v: %+v, %v; want %d", c, done, err, len(want))
	}
	for _, y := range want {
		m.note(y)
	}
	if purge {
		m.purgedNow(want)
		m.counts["purges"]++
	}
}

func (m *model) forget(x *told) {
	if r, err := m.f.Forget(ctx, Choice{IDs: []string{x.id}, Project: x.project}); err != nil || r.Count != 1 {
		m.fail("forget: %+v %v", r, err)
	}
	m.note(x)
}

func (m *model) reopen() {
	m.f.reopen()
	m.counts["reopened"]++
}

// crash opens the store as a loss of power would have left it now.
func (m *model) crash() {
	clone := m.f.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: []int{0, 50, 100}[m.r.IntN(3)], RNG: m.r})
	if err := m.f.Close(); err != nil {
		m.fail("close: %v", err)
	}
	m.f.Bank, m.f.fs = nil, clone
	m.f.reopen()
	m.counts["crashes"]++
}

// step does one random thing.
func (m *model) step() {
	project := m.pick(modelProjects...)
	op := ""
	switch n := m.r.IntN(100); {
	case n < 52:
		op = "remember"
		note, words := m.fresh(project)
		m.remember(note, words)
	case n < 68:
		op = "remember again"
		if x := m.some(project, func(*told) bool { return true }); x != nil {
			n := x.note
			words := slices.Clone(x.words[:1])
			if len(x.segments) > 0 {
				words = slices.DeleteFunc(slices.Clone(x.words), func(w string) bool { return !strings.Contains(n.Content, w) })
			}
			n.Entities, n.IdempotencyKey = nil, m.pick(n.IdempotencyKey, "")
			n.Tags = []string{m.pick("infra", "home", "late")}
			if m.chance(20) {
				n.Speaker = m.pick("Ana", "Bo")
			}
			m.remember(n, words)
		}
	case n < 78:
		op = "forget ids"
		m.forgetIDs(project)
	case n < 85:
		op = "forget a choice"
		m.forgetChoice(project)
	case n < 88:
		op = "wait"
		m.f.clock.add(time.Duration(1+m.r.IntN(30)) * time.Hour)
	case n < 91:
		op = "rebuild"
		if err := m.f.Rebuild(ctx, nil); err != nil {
			m.fail("rebuild: %v", err)
		}
	case n < 95:
		op = "reopen"
		m.reopen()
	case n < 98:
		op = "crash"
		m.crash()
	default:
		op = "settle"
		if err := m.f.Settle(ctx); err != nil {
			m.fail("settle: %v", err)
		}
	}
	m.counts["operations"]++
	last := ""
	if len(m.all) > 0 {
		x := m.all[len(m.all)-1]
		last = fmt.Sprintf(" (newest %s of %s, %d segments, supersedes %v)", x.id, x.project, len(x.segments), x.supersedes)
	}
	m.log = append(m.log, fmt.Sprintf("%d %s %s%s", m.counts["operations"], op, project, last))
}

// compare holds the Bank against the picture: what is cheap for all memories, questions for some of them.
func (m *model) compare(full bool) {
	t := m.f.t
	t.Helper()
	rep, err := m.f.Check(ctx)
	if err != nil || len(rep.Problems) > 0 {
		m.fail("check: %v %v", err, rep.Problems)
	}
	tombs := 0
	for _, x := range m.all {
		if x.forgotten {
			tombs += 1 + len(x.segments)
		}
	}
	if rep.Tombstones != tombs {
		m.fail("%d tombstones, want %d", rep.Tombstones, tombs)
	}
	for _, p := range modelProjects {
		m.compareProject(p, full)
	}
	if full {
		m.compareExport()
	}
}

func (m *model) compareProject(p string, full bool) {
	var live []*told
	segments, tombs := 0, 0
	for _, x := range m.all {
		if x.project != p {
			continue
		}
		m.compareGet(x)
		if x.live() {
			live = append(live, x)
			segments += len(x.segments)
		} else {
			tombs += 1 + len(x.segments)
		}
		if full || m.r.IntN(len(m.all)) < 3 {
			m.compareQuestions(x)
		}
	}
	st, err := m.f.Stats(ctx, p)
	if err != nil || st.Memories != len(live) || st.Segments != segments || st.Tombstones != tombs {
		m.fail("stats of %s: %d memories %d segments %d tombstones, want %d %d %d, %v", p, st.Memories, st.Segments, st.Tombstones, len(live), segments, tombs, err)
	}
	recent, err := m.f.Recent(ctx, p, 500)
	if err != nil || len(recent) != min(500, len(live)) {
		m.fail("recent of %s: %d, want %d, %v", p, len(recent), len(live), err)
	}
	for i, x := range recent {
		if x.ID != live[len(live)-1-i].id {
			m.fail("recent of %s: place %d has %s, want %s", p, i, x.ID, live[len(live)-1-i].id)
		}
	}
	if full {
		m.compareLists(p)
	}
	m.compared++
}

func (m *model) compareGet(x *told) {
	got, err := m.f.Get(ctx, x.project, x.id)
	if x.forgotten {
		if CodeOf(err) != CodeNotFound {
			m.fail("get of %s, which is forgotten: %v", x.id, err)
		}
		for _, s := range x.segments {
			if _, err := m.f.Get(ctx, x.project, s); CodeOf(err) != CodeNotFound {
				m.fail("get of segment %s of %s, which is forgotten: %v", s, x.id, err)
			}
		}
		return
	}
	if err != nil {
		m.fail("get %s: %v", x.id, err)
	}
	n := &x.note
	if got.ID != x.id || got.Ref != x.ref || got.Content != n.Content || got.Speaker != n.Speaker || got.Session != n.Session || got.Kind != n.Kind || got.Source != n.Source ||
		got.Pinned != n.Pinned || got.WrittenBy != n.From.Client || max(1, got.SeenCount) != x.seen || got.SupersededBy != x.supersededBy || !slices.Equal(got.Segments, x.segments) {
		m.fail("get %s: %+v\nwant %+v", x.id, got, *x)
	}
	for _, l := range [][2][]string{{got.Tags, x.tags}, {got.BecauseOf, x.because}, {got.Supersedes, x.supersedes}} {
		a, b := slices.Sorted(slices.Values(l[0])), slices.Sorted(slices.Values(l[1]))
		if !slices.Equal(a, b) {
			m.fail("get %s: %v, want %v", x.id, a, b)
		}
	}
	if byRef, err := m.f.Get(ctx, x.project, x.ref); err != nil || byRef.ID != x.id {
		m.fail("ref %s gives %s (%v), want %s", x.ref, byRef.ID, err, x.id)
	}
}

// has reports whether one of a list is x or a segment of it.
func has(l []Memory, x *told) bool {
	return slices.ContainsFunc(l, func(y Memory) bool { return y.ID == x.id || y.PartOf == x.id })
}

func (m *model) compareQuestions(x *told) {
	m.counts["questions"]++
	w := x.words[m.r.IntN(len(x.words))]
	if !strings.Contains(x.note.Content, w) {
		w = x.words[0]
	}
	ask := func(q Question) Recollection {
		q.Limit, q.MaxTokens = 500, 100_000
		r, err := m.f.Recall(ctx, q)
		if err != nil {
			m.fail("recall: %v", err)
		}
		for _, y := range r.Memories {
			o := m.byID[y.ID]
			if y.PartOf != "" {
				o = m.byID[y.PartOf]
			}
			if o == nil || o.forgotten {
				m.fail("recall %q shows %s, which is not there", q.Query, y.ID)
			}
			if o.project != q.Project {
				m.fail("recall %q in %s shows a memory of %s", q.Query, q.Project, o.project)
			}
			if !q.IncludeSuperseded && q.AsOf == "" && o.supersededBy != "" {
				m.fail("recall %q shows %s, which is superseded by %s", q.Query, o.id, o.supersededBy)
			}
		}
		return r
	}
	r := ask(Question{Query: w, Project: x.project, IncludeSuperseded: true})
	if has(r.Memories, x) != x.live() {
		m.fail("recall %q with the superseded: found %t, live %t, %s: segments %v\n%s", w, !x.live(), x.live(), x.id, x.segments, r.Text)
	}
	r = ask(Question{Query: "What about the " + w + "?", Project: x.project})
	if want := x.live() && x.supersededBy == ""; has(r.Memories, x) != want {
		m.fail("recall %q: found %t, want %t, %s", w, !want, want, x.id)
	}
	if x.live() && len(x.tags) > 0 {
		r = ask(Question{Query: w, Project: x.project, IncludeSuperseded: true, Filter: Filter{Tags: []string{x.tags[len(x.tags)-1]}, Speaker: x.note.Speaker, Session: x.note.Session}})
		if !has(r.Memories, x) {
			m.fail("recall %q by tag %s does not find %s", w, x.tags[len(x.tags)-1], x.id)
		}
	}
	if x.live() {
		return
	}
	if !m.wordLives(w) && strings.Contains(r.Text, w) {
		m.fail("recall prints %q, which is forgotten:\n%s", w, r.Text)
	}
	why, err := m.f.Why(ctx, WhyQuestion{Query: "Why " + w + "?", Project: x.project, Limit: 100, MaxTokens: 50_000})
	if err != nil {
		m.fail("why: %v", err)
	}
	when, err := m.f.When(ctx, WhenQuestion{Query: "When was the " + w + "?", Project: x.project, Limit: 100})
	if err != nil {
		m.fail("when: %v", err)
	}
	if has(why.Memories, x) || has(when.Memories, x) {
		m.fail("why or when shows %s, which is forgotten", x.id)
	}
	for _, c := range why.Chains {
		for _, s := range c.Steps {
			for _, id := range []string{s.Cause, s.Effect, s.EvidenceMemory} {
				if id == x.id || slices.Contains(x.segments, id) {
					m.fail("a chain leads over %s, which is forgotten", id)
				}
			}
		}
	}
	for _, a := range when.Answers {
		if a.Memory == x.id || slices.Contains(x.segments, a.Memory) {
			m.fail("when answers from %s, which is forgotten", a.Memory)
		}
	}
	if !m.wordLives(w) && strings.Contains(why.Text+when.Text, w) {
		m.fail("why or when prints %q, which is forgotten", w)
	}
	if g, err := m.f.Graph(ctx, GraphQuery{Project: x.project, Around: x.id, Depth: 2}); err == nil && len(g.Nodes) > 0 {
		m.fail("a graph around %s, which is forgotten: %d nodes", x.id, len(g.Nodes))
	}
}

// compareLists looks at what lists a whole project for ids and words that should be gone.
func (m *model) compareLists(p string) {
	tl, err := m.f.Timeline(ctx, TimelineQuery{Project: p, Limit: 100_000})
	if err != nil {
		m.fail("timeline: %v", err)
	}
	seen := map[string]bool{}
	for _, e := range tl.Entries {
		seen[e.Memory] = true
	}
	ents, err := m.f.Entities(ctx, p)
	if err != nil {
		m.fail("entities: %v", err)
	}
	var names strings.Builder
	for _, e := range ents {
		fmt.Fprintln(&names, strings.ToLower(e.Name), e.Aliases)
	}
	g, err := m.f.Graph(ctx, GraphQuery{Project: p, Depth: 3, Limit: 500})
	if err != nil {
		m.fail("graph: %v", err)
	}
	for _, n := range g.Nodes {
		fmt.Fprintln(&names, strings.ToLower(n.Label))
		if n.Type == "event" {
			seen[n.ID] = true
		}
	}
	for _, e := range g.Edges {
		seen[e.From], seen[e.To] = true, true
	}
	for _, x := range m.all {
		if x.project != p || x.live() {
			continue
		}
		for _, id := range append([]string{x.id}, x.segments...) {
			if seen[id] {
				m.fail("timeline or graph of %s names %s, which is forgotten", p, id)
			}
		}
		for _, w := range x.words {
			if !m.wordLives(w) && strings.Contains(names.String(), w) {
				m.fail("entities or graph of %s name %q, which is forgotten", p, w)
			}
		}
	}
}

func (m *model) compareExport() {
	var b bytes.Buffer
	if _, err := m.f.Export(ctx, &b, ExportOptions{}); err != nil {
		m.fail("export: %v", err)
	}
	text := b.String()
	for _, x := range m.all {
		if x.live() && !strings.Contains(text, `"`+x.id+`"`) {
			m.fail("the export lacks %s", x.id)
		}
		if x.live() {
			continue
		}
		for _, w := range x.words {
			if !m.wordLives(w) && strings.Contains(strings.ToLower(text), w) {
				m.fail("the export holds %q, which is forgotten", w)
			}
		}
	}
	if len(m.purged) > 0 {
		files, err := m.f.kv.(store.Finder).FindBytes(ctx, m.purged)
		if err != nil || len(files) > 0 {
			m.fail("purged words are in %v %v", files, err)
		}
		m.counts["purged words looked for"] += len(m.purged)
	}
}

// TestModel runs random operations, with restarts and crashes between them.
func TestModel(t *testing.T) {
	for _, worker := range []bool{false, true} {
		t.Run(map[bool]string{false: "paused", true: "worker"}[worker], func(t *testing.T) {
			seed := seedOf(t)
			total := map[string]int{}
			rounds, steps := 2, 120
			if long {
				rounds, steps = 40, 300
			}
			for i := range rounds {
				m := newModel(t, seed+uint64(i), worker)
				for s := range steps {
					m.step()
					m.compare(s%20 == 19)
				}
				m.compare(true)
				m.counts["comparisons"] = m.compared
				for k, n := range m.counts {
					total[k] += n
				}
				m.f.check()
				if err := m.f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			var b strings.Builder
			for _, k := range slices.Sorted(maps.Keys(total)) {
				fmt.Fprintf(&b, ", %s %d", k, total[k])
			}
			t.Log(b.String()[2:])
			for _, k := range []string{"crashes", "duplicates", "forgotten", "segmented", "reopened", "previews"} {
				if total[k] == 0 {
					t.Errorf("%s: none; the run is too small", k)
				}
			}
		})
	}
}

func newModel(t *testing.T, seed uint64, worker bool) *model {
	f := &fixture{t: t, fs: vfs.NewCrashableMem(), clock: &clock{t: time.Date(2025, 6, 16, 9, 0, 0, 0, time.UTC)}}
	// Ids whose endings meet now and then, so that refs have to grow.
	ids := NewIDs(seed)
	n := 0
	f.opts = Options{Now: f.clock.now, Zone: time.UTC, Paused: !worker, NewID: func(ms int64) graph.ID {
		id := ids(ms)
		if n++; n%5 == 0 {
			id[11], id[12], id[13], id[14], id[15] = 1, 0, 0, 0, byte(n%3)
		}
		return id
	}}
	f.reopen()
	return &model{t: t, f: f, r: rand.New(rand.NewPCG(seed, 7)), byID: map[string]*told{}, keys: map[string]usedKey{}, counts: map[string]int{}}
}
