package consolidate

import (
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/extract"
	"github.com/magma-mcp/magma-mcp/memory/graph"
)

type linkAnswer struct {
	Causes []struct {
		Cause       string `json:"cause"`
		CauseQuote  string `json:"cause_quote"`
		Effect      string `json:"effect"`
		EffectQuote string `json:"effect_quote"`
		How         string `json:"how"`
	} `json:"causes"`
	Contradictions []struct {
		A         string `json:"a"`
		AQuote    string `json:"a_quote"`
		B         string `json:"b"`
		BQuote    string `json:"b_quote"`
		Subject   string `json:"subject"`
		Predicate string `json:"predicate"`
	} `json:"contradictions"`
}

// claim is a cause that the notes are said to imply. It becomes a row only when a second question, asked
// without suggesting the answer, confirms it: models asked for causes find some in every pair of notes.
type claim struct {
	row           Derived
	cause, effect shown
}

// leastCause is how many words each end of a causal link quotes at least. With one ("rain") anything can be
// linked to anything.
const leastCause = 2

// link reads the answer to a linkPrompt. Causes that are only implied are returned as claims.
func (r *reader) link(answer string) ([]claim, error) {
	var a linkAnswer
	if err := decode(answer, &a); err != nil {
		return nil, err
	}
	var claims []claim
	for _, c := range a.Causes {
		cause, ok1 := r.memory(c.Cause)
		effect, ok2 := r.memory(c.Effect)
		if !r.check(ok1 && ok2 && (cause.target || effect.target)) {
			continue
		}
		q1, ok1 := quoteIn(cause.Memory, c.CauseQuote)
		q2, ok2 := quoteIn(effect.Memory, c.EffectQuote)
		same := cause.ID == effect.ID && q1.From < q2.To && q2.From < q1.To
		if !r.check(ok1 && ok2 && !same && wordCount(q1.Text) >= leastCause && wordCount(q2.Text) >= leastCause &&
			len(informative(q1.Text)) > 0 && len(informative(q2.Text)) > 0) {
			continue
		}
		d := Derived{Kind: CauseRow, From: cause.ID, To: effect.ID, Basis: both(cause.ID, effect.ID), Evidence: []Quote{q1, q2}}
		switch c.How {
		case "stated":
			// The words that state it must be there: "because" is not implied by a model's saying "stated".
			d.Confidence = sureStated
			if !stated(cause.Memory, effect.Memory, q1, q2) {
				claims = append(claims, claim{d, cause, effect})
				continue
			}
			r.add(d, "cause", cause.ID.String(), effect.ID.String())
		case "implied":
			claims = append(claims, claim{d, cause, effect})
		default: // "sequence", or nothing
			r.check(false)
		}
	}
	for _, c := range a.Contradictions {
		a, ok1 := r.memory(c.A)
		b, ok2 := r.memory(c.B)
		if !r.check(ok1 && ok2 && a.ID != b.ID && (a.target || b.target)) {
			continue
		}
		if b.At.Before(a.At) {
			a, b = b, a
			c.AQuote, c.BQuote = c.BQuote, c.AQuote
		}
		q1, ok1 := quoteIn(a.Memory, c.AQuote)
		q2, ok2 := quoteIn(b.Memory, c.BQuote)
		predicate := brief(c.Predicate)
		subject := about(a.Memory, q1, c.Subject)
		if r.check(ok1 && ok2 && predicate != "" && subject != "" && extract.Key(subject) == extract.Key(about(b.Memory, q2, c.Subject)) && differ(q1.Text, q2.Text)) {
			r.add(Derived{Kind: ContradictionRow, From: a.ID, To: b.ID, Subject: subject, Predicate: predicate,
				Basis: both(a.ID, b.ID), Evidence: []Quote{q1, q2}, Confidence: sureRead}, extract.Key(subject), predicate)
		}
	}
	return claims, nil
}

// confirm adds a claim that the second question confirmed, or counts it.
func (r *reader) confirm(c claim, answer string) error {
	var a struct {
		Verdict string `json:"verdict"`
	}
	if err := decode(answer, &a); err != nil {
		return err
	}
	if r.check(a.Verdict == "because") {
		c.row.Confidence = sureImplied
		r.add(c.row, "cause", c.row.From.String(), c.row.To.String())
	}
	return nil
}

func both(a, b graph.ID) []graph.ID {
	if a == b {
		return []graph.ID{a}
	}
	return []graph.ID{a, b}
}

// cues are words by which English states a cause.
var cues = []string{
	"because", "since", "so that", "therefore", "due to", "owing to", "caused", "causes", "cause of", "led to", "leads to", "result of",
	"resulted in", "as a result", "thanks to", "that's why", "that is why", "which is why", "reason", "so i ", "so we ", "so he ", "so she ",
	"so they ", "so the ", "so it ", "hence", "thus", "after all", "in order to", "made me", "made us", "made him", "made her", "made them",
}

