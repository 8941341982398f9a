package extract

import "strings"

// RelationMention is a place where a text says who someone is to whom: "her husband Tom", "my dog,
// Luna", "their brother", "Anna's sister", "Tom, my husband".
type RelationMention struct {
	Span
	Owner     Span   // "her", or the name without 's
	OwnerText string // the owner as written: a possessive pronoun, lower-cased, or a name
	Role      string // the plain singular: mother for mom, mum, mama
	Plural    bool   // "my kids"
	Name      string // whom the text names with it, "" where nobody
	NameSpan  Span
}

var possessives = words(`my your his her their our`)

// roleOf maps the words for kin, partners, friends, colleagues and pets to one each.
var roleOf = indexRoles(`
mother mom mum mommy mummy mama momma ma; father dad daddy papa pa; parent; brother bro; sister sis; sibling; son; daughter; child kid; baby; toddler; twin; husband hubby; wife wifey; spouse; partner; boyfriend bf;
girlfriend gf; fiance fiancé; fiancee fiancée; ex; ex-husband; ex-wife; ex-boyfriend; ex-girlfriend; grandmother grandma granny nana gran; grandfather grandpa granddad grandad; grandparent; grandson; granddaughter; grandchild grandkid;
aunt auntie aunty; uncle; cousin; niece; nephew; mother-in-law; father-in-law; brother-in-law; sister-in-law; son-in-law; daughter-in-law; stepmother stepmom stepmum; stepfather stepdad; stepson; stepdaughter; stepbrother; stepsister;
half-brother; half-sister; godmother; godfather; godson; goddaughter; friend; best-friend bestie bff; roommate flatmate housemate; neighbor neighbour; colleague coworker co-worker workmate; boss manager supervisor; mentor; coach; trainer; teacher; tutor;
student; teammate; classmate; assistant; doctor; therapist; nanny babysitter; landlord landlady; bandmate; cofounder co-founder; family; team; dog doggo; puppy pup; cat kitty; kitten; horse; pet; hamster; rabbit bunny; parrot; turtle; snake; fish; bird; pony`)

func indexRoles(s string) map[string]string {
	idx := map[string]string{}
	for _, g := range strings.Split(s, ";") {
		ws := strings.Fields(g)
		for _, w := range ws {
			idx[w] = ws[0]
		}
	}
	return idx
}

var oddPlurals = map[string]string{"children": "child", "wives": "wife", "babies": "baby", "families": "family", "puppies": "puppy", "kitties": "cat", "bunnies": "rabbit", "grandchildren": "grandchild", "landladies": "landlord", "nannies": "nanny", "ponies": "pony", "hubbies": "husband"}

// between may stand between an owner and a role.
var between = words(`older younger elder eldest oldest youngest little big baby twin best late new old own dear good close closest oldest first second third two three four five six other only beloved lovely sweet former ex longtime
favorite favourite childhood school high college work gym step half adopted adoptive foster biological current future amazing wonderful late-great pet newborn teenage dearest middle whole entire rescue`)

func role(w string) (string, bool, bool) {
	if r, ok := roleOf[w]; ok {
		return r, false, true
	}
	if r, ok := oddPlurals[w]; ok {
		return r, true, true
	}
	if strings.HasSuffix(w, "s") {
		if r, ok := roleOf[w[:len(w)-1]]; ok {
			return r, true, true
		}
	}
	if i := strings.Index(w, "s-in-law"); i > 0 {
		if r, ok := roleOf[w[:i]+"-in-law"]; ok {
			return r, true, true
		}
	}
	return "", false, false
}

// Relations lists the relationships that text states by a possessive and a role, in text order.
func Relations(text string) []RelationMention {
	var out []RelationMention
	var toks []token
	if !hasRole(text) {
		return nil
	}
	toks = scan(text)
	for i := range toks {
		t := &toks[i]
		if !t.word {
			continue
		}
		named := t.bare < t.to && t.capital && !functionWords.has(t.low)
		if !possessives.has(t.low) && !named {
			continue
		}
		k := i + 1
		adj := ""
		for k < len(toks) && k-i <= 3 && toks[k].word && toks[k].sent == t.sent && between.has(toks[k].low) {
			if _, _, ok := role(toks[k].low); ok && !(k+1 < len(toks) && toks[k+1].word && roleWord(toks[k+1].base())) {
				break
			}
			adj = toks[k].low
			k++
		}
		if k >= len(toks) || !toks[k].word || toks[k].sent != t.sent || !toks[k].glued {
			continue
		}
		r := &toks[k]
		name, plural, ok := role(r.base())
		if !ok {
			continue
		}
		// "my best friend's wedding" still says that there is a best friend; "my school friend".
		m := RelationMention{Span: Span{int(t.from), int(r.bare)}, Role: name, Plural: plural}
		if adj == "best" && name == "friend" {
			m.Role = "best-friend"
		}
		switch adj {
		case "ex", "former":
			if name == "husband" || name == "wife" || name == "boyfriend" || name == "girlfriend" {
				m.Role = "ex-" + name
			}
		case "step":
			if s, _, ok := role("step" + name); ok {
				m.Role = s
			}
		}
		m.Owner = Span{int(t.from), int(t.bare)}
		m.OwnerText = m.Owner.In(text)
		if !named {
			m.OwnerText = t.low
		} else if i > 0 && toks[i-1].word && toks[i-1].capital && t.glued && (!toks[i-1].start || givenNames.has(toks[i-1].low)) && !functionWords.has(toks[i-1].low) && !interjections.has(toks[i-1].low) {
			m.Owner.From = int(toks[i-1].from) // Ross Geller's sister
			m.OwnerText = m.Owner.In(text)
			m.Span.From = m.Owner.From
		}
		if r.bare == r.to {
			m.apposition(text, toks, i, k)
		}
		out = append(out, m)
	}
	return out
}

