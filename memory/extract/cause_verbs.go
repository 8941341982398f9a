package extract

import "strings"

// The guards of verbs: led to, caused, made her cry, fixed by, blocked by.

var roads = words(`road path trail door doors stairs staircase hallway corridor street bridge tunnel link page steps gate lane way ladder alley driveway route thing`)

func ledTo(c *causer, s sentence, i, end int) bool {
	if c.negated(s, i) || roads.has(c.prevWord(s, i)) {
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
