package query

// decide reads the English question: it skips politeness, finds the question word that governs the
// sentence, and asks the rule of that word. Weight 0 where there is none.
func (s *sentence) decide() decision {
	start := s.skipPolite(0)
	if d := s.meta(start); d.weight > 0 {
		return d
	}
	d, next := s.imperative(start)
	if d.weight > 0 {
		return d
	}
	start = next
	i, asked := start, start > 0
	for i < s.n {
		if s.focus(i, asked || s.w[i].opens || i == start || s.embedded(i)) {
			if d := s.byWord(i); d.weight > 0 {
				return d
			}
		}
		i++
	}
	if s.is(start, cAux) && (s.w[start].opens || start > 0) {
		return s.yesNo(start)
	}
	return decision{}
}

// skipPolite is the index after "could you please tell me", "do you know", "I was wondering".
func (s *sentence) skipPolite(i int) int {
	for i < s.n {
		switch {
		case s.is(i, cPolite) && !s.seq(i, "so that"):
			i++
		case i < s.n && s.w[i].closes && s.w[i].opens && s.n > i+2 && s.w[i].c&(cAux|cDet|cTimeNoun) == 0 && !s.question_(i):
			i++ // a name or interjection set off by a comma
		case s.is(i, cAux) && (s.at(i+1, "you") || s.at(i+1, "u")) && s.askVerb(i+2) > 0:
			i = s.askVerb(i + 2)
		case s.is(i, cAux) && s.at(i+1, "we") && (s.at(i+2, "know") || s.at(i+2, "remember")):
			i += 3
		case s.at(i, "i") && s.wonder(i+1) > 0:
			i = s.wonder(i + 1)
		case (s.at(i, "i'd") || s.at(i, "i'm") || s.at(i, "i've")) && s.wonder(i+1) > 0:
			i = s.wonder(i + 1)
		case (s.at(i, "tell") || s.at(i, "remind") || s.at(i, "show") || s.at(i, "give")) && s.at(i+1, "me") && s.question_(i+2):
			i += 2
		case s.seq(i, "any idea") || s.seq(i, "any clue"):
			i += 2
		case s.seq(i, "let me know") || s.seq(i, "need to know"):
			i += 3
		case s.at(i, "wondering") || s.at(i, "wonder") || s.at(i, "remember") && s.question_(i+1):
			i++
		default:
			return i
		}
	}
	return i
}

// question_ tells whether word i is a question word.
func (s *sentence) question_(i int) bool {
	if i >= s.n || s.w[i].opaque {
		return false
	}
	switch s.w[i].s {
	case "why", "when", "who", "whom", "whose", "where", "which", "what", "how", "whats", "whens", "whos", "wheres", "whys":
		return true
	}
	return false
}

// askVerb is the index after "tell me", "remember", "know", "happen to know", "please remind me"; 0 if none.
func (s *sentence) askVerb(i int) int {
	for s.at(i, "please") || s.at(i, "happen") || s.at(i, "to") || s.at(i, "even") || s.at(i, "still") || s.at(i, "perhaps") || s.at(i, "maybe") || s.at(i, "quickly") {
		i++
	}
	switch {
	case (s.at(i, "tell") || s.at(i, "remind") || s.at(i, "show") || s.at(i, "give")) && (s.at(i+1, "me") || s.at(i+1, "us")):
		return i + 2
	case (s.at(i, "know") || s.at(i, "remember") || s.at(i, "recall") || s.at(i, "say") || s.at(i, "explain")) && (s.question_(i+1) || s.is(i+1, cPrep) && s.question_(i+2)):
		return i + 1
	case s.at(i, "check") || s.at(i, "find"):
		if s.at(i+1, "out") || s.question_(i+1) {
			return i + 1
		}
	}
	return 0
}

