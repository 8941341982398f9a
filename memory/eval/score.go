package eval

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// Report is what a run found. It is written as report.json; Text and HTML show it.
type Report struct {
	Data          string       `json:"data"`
	Version       string       `json:"version"`
	Made          time.Time    `json:"made"`
	Conversations int          `json:"conversations"`
	Turns         int          `json:"turns"`
	Tables        []Table      `json:"tables"`
	Ablations     []Ablation   `json:"ablations,omitempty"`
	Corruption    []Ablation   `json:"corruption,omitempty"`
	Confidence    Confidence   `json:"confidence"`
	Remember      Latency      `json:"remember_ms"`
	Recall        Latency      `json:"recall_ms"`
	Floors        []NamedSpeed `json:"floors_ms,omitempty"`
	Answers       []Arm        `json:"answers,omitempty"`
	JudgeRefused  string       `json:"judge_refused,omitempty"`
	Degraded      []string     `json:"degraded,omitempty"`
}

// NamedSpeed is the latency of one system.
type NamedSpeed struct {
	Name string `json:"name"`
	Latency
}

// Table holds one set of conversations: all, or those that no parameter was chosen on.
type Table struct {
	Title       string       `json:"title"`
	ClusteredBy string       `json:"clustered_by"` // what the bootstrap draws
	Clusters    int          `json:"clusters"`
	Systems     []System     `json:"systems"`
	Differences []Difference `json:"differences"`
}

// System is the engine or a floor.
type System struct {
	Name       string     `json:"name"`
	Categories []Category `json:"categories"`
	// Why holds recall@10 and any@10 over the questions that ask for a reason, by the why tool (a floor: by its list).
	Why map[string]Estimate `json:"why,omitempty"`
}

// Category holds the figures of one kind of question. "answerable" is all but the adversarial.
type Category struct {
	Name     string              `json:"name"`
	Measures map[string]Estimate `json:"measures"`
}

// Difference is the engine minus a floor, question by question.
type Difference struct {
	Floor    string              `json:"floor"`
	Category string              `json:"category"`
	Measures map[string]Estimate `json:"measures"`
}

// Ablation is one setting: its figures over the answerable questions, and its difference to the engine as it is.
type Ablation struct {
	Setting    Setting             `json:"setting"`
	Measures   map[string]Estimate `json:"measures"`
	Difference map[string]Estimate `json:"difference"`
	Why        map[string]Estimate `json:"why,omitempty"`
}

// Confidence is how well "nothing stored answers this" is told.
type Confidence struct {
	FoundTrusted       Estimate `json:"found_trusted"`        // confident on answerable questions whose evidence was among the ten best
	ForeignRefused     Estimate `json:"foreign_refused"`      // not confident on questions of other conversations, their names kept
	RenamedRefused     Estimate `json:"renamed_refused"`      // the same with this conversation's names put in
	WrongPersonRefused Estimate `json:"wrong_person_refused"` // not confident on the adversarial questions
	SingleTrusted      Estimate `json:"single_trusted"`       // confident on the single-hop questions
}

// answerable names the group of all questions that have an answer.
const answerable = "answerable"

// question is one question with everything known of it.
type question struct {
	conversation, id string
	gold             Gold
	cluster          string
}

// scorer reads what the steps left.
type scorer struct {
	c         *Config
	key       Key
	list      []Conversation
	sessionOf map[string]map[string]string // conversation -> source -> session
}

