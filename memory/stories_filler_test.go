package memory_test

import (
	"fmt"
	"strings"
)

// everyday makes turns of ordinary talk between two people, for stories to be hidden in. It is a program
// of templates: the n-th turn is always the same, and over some hundred turns none repeats itself.
type everyday struct {
	n     int
	queue []string
}

// talks are little dialogues; %[1]s to %[3]s are filled from their columns, each at its own pace.
var talks = []struct {
	lines   []string
	columns [3][]string
}{
	{[]string{"I made %[1]s tonight, far too much %[2]s in it.", "There is no such thing as too much %[2]s.", "Tell that to my %[3]s."},
		[3][]string{{"lentil soup", "a potato gratin", "stuffed peppers", "an onion tart", "mushroom risotto", "a bean stew", "noodles"}, {"garlic", "pepper", "butter", "thyme", "salt"}, {"stomach", "neighbour", "landlord", "curtains"}}},
	{[]string{"Did you see the %[1]s this morning?", "No, I slept until %[2]s.", "It was %[3]s, you would have liked it."},
		[3][]string{{"sunrise", "fog over the park", "market", "queue at the bakery", "new mural", "marching band", "hot-air balloon"}, {"nine", "half past eight", "ten", "almost noon"}, {"lovely", "rather odd", "huge", "over in a minute", "the talk of the street"}}},
	{[]string{"The %[1]s is broken again.", "Have you called the %[2]s?", "Twice. They come on %[3]s, they say."},
		[3][]string{{"lift", "dishwasher", "doorbell", "radiator", "washing machine", "hall light"}, {"caretaker", "shop", "hotline", "manufacturer", "electrician"}, {"Thursday", "Monday", "Tuesday", "some afternoon", "Wednesday"}}},
	{[]string{"I finished the %[1]s novel you lent me.", "And? Did you like the %[2]s?", "More than the middle. Now I want something %[3]s."},
		[3][]string{{"Norwegian", "long", "crime", "sea", "Welsh", "blue"}, {"ending", "detective", "dog", "narrator", "letters"}, {"short", "funny", "about gardens", "with maps", "set in winter"}}},
	{[]string{"Work was %[1]s today, %[2]s.", "Same here. Coffee %[3]s?", "Gladly."},
		[3][]string{{"slow", "loud", "all meetings", "fine", "a mess", "quiet"}, {"the printer gave up", "half the team was away", "the air conditioning hummed", "somebody brought cake", "we moved desks"}, {"tomorrow", "on Friday", "at four", "after lunch"}}},
	{[]string{"My %[1]s has new leaves.", "Mine died in %[2]s. Too much %[3]s, I suppose."},
		[3][]string{{"fern", "lemon tree", "basil", "rubber plant", "orchid", "ivy"}, {"March", "a week", "the draught", "two months"}, {"water", "sun", "love", "fertiliser"}}},
	{[]string{"The %[1]s was %[2]s minutes late.", "I walk by now. It takes %[3]s and costs nothing."},
		[3][]string{{"tram", "bus", "train", "metro", "airport shuttle"}, {"ten", "twenty", "fifteen", "forty", "twelve"}, {"half an hour", "twenty-five minutes", "a podcast", "forty minutes"}}},
	{[]string{"We watched that %[1]s series everyone talks about.", "Is it good?", "The first %[2]s episodes are, then it gets %[3]s."},
		[3][]string{{"Danish", "space", "courtroom", "pirate", "cooking", "Korean"}, {"three", "two", "four", "six"}, {"silly", "slow", "violent", "complicated", "sad"}}},
	{[]string{"It rained on the %[1]s and nobody had an umbrella.", "Typical %[2]s.", "We stood under the %[3]s and laughed."},
		[3][]string{{"way to the cinema", "picnic blankets", "flea-market stalls", "way home", "open-air stage"}, {"weather", "luck", "Sunday", "April"}, {"bridge", "awning of the chemist", "chestnut", "bus shelter"}}},
	{[]string{"I am learning %[1]s, two lessons a week.", "Say something!", "%[2]s. It means %[3]s, I hope."},
		[3][]string{{"Polish", "Greek", "Turkish", "Welsh", "Czech"}, {"Dzien dobry", "Kalimera", "Merhaba", "Bore da", "Dobry den"}, {"good morning", "hello", "good day"}}},
	{[]string{"The cat next door brought me a %[1]s.", "How generous. What did you do?", "Put it in the %[2]s and said %[3]s."},
		[3][]string{{"moth", "sock", "feather", "mouse made of felt", "piece of cheese"}, {"bin", "flower bed", "yard", "letter box of its owner"}, {"thank you", "never again", "nothing", "good cat"}}},
	{[]string{"They are digging up the %[1]s once more.", "Cables this time?", "Pipes. Until the %[2]s, the notice says, so until %[3]s."},
		[3][]string{{"corner by the school", "whole street", "square", "pavement outside", "bike lane"}, {"fifteenth", "end of the month", "twentieth", "tenth"}, {"Christmas", "never", "my retirement", "the next election"}}},
	{[]string{"I found a %[1]s under the sofa.", "From the %[2]s years?", "Older. It went straight to the %[3]s."},
		[3][]string{{"crossword", "chestnut", "mitten", "chess pawn", "ticket stub", "biscuit"}, {"student", "Hamburg", "early", "shared-flat"}, {"compost", "memory box", "window sill", "museum of us"}}},
	{[]string{"The new %[1]s in the canteen is %[2]s.", "I bring sandwiches since %[3]s."},
		[3][]string{{"soup", "curry", "coffee", "salad bar", "dessert", "bread"}, {"too salty", "a miracle", "grey", "surprisingly good", "cold"}, {"January", "the price rise", "the beetroot affair", "last summer"}}},
	{[]string{"There was %[1]s upstairs until %[2]s.", "Knock with a broom.", "I did. Now it is %[3]s."},
		[3][]string{{"hammering", "a party", "dancing", "shouting", "furniture moving"}, {"midnight", "eleven", "one", "half past ten"}, {"louder", "silent", "answered in Morse", "earlier and longer"}}},
	{[]string{"I need a new %[1]s.", "Try the %[2]s in the old town, they take cards even.", "%[3]s, but I will look."},
		[3][]string{{"umbrella", "desk lamp", "wallet", "kettle", "door mat", "rucksack strap"}, {"second-hand place", "ironmonger", "corner shop", "hardware store"}, {"Dear", "Far", "Crowded", "Dusty"}}},
	{[]string{"The %[1]s forecast says %[2]s for the weekend.", "They said that for the last one, and I sat there in %[3]s."},
		[3][]string{{"radio", "newspaper", "pocket", "farmer's"}, {"sun", "hail", "wind from the east", "frost", "showers"}, {"a raincoat", "sandals", "two jumpers", "a straw hat"}}},
	{[]string{"I won %[1]s at the raffle.", "Is that good?", "It is %[2]s. I gave it to %[3]s."},
		[3][]string{{"a fondue set", "a ham", "a voucher for candles", "a globe", "six towels"}, {"huge", "orange", "useless", "quite heavy"}, {"the second prize", "the vicar", "my downstairs neighbour", "the next raffle"}}},
	{[]string{"My %[1]s hurts from %[2]s.", "Have you tried %[3]s?", "I have tried complaining."},
		[3][]string{{"back", "neck", "left knee", "shoulder", "wrist"}, {"gardening", "the new chair", "carrying boxes", "bowling"}, {"a warm bath", "stretching", "that green ointment", "lying on the floor"}}},
	{[]string{"I went jogging along the %[1]s.", "How far?", "%[2]s kilometres, then %[3]s called and I had an excuse to stop."},
		[3][]string{{"canal", "old railway", "river", "ring road", "vineyards"}, {"Four", "Five", "Seven", "Three"}, {"my boss", "the bank", "my aunt", "a wrong number"}}},
}

// next is the next turn, spoken by whoever's turn it is.
func (e *everyday) next(a, b string) (speaker, text string) {
	if len(e.queue) == 0 {
		round, i := e.n/len(talks), e.n%len(talks)
		t := talks[i]
		pick := func(col, pace int) string { c := t.columns[col]; return c[(round*pace+i+round/len(c))%len(c)] }
		for _, l := range t.lines {
			line := fmt.Sprintf(l, pick(0, 1), pick(1, 2), pick(2, 3))
			line, _, _ = strings.Cut(line, "%!(EXTRA")
			e.queue = append(e.queue, line)
		}
		e.n++
	}
	text, e.queue = e.queue[0], e.queue[1:]
	if len(e.queue)%2 == 0 {
		return a, text
	}
	return b, text
}
