package eval

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Conversation is what the engine may see of one conversation: what was said, and what is asked.
type Conversation struct {
	ID        string     `json:"id"`
	Turns     []Turn     `json:"turns"`
	Questions []Question `json:"questions"`
}

// Turn is one thing said. Source is its name in the evidence lists; At is RFC 3339.
type Turn struct {
	Source  string `json:"source"`
	Session string `json:"session"`
	At      string `json:"at"`
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

// Question is one question without anything that belongs to its answer. At is when it is asked, "" if unknown.
type Question struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	At   string `json:"at,omitempty"`
}

// Gold is what only the scorer and the judge may see of a question.
type Gold struct {
	Answer   string   `json:"answer"`
	Category string   `json:"category"`
	Evidence []string `json:"evidence"`
	// Sessions is set in place of Evidence where the data name sessions alone.
	Sessions []string `json:"sessions,omitempty"`
	// Unanswerable marks questions whose answer is not in the conversation, or that ask the wrong person.
	Unanswerable bool `json:"unanswerable,omitempty"`
}

// Key holds the gold of all questions, by conversation and question id, and the conversations' names in
// the data file.
type Key struct {
	Names map[string]string          `json:"names"`
	Gold  map[string]map[string]Gold `json:"gold"`
}

// Unanswerable is the category name of questions that nothing stored answers.
const Unanswerable = "adversarial"

var locomoCategories = map[int]string{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: Unanswerable}

// Load reads a data file of either shape and parts it into what the engine may see and the key. only
// keeps the conversations of these names in the file; none keeps all.
func Load(path string, only []string) ([]Conversation, Key, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, Key{}, fmt.Errorf("read the questions: %w", err)
	}
	var shape []map[string]json.RawMessage
	if err := json.Unmarshal(data, &shape); err != nil {
		return nil, Key{}, fmt.Errorf("read %s: want a JSON array of conversations: %w", path, err)
	}
	key := Key{Names: map[string]string{}, Gold: map[string]map[string]Gold{}}
	keep := map[string]bool{}
	for _, o := range only {
		keep[o] = true
	}
	var list []Conversation
	for i, raw := range shape {
		var c Conversation
		var gold map[string]Gold
		var name string
		switch {
		case raw["haystack_sessions"] != nil:
			name, c, gold, err = longMemEval(raw, i)
		case raw["conversation"] != nil:
			name, c, gold, err = locomo(raw)
		default:
			err = fmt.Errorf("neither conversation (LoCoMo) nor haystack_sessions (LongMemEval) is there")
		}
		if err != nil {
			return nil, Key{}, fmt.Errorf("read %s, entry %d: %w", path, i+1, err)
		}
		if len(keep) > 0 && !keep[name] {
			continue
		}
		if key.Gold[c.ID] != nil {
			return nil, Key{}, fmt.Errorf("read %s, entry %d: a second conversation named %q", path, i+1, name)
		}
		key.Names[c.ID], key.Gold[c.ID] = name, gold
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, Key{}, fmt.Errorf("no conversation of %s is left to measure: its names and --only do not meet", path)
	}
	return list, key, nil
}

type locomoTurn struct {
	Speaker string `json:"speaker"`
	ID      string `json:"dia_id"`
	Text    string `json:"text"`
	Caption string `json:"blip_caption"`
	At      string `json:"at"`
}

type locomoQuestion struct {
	Question    string          `json:"question"`
	Answer      json.RawMessage `json:"answer"`
	Adversarial json.RawMessage `json:"adversarial_answer"`
	Category    int             `json:"category"`
	Evidence    []any           `json:"evidence"`
}

func locomo(raw map[string]json.RawMessage) (string, Conversation, map[string]Gold, error) {
	var name string
	var talk map[string]json.RawMessage
	var asked []locomoQuestion
	for field, to := range map[string]any{"sample_id": &name, "conversation": &talk, "qa": &asked} {
		if err := json.Unmarshal(raw[field], to); err != nil {
			return "", Conversation{}, nil, fmt.Errorf("%s: %w", field, err)
		}
	}
	c := Conversation{ID: slug(name)}
	for n := 1; ; n++ {
		session := "session_" + strconv.Itoa(n)
		rawTime, ok := talk[session+"_date_time"]
		if !ok {
			break
		}
		var stamp string
		if err := json.Unmarshal(rawTime, &stamp); err != nil {
			return "", Conversation{}, nil, fmt.Errorf("%s_date_time: %w", session, err)
		}
		at, err := sessionTime(stamp)
		if err != nil {
			return "", Conversation{}, nil, fmt.Errorf("%s_date_time: %w", session, err)
		}
		var turns []locomoTurn
		if talk[session] != nil {
			if err := json.Unmarshal(talk[session], &turns); err != nil {
				return "", Conversation{}, nil, fmt.Errorf("%s: %w", session, err)
			}
		}
		for _, t := range turns {
			text := t.Text
			if t.Caption != "" {
				text += " [shares a photo: " + t.Caption + "]"
			}
			when := at.Format(time.RFC3339)
			if t.At != "" {
				when = t.At + "Z"
				if strings.HasSuffix(t.At, "Z") || strings.Contains(t.At, "+") {
					when = t.At
				}
			}
			c.Turns = append(c.Turns, Turn{Source: t.ID, Session: session, At: when, Speaker: t.Speaker, Text: text})
		}
	}
	gold := map[string]Gold{}
	for i, q := range asked {
		id := "q" + strconv.Itoa(i+1)
		c.Questions = append(c.Questions, Question{ID: id, Text: q.Question})
		category := locomoCategories[q.Category]
		if category == "" {
			category = "category " + strconv.Itoa(q.Category)
		}
		answer := plain(q.Answer)
		gold[id] = Gold{Answer: answer, Category: category, Evidence: evidenceIDs(q.Evidence), Unanswerable: category == Unanswerable}
	}
	return name, c, gold, nil
}

