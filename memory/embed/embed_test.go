package embed

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheck(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, c := range map[string]struct {
		vectors [][]float32
		n, dim  int
		ok      bool
	}{
		"good":             {[][]float32{{3, 4}, {0, 1}}, 2, 2, true},
		"dimension open":   {[][]float32{{3, 4}, {0, 1}}, 2, 0, true},
		"too few":          {[][]float32{{3, 4}}, 2, 2, false},
		"too many":         {[][]float32{{3, 4}, {1, 0}}, 1, 2, false},
		"none":             {nil, 1, 2, false},
		"wrong dimension":  {[][]float32{{3, 4, 5}}, 1, 2, false},
		"mixed dimensions": {[][]float32{{3, 4}, {1, 2, 3}}, 2, 0, false},
		"empty vector":     {[][]float32{{}}, 1, 0, false},
		"NaN":              {[][]float32{{nan, 1}}, 1, 2, false},
		"infinite":         {[][]float32{{inf, 1}}, 1, 2, false},
		"no length":        {[][]float32{{0, 0}}, 1, 2, false},
		"tiny":             {[][]float32{{1e-30, 0}}, 1, 2, false},
		"huge":             {[][]float32{{3e38, 3e38}}, 1, 2, true},
	} {
		err := Check(c.vectors, c.n, c.dim)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		for _, v := range c.vectors {
			if err == nil && math.Abs(length(v)-1) > 1e-6 {
				t.Errorf("%s: length %v", name, length(v))
			}
		}
	}
}

