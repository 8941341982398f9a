package query

import (
	"regexp"
	"slices"
)

// Person is whom a question asks about without a name. In a chat with an assistant the one who asks is the user of the
// chat, and the one who is asked its assistant: "Where did I park?" is answered by what the user said, "What
// wine did you recommend?" by what the assistant did.
type Person uint8

const (
	Nobody Person = iota
	Asker
	Asked
)

// roles are the speakers' names by which chat programs store the two.
var roles = [][]string{Asker: {"user", "human"}, Asked: {"assistant", "ai"}}

// is reports whether a speaker of this folded name is that person.
func (p Person) is(speaker string) bool { return slices.Contains(roles[p], speaker) }

var (
	firstPerson  = regexp.MustCompile(`(?i)\b(?:i|my|mine|me|myself|i['’](?:m|ve|d|ll))\b`)
	secondPerson = regexp.MustCompile(`(?i)\b(?:you|your|yours)\b`)
	// favour is how an assistant is asked for something, which tells nothing of what it said.
	favour = regexp.MustCompile(`(?i)\b(?:(?:can|could|would|will|do) you|remind me|tell me|you (?:know|think|remember|recall)|thank you)\b`)
	// advising asks what is to be done, which the asker is the last to have said.
	advising = regexp.MustCompile(`(?i)\b(?:how (?:can|could|do|would|might) i|(?:should|can|could|may|must) i)\b`)
	// frame is how a question is put to somebody before it begins: none of its words is looked for.
	frame = regexp.MustCompile(`(?i)\b(?:(?:(?:can|could|would|will) you )?(?:please )?(?:remind|tell|show) me|let me know|do (?:we|you|i) (?:know|remember|recall)|i(?: was|['’]m| am)? wondering|i(?: want|['’]d like| wanted) to know)\b`)
	// advice is what an assistant did earlier.
	advice = regexp.MustCompile(`(?i)\b(?:you(?:['’]d| had|['’]ve| have)? (?:said|told|mentioned|recommended|suggested|advised|gave|given|listed|provided|explained|described|wrote|proposed|named|showed|shared)|did you (?:say|tell|mention|recommend|suggest|advise|give|list|provide|explain|describe|write|propose|name|show|share)|your (?:\p{L}+ )?(?:advice|suggestions?|recommendations?|answers?|explanation|list|reply)|our (?:\p{L}+ )?(?:conversation|chat|discussion|talk)s?)\b`)
	// telling is what the asker did earlier.
	telling = regexp.MustCompile(`(?i)\b(?:i(?:['’]d| had|['’]ve| have)? (?:said|told|mentioned|asked|wrote|named|showed|shared|gave|described)|did i (?:say|tell|mention|ask|write|name|show|share|give|describe))\b`)
)

// personOf reads whom a question's pronouns ask about: Asker where it goes back to what the user said, Asked where to
// what the assistant did or to a talk of both (who said it oneself seldom asks), else Asker where it says "I" or
// "my", Asked where "you" is left that asks no favour.
func personOf(q string) Person {
	rest := advising.ReplaceAllString(favour.ReplaceAllString(q, " "), " ")
	switch {
	case telling.MatchString(q):
		return Asker
	case advice.MatchString(q):
		return Asked
	case firstPerson.MatchString(rest):
		return Asker
	case secondPerson.MatchString(rest):
		return Asked
	}
	return Nobody
}
