package extract

import "strings"

// The guards of the cue table: what must hold around a cue for it to state a cause.

func notDenied(c *causer, s sentence, i, end int) bool { return !c.negated(s, i) }

func becauseOK(c *causer, s sentence, i, end int) bool {
	if c.negated(s, i) {
		return false
	}
	p := c.prevWord(s, i)
	switch p {
	case "word", "conjunction", "say", "says", "said", "clause", "the", "a":
		return false
	case "just": // "Just because you can does not mean you should."
		if c.low(s, i-2) == "" || i-2 < s.from {
			for k := end; k < s.to; k++ {
				switch c.toks[k].low {
				case "mean", "means", "make", "makes":
					return false
				}
			}
			return c.comma(s, end) >= 0
		}
	}
	if w := c.low(s, end); w == "reasons" || w == "because" {
		return false
	}
	return true
}

// slangCause: 'cause, cos before a clause: "cause I was late". Never the noun or the verb.
func slangCause(c *causer, s sentence, i, end int) bool {
	if !pronouns.has(c.low(s, end)) || c.low(s, end) == "you" && i == s.from || c.negated(s, i) {
		return false
	}
	if i > s.from && c.toks[i-1].word {
		switch p := c.toks[i-1].low; p {
		case "the", "a", "good", "this", "that", "to", "can", "could", "may", "might", "will", "would", "not", "his", "her", "their", "our", "my", "your", "its", "probable", "root", "main", "real", "no", "great", "which", "and", "or", "for", "just", "worthy", "does", "did":
			return false
		}
	}
	return true
}

// causalSince: a reason, never a point in time: a present state or a negation follows, the main
// clause is not "have been ..." and nothing says "ever since".
func causalSince(c *causer, s sentence, i, end int) bool {
	switch c.prevWord(s, i) {
	case "ever", "long", "years", "months", "weeks", "days", "time", "while", "and", "but", "year", "month", "week", "day", "hours", "once", "first":
		return false
	}
	w := c.low(s, end)
	if !pronouns.has(w) && w != "there's" && w != "there" && w != "that's" && w != "my" && w != "our" && w != "the" {
		return false
	}
	for k := s.from; k < s.to; k++ {
		if k == end || k == end+1 {
			continue
		}
		switch t := c.toks[k].low; t {
		case "been":
			return false
		case "has", "have", "haven't", "hasn't":
			if k < i && k+1 < i && (strings.HasSuffix(c.toks[k+1].low, "ed") || participles.has(c.toks[k+1].low)) {
				return false
			}
		default:
			if strings.HasSuffix(t, "'ve") && k < i {
				return false
			}
		}
	}
	if strings.HasSuffix(w, "'m") || strings.HasSuffix(w, "'re") || w == "it's" || w == "he's" || w == "she's" || w == "there's" || w == "that's" || strings.HasSuffix(w, "'ll") {
		return true
	}
	for k := end + 1; k < s.to && k <= end+3; k++ {
		v := c.toks[k].low
		if states.has(v) || strings.HasSuffix(v, "n't") {
			return true
		}
		if w == "my" || w == "our" || w == "the" {
			continue
		}
		if v != "both" && v != "all" && v != "also" && v != "already" && v != "really" && v != "only" && v != "still" {
			return false
		}
	}
	return false
}

var participles = words(`been had gone done seen felt known made grown become gotten got taken come lost kept met`)

// states are verb forms of a present state: what holds is a reason, what happened may be a date.
var states = words(`is are am isn't aren't can can't cannot will won't don't doesn't have has need needs want wants know knows like likes love loves hate prefer understand seem seems feel feels both never
need no lack lacks require requires live lives needed wanted lacked required failed broke kept crashed`)

func clauseNext(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	return subjects.has(w) || strings.HasSuffix(w, "'s")
}

// infinitives follow "due to" where it is a schedule: "due to arrive".
var infinitives = words(`be arrive start begin leave expire return finish end open close go come meet appear take launch ship land happen give make have release play speak visit run face complete
join become move present hold retire report get`)