func length(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func TestFingerprints(t *testing.T) {
	base := Space{Provider: "ollama", Model: "nomic-embed-text:latest", Digest: "abc", Dimensions: 768, Recipe: "r"}
	if got, want := base.Fingerprint(), "ollama-768-a779652c738301790b27d44f"; got != want {
		t.Errorf("the fingerprint changed, so every store would be embedded anew: %s, was %s", got, want)
	}
	other := base
	other.Model = "nomic-embed-text:v1.5"
	if other.Fingerprint() != base.Fingerprint() {
		t.Error("another name for the same weights is another space")
	}
	seen := map[string]string{base.Fingerprint(): "base"}
	for name, change := range map[string]func(*Space){
		"provider":   func(s *Space) { s.Provider = "builtin" },
		"digest":     func(s *Space) { s.Digest = "abd" },
		"no digest":  func(s *Space) { s.Digest = "" },
		"dimensions": func(s *Space) { s.Dimensions = 767 },
		"recipe":     func(s *Space) { s.Recipe = "q" },
	} {
		s := base
		change(&s)
		f := s.Fingerprint()
		if seen[f] != "" {
			t.Errorf("%s and %s share %s", name, seen[f], f)
		}
		seen[f] = name
	}
	a, b := Space{Provider: "builtin", Model: "a"}, Space{Provider: "builtin", Model: "b"}
	if a.Fingerprint() == b.Fingerprint() {
		t.Error("two models without a digest share a fingerprint")
	}
}

func TestPrefixes(t *testing.T) {
	for model, want := range map[string]Prefix{
		"nomic-embed-text:latest":                      {"search_query: ", "search_document: "},
		"nomic-embed-text-v2-moe":                      {"search_query: ", "search_document: "},
		"hf.co/nomic-ai/nomic-embed-text-v1.5-GGUF:Q4": {"search_query: ", "search_document: "},
		"bge-m3:567m":                                  {},
		"bge-large:latest":                             {Query: "Represent this sentence for searching relevant passages: "},
		"mxbai-embed-large":                            {Query: "Represent this sentence for searching relevant passages: "},
		"snowflake-arctic-embed2:568m":                 {Query: "query: "},
		"snowflake-arctic-embed:335m":                  {Query: "Represent this sentence for searching relevant passages: "},
		"jeffh/intfloat-multilingual-e5-large:f16":     {"query: ", "passage: "},
		"all-minilm:22m":                               {},
		"something-else":                               {},
		"mine":                                         {"Q ", "D "},
	} {
		if got := prefixFor(model, map[string]Prefix{"Mine": {"Q ", "D "}}); got != want {
			t.Errorf("%s: %+v, want %+v", model, got, want)
		}
	}
	if got := prefixFor("nomic-embed-text", map[string]Prefix{"nomic": {"a", "b"}}); got != (Prefix{"a", "b"}) {
		t.Errorf("the configuration does not win: %+v", got)
	}
}

func TestChunks(t *testing.T) {
	for _, blank := range []string{"", " \n\t ", "\u200b\u200f", "\x00"} {
		if got := chunks(blank, 100); got != nil {
			t.Errorf("%q has the pieces %q", blank, got)
		}
	}
	if got := chunks("  one sentence.  ", 100); !slices.Equal(got, []string{"one sentence."}) {
		t.Errorf("a short text: %q", got)
	}
	// Cut at sentences; the last fact is at the end of a piece of its own size.
	long := strings.Repeat("The weather was fine and nothing happened that day. ", 600) + "The vault code is kestrel."
	got := chunks(long, chunkTokens)
	if n := len(got); n < 10 || n > 30 {
		t.Fatalf("%d characters make %d pieces", len(long), n)
	}
	if last := got[len(got)-1]; !strings.HasSuffix(last, "kestrel.") || !strings.HasPrefix(last, "The weather") || tokens(last) < chunkTokens/2 {
		t.Errorf("the last piece is %q", last)
	}
	if got := chunks(strings.Repeat("x", 10000), chunkTokens); len(got) < 2 {
		t.Errorf("a word of 10,000 letters is %d pieces", len(got))
	}
	if got := chunks(strings.Repeat("記憶はここにある。", 300), chunkTokens); len(got) < 6 || !strings.HasSuffix(got[0], "。") {
		t.Errorf("Japanese is cut into %d pieces, the first ending in %q", len(got), got[0][len(got[0])-3:])
	}
}

// Whatever the text: pieces fit, none is blank, no run of letters is longer than a giant word, and
// nothing but white space is lost or added.
func TestChunksKeepEverything(t *testing.T) {
	squeeze := func(s string) string {
		return strings.Map(func(r rune) rune {
			if blank(r) {
				return -1
			}
			return r
		}, s)
	}
	alphabet := rapid.SampledFrom([]rune("aaaaabcdefghijklmnoP.!?; \n\n\t0123é記憶。ह़Я\u200b😀-_/\"'"))
	rapid.Check(t, func(rt *rapid.T) {
		text := string(rapid.SliceOfN(alphabet, 0, 600).Draw(rt, "text"))
		budget := rapid.IntRange(4, 60).Draw(rt, "budget")
		got := chunks(text, budget)
		if squeeze(strings.Join(got, "")) != squeeze(text) {
			rt.Fatalf("the pieces of %q are %q", text, got)
		}
		for _, c := range got {
			if squeeze(c) == "" {
				rt.Fatalf("a blank piece of %q: %q", text, got)
			}
			if n := tokens(c); n > budget {
				rt.Fatalf("a piece of %d tokens, over %d: %q", n, budget, c)
			}
			run := 0
			for _, r := range c {
				if run = nextRun(run, r); run > giantWord {
					rt.Fatalf("a giant word in %q", c)
				}
			}
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]Config{
		"unknown provider": {Provider: "openai"},
		"cloud model":      {Models: []string{"big:120b-cloud"}},
		"no built-in":      {Provider: "builtin"},
		"negative batch":   {BatchSize: -1},
	} {
		if _, err := Open(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
		e, state, reason := NewAuto(c).Current()
		if e != nil || state != Off || reason == "" {
			t.Errorf("%s: NewAuto gives %v, %s, %q", name, e, state, reason)
		}
	}
	var c Config
	c.Ollama.Host = "ollama.example.com"
	if _, err := Open(c); err == nil || !strings.Contains(err.Error(), "allow_remote") {
		t.Errorf("a remote host: %v", err)
	}
	c.Provider = "none"
	if _, err := Open(c); err != nil {
		t.Errorf("a host that is not asked: %v", err)
	}
}
