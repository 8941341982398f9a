package memory

import (
	"slices"
	"testing"
)

// TestConfidentOfWhom: what one of two tells of herself does not answer what is asked of the other, unless the other is
// spoken of; nobody's answer is taken from three memories that hold one of the words each.
func TestConfidentOfWhom(t *testing.T) {
	f := open(t)
	for _, x := range [][2]string{
		{"Ida", "Hey Per! I signed up for the pottery course in the old mill."},
		{"Per", "Thanks, Ida! That sounds messy."},
		{"Ida", "The glaze is the hardest part of it."},
		{"Per", "I repaired the greenhouse door with copper wire."},
		{"Ida", "Per's sister Ann keeps bees on the roof."},
		{"Per", "She sells the honey at the station."},
		{"Ida", "And where did your brother put the canoe?"},
		{"Per", "Under the bridge, tied to a willow."},
	} {
		f.remember(Note{Content: x[1], Speaker: x[0], Session: "s"})
	}
	for q, want := range map[string]bool{
		"Where does Ida take the pottery course?":       true,
		"Where does Per take the pottery course?":       false,
		"What did Per repair with copper wire?":         true,
		"What did Ida repair with copper wire?":         false,
		"Who keeps bees on the roof, Per's sister?":     true,
		"Where did Per's brother put the canoe?":        true,
		"Which copper course did the bees paint at sea": false,
	} {
		if got := f.recall(Question{Query: q}); got.Confident != want {
			t.Errorf("%q: confident %t, best %q", q, got.Confident, got.Memories[0].Content)
		}
	}
}

// TestJoinedTalk: where two people's turns are joined to one text under the first one's name, the name says nothing of
// who told what.
func TestJoinedTalk(t *testing.T) {
	f := open(t)
	talk := [][2]string{
		{"Nora", "Morning, Karl, did you sleep?\n\nLike a stone, Nora."},
		{"Karl", "Is the bus late again, Nora?\n\nIt is, Karl, take the tram."},
		{"Nora", "How was the dentist, Per?\n\nShort, Nora, thank goodness."},
		{"Karl", "Nora, the soup is ready.\n\nComing, Karl!"},
		{"Nora", "Good evening, Karl.\n\nI saw the old boathouse, Nora."},
		{"Karl", "Good evening, Nora.\n\nI saw the old boathouse, Karl."},
		{"Nora", "Karl, the radio is on.\n\nLeave it, Nora."},
		{"Karl", "Was there mail, Nora?\n\nOnly bills, Karl."},
	}
	for i, x := range slices.Concat(talk, talk[:4], talk[:4]) {
		f.remember(Note{Content: x[1], Speaker: x[0], Session: string(rune('a' + i))})
	}
	score := map[string]float64{}
	for _, m := range f.recall(Question{Query: "How did Karl find the old boathouse?"}).Memories {
		score[m.Speaker] = max(score[m.Speaker], m.Score)
	}
	if score["Karl"] > 1.2*score["Nora"] {
		t.Errorf("the same words count %.2f under Karl's name, %.2f under Nora's", score["Karl"], score["Nora"])
	}
}