func dueTo(c *causer, s sentence, i, end int) bool {
	return !infinitives.has(c.low(s, end)) && !c.negated(s, i) && c.low(s, i-1) != "amount" && c.low(s, end) != ""
}

func owingTo(c *causer, s sentence, i, end int) bool { return !c.negated(s, i) }

// thanksTo: a cause, not gratitude: "Thanks to everyone who came", "Many thanks to Ana".
func thanksTo(c *causer, s sentence, i, end int) bool {
	if i == s.from || c.opener(s, i) {
		k := c.comma(s, end)
		w := c.low(s, end)
		return k > 0 && w != "you" && w != "everyone" && w != "everybody" && w != "all" && w != "both" && c.words(k+1, s.to) >= 3
	}
	switch c.prevWord(s, i) {
	case "many", "big", "huge", "special", "my", "our", "sincere", "thousand", "say", "give", "gave", "giving", "said", "heartfelt", "warm", "with", "and", "great", "express", "of", "extend":
		return false
	}
	return c.low(s, end) != "everyone" && (c.low(s, i-1) != "no")
}

func notOver(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	if w == "" || w == "and" || w == "there" || w == "here" || w == "now" || w[0] >= '0' && w[0] <= '9' || calendarWords.has(w) {
		return false
	}
	switch w {
	case "two", "three", "four", "five", "ten", "several", "many", "half", "time":
		return false
	}
	if (w == "the" || w == "a") && end+1 < s.to {
		switch c.toks[end+1].low {
		case "weekend", "years", "year", "past", "last", "phone", "next", "course", "days", "weeks", "months", "week", "summer", "holidays":
			return false
		}
	}
	return true
}

func eventFor(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	return w != "" && w[0] > '9' && w != "life" && w != "a" && w != "two" && w != "three" && w != "several" && w != "over" && w != "now" && w != "more" && w != "at" && w != "good" && w != "years" && w != "months" && !c.negated(s, i) && c.low(s, i-1) != "can't"
}

func attributed(c *causer, s sentence, i, end int) bool {
	pair := c.toks[i].low + " " + c.toks[end-1].low
	return (pair == "attributed to" || pair == "blamed on") && !c.negated(s, i)
}

// meansBy: "fixed by upgrading X", "fixed by commit ab12cd3"; never a date or the person who did it.
func meansBy(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	if w == "" || calendarWords.has(w) || c.negated(s, i) {
		return false
	}
	if w[0] >= '0' && w[0] <= '9' && !hexID(w) {
		return false
	}
	for k := i - 1; k >= s.from && k >= i-4; k-- {
		switch c.toks[k].low {
		case "must", "should", "be", "to", "needs", "need", "will":
			return false
		}
	}
	switch w {
	case "the":
		n := c.low(s, end+1)
		return n != "end" && n != "time" && n != "team" && n != "next" && n != "weekend" && n != "same" && n != "police" && n != "developers"
	case "next", "end", "then", "now", "me", "him", "her", "us", "them", "you", "someone", "my", "our", "noon", "midnight", "mid", "early", "late", "his", "their", "your", "this", "that", "year", "eod":
		return false
	}
	t := c.toks[end]
	return strings.HasSuffix(w, "ing") || w == "a" || w == "an" || w == "commit" || w == "pr" || w == "increasing" || !t.capital && (t.inner || hexID(w)) || c.text[t.from] == '#' || w == "removal"
}

func resultFrom(c *causer, s sentence, i, end int) bool {
	switch c.toks[i].low {
	case "result", "results":
		switch c.prevWord(s, i) { // "the results from the lab"
		case "the", "a", "my", "his", "her", "our", "their", "test", "search", "of", "some", "any", "good", "great", "these", "those", "new", "first", "exam", "as", "":
			return false
		}
		if strings.HasSuffix(c.prevWord(s, i), "ing") || strings.HasSuffix(c.prevWord(s, i), "t") && c.toks[i].low == "results" && false {
			return false
		}
		return c.toks[i].low == "results" && subjectLike(c.prevWord(s, i)) || c.toks[i].low == "result" && modal(c.prevWord(s, i))
	case "stem":
		return modal(c.prevWord(s, i)) || strings.HasSuffix(c.prevWord(s, i), "s")
	case "stems":
		return c.prevWord(s, i) != "the"
	}
	return !c.negated(s, i)
}

