package memory

import "time"

// What can be read beside the five verbs: projects and their state, timelines, entities, episodes and topics, the graph, and
// what changes. Engine (api.go) gives them; resources and the command line show them.

// ProjectInfo is one project of the store.
type ProjectInfo struct {
	Project  string `json:"project"`
	Memories int    `json:"memories"`
	First    string `json:"first,omitempty"` // earliest occurred_at
	Last     string `json:"last,omitempty"`  // latest occurred_at
}

// Stats is memory://{project}/stats.
type Stats struct {
	Project  string `json:"project"`
	Memories int    `json:"memories"`
	Segments int    `json:"segments"`
	Episodes int    `json:"episodes"`
	Topics   int    `json:"topics"`
	Entities int    `json:"entities"`
	Edges    struct {
		Temporal int `json:"temporal"`
		Causal   int `json:"causal"`
		Semantic int `json:"semantic"` // by words; those by vectors are found as a walk comes by
		Entity   int `json:"entity"`
	} `json:"edges"`
	SemanticEstimated bool               `json:"semantic_estimated,omitempty"` // counted on a sample
	Vectors           int                `json:"vectors"`
	Embedder          EmbedderInfo       `json:"embedder"`
	Pending           PendingCounts      `json:"pending"`
	Waiting           map[string]Waiting `json:"waiting,omitempty"`
	Failed            int                `json:"failed"`
	Parked            []Parked           `json:"parked,omitempty"`
	LastError         string             `json:"last_error"`
	BytesOnDisk       int64              `json:"bytes_on_disk"`
	Tombstones        int                `json:"tombstones"`
	Reindex           *Progress          `json:"reindex,omitempty"`
}

// EmbedderInfo says which embedder runs. Provider is "none", "builtin" or "ollama"; State is "ready",
// "loading", "away" or "off".
type EmbedderInfo struct {
	Provider   string `json:"provider"`
	Model      string `json:"model"`
	Dimensions int    `json:"dimensions"`
	State      string `json:"state"`
}

// PendingCounts counts background work that can be done now.
type PendingCounts struct {
	Embedding     int `json:"embedding"`
	Consolidation int `json:"consolidation"`
}

// Waiting counts background work that waits for a provider that is away.
type Waiting struct {
	Count  int    `json:"count"`
	Reason string `json:"reason"`
}

// Parked is a piece of background work that failed too often.
type Parked struct {
	ID     string `json:"id"`
	Pass   string `json:"pass"`
	Reason string `json:"reason"`
	Tries  int    `json:"tries"`
}

// Progress is how far a long job is.
type Progress struct {
	Done  int `json:"done"`
	Total int `json:"total"`
}

// TimelineQuery asks for what happened in [Since, Until), both optional.
type TimelineQuery struct {
	Project string  `json:"project,omitempty"`
	Since   string  `json:"since,omitempty"`
	Until   string  `json:"until,omitempty"`
	Limit   int     `json:"limit,omitempty"` // 0: 200
	From    Session `json:"from"`
}

// Timeline is events in the order they happened: each memory at its occurred_at, and at each interval
// that its words name.
type Timeline struct {
	Project string          `json:"project"`
	Window  *Window         `json:"window,omitempty"`
	Entries []TimelineEntry `json:"entries"`
	Omitted int             `json:"omitted"`
}

// Days are the entries by the day they begin on ("2024-05-17"), each memory once a day: it names its own day too. What
// has no beginning stands with what is before it.
func (t Timeline) Days(f func(day string, entries []TimelineEntry)) {
	day, shown := "", map[string]bool{}
	var list []TimelineEntry
	for _, e := range t.Entries {
		if e.Start != nil && len(*e.Start) >= 10 && (*e.Start)[:10] != day {
			if len(list) > 0 {
				f(day, list)
			}
			day, list = (*e.Start)[:10], nil
			clear(shown)
		}
		if !shown[e.Memory] {
			shown[e.Memory] = true
			list = append(list, e)
		}
	}
	if len(list) > 0 {
		f(day, list)
	}
}

// TimelineEntry is one line of a timeline. Expression is empty for a memory's own time.
type TimelineEntry struct {
	Start      *string `json:"start"`
	End        *string `json:"end"`
	Grain      string  `json:"grain"`
	Expression string  `json:"expression,omitempty"`
	Memory     string  `json:"memory"`
	Ref        string  `json:"ref"`
	Speaker    string  `json:"speaker,omitempty"`
	Source     string  `json:"source,omitempty"`
	Content    string  `json:"content"`
}

// EntityInfo is an entity: a person or thing with its names. Facts and Relations are filled by Entity
// alone. Ambiguous is set while two people of one name cannot be told apart.
type EntityInfo struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Type      string           `json:"type,omitempty"`
	Aliases   []Alias          `json:"aliases,omitempty"`
	Mentions  int              `json:"mentions"`
	Ambiguous bool             `json:"ambiguous,omitempty"`
	First     string           `json:"first,omitempty"`
	Last      string           `json:"last,omitempty"`
	Memories  []Memory         `json:"memories,omitempty"`
	Facts     []Fact           `json:"facts,omitempty"`
	Relations []EntityRelation `json:"relations,omitempty"`
}

