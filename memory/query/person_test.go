package query

import (
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/temporal"
)

func TestPerson(t *testing.T) {
	for q, want := range map[string]Person{
		"What was my personal best in the charity run?":                           Asker,
		"How many weeks ago did I meet up with my aunt?":                          Asker,
		"Can you remind me what I called the boat?":                               Asker,
		"Can you suggest a hotel for my trip to Turin?":                           Asker,
		"I'm going back to our chat about cheese. Which one did you recommend?":   Asked,
		"Can you remind me which restaurant you suggested for my birthday?":       Asked,
		"I wanted to follow up on your list of exercises. What was the third one": Asked,
		"What did you do last summer?":                                            Asked,
		"Could you tell me when the bridge was built?":                            Nobody,
		"Do you remember the name of the dog?":                                    Nobody,
		"I'm looking back at our last chat about fonts. Which was the third?":     Asked,
		"In our last chat, what did I say about the roof?":                        Asker,
		"What had I told you about the roof?":                                     Asker,
		"How do I run the tests of the ledger?":                                   Nobody,
		"What should I cook with my own tomatoes?":                                Asker,
		"How many plants do I have?":                                              Asker,
		"When did Caroline move?":                                                 Nobody,
		"What is the youth club's address in Miami?":                              Nobody,
		"我住在哪里?":                                                                  Nobody,
	} {
		if got := personOf(q); got != want {
			t.Errorf("%q asks about %d, want %d", q, got, want)
		}
	}
}

// TestFrame: the words with which a question is put are not looked for.
func TestFrame(t *testing.T) {
	a := NewAnalyst(temporal.New(temporal.Options{}), nil)
	for q, want := range map[string]string{
		"What do we know about Moreno?":                 "moreno",
		"Can you remind me where the spare key is?":     "spare key",
		"Please tell me the name of the boat":           "name boat",
		"Who told me about the knowledge base?":         "told knowledg base",
		"Do you remember the tandem at low tide?":       "tandem low tide",
		"I was wondering what the harbour school sells": "harbour school sell",
	} {
		var got []string
		for _, term := range a.Read(q, time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)).Terms {
			got = append(got, term.Stem)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q is read as %q, want %q", q, got, want)
		}
	}
}