func modal(w string) bool {
	switch w {
	case "can", "could", "may", "might", "will", "would", "should", "must", "often", "to", "usually", "always", "sometimes", "didn't", "which", "that", "all", "they", "these", "those", "ultimately", "eventually":
		return true
	}
	return false
}

// subjectLike: a word that may close a subject: not an article, a preposition or a possessive.
func subjectLike(w string) bool {
	return w != "" && (!functionWords.has(w) || w == "it" || w == "this" || w == "that" || w == "which" || w == "often" || w == "always")
}

func whyResult(c *causer, s sentence, i, end int) bool {
	switch c.toks[i].low {
	case "which": // ", which is why"
		if i == s.from {
			return false
		}
	case "this", "that", "that's", "thats", "here's":
		if !c.opener(s, i) && c.toks[i-1].word && c.toks[i-1].low != "and" && c.toks[i-1].low != "so" && c.toks[i-1].low != "guess" && c.toks[i-1].low != "maybe" {
			return false
		}
	}
	w := c.low(s, end)
	if end-i < 2 && c.toks[i].low != "that's" && c.toks[i].low != "thats" && c.toks[i].low != "here's" {
		return false
	}
	if end-i == 2 && (c.toks[i].low == "this" || c.toks[i].low == "that" || c.toks[i].low == "which") {
		return false // "that why", without a verb
	}
	return w != "" && w != "not" && !c.negated(s, i)
}

func reasonWhy(c *causer, s sentence, i, end int) bool {
	if i == s.from || c.negated(s, end) {
		return false
	}
	// A clause has to follow, and some determiner to come before: "is the reason I moved".
	d := c.toks[end-1].low
	w := c.low(s, end)
	if d == "reason" && !pronouns.has(w) && w != "the" && w != "my" && w != "our" {
		return false
	}
	if (d == "that" || d == "why") && !clauseNext(c, s, i, end) && w == "" {
		return false
	}
	p := c.prevWord(s, i)
	return p != "what" && p != "there" && p != "whatever"
}

func whyVerb(c *causer, s sentence, i, end int) bool {
	if !clauseNext(c, s, i, end) || i == s.from || c.negated(s, i) {
		return false
	}
	switch c.prevWord(s, i) {
	case "question", "reason", "mystery", "point", "what", "thing", "wonder", "problem", "issue", "idea", "clue", "matter":
		return false
	}
	return true
}

// resultLink: a link between clauses: it opens one, or a comma or "and" stands before it and a clause
// follows. "as a result set", "as a result" at an end are none.
func resultLink(c *causer, s sentence, i, end int) bool {
	if end >= s.to {
		return false
	}
	if c.low(s, end) == "of" || c.negated(s, i) {
		return false
	}
	before := c.opener(s, i) || !c.toks[i-1].word || c.toks[i-1].low == "and"
	after := !c.toks[end].word || subjects.has(c.toks[end].low) || c.toks[end].capital
	if !before {
		return false
	}
	return after
}

func linkWord(c *causer, s sentence, i, end int) bool {
	switch c.toks[i].low {
	case "thus":
		if c.low(s, end) == "far" {
			return false
		}
	case "hence":
		if p := c.prevWord(s, i); p == "years" || p == "weeks" || p == "months" || p == "days" {
			return false
		}
	}
	return c.opener(s, i) || !c.toks[i-1].word || c.toks[i-1].low == "and"
}

