package query

import "testing"

// TestMentions: who is spoken to is not who is spoken of.
func TestMentions(t *testing.T) {
	for content, want := range map[string]bool{
		"Thanks, Ida!":                              false,
		"Hey Ida, how was the fair?":                false,
		"Ida, you should see this.":                 false,
		"That was a good one, Ida. More tomorrow.":  false,
		"Wow Ida! Congrats":                         false,
		"Ida's dog is called Pepper.":               true,
		"I met Ida.":                                true,
		"Ida moved to Turin.":                       true,
		"We went with Ida and the children.":        true,
		"Thanks, Ida! Did you know Ida’s brother?":  true,
		"Idaho is far away.":                        false,
		"Yesterday the bus came late, nobody knew.": false,
	} {
		if got := mentions(content, "ida"); got != want {
			t.Errorf("%q: %t", content, got)
		}
	}
}
