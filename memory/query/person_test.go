package query

import "testing"

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
		"When did Caroline move?":                                                 Nobody,
		"What is the youth club's address in Miami?":                              Nobody,
		"我住在哪里?": Nobody,
	} {
		if got := personOf(q); got != want {
			t.Errorf("%q asks about %d, want %d", q, got, want)
		}
	}
}