func backRef(c *causer, s sentence, i, end int) bool {
	pair := c.toks[i].low
	if (pair == "because") != (c.toks[i+1].low == "of") {
		return false
	}
	if end >= s.to || c.low(s, end-1) != "which" && c.toks[end].word && !subjects.has(c.toks[end].low) {
		return false // "because of this noise"
	}
	if c.low(s, end) == "the" || c.negated(s, i) {
		return false
	}
	return c.opener(s, i) || !c.toks[i-1].word || c.toks[i-1].low == "and"
}

func wonder(c *causer, s sentence, i, end int) bool {
	return c.opener(s, i) && (clauseNext(c, s, i, end) || c.toks[min(end, s.to-1)].capital)
}

// resultSo: ", so I went home": a comma or "and" before, a clause with a subject after, a clause of
// three words or more to lean on. Never "so excited", "so far", "so that" or a question.
func resultSo(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	if !soSubjects.has(w) || c.words(end, s.to) < 3 {
		return false
	}
	if n := c.low(s, end+1); n == "much" || n == "many" || n == "is" && w == "that" {
		return false
	}
	if i == s.from || c.opener(s, i) {
		if i != s.from || !pronouns.has(w) {
			return false
		}
		for k := end; k < s.to && k <= end+2; k++ { // "So I had to take the bus."
			switch c.toks[k].low {
			case "had", "decided", "couldn't", "ended", "chose":
				return c.low(s, k+1) != "a"
			}
		}
		return false
	}
	p := c.toks[i-1]
	if p.word && p.low != "and" {
		return false
	}
	if p.word && (i-2 < s.from) {
		return false
	}
	if !p.word && p.low != "," && p.low != ";" && p.low != "—" && p.low != "–" && p.low != "-" {
		return false
	}
	l := c.left(s, i)
	n := 0
	for k := l; k < i; k++ {
		if t := c.toks[k]; t.word && !interjections.has(t.low) {
			n++
		}
	}
	if n < 3 {
		return false
	}
	switch c.low(s, l) {
	case "if", "when", "whenever", "as":
		return false
	}
	for k := i - 1; k >= s.from && k > i-4; k-- {
		switch c.toks[k].low {
		case "say", "says", "think", "guess", "hope", "believe", "know": // "I think so", "you know, so"
			return false
		}
	}
	switch c.low(s, end) + " " + c.low(s, end+1) {
	case "you know", "i guess", "i mean", "it goes", "i think", "you see", "i hope":
		return false
	}
	return true
}

var soSubjects = words(`i i'm i've i'll i'd we we're we've we'll we'd he he's he'll she she's she'll they they're they've they'll it it's it'll my our his her their the you you're you'll you've you can`)

// soThat: "so tired that he slept".
func soThat(c *causer, s sentence, i, end int) bool {
	k := c.soSplit(s, i, end)
	if k == 0 || k == i+1 || !subjects.has(c.low(s, k+1)) || i == s.from {
		return false
	}
	w := c.low(s, end)
	if w == "far" || w == "i" || pronouns.has(w) {
		return false
	}
	switch w { // "so happy that you came": a feeling's object, not a result
	case "happy", "glad", "excited", "proud", "grateful", "thankful", "sorry", "sad", "thrilled", "relieved", "surprised", "lucky", "blessed", "sure", "cool", "awesome", "great", "nice", "amazing", "impressed", "pleased",
		"stoked", "pumped", "jealous", "afraid", "worried", "confident", "hopeful", "good", "wonderful", "important", "sweet", "fortunate", "certain", "honored", "funny", "weird", "strange", "bad", "appreciative", "delighted", "touched", "inspiring", "lovely", "fantastic", "incredible", "interesting", "unfair":
		return false
	}
	p := c.low(s, i-1)
	return p != "" && p != "," && c.low(s, k+1) != "that"
}

var roads = words(`road path trail door doors stairs staircase hallway corridor street bridge tunnel link page steps gate lane way ladder alley driveway route thing`)

