package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// knowledgeGraph reads a line of the reference memory server: an entity with its observations, or a
// relation. Neither has a time. An observation's words often leave out whom they are about, so the name
// goes in front.
func knowledgeGraph(raw json.RawMessage, out *sink) error {
	var l struct {
		Type         string `json:"type"`
		Name         string `json:"name"`
		EntityType   text   `json:"entityType"`
		Observations texts  `json:"observations"`
		From         string `json:"from"`
		To           string `json:"to"`
		RelationType string `json:"relationType"`
	}
	if err := decode(raw, &l); err != nil {
		return err
	}
	switch {
	case l.Type == "relation", l.Type == "" && l.RelationType != "":
		if l.From == "" || l.To == "" {
			return errors.New("a relation without both its ends")
		}
		out.note(Note{Content: fmt.Sprintf("%s %s %s", l.From, first(spaced(l.RelationType), "is related to"), l.To), Kind: "fact",
			Source: "knowledge-graph:" + l.From, Entities: names(l.From, l.To)})
	case l.Type == "entity", l.Type == "" && l.Name != "":
		if l.Name == "" {
			return errors.New("an entity without a name")
		}
		n := Note{Kind: "fact", Source: "knowledge-graph:" + l.Name, Entities: names(l.Name), Tags: names(string(l.EntityType))}
		if len(l.Observations) == 0 {
			n.Content = l.Name
			if l.EntityType != "" {
				n.Content = fmt.Sprintf("%s (%s)", l.Name, spaced(string(l.EntityType)))
			}
			out.note(n)
		}
		for _, o := range l.Observations {
			n.Content = about(l.Name, o)
			out.note(n)
		}
	default:
		return fmt.Errorf("neither an entity nor a relation")
	}
	return nil
}

// about puts the name of what a text is about in front of it, unless it is in it.
func about(name, s string) string {
	if name == "" || strings.TrimSpace(s) == "" || strings.Contains(strings.ToLower(s), strings.ToLower(name)) {
		return s
	}
	return name + ": " + s
}

func spaced(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "_", " ")) }

// maxName is the longest name or tag that is taken over; more is a text in the wrong place.
const maxName = 512

func names(l ...string) []string {
	var out []string
	for _, s := range l {
		if s = strings.TrimSpace(s); s != "" && len(s) <= maxName && len(out) < 64 && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// mem0 reads an entry of mem0's get_all and search answers, of OpenMemory's lists and of its export.
func mem0(key string, raw json.RawMessage, out *sink) error {
	if key == "relations" {
		var r struct {
			Source       string `json:"source"`
			Relationship string `json:"relationship"`
			Relation     string `json:"relation"`
			Target       string `json:"target"`
			Destination  string `json:"destination"`
		}
		if err := decode(raw, &r); err != nil {
			return err
		}
		to := first(r.Target, r.Destination)
		if r.Source == "" || to == "" {
			return errors.New("a relation without both its ends")
		}
		out.note(Note{Content: fmt.Sprintf("%s %s %s", spaced(r.Source), first(spaced(r.Relationship), spaced(r.Relation), "is related to"), spaced(to)),
			Kind: "fact", Source: "mem0:" + r.Source, Entities: names(spaced(r.Source), spaced(to))})
		return nil
	}
	var m struct {
		ID         text            `json:"id"`
		Memory     json.RawMessage `json:"memory"`
		Content    json.RawMessage `json:"content"`
		Text       json.RawMessage `json:"text"`
		Data       json.RawMessage `json:"data"`
		State      text            `json:"state"`
		UserID     text            `json:"user_id"`
		AgentID    text            `json:"agent_id"`
		RunID      text            `json:"run_id"`
		ActorID    text            `json:"actor_id"`
		App        text            `json:"app"`
		Categories texts           `json:"categories"`
		CreatedAt  instant         `json:"created_at"`
		UpdatedAt  instant         `json:"updated_at"`
	}
	if err := decode(raw, &m); err != nil {
		return err
	}
	if m.State == "deleted" {
		return nil
	}
	content := ""
	for _, v := range []json.RawMessage{m.Memory, m.Content, m.Text, m.Data} {
		var s string
		if content == "" && json.Unmarshal(v, &s) == nil {
			content = s
		}
	}
	if content == "" {
		return errors.New("it has no memory, content or text")
	}
	if strings.Trim(string(m.UserID), "0123456789") == "" {
		m.UserID = "" // a row's number, nobody's name
	}
	source := "mem0"
	if m.ID != "" {
		source += ":" + string(m.ID)
	}
	out.note(Note{Content: content, Speaker: first(string(m.ActorID), string(m.UserID), string(m.AgentID)), Session: string(m.RunID),
		Source: source, OccurredAt: first(string(m.CreatedAt), string(m.UpdatedAt)), Tags: names(m.Categories...)})
	return nil
}