// Alias is another name of an entity and where it came from.
type Alias struct {
	Name   string `json:"name"`
	Origin string `json:"origin"`
	Memory string `json:"memory,omitempty"`
}

// Fact is a subject-predicate-object read from a memory by a consolidation pass.
type Fact struct {
	Subject   string `json:"subject"`
	Predicate string `json:"predicate"`
	Object    string `json:"object"`
	Memory    string `json:"memory"`
	Quote     string `json:"quote"`
	Pass      string `json:"pass"`
}

// EntityRelation is a relationship between two entities read from a memory.
type EntityRelation struct {
	Relation string `json:"relation"`
	Other    string `json:"other"`
	Memory   string `json:"memory"`
	Quote    string `json:"quote"`
	Pass     string `json:"pass"`
}

// EpisodeQuery asks for episodes; the latest Limit of them.
type EpisodeQuery struct {
	Project string  `json:"project,omitempty"`
	Session string  `json:"session,omitempty"` // "": of all sessions
	Limit   int     `json:"limit,omitempty"`   // 0: 200
	From    Session `json:"from"`
}

// EpisodeList is episodes in order of time. Omitted counts earlier ones.
type EpisodeList struct {
	Project  string        `json:"project"`
	Episodes []EpisodeInfo `json:"episodes"`
	Omitted  int           `json:"omitted"`
}

// EpisodeInfo is a run of memories of one session that belong together. By is the pass that made Summary:
// "rules" takes sentences of the memories, a model's name says that it wrote it. MemoryIDs are in order of
// time; Episode alone fills Memories.
type EpisodeInfo struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Summary   string   `json:"summary"`
	By        string   `json:"by"`
	Keywords  []string `json:"keywords,omitempty"`
	Session   string   `json:"session,omitempty"`
	Start     string   `json:"start"`
	End       string   `json:"end"`            // when its last memory happened
	Open      bool     `json:"open,omitempty"` // more may follow
	Topic     string   `json:"topic,omitempty"`
	TopicID   string   `json:"topic_id,omitempty"`
	MemoryIDs []string `json:"memory_ids"`
	Memories  []Memory `json:"memories,omitempty"`
}

// TopicInfo is what some closed episodes have in common. Topic alone fills Episodes and Links.
type TopicInfo struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Keywords     []string      `json:"keywords,omitempty"`
	Start        string        `json:"start"`
	End          string        `json:"end"`
	Sessions     []string      `json:"sessions"`
	EpisodeCount int           `json:"episode_count"`
	MemoryCount  int           `json:"memory_count"`
	Episodes     []EpisodeInfo `json:"episodes,omitempty"`
	Links        []TopicLink   `json:"links,omitempty"`
}

// TopicLink is what a model read of how two topics hang together, with the words of both. Kind is "support",
// "contradiction", "coreference", "causal" or "semantic".
type TopicLink struct {
	Kind     string     `json:"kind"`
	Other    string     `json:"other"`
	OtherID  string     `json:"other_id"`
	Evidence []Evidence `json:"evidence"`
	By       string     `json:"by"`
}

// Evidence is words of a memory, byte for byte.
type Evidence struct {
	Memory string `json:"memory"`
	Quote  string `json:"quote"`
}

// GraphQuery asks for the graph around a memory or an entity. Depth 0 is 1.
type GraphQuery struct {
	Project string  `json:"project,omitempty"`
	Around  string  `json:"around,omitempty"` // id, ref or entity name; "": the newest memories
	Depth   int     `json:"depth,omitempty"`
	Limit   int     `json:"limit,omitempty"` // nodes; 0: 100
	From    Session `json:"from"`
}

// Graph is nodes and edges of the four graphs.
type Graph struct {
	Project string      `json:"project"`
	Nodes   []GraphNode `json:"nodes"`
	Edges   []GraphEdge `json:"edges"`
	Omitted int         `json:"omitted"`
}

// GraphNode is a memory ("event") or an entity ("entity").
type GraphNode struct {
	ID    string `json:"id"`
	Ref   string `json:"ref,omitempty"`
	Type  string `json:"type"`
	Label string `json:"label"`
	Date  string `json:"date,omitempty"`
}

// GraphEdge is one edge; Graph is temporal, semantic, causal or entity.
type GraphEdge struct {
	From       string  `json:"from"`
	To         string  `json:"to"`
	Graph      string  `json:"graph"`
	Relation   string  `json:"relation"`
	Origin     string  `json:"origin,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
	Evidence   string  `json:"evidence,omitempty"`
}

// Change is one thing that happened in a project: "remembered", "forgotten", "consolidated".
type Change struct {
	Kind    string    `json:"kind"`
	Project string    `json:"project"`
	IDs     []string  `json:"ids,omitempty"`
	At      time.Time `json:"at"`
	Lost    bool      `json:"lost,omitempty"`
}