func ledTo(c *causer, s sentence, i, end int) bool {
	if c.negated(s, i) || roads.has(c.prevWord(s, i)) || c.low(s, end) == "me" && false {
		return false
	}
	switch c.low(s, end) {
	case "another", "believe", "the":
		if c.low(s, end) != "the" {
			return false
		}
		switch c.low(s, end+1) {
		case "kitchen", "house", "garden", "beach", "river", "room", "door", "basement", "roof", "top", "station", "park", "lake", "back", "next", "front":
			return false
		}
	case "a":
		if c.low(s, end+1) == "room" || c.low(s, end+1) == "garden" || c.low(s, end+1) == "small" && roads.has(c.low(s, end+2)) {
			return false
		}
	}
	for k := i - 1; k >= s.from && k >= i-3; k-- {
		if w := c.toks[k].low; roads.has(w) || w == "was" || w == "were" || w == "be" || w == "is" && c.toks[i].low == "led" || w == "am" || w == "are" && c.toks[i].low == "led" {
			return false
		}
	}
	return c.words(c.left(s, i), i) > 0
}

func leadTo(c *causer, s sentence, i, end int) bool {
	switch c.low(s, i-1) {
	case "can", "could", "may", "might", "will", "would", "often", "to", "usually", "always", "sometimes", "ultimately", "eventually", "did", "that", "which", "should", "they", "these":
		return ledTo(c, s, i, end)
	}
	w := c.low(s, i-1)
	return strings.HasSuffix(w, "s") && len(w) > 3 && !functionWords.has(w) && ledTo(c, s, i, end)
}

func resultIn(c *causer, s sentence, i, end int) bool {
	switch c.toks[i].low {
	case "result", "results":
		p := c.prevWord(s, i)
		if c.toks[i].low == "result" {
			if p == "to" || !modal(p) {
				return false
			}
		} else if !subjectLike(p) || p == "test" || p == "search" || strings.HasSuffix(p, "ing") && c.low(s, i-2) == "the" || nounResults(c, s, i) {
			return false
		}
	}
	w := c.low(s, end)
	if w == "" || calendarWords.has(w) || w[0] >= '0' && w[0] <= '9' && len(w) == 4 {
		return false
	}
	return !c.negated(s, i) && c.low(s, end) != "order" && c.low(s, end) != "which" && c.low(s, end) != "json"
}

// nounResults: "the exam results in May", "our results in".
func nounResults(c *causer, s sentence, i int) bool {
	for k := i - 1; k >= s.from && k >= i-3; k-- {
		switch c.toks[k].low {
		case "my", "our", "your", "their", "his", "these", "those", "some", "good", "best", "first", "exam", "lab", "election", "query", "returned", "returns", "get", "got", "see", "saw", "show", "shows", "had", "have":
			return true
		}
	}
	return false
}

func causedVerb(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	if w == "by" || w == "during" || w == "" || c.negated(s, i) {
		return false
	}
	p := c.low(s, i-1)
	return p != "be" && p != "was" && p != "were" && p != "is" && p != "are" && p != "what" && p != "whatever"
}

func causesVerb(c *causer, s sentence, i, end int) bool {
	p := c.prevWord(s, i)
	if !subjectLike(p) || commonAdj.has(p) || c.negated(s, i) {
		return false
	}
	switch c.low(s, end) {
	case "of", "for", "and", "or", "that", "like", "such", "i", "we", "they", "are", "in", "to", "close", "", "is", "were", "with":
		return false
	}
	return true
}

var commonAdj = words(`good great charitable worthy social root main common natural different many various important local noble environmental possible probable underlying several multiple charity support supporting
helping other new all these those some two three lost political`)

func causeVerbBase(c *causer, s sentence, i, end int) bool {
	switch c.low(s, i-1) {
	case "can", "could", "may", "might", "will", "would", "to", "did", "often", "doesn't":
	default:
		return false
	}
	if c.negated(s, i) || c.low(s, i-1) == "doesn't" || pronouns.has(c.low(s, end)) {
		return false
	}
	w := c.low(s, end)
	return w != "" && w != "of" && w != "for" && w != "and"
}

