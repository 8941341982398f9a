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
	for k := end; k < s.to; k++ {
		if t := c.toks[k]; t.word {
			return t.low != "reasons" && t.low != "because"
		}
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
		if strings.HasSuffix(c.prevWord(s, i), "ing") {
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
