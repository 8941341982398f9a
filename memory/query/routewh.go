package query

// The rules of each question word. Each returns weight 0 where the word turns out not to ask.

func (s *sentence) byWord(i int) decision {
	switch s.w[i].s {
	case "why", "whys":
		return decision{Why, Single, sure}
	case "when", "whens":
		return decision{When, Single, sure}
	case "who", "whom", "whose", "whos":
		return s.byWho(i)
	case "where", "wheres":
		if s.at(i+1, "all") {
			return s.gather(i+2, sure)
		}
		return decision{General, Single, likely}
	case "which":
		return s.byWhich(i)
	case "how":
		return s.byHow(i)
	case "what", "whats":
		return s.byWhat(i)
	}
	return decision{}
}

func (s *sentence) byWho(i int) decision {
	if s.orderAsked(i) {
		if s.find(i, "or") > 0 {
			return decision{When, Order, sure}
		}
		return decision{Entity, Order, likely}
	}
	if j := i + 1; (s.at(j, "is") || s.at(j, "was")) && s.isNameAt(j+1) && (j+2 == s.n || s.w[j+1].closes || s.at(j+2, "and") || s.isNameAt(j+2) && j+3 == s.n) {
		return decision{Entity, Open, sure}
	}
	if s.at(i+1, "all") || s.at(i+1, "else") || s.at(i+1, "are") && !s.at(i+2, "you") || s.at(i+1, "were") {
		return decision{Entity, Several, sure}
	}
	return decision{Entity, Single, sure}
}

func (s *sentence) byWhich(i int) decision {
	j := i + 1
	for s.at(j, "of") || s.is(j, cDet) || s.at(j, "one") || s.at(j, "other") || s.at(j, "two") || s.isNameAt(j) && s.w[j].poss {
		j++
	}
	if s.orderAsked(i) {
		return decision{When, Order, sure}
	}
	if s.is(j, cReason) {
		return s.reason(j)
	}
	if s.is(j, cTimeNoun) && s.headNoun(j) {
		return decision{When, s.singleOr(j), sure}
	}
	if s.is(j, cPerson) {
		return decision{Entity, s.singleOr(j), sure}
	}
	if s.pluralPhrase(i+1) && !s.at(i+1, "of") {
		return s.gather(i+1, likely)
	}
	return decision{General, Single, likely}
}

// orderAsked tells whether the question ends on an order: "... came first", "happened earlier", "came
// before the other".
func (s *sentence) orderAsked(i int) bool {
	for j := i + 1; j < s.n; j++ {
		w := &s.w[j]
		if w.s == "first" || w.s == "earlier" || w.s == "earliest" || w.s == "latest" || w.s == "later" {
			// "first name" and "a later version" are no order: the word must close its clause or follow a verb of happening.
			if j+1 == s.n || w.closes || s.at(j+1, "or") || s.is(j+1, cPrep) && s.happening(j-1) {
				return j > i+1
			}
		}
		if (w.s == "before" || w.s == "after") && s.happening(j-1) && !s.at(i, "who") {
			return true
		}
	}
	return false
}

// happening tells whether word i is a verb of coming about.
func (s *sentence) happening(i int) bool {
	if i < 0 || i >= s.n {
		return false
	}
	switch s.w[i].s {
	case "happen", "happened", "happens", "came", "come", "comes", "occurred", "occur", "started", "launched", "shipped", "landed", "began", "right", "shortly", "immediately", "just", "directly", "next", "deployed", "released", "merged":
		return true
	}
	return false
}

func (s *sentence) singleOr(j int) QuestionKind {
	if s.plural(j) || s.is(j, cPlural) {
		return Several
	}
	return Single
}

func (s *sentence) reason(j int) decision {
	if s.at(j, "reasons") || s.at(j, "causes") || s.at(j, "motives") || s.at(j, "motivations") || s.at(j, "factors") {
		return decision{Why, Several, sure}
	}
	return decision{Why, Single, sure}
}