func activeVerb(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	switch w {
	case "by", "", "in", "on", "at", "up", "when", "off", "for", "and", "to", "of", "with", "from", "or", "after", "during", "if", "fly", "is", "are":
		return false
	}
	p := c.low(s, i-1)
	switch p {
	case "was", "were", "is", "are", "be", "been", "being", "the", "a", "an", "of", "what", "not", "i", "he", "she", "by", "get", "got", "feel", "felt", "these", "those", "some", "database", "and":
		return false
	}
	if (strings.HasSuffix(c.toks[i].low, "ers") || strings.HasSuffix(c.toks[i].low, "arks")) && !subjectLike(p) {
		return false
	}
	return !c.negated(s, i) && i > s.from
}

func contributed(c *causer, s sentence, i, end int) bool {
	switch c.low(s, end) {
	case "charity", "charities", "open", "society", "the":
		n := c.low(s, end+1)
		if c.low(s, end) != "the" || n == "community" || n == "project" || n == "fund" || n == "cause" || n == "team" || n == "conversation" || n == "discussion" {
			return false
		}
	}
	for k := i - 1; k >= s.from && k >= i-3; k-- {
		if pronouns.has(c.toks[k].low) && c.toks[k].low != "it" || givenNames.has(c.toks[k].low) || c.toks[k].low == "who" || c.toks[k].low == "and" {
			return false
		}
	}
	return !c.negated(s, i) && subjectLike(c.prevWord(s, i)) && !strings.HasSuffix(c.low(s, end), "ing")
}

var objectPronouns = words(`me us him her them you it people everyone someone`)

// objectTo: verb + someone + to + verb: "forced us to leave". The one who causes is no person: that
// "Ana convinced me to go" tells who, not why.
func objectTo(c *causer, s sentence, i, end int) bool {
	if c.negated(s, i) || i == s.from {
		return false
	}
	switch c.low(s, i-1) {
	case "was", "were", "is", "are", "be", "been", "being", "i", "we", "they", "to", "you", "who", "i've", "a", "and", "the", "he", "she", "not", "people", "i'm", "we're", "they're", "you're", "keep", "more", "feeling":
		return false
	}
	if givenNames.has(c.toks[i-1].base()) {
		return false
	}
	w := c.low(s, end)
	if !objectPronouns.has(w) && w != "my" && w != "our" && w != "his" && w != "their" && w != "the" {
		return false
	}
	for k := end + 1; k < s.to && k <= end+3; k++ {
		if !c.toks[k].word {
			return false
		}
		if c.toks[k].low == "to" {
			v := c.low(s, k+1)
			return v == "be" || v == "do" || v != "" && alpha(v[:1]) && !functionWords.has(v)
		}
	}
	return false
}

// madeDo: "made me cry", "makes him want to": a person, then a bare verb.
func madeDo(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	if !objectPronouns.has(w) || w == "it" || i == s.from || c.negated(s, i) {
		return false
	}
	switch c.low(s, i-1) {
	case "i", "we", "they", "he", "she", "you", "who", "to", "was", "were", "be", "what", "whatever", "that's", "i've", "and", "people":
		return false
	}
	if givenNames.has(c.toks[i-1].base()) {
		return false
	}
	return doVerbs.has(c.low(s, end+1)) && end+2 <= s.to
}

var doVerbs = words(`cry laugh smile realize realise think want wonder leave quit stop change decide forget remember miss lose skip cancel sick believe rethink question appreciate start late give understand stay move fall
consider reconsider see go`)

// purposeSo: "so that we can": a clause follows. ", so that's" is another word.
func purposeSo(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	switch w { // "so that might be fun": that is the subject
	case "", "is", "was", "would", "means", "way", "might", "could", "can", "will", "may", "must", "should", "made", "makes", "sounds", "helps", "helped", "wasn't", "isn't":
		return false
	}
	if c.negated(s, i) {
		return false
	}
	if i == s.from {
		return false
	}
	if p := c.toks[i-1]; !p.word && c.low(s, end) == "one" {
		return false
	}
	return c.words(c.left(s, i), i) >= 2 && (subjects.has(w) || c.toks[end].capital || clauseLike(c, s, end))
}

