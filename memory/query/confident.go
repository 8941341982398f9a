package query

import (
	"slices"
	"strings"
	"unicode"

	"github.com/magma-mcp/magma-mcp/memory/index"
)

// closest is how many of the best memories are asked whether they answer.
const closest = 3

// judge decides whether anything stored really answers: whether one of the best memories holds enough of what is
// asked. Chosen on conv-26, conv-30 and conv-41, where a rule that counted the words of a memory and of two turns
// on either side, whoever said them, let pass more than half of the questions about something else.
func (r *run) judge(res *Result, list []uint32) {
	held := float32(0)
	about := r.persons()
	for _, o := range list[:min(closest, len(list))] {
		res.Coverage = max(res.Coverage, r.coverage(o))
		held = max(held, r.evidence(o, about))
	}
	known := r.unknown == 0
	res.Confident = known && len(list) > 0 && (held >= r.t.Cover || r.total == 0 && (len(r.speakers)+len(r.entities) > 0 || r.q.Windowed))
	if !res.Confident && known && !r.q.NearLoose && len(r.q.Near) > 0 && r.q.Near[0].Sim >= r.t.CoverVector {
		res.Confident = true
	}
}

// evidence is how much of what is asked a memory holds by itself: the share of the question's informative words, if
// it can tell of the person asked about, and what the time and the names of the question count for.
func (r *run) evidence(o uint32, about []string) (sum float32) {
	if r.total > 0 && r.concerns(o, about) {
		before, reply := r.before(o)
		reply = reply && r.repliesTo(o)
		sum = r.share(func(p *index.Posting) bool { return p.Has(o) || reply && p.Has(before) })
	}
	if r.timed(o) {
		sum += r.t.CoverTime
	}
	return sum + float32(r.t.CoverNamed*r.about[o])
}

// persons is the names of the one speaker that the question is about; nil where there is none or are several.
func (r *run) persons() []string {
	if len(r.speakers) != 1 {
		return nil
	}
	return strings.Fields(index.FoldName(r.s.Name(r.speakers[0])))
}

// concerns reports whether a memory can tell of the person with these names. Where two talk, each tells of oneself:
// what the other says does only if it, or what came just before ("How is Ida?" "Much better."), speaks of
// the person. Where more talk, and where nobody says who does, everything can.
func (r *run) concerns(o uint32, names []string) bool {
	d := &r.s.Docs[o]
	if len(names) == 0 || d.Speaker == 0 || d.Speaker == r.speakers[0] || r.speaksOf(o, names) {
		return true
	}
	if before, ok := r.before(o); ok && r.speaksOf(before, names) {
		return true
	}
	asked, more := false, false
	docs, _, _ := r.s.Around(o)
	for _, x := range docs {
		switch r.s.Docs[x].Speaker {
		case r.speakers[0]:
			asked = true
		case d.Speaker:
		default:
			more = true
		}
	}
	return more || !asked
}

// speaksOf reports whether a memory names a person otherwise than to address them.
func (r *run) speaksOf(o uint32, names []string) bool {
	for _, n := range names {
		if p := r.s.Posting(index.HashTerm(r.q.Words.Stem(n))); p != nil && p.Has(o) {
			return r.q.Content == nil || mentions(r.q.Content(o), n)
		}
	}
	return false
}

// greetings stand before a name that addresses somebody.
var greetings = []string{"hey", "hi", "hello", "thanks", "thank", "you", "wow", "yes", "yeah", "no", "oh", "ok", "okay", "well", "so", "bye", "congrats", "sure", "right", "great", "dear", "morning"}

// mentions reports whether a text names somebody other than as the one spoken to: "Thanks, Ida!" and "Hey Ida, how are
// you?" speak to her, "Ida's dog" and "I met Ida." of her.
func mentions(content, name string) bool {
	words := strings.FieldsFunc(content, unicode.IsSpace)
	for i, w := range words {
		bare := strings.TrimFunc(w, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
		folded := index.FoldName(bare)
		if s, ok := strings.CutSuffix(strings.ReplaceAll(folded, "’", "'"), "'s"); ok && s == name {
			return true
		}
		if folded != name {
			continue
		}
		before := ""
		if i > 0 {
			before = words[i-1]
		}
		opens := before == "" || strings.ContainsAny(before[len(before)-1:], ",.!?;:-") || slices.Contains(greetings, strings.ToLower(before))
		closes := i == len(words)-1 || strings.ContainsAny(w[len(w)-1:], ",.!?;:-")
		if !opens || !closes {
			return true
		}
	}
	return false
}

// coverage is the share of the question's informative words that a memory or two on either side of it hold.
func (r *run) coverage(o uint32) float64 {
	if r.total == 0 {
		return 0
	}
	return float64(r.share(func(p *index.Posting) bool { return r.holds(p, o) }))
}

// share is the share of the question's informative words, names apart, weighted by rarity, whose postings pass; a
// related word counts as much as it is alike.
func (r *run) share(pass func(*index.Posting) bool) float32 {
	have := make([]float32, len(r.q.Terms))
	for i, qt := range r.q.Terms {
		of, sim := i, float32(1)
		if qt.Of >= 0 {
			of, sim = qt.Of, float32(qt.Weight*r.t.Expand)
		}
		if r.q.Terms[of].Name || have[of] >= sim {
			continue
		}
		if p := r.s.Posting(qt.Hash); p != nil && pass(p) {
			have[of] = sim
		}
	}
	var sum float32
	for i, h := range have {
		sum += float32(h * r.rare[i])
	}
	return sum / r.total
}

func (r *run) holds(p *index.Posting, o uint32) bool {
	for k := -2; k <= 2; k++ {
		if x, ok := r.s.Neighbour(o, k); ok && p.Has(x) {
			return true
		}
	}
	return false
}