// wonder is the index after "want to know", "would like to know", "am wondering", "forgot"; 0 if none.
func (s *sentence) wonder(i int) int {
	for s.is(i, cAux) || s.at(i, "want") || s.at(i, "need") || s.at(i, "like") || s.at(i, "to") || s.at(i, "just") || s.at(i, "really") || s.at(i, "been") || s.at(i, "keep") {
		i++
	}
	if s.at(i, "know") || s.at(i, "wonder") || s.at(i, "wondering") || s.at(i, "remember") || s.at(i, "recall") || s.at(i, "forgot") || s.at(i, "forget") || s.at(i, "understand") || s.at(i, "see") && s.question_(i+1) {
		if s.question_(i+1) || s.is(i+1, cPrep) && s.question_(i+2) {
			return i + 1
		}
	}
	return 0
}

// meta finds questions about what was said to this memory: "what did I ask you", "what have we
// talked about", "remind me what I told you last time".
func (s *sentence) meta(start int) decision {
	yes := decision{General, Meta, sure}
	for i := start; i < s.n; i++ {
		you := s.at(i, "i") || s.at(i, "we")
		if you && i > start {
			j := i + 1
			for s.at(j, "just") || s.at(j, "already") || s.at(j, "been") || s.at(j, "last") || s.at(j, "have") || s.at(j, "had") || s.at(j, "ever") || s.at(j, "even") || s.at(j, "previously") {
				j++
			}
			if !s.is(j, cAskV) {
				continue
			}
			wh := s.question_(start) || s.is(start, cAux) || s.at(start, "the")
			to := j + 1
			// "what did I tell Anna" is about Anna, "what did I tell you" about this memory.
			if s.isNameAt(to) || s.isNameAt(to+1) && (s.at(to, "to") || s.at(to, "with")) || s.at(to, "him") || s.at(to, "her") || s.at(to, "them") || s.is(to, cDet) && addressed(s.w[j].s) {
				continue
			}
			if wh && (s.at(start, "what") || s.at(start, "which") || s.at(start, "did") || s.at(start, "have") || s.at(start, "the") || s.at(start, "how")) {
				return yes
			}
		}
	}
	switch {
	case s.find(start, "last time we") >= 0 && s.any(start, cAskV),
		s.find(start, "our last conversation") >= 0, s.find(start, "our previous conversation") >= 0,
		s.find(start, "our last session") >= 0, s.find(start, "our last chat") >= 0, s.find(start, "our conversation") >= 0,
		s.find(start, "our previous session") >= 0, s.find(start, "my last question") >= 0, s.find(start, "my previous question") >= 0,
		s.find(start, "my earlier question") >= 0, s.find(start, "my previous questions") >= 0,
		s.find(start, "where we left off") >= 0, s.find(start, "did we leave off") >= 0, s.find(start, "we stop last time") >= 0,
		s.find(start, "you remember about me") >= 0, s.find(start, "you know about me") >= 0, s.find(start, "in your memory") >= 0,
		s.find(start, "you have stored") >= 0, s.find(start, "do you remember from") >= 0:
		return yes
	}
	if i := s.find(start, "my"); i >= 0 && (s.is(i+1, cOrderW) || s.at(i+1, "previous") || s.at(i+1, "recent")) && (s.at(s.n-1, "questions") || s.at(s.n-1, "question")) {
		return yes
	}
	if i := s.find(start, "do you remember"); i >= 0 && i+3 >= s.n {
		return yes
	}
	return decision{}
}

// addressed tells whether what follows the verb is who was spoken to ("tell the customer").
func addressed(verb string) bool {
	return verb == "tell" || verb == "told" || verb == "ask" || verb == "asked"
}

func (s *sentence) isNameAt(i int) bool { return i < s.n && s.isName(i) }