// clauseLike: a modal or "is/are/does" stands among the next words.
func clauseLike(c *causer, s sentence, i int) bool {
	for k := i; k < s.to && k < i+6; k++ {
		switch c.toks[k].low {
		case "can", "could", "will", "would", "won't", "can't", "is", "are", "does", "doesn't", "don't", "may", "might", "never", "stays", "has", "have", "was", "were":
			return true
		}
	}
	return false
}

// soCan: "saved up so we could travel".
func soCan(c *causer, s sentence, i, end int) bool {
	// Behind a comma it is a result: "I finished early, so I can rest".
	if !pronouns.has(c.low(s, end)) || i == s.from || !c.toks[i-1].word || c.toks[i-1].low == "and" || c.words(c.left(s, i), i) < 3 {
		return false
	}
	for k := end; k < s.to && k <= end+2; k++ {
		switch c.toks[k].low {
		case "can", "could", "won't", "wouldn't":
			return true
		}
	}
	return false
}

func purposeTo(c *causer, s sentence, i, end int) bool {
	return !c.negated(s, i) && (c.opener(s, i) && c.comma(s, end) >= 0 || c.words(c.left(s, i), i) >= 2)
}

// purposeBare: "to avoid X" as a purpose, not as what a verb, an adjective or a noun asks for ("want to
// avoid", "hard to avoid", "a way to avoid").
func purposeBare(c *causer, s sentence, i, end int) bool {
	if c.words(end, s.to) < 1 {
		return false
	}
	if c.opener(s, i) {
		return i == s.from && c.comma(s, end) > 0 && c.words(c.comma(s, end)+1, s.to) >= 3 && pronounOrName(c, s, c.comma(s, end)+1)
	}
	t := c.toks[i-1]
	if !t.word {
		return false
	}
	w := t.low
	if complement.has(w) || functionWords.has(w) && w != "it" && w != "them" && w != "out" && w != "up" && w != "down" && w != "off" && w != "together" {
		return false
	}
	if strings.HasSuffix(w, "able") || strings.HasSuffix(w, "ible") || strings.HasSuffix(w, "ed") && !motions.has(w) || strings.HasSuffix(w, "ing") && !motions.has(w) {
		return false
	}
	// The object pronoun of a verb that takes one: "asked them to stop".
	for k := i - 1; k >= s.from && k >= i-5; k-- {
		if asks.has(c.toks[k].low) {
			return false
		}
	}
	if f := c.low(s, c.left(s, i)); f == "thank" || f == "thanks" {
		return false
	}
	return c.words(c.left(s, i), i) >= 3 && deed(c, s, c.left(s, i), i)
}

func pronounOrName(c *causer, s sentence, i int) bool {
	return subjects.has(c.low(s, i)) || i < s.to && c.toks[i].capital
}

// deed: the clause has a verb form that can be told without a dictionary: past, gerund, or a frequent
// verb of doing.
func deed(c *causer, s sentence, from, to int) bool {
	for k := from; k < to; k++ {
		w := c.toks[k].low
		if len(w) > 3 && strings.HasSuffix(w, "ed") || doing.has(w) {
			return true
		}
	}
	return false
}

var doing = words(`took take takes taking held hold holding went go goes going came coming put puts putting made make makes met meet built build wrote left leave gave give began begin use uses using add adds adding set sets setting
ran run running brought bring bringing bought buy sent sent send drove drive hit shut kept keep keeping cut cuts sat sit sitting got wore wear lit fought blew lay threw told spoke sought swept did do doing march marching gather gathering rally rallying`)

