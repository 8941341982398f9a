package extract

import "testing"

func TestEquivalents(t *testing.T) {
	for text, want := range map[string]string{
		"The billing gateway, also known as Bertha, is old.":               "billing gateway=bertha",
		"Alex Chen, also known as Alex Moreno since the wedding, waves.":   "alex chen=alex moreno",
		"We moved to Kubernetes (aka k8s) last year.":                      "kubernetes=k8s",
		"our deploy bot, nicknamed Rusty.":                                 "deploy bot=rusty",
		"It is known that tea is good.":                                    "",
		"I asked a kid.":                                                   "",
		"Also known as: nothing":                                           "",
		"He is also called upon whenever something in the cellar breaks.":  "",
		"The market hall, previously known as the old station, is closed.": "market hall=old station",
	} {
		got := ""
		for _, p := range Equivalents(text) {
			got = p[0].Canonical + "=" + p[1].Canonical
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func FuzzEquivalents(f *testing.F) {
	f.Add("the x, aka y (aka the z")
	f.Fuzz(func(t *testing.T, s string) {
		for _, p := range Equivalents(s) {
			for _, m := range p {
				if m.From < 0 || m.To > len(s) || m.From >= m.To {
					t.Fatalf("span %v of %q", m.Span, s)
				}
			}
		}
	})
}