// imperative reads "tell me about X", "list all ...", "give me the date of". Of "explain why" it
// leaves the rest to the question word, whose index is returned.
func (s *sentence) imperative(i int) (decision, int) {
	open := i
	if (s.at(i, "tell") || s.at(i, "give") || s.at(i, "show") || s.at(i, "remind") || s.at(i, "get") || s.at(i, "fetch")) && (s.at(i+1, "me") || s.at(i+1, "us")) {
		open = i + 2
	} else if (s.at(i, "describe") || s.at(i, "summarize") || s.at(i, "summarise") || s.at(i, "explain") || s.at(i, "find") || s.at(i, "recap") || s.at(i, "show") || s.at(i, "outline")) && i+1 < s.n {
		open = i + 1
		if s.at(open, "me") || s.at(open, "out") {
			open++
		}
		if s.at(open, "to") && s.at(open+1, "me") {
			open += 2
		}
	} else if s.is(i, cListV) && i+1 < s.n && !s.is(i+1, cAux) && !s.at(i+1, "of") {
		if s.at(s.n-1, "order") || s.at(s.n-1, "chronologically") || s.find(i, "in order of") > 0 {
			return decision{When, Order, sure}, i
		}
		return s.gather(i+1, sure), i
	} else if !s.at(i, "everything") && !(s.at(i, "all") && s.at(i+1, "the")) {
		return decision{}, i
	}
	if s.question_(open) {
		return decision{}, open
	}
	j := open
	for s.is(j, cDet) || s.at(j, "exact") || s.at(j, "main") || s.at(j, "real") {
		j++
	}
	switch {
	case s.is(j, cReason) || s.is(j+1, cReason) && s.at(j, "root"):
		return decision{Why, Single, sure}, i
	case s.is(j, cTimeNoun) && s.headNoun(j):
		return decision{When, Single, sure}, i
	case s.at(j, "timeline") || s.at(j, "chronology"):
		return decision{When, Order, sure}, i
	case s.at(open, "everything"):
		return s.gather(open, sure), i
	case s.at(open, "all") || s.at(open, "every") || s.at(open, "each") || s.at(open, "a") && s.at(open+1, "list"):
		return s.gather(open+1, sure), i
	}
	for s.at(j, "about") || s.at(j, "more") || s.at(j, "something") || s.at(j, "a") || s.at(j, "bit") || s.is(j, cDet) || s.at(j, "what") {
		j++
	}
	// "about X": X a name, or one bare word ("tell me about anna").
	if about := s.find(open, "about"); about >= 0 && (s.isNameAt(about+1) || s.isNameAt(j) || about+2 == s.n && !s.is(about+1, cPronoun)) {
		return decision{Entity, Open, sure}, i
	}
	for k := open; k < s.n-1; k++ {
		switch s.word(k) {
		case "background", "overview", "information", "info", "details", "facts", "notes":
			if s.is(k+1, cPrep|cFunc) && s.isNameAt(k+2) {
				return decision{Entity, Open, sure}, i
			}
		}
	}
	if s.isNameAt(open) && (open+1 == s.n || s.isNameAt(open+1) && open+2 == s.n) {
		return decision{Entity, Open, sure}, i
	}
	return decision{General, Open, likely}, i
}

// gather is a list or a count: of one named person or thing it is the entity graph's work.
func (s *sentence) gather(i int, weight float64) decision {
	if s.is(i, cReason) || s.is(i+1, cReason) || s.is(i+2, cReason) && s.is(i, cDet) {
		return decision{Why, Several, weight}
	}
	j := i
	for s.is(j, cDet) || s.at(j, "of") || isDigits(s.word(j)) {
		j++
	}
	if s.is(j, cPerson) {
		return decision{Entity, Several, weight}
	}
	if s.is(j, cTimeNoun) && !s.at(j, "times") && s.headNoun(j) {
		return decision{When, Several, weight}
	}
	if s.names > 0 {
		return decision{Entity, Several, weight}
	}
	return decision{General, Several, weight}
}

func (s *sentence) word(i int) string {
	if i < s.n {
		return s.w[i].s
	}
	return ""
}

// headNoun tells whether the noun at i is a head ("the date of", "what time did") and not a modifier
// ("time zone", "date format"): nothing, a mark or a function word follows.
func (s *sentence) headNoun(i int) bool {
	if i+1 >= s.n || s.w[i].closes {
		return true
	}
	return s.is(i+1, cFunc|cAux) || s.isNameAt(i+1)
}

