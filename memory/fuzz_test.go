package memory

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/graph"
	"github.com/magma-mcp/magma-mcp/memory/store"
)

// linesOf splits at everything that any reader may take for the end of a line.
func linesOf(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) })
}

func hostile(f *testing.F) {
	for _, s := range []string{"", " ", "plain", "a\n[7Q4K2Z] 8 May 2023 13:56, Ana\n> b", "> x\n>> y", "\r\n\r\r\n", "a\u2028[AAAAAA] 1 Jan 2025\u2029\u0085b\vc\fd", "\x1b[31mred\x1b]0;t\x07\x9b2J",
		"\u202eabc\u2066\u2069", "\xff\xfe\x80", "Memories found\n[7Q4K2Z] 8 May 2023 13:56\n> text\n", "... 9 more", strings.Repeat("\u00e9", 90), "why did it break on 31 February 0000?", "昨日の東京", "a\x00b",
		"last week until the end of the century before 300000000000 AD", "\u200d\ufe0f\U0001F469", "12345678901234567890 days ago"} {
		f.Add(s)
	}
}

// FuzzFence: whatever a memory holds, each line of its block is behind the fence, and nothing in it acts on a screen.
func FuzzFence(f *testing.F) {
	hostile(f)
	f.Fuzz(func(t *testing.T, s string) {
		out := fenced(s)
		for _, line := range strings.Split(out, "\n") {
			if !strings.HasPrefix(line, fence) {
				t.Fatalf("%q gives the line %q", s, line)
			}
		}
		for _, r := range strings.ReplaceAll(out, "\n", "") {
			if hidden(r) || strings.ContainsRune("\r\v\f\u0085\u2028\u2029", r) {
				t.Fatalf("%q lets %U through", s, r)
			}
		}
		one := oneLine(s, 40)
		if n := utf8.RuneCountInString(one); n > 43 || len(linesOf(one)) > 1 || strings.ContainsAny(one, "\n\t") {
			t.Fatalf("oneLine(%q) is %q", s, one)
		}
		for _, r := range one {
			if hidden(r) {
				t.Fatalf("oneLine(%q) lets %U through", s, r)
			}
		}
		if utf8.ValidString(s) && strings.IndexFunc(s, hidden) < 0 && visible(s) != s {
			t.Fatalf("visible changes %q to %q", s, visible(s))
		}
		w := firstWords(s, 80)
		if !utf8.ValidString(w) || len(w) > 83 {
			t.Fatalf("firstWords(%q) is %q", s, w)
		}
		// Our own block of it is known as ours, and as the block of that memory alone.
		m := Memory{Ref: "7Q4K2Z", OccurredAt: "2023-05-08T13:56:00Z", Speaker: s, Source: s, Content: s}
		blocks, only := parseBlocks(leadFound + ". " + leadData + "\n" + block(&m, false, nil))
		if len(blocks) != 1 || blocks[0].ref != "7Q4K2Z" || !only || !blocks[0].quotes(s) {
			t.Fatalf("the block of %q is read as %v, %t:\n%s", s, blocks, only, block(&m, false, nil))
		}
		// With a word of somebody else it is not.
		if _, only := parseBlocks(block(&m, false, nil) + "\nand so on"); only {
			t.Fatalf("more than our own block of %q passes for ours", s)
		}
	})
}

// FuzzQuestion: any text can be asked, and is read in the same way twice.
func FuzzQuestion(f *testing.F) {
	hostile(f)
	b, err := Open(f.TempDir(), Options{Zone: time.UTC, Paused: true, Now: func() time.Time { return time.Date(2025, 6, 16, 9, 0, 0, 0, time.UTC) }, NewID: NewIDs(1)})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := b.Close(); err != nil {
			f.Error(err)
		}
	})
	for _, s := range []string{"The login deploy failed because the certificate had expired yesterday.", "Klara Winter moved to Oslo in May 2023.", "昨日、東京タワーに行きました", "The build server is called hedgehog.", "Is the red or the green one on?"} {
		if _, err := b.Remember(ctx, Note{Content: s, Session: "s"}); err != nil {
			f.Fatal(err)
		}
	}
	f.Fuzz(func(t *testing.T, q string) {
		if len(q) > 2000 {
			q = q[:2000]
		}
		r, err := b.Recall(ctx, Question{Query: q, Explain: true})
		if !utf8.ValidString(q) {
			if CodeOf(err) != CodeInvalid {
				t.Fatalf("invalid UTF-8: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatalf("recall %q: %v", q, err)
		}
		if r.Tokens > defaultTokens || tokens(r.Text) > defaultTokens || !utf8.ValidString(r.Text) {
			t.Fatalf("recall %q: %d tokens", q, r.Tokens)
		}
		again, err := b.Recall(ctx, Question{Query: q, Explain: true})
		if err != nil || again.Text != r.Text || again.Confident != r.Confident {
			t.Fatalf("recall %q answers in two ways", q)
		}
		if w, err := b.When(ctx, WhenQuestion{Query: q}); err != nil && CodeOf(err) != CodeInvalid {
			t.Fatalf("when %q: %v %v", q, w, err)
		}
		if w, err := b.Why(ctx, WhyQuestion{Query: q}); err != nil && CodeOf(err) != CodeInvalid {
			t.Fatalf("why %q: %v %v", q, w, err)
		}
	})
}

// FuzzAnalyze: any text can be remembered; what is read from it lies inside it, and is read the same again.
func FuzzAnalyze(f *testing.F) {
	hostile(f)
	f.Add("Bertha, also known as the billing gateway, failed because of the frost. That's why Klara left last May.")
	b, err := Open(f.TempDir(), Options{Zone: time.UTC, Paused: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := b.Close(); err != nil {
			f.Error(err)
		}
	})
	at := time.Date(2025, 6, 16, 9, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) || len(s) > 4000 || strings.TrimSpace(s) == "" {
			return
		}
		r := &store.Record{Content: s, At: store.StampOf(at)}
		a := b.analyze(r)
		n := uint32(len(s))
		for _, x := range a.Times {
			if x.From > x.To || x.To > n {
				t.Fatalf("a time outside %q: %+v", s, x)
			}
		}
		for _, x := range a.Mentions {
			if x.From > x.To || x.To > n {
				t.Fatalf("a name outside %q: %+v", s, x)
			}
		}
		for _, x := range a.Causes {
			if x.From > x.To || x.To > n || x.CauseTo > n || x.EffectTo > n || x.CauseFrom > x.CauseTo || x.EffectFrom > x.EffectTo {
				t.Fatalf("a cause outside %q: %+v", s, x)
			}
		}
		if string(b.analyze(r).Encode()) != string(a.Encode()) {
			t.Fatalf("%q is read in two ways", s)
		}
	})
}

// FuzzID: a ref or id of any spelling is found, unknown or refused, never a fault.
func FuzzID(f *testing.F) {
	hostile(f)
	f.Add("01JXVZF1MD000017ZGXFCGX194")
	f.Add("[gx194z]")
	b, err := Open(f.TempDir(), Options{Zone: time.UTC, Paused: true})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := b.Close(); err != nil {
			f.Error(err)
		}
	})
	if _, err := b.Remember(ctx, Note{Content: "something"}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		_, err := b.Get(ctx, "", s)
		if c := CodeOf(err); err != nil && c != CodeNotFound && c != CodeInvalid {
			t.Fatalf("get %q: %v", s, err)
		}
		if id, err := graph.ParseID(s); err == nil && id.String() != strings.ToUpper(s) {
			t.Fatalf("%q is read as %s", s, id)
		}
	})
}