func (s *sentence) byHow(i int) decision {
	j := i + 1
	switch {
	case s.at(j, "come"), s.at(j, "comes"), s.at(j, "is") && s.at(j+1, "it") && s.at(j+2, "that"):
		return decision{Why, Single, sure}
	case s.at(j, "long"), s.at(j, "much") && (s.at(j+1, "time") || s.at(j+1, "longer")):
		return decision{When, Duration, sure}
	case s.at(j, "often"), s.at(j, "frequently"), s.at(j, "regularly"), s.at(j, "recently"), s.at(j, "soon"), s.at(j, "late") && s.headNoun(j), s.at(j, "early") && s.headNoun(j):
		return decision{When, Single, sure}
	case s.at(j, "many"):
		k := j + 1
		for s.at(k, "more") || s.at(k, "whole") || s.at(k, "full") || s.at(k, "working") || s.at(k, "calendar") || s.at(k, "business") {
			k++
		}
		if s.is(k, cTimeUnit) && s.headNoun(k) || s.is(k, cTimeUnit) && (s.at(k+1, "ago") || s.at(k+1, "passed") || s.at(k+1, "elapsed") || s.at(k+1, "later")) {
			return decision{When, Duration, sure}
		}
		return s.gather(k, sure)
	case s.at(j, "old") && s.names > 0:
		return decision{Entity, Single, likely}
	case s.at(j, "old"), s.at(j, "much"), s.at(j, "far"), s.at(j, "big"), s.at(j, "large"), s.at(j, "tall"), s.at(j, "fast"), s.at(j, "expensive"), s.at(j, "high"), s.at(j, "small"), s.at(j, "heavy"), s.at(j, "deep"), s.at(j, "strict"), s.at(j, "wide"):
		return decision{General, Single, likely}
	case s.at(j, "about"):
		return decision{General, Open, likely}
	}
	// "how did it happen", "how did we end up with"
	for k := j; k < s.n; k++ {
		if s.seq(k, "end up") || s.seq(k, "ended up") || s.seq(k, "come about") || s.seq(k, "came about") || s.seq(k, "come to be") ||
			(s.at(k, "happen") || s.at(k, "happened")) && !s.at(j, "often") {
			return decision{Why, Single, sure}
		}
	}
	// "how did the fire start": of a thing, the cause is asked for; of a person, the manner.
	if last := s.word(s.n - 1); s.at(j, "did") && s.is(j+1, cDet) && !s.is(j+2, cPerson) && (last == "start" || last == "begin" || last == "break" || last == "fail") {
		return decision{Why, Single, guessed}
	}
	return decision{General, Open, likely}
}

