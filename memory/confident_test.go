package memory

import "testing"

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
