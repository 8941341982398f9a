package text

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func terms(s string) string {
	var out []string
	for _, t := range New().Tokens(s) {
		if !t.Stop {
			out = append(out, t.Term)
		}
	}
	return strings.Join(out, " ")
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"The cats were running quickly", "cat run quick"},
		{"Ana's café in Zürich", "ana cafe zurich"},
		{"cafe\u0301", "cafe"},
		{"getUserName in config_file", "getusernam get user name config_file config file"},
		{"C++ vs C# and C", "c++ vs c# c"},
		{"release v2.1.7 of src/a-b_c.go:12", "releas v2.1.7 v2 src b_c.go go 12"},
		{"我昨天去了北京", "我 我昨 昨 昨天 天 天去 去 去了 了 了北 北 北京 京"},
		{"don't stop", "stop"},
		{"Straße", "strass"},
		{"Привет мир", "привет мир"},
		{"مرحبا بالعالم", "مرحبا بالعالم"},
	} {
		if got := terms(c.in); got != c.want {
			t.Errorf("%q: %s", c.in, cmp.Diff(c.want, got))
		}
	}
}

func TestSentences(t *testing.T) {
	s := "Dr. Smith came at 3.30 p.m. today! Did he? Yes.\nNew line 。完了。Next"
	var got []string
	for _, p := range Sentences(s) {
		got = append(got, s[p[0]:p[1]])
	}
	want := []string{"Dr. Smith came at 3.30 p.m.", "today!", "Did he?", "Yes.", "New line 。", "完了。", "Next"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("a b\u0301 我们 C++ \xff")
	f.Add("Wow!!! Really?! (yes...) ok")
	f.Fuzz(func(t *testing.T, s string) {
		for _, k := range New().Tokens(s) {
			if k.Term == "" || k.From < 0 || k.To > len(s) || k.From >= k.To {
				t.Fatalf("bad token %+v of %q", k, s)
			}
		}
		for _, p := range Sentences(s) {
			if p[0] >= p[1] || p[1] > len(s) {
				t.Fatalf("bad sentence %v", p)
			}
		}
	})
}

func BenchmarkTokens150(b *testing.B) {
	a := New()
	s := "I went to the support group yesterday and it was so powerful, we talked about the stories of other people and their families in the neighbourhood."
	b.ReportAllocs()
	for b.Loop() {
		a.Tokens(s)
	}
}