func roleWord(w string) bool { _, _, ok := role(w); return ok }

// apposition reads the name beside the role: "my dog Max", "my wife, Ann,", "a cat named Tom", "Tom, my
// husband,".
func (m *RelationMention) apposition(text string, toks []token, i, k int) {
	n := k + 1
	paren := false
	if n < len(toks) && toks[n].word && (toks[n].low == "named" || toks[n].low == "called") {
		n++
	} else if n+1 < len(toks) && (toks[n].is(",") || toks[n].is("(") || toks[n].is("-") || toks[n].is("–") || toks[n].is("—")) && toks[n+1].capital {
		paren = true
		n++
	}
	if n < len(toks) && toks[n].word && properName(toks[n]) && toks[n].sent == toks[k].sent {
		e := n + 1
		for e < len(toks) && e-n < 3 && toks[e].word && toks[e].glued && properName(toks[e]) && toks[e-1].bare == toks[e-1].to {
			e++
		}
		if paren { // "my wife, Ann, said": a comma closes it; "my friend, Ann and I" does not
			if e >= len(toks) || toks[e].word || toks[n-1].is(",") && !toks[e].is(",") {
				return // "I miss my brother, Ann!" speaks to Ann
			}
			if !m.Plural && m.Role != "family" && m.Role != "team" && (givenNames.has(toks[n].base()) || !commonWord(toks[n].base())) && !toks[n].shout {
				m.setName(text, toks, n, e)
			}
			return
		}
		m.setName(text, toks, n, e)
		return
	}
	// "Tom, my husband, ..."
	if i >= 2 && toks[i-1].is(",") && toks[i-2].word && toks[i-2].capital && !ambiguousNames.has(toks[i-2].low) && toks[i-2].sent == toks[i].sent && !m.Plural &&
		(k+1 >= len(toks) || !toks[k+1].word || toks[k+1].sent != toks[k].sent) && givenNames.has(toks[i-2].base()) &&
		(i < 3 || !interjections.has(toks[i-3].low)) && (k+1 >= len(toks) || !toks[k+1].is("!") && !toks[k+1].is("?")) {
		f := i - 2
		m.Name = Span{int(toks[f].from), int(toks[f].bare)}.In(text)
		m.NameSpan = Span{int(toks[f].from), int(toks[f].bare)}
	}
}

func (m *RelationMention) setName(text string, toks []token, from, to int) {
	m.NameSpan = Span{int(toks[from].from), int(toks[to-1].bare)}
	m.Name = m.NameSpan.In(text)
	m.To = m.NameSpan.To
}

func properName(t token) bool {
	low := t.base()
	return t.capital && !t.start && !functionWords.has(t.low) && !calendarWords.has(low) && !interjections.has(low) && !(commonWord(low) && !givenNames.has(low) && !ambiguousNames.has(low))
}

// hasRole is the pre-filter: whether a possessive stands in text at all.
func hasRole(text string) bool {
	if strings.Contains(text, "'s ") || strings.Contains(text, "’s ") {
		return true
	}
	for i := 0; i+2 < len(text); i++ {
		switch text[i] | 0x20 {
		case 'm', 'y', 'h', 't', 'o':
			if i > 0 && wordRune(rune(text[i-1])) {
				continue
			}
			j := i
			var buf [6]byte
			n := 0
			for j < len(text) && n < len(buf) && (text[j]|0x20) >= 'a' && (text[j]|0x20) <= 'z' {
				buf[n] = text[j] | 0x20
				n++
				j++
			}
			if possessives.has(string(buf[:n])) {
				return true
			}
		}
	}
	return false
}