func (s *sentence) byWhat(i int) decision {
	j := i + 1
	bare := s.w[i].poss || s.at(i, "whats") // "what's": the verb is inside
	if s.at(j, "exactly") || s.at(j, "else") && s.is(j+1, cAux) || s.at(j, "on") && s.at(j+1, "earth") {
		if s.at(j, "on") {
			j++
		}
		if s.at(j, "else") {
			return s.gather(j+1, sure)
		}
		j++
	}
	switch {
	case s.at(j, "should") && !s.is(j+1, cPronoun):
		return decision{General, Single, likely}
	case s.at(j, "if"), s.at(j, "about"), s.at(j, "would") && s.at(j+1, "happen"), s.at(j, "do") && s.at(j+1, "you") && s.at(j+2, "think"), s.at(j, "should"), s.at(j, "would") && s.at(j+2, "recommend"):
		return decision{General, Open, likely}
	case s.at(j, "for") && (j+1 == s.n || s.w[j].closes):
		return decision{Why, Single, sure}
	case s.at(j, "all"), s.at(j, "else"):
		return s.gather(j+1, sure)
	case s.is(j, cTimeNoun) && !s.is(j, cAux) && s.headNoun(j):
		return decision{When, s.singleOr(j), sure}
	case s.at(j, "order"), s.at(j, "sequence"):
		return decision{When, Order, sure}
	case s.at(j, "kind"), s.at(j, "sort"), s.at(j, "type"):
		return decision{General, Single, likely}
	case s.is(j, cReason) && !s.is(j, cAux|cCauseV):
		return s.reason(j)
	case s.at(i-1, "to") && s.find(j, "owe") > 0:
		return decision{Why, Single, sure}
	case s.at(j, "new") && j+1 == s.n && bare, s.at(j, "up") && j+1 == s.n:
		return decision{General, Open, likely}
	case s.is(j, cAux) && s.at(j+2, "have") && s.at(j+3, "on") && s.n > j+4:
		return decision{Entity, Open, likely}
	case s.is(j, cPerson) && !s.is(j, cAux):
		return decision{Entity, s.singleOr(j), sure}
	}
	if d := s.happenedOrder(j); d.weight > 0 {
		return d
	}
	if d := s.cause(j); d.weight > 0 {
		return d
	}
	// what is/are/was/were THE X
	k := j
	for s.is(k, cAux) {
		k++
	}
	if bare || s.is(j, cAux) && !s.at(j, "did") && !s.at(j, "do") && !s.at(j, "does") && !s.at(j, "can") {
		if d := s.whatIs(j, k); d.weight > 0 {
			return d
		}
	}
	if s.orderAsked(i) {
		return decision{When, Order, sure}
	}
	if n := s.n; n > 2 && s.at(n-1, "for") && (s.at(n-2, "that") || s.at(n-2, "it") || s.at(n-2, "this")) && s.any(k, cPronoun) && (s.find(j, "do") >= 0 || s.find(j, "did") == j && s.find(k, "use") < 0) {
		return decision{Why, Single, sure}
	}
	if s.find(k, "know about") >= 0 || s.find(k, "tell me about") >= 0 || s.find(k, "learn about") >= 0 || s.find(k, "remember about") >= 0 {
		return decision{Entity, Open, sure}
	}
	if s.at(j, "does") && (s.find(k, "do for a living") >= 0 || s.find(k, "do for work") >= 0 || s.isNameAt(j+1) && s.at(j+2, "do") && j+3 == s.n) {
		return decision{Entity, Single, likely}
	}
	if !s.is(j, cAux) && !bare && s.pluralPhrase(j) {
		return s.gather(j, sure)
	}
	return decision{General, Single, likely}
}

// happenedOrder: "what happened after", "what came next", "what did we do right before".
func (s *sentence) happenedOrder(j int) decision {
	yes := decision{When, Order, sure}
	for s.is(j, cAux) {
		j++
	}
	if s.at(j, "happened") || s.at(j, "came") || s.at(j, "happens") || s.at(j, "comes") || s.at(j, "happen") {
		k := j + 1
		for s.at(k, "right") || s.at(k, "just") || s.at(k, "immediately") || s.at(k, "shortly") || s.at(k, "directly") || s.at(k, "straight") {
			k++
		}
		if s.at(k, "after") || s.at(k, "before") || s.at(k, "first") || s.at(k, "next") || s.at(k, "then") || s.at(k, "afterwards") {
			return yes
		}
		return decision{}
	}
	if n := s.n; n > 1 && (s.at(n-1, "next") || s.at(n-1, "afterwards") || s.at(n-1, "first") && (s.at(n-2, "do") || s.at(n-2, "try") || s.at(n-2, "tried"))) || n > 2 && (s.seq(n-2, "right after") || s.seq(n-2, "after that") || s.seq(n-2, "before that")) {
		return yes
	}
	for k := j; k < s.n; k++ {
		if (s.at(k, "do") || s.at(k, "did")) && (s.at(k+1, "right") || s.at(k+1, "just") || s.at(k+1, "immediately") || s.at(k+1, "next") || s.at(k+1, "straight")) {
			return yes
		}
	}
	return decision{}
}