// stated tells whether one of the two memories holds words that state a cause.
func stated(cause, effect Memory, q1, q2 Quote) bool {
	texts := []string{effect.Text, cause.Text}
	if cause.ID == effect.ID {
		// Inside one memory: at the quotes or between them, not somewhere else in a long text.
		from, to := max(0, min(q1.From, q2.From)-24), min(len(effect.Text), max(q1.To, q2.To)+24)
		texts = []string{strings.ToValidUTF8(effect.Text[from:to], "")}
	}
	for _, s := range texts {
		low := " " + strings.ToLower(strings.Join(strings.Fields(s), " ")) + " "
		for _, cue := range cues {
			if strings.Contains(low, " "+strings.TrimSuffix(cue, " ")+" ") || strings.Contains(low, " "+strings.TrimSuffix(cue, " ")+",") {
				return true
			}
		}
	}
	return false
}

// about is the subject of a quote: named in it, or the speaker speaking of themselves, or "" where the memory
// speaks of someone or something else.
func about(m Memory, q Quote, subject string) string {
	key := extract.Key(subject)
	if m.Speaker != "" && (selves[key] || key == extract.Key(m.Speaker)) {
		return m.Speaker
	}
	if pronouns[key] || selves[key] || key == "" {
		return ""
	}
	if said(q.Text, subject) || said(m.Text, subject) {
		return subject
	}
	return ""
}

// differ tells whether two quotes say different things at all.
func differ(a, b string) bool {
	return strings.Join(allWords(a), " ") != strings.Join(allWords(b), " ")
}

type episodeAnswer struct {
	Summary  string   `json:"summary"`
	Keywords []string `json:"keywords"`
	Links    []struct {
		Topic string `json:"topic"`
		Kind  string `json:"kind"`
		Quote string `json:"quote"`
		Other string `json:"other"`
	} `json:"links"`
}

// episode reads the answer to an episodePrompt.
func (r *reader) episode(answer string, e Derived, topics []Topic) error {
	var a episodeAnswer
	if err := decode(answer, &a); err != nil {
		return err
	}
	var texts []string
	for _, s := range r.shown {
		texts = append(texts, s.Speaker+": "+s.Text)
	}
	all := strings.Join(texts, "\n")
	summary := oneLine(a.Summary, 600)
	if r.check(summary != "" && !invents(summary, all)) {
		var keywords []Keyword
		for _, k := range a.Keywords {
			if r.check(said(all, k) && wordCount(k) <= 4) && len(keywords) < episodeWords {
				keywords = append(keywords, Keyword{strings.TrimSpace(k), 1})
			}
		}
		r.add(Derived{Kind: SummaryRow, Text: summary, Keywords: keywords, Members: []RowID{e.ID}, Topic: e.Topic, Basis: e.Basis, Confidence: sureRead}, e.ID.String())
	}
	for _, l := range a.Links {
		i := strings.Index("t1 t2 t3 t4 t5 t6 t7 t8", l.Topic) / 3
		if !r.check(len(l.Topic) == 2 && l.Topic[0] == 't' && i >= 0 && i < len(topics) && topics[i].ID != e.Topic && linkKind(l.Kind)) {
			continue
		}
		here, ok1 := r.anywhere(l.Quote)
		there, ok2 := evidenceIn(topics[i], l.Other)
		if r.check(ok1 && ok2 && wordCount(here.Text) >= leastCause && wordCount(there.Text) >= leastCause) {
			r.add(Derived{Kind: LinkRow, Predicate: l.Kind, Members: []RowID{e.Topic, topics[i].ID},
				Basis: both(here.Memory, there.Memory), Evidence: []Quote{here, there}, Confidence: sureRead}, l.Kind, e.Topic.String(), topics[i].ID.String())
		}
	}
	return nil
}

func linkKind(s string) bool {
	for _, k := range LinkKinds {
		if k == s {
			return true
		}
	}
	return false
}

// anywhere finds a quote in the memories that were shown.
func (r *reader) anywhere(quote string) (Quote, bool) {
	for _, s := range r.shown {
		if q, ok := quoteIn(s.Memory, quote); ok {
			return q, true
		}
	}
	return Quote{}, false
}

// evidenceIn finds a quote in the sentences that a topic was shown with, which are its memories' own words.
func evidenceIn(t Topic, quote string) (Quote, bool) {
	for _, e := range t.Episodes {
		for _, q := range e.Evidence {
			if from, to, ok := locate(q.Text, quote); ok {
				return Quote{Memory: q.Memory, From: q.From + from, To: q.From + to, Text: q.Text[from:to]}, true
			}
		}
	}
	return Quote{}, false
}