// focus tells whether the question word at i may govern the sentence. open is true at the start of
// the text or of a clause.
func (s *sentence) focus(i int, open bool) bool {
	if !s.question_(i) {
		return false
	}
	w := s.w[i].s
	aux := s.is(i+1, cAux) || s.w[i].closes && (s.is(i+2, cAux) || s.is(i+3, cAux)) || s.w[i].poss || s.at(i+1, "exactly") || s.at(i+1, "else")
	switch w {
	case "when":
		if s.seq(i, "when it comes to") || s.at(i+1, "it") && s.at(i+2, "comes") {
			return false
		}
		if s.at(i-1, "since") || s.at(i-1, "until") || s.at(i-1, "till") || s.at(i-1, "by") || s.at(i-1, "from") {
			return true
		}
		if aux {
			return open || i <= 3 || s.at(i-1, "and")
		}
		// "when Ben left, what ..." waits for its main clause.
		return open && !s.laterQuestion(i+1) && !s.mainClause(i+1)
	case "who", "which", "where":
		if open {
			// "the colleague, who left, ..." is a relative clause.
			return i == 0 || !s.w[i-1].closes || aux || s.question
		}
		return i > 0 && s.is(i-1, cPrep) && (i <= 2 || s.w[i-1].opens) || s.question && s.at(i-1, "or") || s.cleft(i)
	}
	if open {
		return true
	}
	// inside: "for what reason", "at what time", "and why", "deployed it why"
	return s.is(i-1, cPrep) && (s.question || i == 1) || s.at(i-1, "around") || s.at(i-1, "for") || s.at(i-1, "at") || s.at(i-1, "about") && i <= 3 || i+1 == s.n && s.question || aux && s.question && s.lastQuestion(i)
}

// embedded tells whether the question word at i hangs on a verb of saying or knowing: "did anyone say
// why", "I don't get why", "has Ben told us when". A plain statement ("I told Ben when I came") asks nothing.
func (s *sentence) embedded(i int) bool {
	if !s.question_(i) || !(s.question || s.is(0, cAux) || s.negated) {
		return false
	}
	return s.is(i-1, cTold) || i > 1 && s.is(i-2, cTold) && (s.is(i-1, cPronoun|cPerson) || s.isNameAt(i-1))
}

// cleft tells whether who at i belongs to "was it Alex or Sam who".
func (s *sentence) cleft(i int) bool {
	return s.is(0, cAux) && s.at(1, "it") && s.find(2, "or") > 0 && s.find(2, "or") < i
}

func (s *sentence) laterQuestion(i int) bool {
	for ; i < s.n; i++ {
		if s.question_(i) && (s.is(i+1, cAux) || s.w[i].opens || s.w[i].poss || s.at(i, "what") || s.at(i, "which") || s.at(i, "who")) {
			return true
		}
	}
	return false
}

func (s *sentence) lastQuestion(i int) bool { return !s.laterQuestion(i + 1) }

// mainClause tells whether a clause starts after a comma from i on, or the text ends as a statement.
func (s *sentence) mainClause(i int) bool {
	for j := i; j < s.n-1; j++ {
		if s.w[j].closes {
			return true
		}
	}
	return false
}

// plural tells whether word i looks like a plural noun.
func (s *sentence) plural(i int) bool {
	if i >= s.n || s.w[i].opaque || s.w[i].poss {
		return false
	}
	w := s.w[i]
	if w.c&cPlural != 0 {
		return true
	}
	n := len(w.s)
	return n > 3 && w.s[n-1] == 's' && w.s[n-2] != 's' && w.s[n-2] != 'i' && w.s[n-2] != 'u' && w.c&cNotPlur == 0 && !w.capital
}

func (s *sentence) pluralPhrase(i int) bool {
	for j := i; j < i+4 && j < s.n; j++ {
		if s.plural(j) {
			return true
		}
		if s.is(j, cAux|cPronoun|cFunc) && !s.is(j, cDet) || s.w[j].closes && !s.plural(j) {
			return false
		}
	}
	return false
}