// cause: "what made", "what has led to", "what was it caused by", "what went wrong", and the effects:
// "what did it lead to", "what happened as a result".
func (s *sentence) cause(j int) decision {
	yes := decision{Why, Single, sure}
	k := j
	for s.is(k, cAux) || s.at(k, "ultimately") || s.at(k, "really") || s.at(k, "actually") || s.at(k, "finally") || s.at(k, "initially") || s.at(k, "originally") {
		k++
	}
	for s.at(k, "have") || s.at(k, "been") || s.at(k, "it") && s.at(k+1, "that") || s.at(k, "that") && s.at(k-1, "it") {
		k++
	}
	subject := s.is(k, cCauseV) && !s.at(j, "did") && !s.at(j, "does")
	switch {
	case subject && !s.at(k, "got") && !s.at(k, "moved"):
		return yes
	case (s.at(k, "got") || s.at(k, "moved")) && k == j && (s.is(k+1, cPronoun) || s.isNameAt(k+1)):
		return yes
	case s.seq(k, "went wrong"), s.seq(k, "gave rise"), s.seq(k, "resulted in"), s.seq(k, "set off"), s.seq(k, "is behind"), s.seq(k, "to blame"), s.seq(k, "responsible for"), s.seq(k, "contributed to"), s.seq(k, "took down"), s.seq(k, "brought down"):
		return yes
	case s.at(k, "behind"), s.at(k, "wrong") && s.at(k+1, "with"):
		return yes
	}
	for m := j; m < s.n; m++ {
		switch {
		case s.seq(m, "caused by"), s.seq(m, "due to") && m <= j+4, s.seq(m, "as a result"), s.seq(m, "as a consequence"), s.seq(m, "root cause"), s.seq(m, "go wrong"), s.seq(m, "gone wrong"), s.seq(m, "because of") && m+2 == s.n:
			return yes
		case s.is(j, cAux) && s.is(m, cEffectV) && (s.at(m+1, "to") || s.at(m+1, "in") || s.at(m+1, "about") && s.at(m, "bring") || s.at(m+1, "from") && (s.at(m, "stem") || s.at(m, "result")) || m+1 == s.n && (s.at(m, "cause") || s.at(m, "trigger"))) && (s.at(j, "did") || s.at(j, "does")):
			return yes
		case s.is(m, cEffectN) && m <= j+4 && (s.at(m+1, "of") || s.at(m+1, "for")) && (s.is(j, cAux) || s.at(j, "effect") || s.at(j, "impact")):
			return yes
		case (s.at(m, "impact") || s.at(m, "effect")) && s.at(m+1, "did"):
			return yes
		}
	}
	return decision{}
}

// whatIs reads "what is the X ...": j is the first word after what, k the first after the auxiliaries.
func (s *sentence) whatIs(j, k int) decision {
	h := k
	for s.is(h, cDet) || s.at(h, "exact") || s.at(h, "main") || s.at(h, "real") || s.at(h, "actual") || s.at(h, "original") || s.at(h, "underlying") || s.at(h, "root") || s.at(h, "primary") || s.at(h, "whole") || s.at(h, "likely") || s.at(h, "official") || s.at(h, "planned") || s.at(h, "release") || s.at(h, "start") || s.at(h, "due") || s.at(h, "target") || s.at(h, "cut-off") || (s.at(h, "first") || s.at(h, "last") || s.at(h, "next")) && s.is(h+1, cTimeNoun) {
		h++
	}
	// A possessor: "what is Anna's X", "what is my X", "what was the team's X".
	owner := -1
	for m := k; m < k+4 && m < s.n; m++ {
		if s.w[m].poss {
			owner, h = m, m+1
			break
		}
		if s.at(m, "of") || s.at(m, "for") {
			break
		}
	}
	plural := (s.at(j, "are") || s.at(j, "were")) && !(s.is(k, cPronoun) && !s.is(k, cDet))
	switch {
	case s.is(h, cReason) && (s.headNoun(h) || s.at(h+1, "exactly")):
		return s.reason(h)
	case s.at(h, "point") && (s.at(h+1, "of") || s.at(h+1, "in")), s.at(h, "purpose") && s.at(h+1, "of"), s.at(h, "idea") && s.at(h+1, "behind"), s.at(h, "thinking") && s.at(h+1, "behind"), s.at(h, "logic") && s.at(h+1, "behind"), s.at(h, "story") && s.at(h+1, "behind"):
		return decision{Why, Single, sure}
	case s.is(h, cTimeNoun) && s.headNoun(h) && !s.at(h+1, "with") && !s.at(h+1, "like") || s.at(h, "time") && s.at(h+1, "frame"):
		if s.at(h, "time") && s.at(h+1, "like") || s.at(h+1, "is") {
			return decision{}
		}
		return decision{When, s.singleOr(h), sure}
	case s.at(h, "order") && s.headNoun(h), s.at(h, "timeline"), s.at(h, "sequence") && s.headNoun(h), s.at(h, "chronology"):
		return decision{When, Order, sure}
	case s.at(h, "duration"):
		return decision{When, Duration, sure}
	case s.at(h, "name"), s.at(h, "names"), s.at(h, "first") && s.at(h+1, "name"), s.at(h, "last") && s.at(h+1, "name"), s.at(h, "full") && s.at(h+1, "name"), s.at(h, "nickname"), s.at(h, "surname"):
		return decision{Entity, s.singleOr(h), sure}
	case s.find(k, "called") == s.n-1 && s.n > 0:
		return decision{Entity, Single, sure}
	case owner >= 0 && (s.w[owner].capital || s.w[owner].opaque):
		if plural || s.pluralPhrase(h) {
			return decision{Entity, Several, sure}
		}
		return decision{Entity, Single, sure}
	case plural:
		return s.gather(k, sure)
	case s.isNameAt(k) && (k+1 == s.n || s.isNameAt(k+1) && k+2 == s.n):
		return decision{Entity, Open, likely}
	}
	return decision{}
}

