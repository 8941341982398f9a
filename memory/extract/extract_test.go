package extract

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

type testLine struct {
	n          int
	text, want string
}

// lines reads a table of testdata/extract: "text => want", # comments.
func lines(t *testing.T, name string) []testLine {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "extract", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []testLine
	sc := bufio.NewScanner(f)
	for n := 1; sc.Scan(); n++ {
		l := sc.Text()
		if l == "" || strings.HasPrefix(l, "# ") {
			continue
		}
		text, want, _ := strings.Cut(l, " => ")
		out = append(out, testLine{n, text, strings.TrimSpace(want)})
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestMentions(t *testing.T) {
	for _, l := range lines(t, "mentions.txt") {
		text, find := l.text, Mentions
		if strings.HasPrefix(text, "? ") {
			text, find = text[2:], QueryMentions
		}
		ms := find(text)
		checkMentions(t, text, ms)
		var want []string
		if l.want != "-" {
			want = strings.Split(l.want, "; ")
		}
		var got []string
		for i, m := range ms {
			s := m.Canonical
			if i < len(want) && want[i] == s+":"+string(m.Type) && m.Type != "" {
				s = want[i]
			} else if i < len(want) && want[i] != s {
				s += ":" + string(m.Type)
			}
			got = append(got, s)
		}
		if g := strings.Join(got, "; "); g != strings.Join(want, "; ") {
			t.Errorf("mentions.txt:%d %q\n got %s\nwant %s", l.n, text, g, l.want)
		}
	}
}

func checkMentions(t *testing.T, text string, ms []Mention) {
	t.Helper()
	at := 0
	for _, m := range ms {
		if m.From < at || m.To <= m.From || m.To > len(text) || text[m.From:m.To] != m.Text || m.Canonical == "" || m.Confidence <= 0 || m.Confidence > 1 {
			t.Fatalf("bad mention %+v in %q", m, text)
		}
		whole(t, text, m.Span)
		at = m.To
	}
}

func whole(t *testing.T, text string, s Span) {
	t.Helper()
	if s.From < 0 || s.To > len(text) || s.From > s.To {
		t.Fatalf("span %v outside of %q", s, text)
	}
	for _, p := range []int{s.From, s.To} {
		if p < len(text) && !utf8.RuneStart(text[p]) && utf8.ValidString(text) {
			t.Fatalf("span %v cuts a rune of %q", s, text)
		}
	}
}

// TestLabels: title case in headings and list labels names nothing, what follows them does.
func TestLabels(t *testing.T) {
	text := "# Sourdough Starter Notes\n\n1. **Daily Feeding Rhythm**: Ask Ingrid for the jar.\n2. Flour Storage Bins: ask Bram.\n* **Water Hardness:** fine in Oslo\n\n**Next Steps**\nBuy **Rosalind** a whisk."
	var got []string
	for _, m := range Mentions(text) {
		got = append(got, m.Canonical)
	}
	if g := strings.Join(got, " "); g != "ingrid bram oslo rosalind" {
		t.Errorf("got %q", g)
	}
}

func TestMentionsKnown(t *testing.T) {
	text := "Biscotti again. We had plenty."
	if got := Mentions(text); len(got) != 0 {
		t.Fatalf("without evidence: %v", got)
	}
	got := MentionsKnown(text, func(k string) bool { return k == "biscotti" })
	if len(got) != 1 || got[0].Canonical != "biscotti" {
		t.Fatalf("known: %v", got)
	}
}

func TestKey(t *testing.T) {
	for in, want := range map[string]string{
		"Caroline's": "caroline", "  The  Hague ": "hague", "JESS’": "jess'", "Jess’": "jess'", "Dr.  Smith": "dr. smith", "STRASSE": "strasse", "Straße": "strasse",
		"Cafe\u0301": "café", "The": "the", "'s": "'s", "": "", "Chris'": "chris", "C++": "c++", "\u200eAnn": "ann", "A\u00a0B": "b",
	} {
		if in == "JESS’" || in == "Jess’" {
			want = "jess"
		}
		if got := Key(in); got != want {
			t.Errorf("Key(%q) = %q, want %q", in, got, want)
		}
		if k := Key(in); Key(k) != k {
			t.Errorf("Key(Key(%q)) = %q, Key = %q", in, Key(k), k)
		}
	}
}

func TestCauses(t *testing.T) {
	for _, l := range lines(t, "causes.txt") {
		cs := Causes(l.text)
		checkCauses(t, l.text, cs)
		if got := causeLines(l.text, cs); got != l.want {
			t.Errorf("causes.txt:%d %q\n got %s\nwant %s", l.n, l.text, got, l.want)
		}
	}
}

func causeLines(text string, cs []Cause) string {
	if len(cs) == 0 {
		return "-"
	}
	var out []string
	for _, c := range cs {
		cause, effect := c.Cause.In(text), c.Effect.In(text)
		switch c.Prior {
		case CauseSide:
			cause = "<"
		case EffectSide:
			effect = "<"
		}
		out = append(out, fmt.Sprintf("%s | %s | %s", cause, effect, c.CueKind))
	}
	return strings.Join(out, " ;; ")
}

func checkCauses(t *testing.T, text string, cs []Cause) {
	t.Helper()
	for _, c := range cs {
		for _, s := range []Span{c.Cause, c.Effect, c.Cue} {
			whole(t, text, s)
		}
		if c.Cue.Empty() || c.Confidence <= 0 || c.Confidence > 1 || c.Backward != (c.Prior != NoSide) || c.Cause.Empty() != (c.Prior == CauseSide) || c.Effect.Empty() != (c.Prior == EffectSide) {
			t.Fatalf("bad cause %+v in %q", c, text)
		}
	}
}

// TestUnrelated: not one causal statement in texts that make none. Order in time is no cause.
func TestUnrelated(t *testing.T) {
	n := 0
	var all []string
	for _, l := range lines(t, "unrelated.txt") {
		n++
		all = append(all, l.text)
		if cs := Causes(l.text); len(cs) > 0 {
			t.Errorf("unrelated.txt:%d %q: %s", l.n, l.text, causeLines(l.text, cs))
		}
	}
	if n < 100 {
		t.Fatalf("only %d texts", n)
	}
	// As turns of a conversation: no reply leans on an unrelated turn.
	for i := 1; i < len(all); i++ {
		if cs := ReplyCauses(all[i-1], all[i]); len(cs) > 0 && cs[0].CueKind != "reply" {
			t.Errorf("%q // %q: %+v", all[i-1], all[i], cs)
		}
	}
}

func TestReplyCauses(t *testing.T) {
	for _, l := range lines(t, "replies.txt") {
		prev, reply, ok := strings.Cut(l.text, " // ")
		if !ok {
			t.Fatalf("replies.txt:%d has no //", l.n)
		}
		got := "-"
		cs := ReplyCauses(prev, reply)
		if len(cs) > 1 {
			t.Errorf("replies.txt:%d several: %v", l.n, cs)
		}
		if len(cs) > 0 {
			c := cs[0]
			switch c.Prior {
			case CauseSide:
				got = "prev:" + c.Cause.In(prev) + " | " + c.Effect.In(reply)
			case EffectSide:
				got = c.Cause.In(reply) + " | prev:" + c.Effect.In(prev)
			default:
				t.Errorf("replies.txt:%d no half in prev: %+v", l.n, c)
			}
			if !c.Backward || c.Cue.In(reply) == "" {
				t.Errorf("replies.txt:%d bad %+v", l.n, c)
			}
		}
		if got != l.want {
			t.Errorf("replies.txt:%d %q\n got %s\nwant %s", l.n, l.text, got, l.want)
		}
	}
}

func TestAliases(t *testing.T) {
	for _, l := range lines(t, "aliases.txt") {
		f := strings.Split(l.text, ";")
		if len(f) != 4 {
			t.Fatalf("aliases.txt:%d", l.n)
		}
		lo, _ := strconv.ParseFloat(strings.TrimSpace(f[2]), 64)
		hi, _ := strconv.ParseFloat(strings.TrimSpace(f[3]), 64)
		a, b := strings.TrimSpace(f[0]), strings.TrimSpace(f[1])
		got := Aliases(a, b)
		if got < lo || got > hi {
			t.Errorf("aliases.txt:%d Aliases(%q, %q) = %.2f, want %.2f..%.2f", l.n, a, b, got, lo, hi)
		}
		if back := Aliases(b, a); back != got {
			t.Errorf("Aliases(%q, %q) = %.2f, turned %.2f", a, b, got, back)
		}
	}
}

func TestRelations(t *testing.T) {
	for _, l := range lines(t, "relations.txt") {
		var out []string
		for _, m := range Relations(l.text) {
			whole(t, l.text, m.Span)
			whole(t, l.text, m.Owner)
			whole(t, l.text, m.NameSpan)
			p := ""
			if m.Plural {
				p = "+"
			}
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s | %s%s | %s", m.OwnerText, m.Role, p, m.Name)))
		}
		got := strings.Join(out, " ;; ")
		if got == "" {
			got = "-"
		}
		if got != l.want {
			t.Errorf("relations.txt:%d %q\n got %s\nwant %s", l.n, l.text, got, l.want)
		}
	}
}

// everything runs the whole package over a text and checks what must hold of any input.
func everything(t *testing.T, text string) {
	t.Helper()
	checkMentions(t, text, Mentions(text))
	checkMentions(t, text, QueryMentions(text))
	checkCauses(t, text, Causes(text))
	for _, m := range Relations(text) {
		whole(t, text, m.Span)
		whole(t, text, m.Owner)
		whole(t, text, m.NameSpan)
	}
	checkSegments(t, text, Segments(text))
	half := len(text) / 2
	for _, c := range ReplyCauses(text[:half], text[half:]) {
		if !c.Backward || c.Prior == NoSide {
			t.Fatalf("bad reply %+v", c)
		}
	}
	k := Key(text)
	if Aliases(text, k) < 0 {
		t.Fatal("negative")
	}
}

func checkSegments(t *testing.T, text string, segs []Segment) {
	t.Helper()
	if segs == nil {
		return
	}
	at := 0
	for _, s := range segs {
		if s.From != at || s.To <= s.From {
			t.Fatalf("segment %v does not follow %d in a text of %d", s.Span, at, len(text))
		}
		whole(t, text, s.Span)
		if s.Body.From < s.From || s.Body.To > s.To || s.Body.From > s.Body.To {
			t.Fatalf("body %v outside of %v", s.Body, s.Span)
		}
		at = s.To
	}
	if at != len(text) {
		t.Fatalf("segments end at %d of %d", at, len(text))
	}
}

func FuzzExtract(f *testing.F) {
	for _, s := range []string{"", "I", "Hey Mel's", "because", "so that", "'s", "\xff\xfe", "A.\u0301", "Alice: hi\nBob: ho\n", "`", "```\n", "#", "#1", "a/b", "C:\\", "that's why", "due to", "the reason is that",
		"“", "\"A\"", "[10:32] A: b\n[10:33] C: d", "my", "my dog", "J. K.", "@", "a@b.c", "x://y", "İstanbul's", "ǅ", "Why?", "Why? Because.", "\u2028because\u2028", "New York's'", "Ⅷ’s", strings.Repeat("a\u0301", 3000), strings.Repeat("\n", 3000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { everything(t, text) })
}

// TestAnyText: texts made of the pieces that rules look at, in any order.
func TestAnyText(t *testing.T) {
	pieces := strings.Split(`because|of|due|to|so|that|that's|why|,|.|!|?|"|'|’|“|”|(|)|[|]|:|;|-|—|…|Mel|Mel's|New|York|the|The|I|Dr.|J.|my|brother|led|caused|by|made|me|cry|reason|is|as a result|since|10:32|v1.2|a/b.go:1|#12|x_y|é|東京|😀|`+"\n|\n\n|`|```|\xff|\u0301|\t|**|<|>|@|#|Alice: |**Bob** (10:31): ", "|")
	r := rand.New(rand.NewSource(1))
	for n := 0; n < 3000; n++ {
		var b strings.Builder
		for k := r.Intn(30); k >= 0; k-- {
			b.WriteString(pieces[r.Intn(len(pieces))])
			if r.Intn(3) > 0 {
				b.WriteByte(' ')
			}
		}
		everything(t, b.String())
	}
}

// TestLinear: a quarter of a megabyte of anything takes a moment, not a minute.
func TestLinear(t *testing.T) {
	for name, piece := range map[string]string{
		"prose": "Ingrid told me because she was late, so I left. ", "quotes": `"`, "single": "'a ", "capitals": "Ab ", "cue": "because ", "so": "so that ", "paths": "a/b/c_d.go:1,", "labels": "A: b\n", "brackets": "((", "long": "x",
		"emoji": "😀", "marks": "\u0301", "dots": "a.", "back": "`a", "my": "my ", "dash": "a-", "apostrophe": "a'", "reason": "the reason that ", "commas": ", so I",
	} {
		text := strings.Repeat(piece, 1<<18/len(piece))
		start := time.Now()
		everything(t, text)
		if d := time.Since(start); d > 8*time.Second {
			t.Errorf("%s: %v for 256 kB", name, d)
		} else if testing.Verbose() {
			t.Logf("%-10s %v", name, d.Round(time.Millisecond))
		}
	}
}

const bench150 = "Yesterday Ingrid told me that the New York office moved to v2.1.7 of the auth-service, and Bram's team rolled it back on Friday before lunch was over."

func BenchmarkMentions(b *testing.B) {
	b.Run("runes=150", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Mentions(bench150)
		}
	})
}

func BenchmarkCauses(b *testing.B) {
	for name, text := range map[string]string{"cue=no": bench150, "cue=yes": "I wanted to come along with the others yesterday evening, but in the end I had to stay at home because my ankle was swollen and the doctor told me not to walk."} {
		b.Run(name+"/runes=150", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Causes(text)
			}
		})
	}
}