func (c *Config) score() (Report, error) {
	list, err := c.stripped()
	if err != nil {
		return Report{}, err
	}
	s := &scorer{c: c, list: list, sessionOf: map[string]map[string]string{}}
	if err := readJSON(c.path("gold.json"), &s.key); err != nil {
		return Report{}, err
	}
	r := Report{Data: c.Data, Version: c.Version, Made: c.Now().UTC().Truncate(time.Second), Conversations: len(list)}
	if i := strings.LastIndexAny(r.Data, `/\`); i >= 0 {
		r.Data = r.Data[i+1:]
	}
	for _, conv := range list {
		r.Turns += len(conv.Turns)
		m := map[string]string{}
		for _, t := range conv.Turns {
			m[t.Source] = t.Session
		}
		s.sessionOf[conv.ID] = m
	}
	all := func(string) bool { return true }
	systems := append([]string{full.Name}, FloorNames()...)
	found := map[string]map[string]Retrieved{}
	for _, name := range systems {
		if found[name], err = s.read(name); err != nil {
			return Report{}, err
		}
	}
	sets := []struct {
		title string
		keep  func(string) bool
	}{{"all", all}}
	there := false
	for _, name := range s.key.Names {
		there = there || slices.Contains(c.Apart, name)
	}
	if there {
		apart := func(id string) bool { return slices.Contains(c.Apart, s.key.Names[id]) }
		sets = append(sets, struct {
			title string
			keep  func(string) bool
		}{"chosen on", func(id string) bool { return !apart(id) }}, struct {
			title string
			keep  func(string) bool
		}{"apart: " + strings.Join(c.Apart, ", "), apart})
	}
	for _, set := range sets {
		if t, ok := s.table(set.title, set.keep, systems, found); ok {
			r.Tables = append(r.Tables, t)
		}
	}
	main := found[full.Name]
	r.Confidence, err = s.confidence()
	if err != nil {
		return Report{}, err
	}
	var micros []int64
	notes := map[string]bool{}
	for _, x := range main {
		micros = append(micros, x.Micros)
		for _, d := range x.Degraded {
			notes[d] = true
		}
	}
	for d := range notes {
		r.Degraded = append(r.Degraded, d)
	}
	sort.Strings(r.Degraded)
	r.Recall = latency(micros)
	for _, f := range FloorNames() {
		var micros []int64
		for _, x := range found[f] {
			micros = append(micros, x.Micros)
		}
		r.Floors = append(r.Floors, NamedSpeed{f, latency(micros)})
	}
	built, err := readLines[builtLine](c.path("built.jsonl"))
	if err != nil {
		return Report{}, err
	}
	micros = nil
	for _, b := range built {
		micros = append(micros, b.Micros...)
	}
	r.Remember = latency(micros)
	if c.Ablate {
		if r.Ablations, err = s.ablations(Ablations(), main); err != nil {
			return Report{}, err
		}
	}
	if c.Corrupt != "" {
		settings, err := Corruptions(c.Corrupt, c.Seed)
		if err != nil {
			return Report{}, err
		}
		if r.Corruption, err = s.ablations(settings, main); err != nil {
			return Report{}, err
		}
	}
	if c.Answers != nil {
		if r.Answers, r.JudgeRefused, err = s.answers(); err != nil {
			return Report{}, err
		}
	}
	if err := writeJSON(c.path("report.json"), r); err != nil {
		return Report{}, err
	}
	return r, writeFile(c.path("report.html"), r.HTML())
}

// read is one setting's records of its own questions, by conversation and question.
func (s *scorer) read(name string) (map[string]Retrieved, error) {
	list, err := readLines[Retrieved](s.c.retrievedPath(name))
	if err != nil {
		return nil, err
	}
	m := map[string]Retrieved{}
	for _, r := range list {
		if r.Of == "" {
			m[r.Conversation+" "+r.Question] = r
		}
	}
	if len(m) == 0 {
		return nil, fmt.Errorf("nothing was retrieved for %q yet: run the retrieve step first", name)
	}
	return m, nil
}

// questions are those with evidence to find, of the conversations that keep accepts, and what the bootstrap
// draws: conversations where there are five or more, else the sessions that hold the first evidence,
// since from two or three conversations no interval can be had.
func (s *scorer) questions(keep func(string) bool) (list []question, clusteredBy string, clusters int) {
	n := 0
	for _, conv := range s.list {
		if keep(conv.ID) {
			n++
		}
	}
	seen := map[string]bool{}
	for _, conv := range s.list {
		if !keep(conv.ID) {
			continue
		}
		sessions := s.sessionOf[conv.ID]
		for _, q := range conv.Questions {
			g := s.key.Gold[conv.ID][q.ID]
			if len(g.Evidence) == 0 && len(g.Sessions) == 0 {
				continue
			}
			cluster := conv.ID
			if n < 5 {
				if len(g.Evidence) > 0 {
					cluster += " " + sessions[g.Evidence[0]]
				} else {
					cluster += " " + g.Sessions[0]
				}
			}
			seen[cluster] = true
			list = append(list, question{conv.ID, q.ID, g, cluster})
		}
	}
	clusteredBy = "conversation"
	if n < 5 {
		clusteredBy = "session of the first evidence"
	}
	return list, clusteredBy, len(seen)
}

func (s *scorer) measure(q question, r Retrieved) map[string]float64 {
	return measures(r.Ranked, r.Contexts, q.gold.Evidence, s.sessionOf[q.conversation], q.gold.Sessions)
}

func group(q question) string {
	if q.gold.Unanswerable {
		return Unanswerable
	}
	return answerable
}

func (s *scorer) table(title string, keep func(string) bool, systems []string, found map[string]map[string]Retrieved) (Table, bool) {
	list, by, clusters := s.questions(keep)
	t := Table{Title: title, ClusteredBy: by, Clusters: clusters}
	if len(list) == 0 {
		return t, false
	}
	scores := map[string]map[string]map[string]float64{} // system -> question -> measure
	for _, name := range systems {
		scores[name] = map[string]map[string]float64{}
		values := map[string]map[string][]value{} // category -> measure
		why := map[string][]value{}
		for _, q := range list {
			r, ok := found[name][q.conversation+" "+q.id]
			if !ok {
				continue
			}
			m := s.measure(q, r)
			scores[name][q.conversation+" "+q.id] = m
			for _, cat := range slices.Compact([]string{q.gold.Category, group(q)}) {
				if values[cat] == nil {
					values[cat] = map[string][]value{}
				}
				for k, x := range m {
					values[cat][k] = append(values[cat][k], value{q.cluster, x})
				}
			}
			if r.WhyAsked && !q.gold.Unanswerable {
				w := measures(r.Why, nil, q.gold.Evidence, s.sessionOf[q.conversation], q.gold.Sessions)
				for _, k := range []string{"recall@10", "any@10"} {
					why[k] = append(why[k], value{q.cluster, w[k]})
				}
			}
		}
		sys := System{Name: name}
		for _, cat := range categoryOrder(values) {
			sys.Categories = append(sys.Categories, Category{cat, s.estimates(values[cat])})
		}
		if len(why) > 0 {
			sys.Why = s.estimates(why)
		}
		t.Systems = append(t.Systems, sys)
	}
	for _, name := range systems[1:] {
		values := map[string]map[string][]value{}
		for _, q := range list {
			id := q.conversation + " " + q.id
			ours, theirs := scores[full.Name][id], scores[name][id]
			if ours == nil || theirs == nil {
				continue
			}
			for _, cat := range slices.Compact([]string{q.gold.Category, group(q)}) {
				if values[cat] == nil {
					values[cat] = map[string][]value{}
				}
				for k, x := range ours {
					values[cat][k] = append(values[cat][k], value{q.cluster, x - theirs[k]})
				}
			}
		}
		for _, cat := range categoryOrder(values) {
			t.Differences = append(t.Differences, Difference{name, cat, s.estimates(values[cat])})
		}
	}
	return t, true
}

// categoryOrder lists categories: those answerable by name, then all of them, then the adversarial.
func categoryOrder[T any](m map[string]T) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	weight := func(s string) int {
		return map[string]int{answerable: 1, Unanswerable: 2}[s]
	}
	sort.Slice(list, func(i, j int) bool {
		if a, b := weight(list[i]), weight(list[j]); a != b {
			return a < b
		}
		return list[i] < list[j]
	})
	return list
}

func (s *scorer) estimates(values map[string][]value) map[string]Estimate {
	m := map[string]Estimate{}
	for k, v := range values {
		m[k] = estimate(v, s.c.Seed)
	}
	return m
}

func (s *scorer) ablations(settings []Setting, main map[string]Retrieved) ([]Ablation, error) {
	list, _, _ := s.questions(func(string) bool { return true })
	var out []Ablation
	for _, setting := range settings {
		found, err := s.read(setting.Name)
		if err != nil {
			return nil, err
		}
		own, diff, why := map[string][]value{}, map[string][]value{}, map[string][]value{}
		for _, q := range list {
			id := q.conversation + " " + q.id
			r, ok := found[id]
			base, ok2 := main[id]
			if q.gold.Unanswerable || !ok || !ok2 {
				continue
			}
			m, b := s.measure(q, r), s.measure(q, base)
			for k, x := range m {
				own[k] = append(own[k], value{q.cluster, x})
				diff[k] = append(diff[k], value{q.cluster, x - b[k]})
				multi := k + " " + q.gold.Category
				if k == "recall@10" || k == "all@10" {
					own[multi] = append(own[multi], value{q.cluster, x})
					diff[multi] = append(diff[multi], value{q.cluster, x - b[k]})
				}
			}
			if r.WhyAsked {
				w := measures(r.Why, nil, q.gold.Evidence, s.sessionOf[q.conversation], q.gold.Sessions)
				why["any@10"] = append(why["any@10"], value{q.cluster, w["any@10"]})
			}
		}
		a := Ablation{Setting: setting, Measures: s.estimates(own), Difference: s.estimates(diff)}
		if len(why) > 0 {
			a.Why = s.estimates(why)
		}
		out = append(out, a)
	}
	return out, nil
}

func (s *scorer) confidence() (Confidence, error) {
	list, err := readLines[Retrieved](s.c.retrievedPath(full.Name))
	if err != nil {
		return Confidence{}, err
	}
	hops := false // LoCoMo's categories: its single-hop questions are the foreign ones, as elsewhere
	for _, gold := range s.key.Gold {
		for _, g := range gold {
			hops = hops || g.Category == "single-hop"
		}
	}
	told := s.told()
	var found, foreign, renamed, wrong, single []value
	for _, r := range list {
		v := func(b bool) value { return value{r.Conversation, truth(b)} }
		if r.Of != "" {
			switch g := s.key.Gold[r.Of][r.Question]; {
			case g.Unanswerable, hops && g.Category != "single-hop", told(g, r.Of, r.Conversation):
			case r.Renamed:
				renamed = append(renamed, v(!r.Confident))
			default:
				foreign = append(foreign, v(!r.Confident))
			}
			continue
		}
		g := s.key.Gold[r.Conversation][r.Question]
		switch {
		case g.Unanswerable:
			wrong = append(wrong, v(!r.Confident))
			continue
		case len(g.Evidence) == 0 && len(g.Sessions) == 0:
			continue
		}
		m := measures(r.Ranked, nil, g.Evidence, s.sessionOf[r.Conversation], g.Sessions)
		if m["any@10"] == 1 {
			found = append(found, v(r.Confident))
		}
		if g.Category == "single-hop" {
			single = append(single, v(r.Confident))
		}
	}
	e := func(v []value) Estimate { return estimate(v, s.c.Seed) }
	return Confidence{e(found), e(foreign), e(renamed), e(wrong), e(single)}, nil
}

// told gives a test whether what answers a question of one conversation was said in another too: records of
// LongMemEval share sessions.
func (s *scorer) told() func(g Gold, of, in string) bool {
	said, text := map[string]map[string]bool{}, map[string]map[string]string{}
	for _, conv := range s.list {
		said[conv.ID], text[conv.ID] = map[string]bool{}, map[string]string{}
		for _, t := range conv.Turns {
			said[conv.ID][t.Text] = true
			text[conv.ID][t.Source] = t.Text
		}
	}
	return func(g Gold, of, in string) bool {
		return slices.ContainsFunc(g.Evidence, func(e string) bool { return said[in][text[of][e]] })
	}
}