// yesNo reads a question that opens with an auxiliary at i.
func (s *sentence) yesNo(i int) decision {
	for j := i + 1; j < s.n; j++ {
		switch {
		case s.at(j, "before") && s.seq(j+1, "or after"), s.at(j, "after") && s.seq(j+1, "or before"):
			return decision{When, Order, sure}
		case s.at(i+1, "there") && s.is(j, cReason) && j <= i+4:
			return decision{Why, Single, sure}
		case s.at(j, "because"), s.seq(j, "due to"), s.seq(j, "reason for"), s.seq(j, "the reason"), s.seq(j, "caused by"), s.seq(j, "the cause"), s.at(j, "cause") && j > i+1 && s.question:
			return decision{Why, YesNo, likely}
		case s.at(j, "who") && s.cleft(j):
			return decision{Entity, Single, sure}
		case (s.at(j, "before") || s.at(j, "after")) && (s.happening(j-1) || j > i+2 && s.at(i, "did")):
			return decision{When, Order, likely}
		case (s.at(j, "first") || s.at(j, "earlier") || s.at(j, "later")) && (j+1 == s.n || s.w[j].closes) && s.find(i, "or") > 0:
			return decision{When, Order, sure}
		}
	}
	return decision{General, YesNo, likely}
}

// fragment reads what has no question word: key words, statements, "reason for the rollback".
func (s *sentence) fragment() decision {
	i := 0
	for s.is(i, cDet|cPolite) || s.at(i, "exact") || s.at(i, "root") || s.at(i, "release") || s.at(i, "main") {
		i++
	}
	switch {
	case s.is(i, cReason) && (s.is(i+1, cPrep|cFunc) || i+1 == s.n):
		return decision{Why, s.reason(i).kind, likely}
	case s.is(i, cEffectN) && s.at(i+1, "of"):
		return decision{Why, Single, guessed}
	case s.at(i, "timeline"), s.at(i, "chronology"), s.at(i, "order") && s.at(i+1, "of"):
		return decision{When, Order, likely}
	case s.at(i, "duration") && s.at(i+1, "of"):
		return decision{When, Duration, likely}
	case s.is(i, cTimeNoun) && (s.at(i+1, "of") || s.at(i+1, "when") || s.at(i+1, "for")) && !s.plural(i):
		return decision{When, Single, likely}
	case s.question && s.is(i, cAux):
		return decision{General, YesNo, guessed}
	}
	for j := i; j < s.n; j++ {
		if s.question && (s.is(j, cReason) && s.is(j+1, cFunc) || s.seq(j, "and why")) {
			return decision{Why, Single, guessed}
		}
	}
	if s.question && s.n <= 4 && s.names > 0 {
		return decision{Entity, Open, guessed}
	}
	return decision{General, Open, guessed}
}