type longTurn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Has     bool   `json:"has_answer"`
}

// longMemEval reads one record: one question over a haystack of sessions. Everything is named anew,
// since the file's own names say which sessions hold the answer and which questions have none.
func longMemEval(raw map[string]json.RawMessage, index int) (string, Conversation, map[string]Gold, error) {
	var id, kind, question, date string
	var dates, ids, answerIDs []string
	var sessions [][]longTurn
	for field, to := range map[string]any{"question_id": &id, "question_type": &kind, "question": &question, "question_date": &date,
		"haystack_dates": &dates, "haystack_session_ids": &ids, "answer_session_ids": &answerIDs, "haystack_sessions": &sessions} {
		if raw[field] == nil {
			continue
		}
		if err := json.Unmarshal(raw[field], to); err != nil {
			return "", Conversation{}, nil, fmt.Errorf("%s: %w", field, err)
		}
	}
	if len(dates) != len(sessions) {
		return "", Conversation{}, nil, fmt.Errorf("%d sessions but %d dates", len(sessions), len(dates))
	}
	c := Conversation{ID: "record-" + strconv.Itoa(index+1)}
	holds := map[string]bool{}
	for _, s := range answerIDs {
		holds[s] = true
	}
	g := Gold{Answer: plain(raw["answer"]), Category: kind}
	if strings.HasSuffix(id, "_abs") {
		g.Category, g.Unanswerable = Unanswerable, true
	}
	for i, turns := range sessions {
		at, err := haystackTime(dates[i])
		if err != nil {
			return "", Conversation{}, nil, fmt.Errorf("haystack_dates: %w", err)
		}
		session := "session_" + strconv.Itoa(i+1)
		if i < len(ids) && holds[ids[i]] {
			g.Sessions = append(g.Sessions, session)
		}
		for j, t := range turns {
			source := fmt.Sprintf("S%d:%d", i+1, j+1)
			if t.Has {
				g.Evidence = append(g.Evidence, source)
			}
			c.Turns = append(c.Turns, Turn{Source: source, Session: session, At: at.Format(time.RFC3339), Speaker: t.Role, Text: t.Content})
		}
	}
	if len(g.Evidence) > 0 {
		g.Sessions = nil
	}
	q := Question{ID: "q1", Text: question}
	if at, err := haystackTime(date); err == nil {
		q.At = at.Format(time.RFC3339)
	}
	c.Questions = []Question{q}
	return id, c, map[string]Gold{"q1": g}, nil
}

// plain is an answer as text: LoCoMo's are sometimes numbers.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return strings.TrimSpace(string(raw))
}

var evidenceID = regexp.MustCompile(`D:?(\d+):(\d+)`)

// evidenceIDs reads turn ids as LoCoMo writes them: several in one string, an extra colon, a zero in
// front. Repeats are dropped, the order kept.
func evidenceIDs(list []any) []string {
	var ids []string
	seen := map[string]bool{}
	for _, e := range list {
		for _, m := range evidenceID.FindAllStringSubmatch(fmt.Sprint(e), -1) {
			s, _ := strconv.Atoi(m[1])
			t, _ := strconv.Atoi(m[2])
			if id := fmt.Sprintf("D%d:%d", s, t); !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

var spaces = regexp.MustCompile(`\s+`)

// sessionTime reads "1:56 pm on 8 May, 2023", taken as UTC since no zone is given.
func sessionTime(s string) (time.Time, error) {
	s = spaces.ReplaceAllString(strings.TrimSpace(s), " ")
	t, err := time.Parse("3:04 pm on 2 January, 2006", strings.Replace(strings.Replace(s, "PM", "pm", 1), "AM", "am", 1))
	if err != nil {
		return t, fmt.Errorf("%q is no time like \"1:56 pm on 8 May, 2023\"", s)
	}
	return t, nil
}

// haystackTime reads "2023/05/25 (Thu) 20:21".
func haystackTime(s string) (time.Time, error) {
	t, err := time.Parse("2006/01/02 (Mon) 15:04", strings.TrimSpace(s))
	if err != nil {
		return t, fmt.Errorf("%q is no time like \"2023/05/25 (Thu) 20:21\"", s)
	}
	return t, nil
}

var notSlug = regexp.MustCompile(`[^a-z0-9._-]+`)

// slug is a name as a project: lower case, nothing that needs escaping.
func slug(name string) string {
	return strings.Trim(notSlug.ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// speakers lists who speaks in a conversation, most turns first.
func (c Conversation) speakers() []string {
	n := map[string]int{}
	for _, t := range c.Turns {
		n[t.Speaker]++
	}
	var list []string
	for s := range n {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool {
		if n[list[i]] != n[list[j]] {
			return n[list[i]] > n[list[j]]
		}
		return list[i] < list[j]
	})
	return list
}