var motions = words(`gathered marched protested rallied assembled demonstrated moved switched changed used added blocked closed arrived travelled traveled returned deployed introduced organised organized staged launched
upgraded downgraded pinned reverted disabled enabled renamed rewrote removed stopped scheduled cancelled canceled postponed delayed rescheduled worked joined marching gathering protesting rallying walked converged united camped signed resigned descended chanted`)

// complement take an infinitive as what they are about.
var complement = words(`want wants wanted wanting try tries tried trying need needs needed needing have has had having how able unable going gonna like likes liked love loves loved hope hopes hoped hoping plan plans planned planning
decide decides decided deciding help helps helped helping used way ways chance chances opportunity opportunities right time ability effort efforts attempt attempts power aim aims aimed aiming seek seeks sought willing ready likely unlikely
hard easy difficult impossible important essential great good better best nice fun happy glad eager keen supposed meant bound set due about failed fail fails fails managed manage learn learned learning prefer prefers continue continues continued
begin begins began start starts started refuse refused refuses agree agreed agrees promise promised vow vowed pledge pledged threatened threaten forced enough sure urge vowing something anything nothing things stuff place reason reasons
idea ideas desire plan call calls called calling push pushing bid moves measures steps action tips strategy strategies tool tools motivation goal goals commitment decision permission duty responsibility too order required expected allowed
authority authorities powers law laws legislation bill bills proposal proposals what where when which whether ought need job work chance courage determination strength pressure wish mandate platform space excited proud got get gets hoping dedicated committed designed free here mission promise intention intent refusal failure inability struggle readiness willingness reluctance tendency request demand demands vow`)

// asks take a person and an infinitive: "asked them to stop".
var asks = words(`ask asks asked asking tell tells told telling want wants wanted wanting order orders ordered ordering urge urges urged urging beg begged advise advised warn warned invite invited force forced forces allow allowed allows
encourage encouraged encourages help helps helped helping need needs get got expect expected remind reminded convince convinced persuade persuaded let let's try tried trying hope hoping able failed refused vowed pledged threatened calling called calls supposed plan plans planning planned like`)

// demandingWhat: the participle, "marched demanding a reply", not the adjective of "a demanding job".
func demandingWhat(c *causer, s sentence, i, end int) bool {
	if c.opener(s, i) || functionWords.has(c.prevWord(s, i)) || strings.HasSuffix(c.prevWord(s, i), "ly") || commonAdj.has(c.prevWord(s, i)) {
		return false
	}
	w := c.low(s, end)
	return w != "" && !commonAdj.has(w) && w != "job" && w != "schedule" && w != "work" && w != "week" && w != "and" && w != "but" && c.words(end, s.to) >= 2 && c.words(c.left(s, i), i) >= 3
}

// hinderedBy: "blocked by the old router"; not "delayed by two hours".
func hinderedBy(c *causer, s sentence, i, end int) bool {
	w := c.low(s, end)
	if w == "" || w[0] >= '0' && w[0] <= '9' || c.negated(s, i) || pronouns.has(w) {
		return false
	}
	switch w {
	case "two", "three", "four", "five", "six", "several", "me", "him", "us", "them", "about", "almost", "nearly", "half", "up", "at", "default", "design", "someone", "an":
		return w == "an" && c.low(s, end+1) != "hour"
	case "a":
		switch c.low(s, end+1) {
		case "few", "day", "week", "month", "year", "couple", "minute", "lot":
			return false
		}
	}
	return true
}

// gerundBy is the index of "by" in "fixed the race by taking the lock", -1 where that is not said.
func (c *causer) gerundBy(s sentence, end int) int {
	for k := end + 1; k < s.to && k <= end+14; k++ {
		t := c.toks[k]
		if !t.word {
			if t.is(";") || t.is(",") {
				return -1
			}
			continue
		}
		if w := c.low(s, k+1); t.low == "by" && len(w) > 4 && strings.HasSuffix(w, "ing") && w != "morning" && w != "evening" && w != "spring" {
			return k
		}
	}
	return -1
}
