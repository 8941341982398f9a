package extract

import "strings"

// The guards of purposes: "in order to", "so that", "to avoid", "demanding".

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
