package memory

import (
	"context"
	"fmt"
)

// Engine is the memory as its front ends see it: the MCP tools, resources and prompts, the command
// line and the HTTP server. A *Bank is one, in this process; the client of another process that owns
// the store is one too (cmd/magma-mcp/attach). All methods are safe for concurrent use. Requests and
// answers are plain values that survive a JSON round trip, so that they can cross a socket.
//
// Errors are *Error where the caller can do something about them; see Code.
type Engine interface {
	Remember(context.Context, Note) (Receipt, error)
	Recall(context.Context, Question) (Recollection, error)
	Why(context.Context, WhyQuestion) (WhyAnswer, error)
	When(context.Context, WhenQuestion) (WhenAnswer, error)
	Forget(context.Context, Choice) (Removal, error)

	Projects(context.Context) ([]ProjectInfo, error)
	Stats(ctx context.Context, project string) (Stats, error)
	Recent(ctx context.Context, project string, limit int) ([]Memory, error)
	Timeline(context.Context, TimelineQuery) (Timeline, error)
	// Get returns one memory whole, by id or ref, with its segments' ids where it has any.
	Get(ctx context.Context, project, id string) (Memory, error)
	Entities(ctx context.Context, project string) ([]EntityInfo, error)
	// Entity returns every namesake of name (or the one entity whose id name is).
	Entity(ctx context.Context, project, name string) ([]EntityInfo, error)
	Graph(ctx context.Context, q GraphQuery) (Graph, error)
	// Episodes lists runs of memories that belong together, in order of time; Episode returns one with its
	// memories, by its id or by the id or ref of a memory in it. An episode is there some time after its
	// memories: it is found in the background.
	Episodes(ctx context.Context, q EpisodeQuery) (EpisodeList, error)
	Episode(ctx context.Context, project, id string) (EpisodeInfo, error)
	// Topics lists what two or more episodes have in common, the latest first; Topic returns every topic with
	// that id, name or keyword, with its episodes and links.
	Topics(ctx context.Context, project string) ([]TopicInfo, error)
	Topic(ctx context.Context, project, name string) ([]TopicInfo, error)

	// Watch sends what changed until ctx ends; then the channel is closed. A slow reader loses
	// changes but is told so by a Change with Lost set.
	Watch(ctx context.Context) (<-chan Change, error)
}

// Session is what a front end knows about who asks. It travels inside every request because the
// engine may live in another process (DESIGN section 7).
type Session struct {
	// Client is the name of the program that calls, kept as written_by. "" is unknown.
	Client string `json:"client,omitempty"`
	// Zone is the IANA time zone of the asker, "" for the engine's own.
	Zone string `json:"zone,omitempty"`
	// Allowed limits project "*" to these (canonical names, or prefixes that end in "/"); nil allows all, an empty
	// list none, across JSON too.
	Allowed []string `json:"allowed,omitzero"`
}

// Note is what remember takes. Times are as the caller gave them: RFC 3339, a date, or plain words.
type Note struct {
	Content        string   `json:"content"`
	Project        string   `json:"project,omitempty"`
	OccurredAt     string   `json:"occurred_at,omitempty"`
	Speaker        string   `json:"speaker,omitempty"`
	Session        string   `json:"session,omitempty"`
	Kind           string   `json:"kind,omitempty"`
	Entities       []string `json:"entities,omitempty"`
	Tags           []string `json:"tags,omitempty"`
	Source         string   `json:"source,omitempty"`
	BecauseOf      []string `json:"because_of,omitempty"`
	Supersedes     []string `json:"supersedes,omitempty"`
	ValidFrom      string   `json:"valid_from,omitempty"`
	ValidUntil     string   `json:"valid_until,omitempty"`
	Pinned         bool     `json:"pinned,omitempty"`
	IdempotencyKey string   `json:"idempotency_key,omitempty"`
	From           Session  `json:"from"`
}

// Receipt is the answer to remember. Status is StatusStored or StatusDuplicate. Pending names the work that will
// still change how the memory is found: "embedding" where an embedder is there or expected, "consolidation" where
// a chat model is set. Placing it in an episode by rule is owed to every memory and changes no search, so it is
// not named here; Stats counts it under consolidation.
type Receipt struct {
	ID         string     `json:"id"`
	Ref        string     `json:"ref"`
	Project    string     `json:"project"`
	Status     string     `json:"status"`
	SeenCount  int        `json:"seen_count"`
	OccurredAt string     `json:"occurred_at"`
	RecordedAt string     `json:"recorded_at"`
	Times      []TimeSpan `json:"times,omitempty"`
	Entities   []string   `json:"entities,omitempty"`
	Segments   []string   `json:"segments,omitempty"`
	Pending    []string   `json:"pending,omitempty"`
	Warnings   []string   `json:"warnings,omitempty"`
}

const (
	StatusStored    = "stored"
	StatusDuplicate = "duplicate"
	StatusForgotten = "forgotten"
	StatusPreview   = "preview"
)

// TimeSpan is one time mention, resolved: the half-open interval [Start, End) in RFC 3339, either end
// nil where it is open. Text is the words it came from.
type TimeSpan struct {
	Text  string  `json:"text"`
	Start *string `json:"start"`
	End   *string `json:"end"`
	Grain string  `json:"grain"`
}

// Memory is the memory object of CONTRACT section 4.
type Memory struct {
	Rank          int                `json:"rank,omitempty"`
	Ref           string             `json:"ref"`
	ID            string             `json:"id"`
	Project       string             `json:"project"`
	Content       string             `json:"content"`
	Shortened     bool               `json:"shortened,omitempty"`
	Speaker       string             `json:"speaker,omitempty"`
	Kind          string             `json:"kind,omitempty"`
	Session       string             `json:"session,omitempty"`
	Source        string             `json:"source,omitempty"`
	PartOf        string             `json:"part_of,omitempty"`
	Segments      []string           `json:"segments,omitempty"`
	Tags          []string           `json:"tags,omitempty"`
	Entities      []string           `json:"entities,omitempty"`
	Pinned        bool               `json:"pinned,omitempty"`
	WrittenBy     string             `json:"written_by,omitempty"`
	OccurredAt    string             `json:"occurred_at"`
	OccurredUntil string             `json:"occurred_until,omitempty"`
	OccurredGrain string             `json:"occurred_grain,omitempty"`
	RecordedAt    string             `json:"recorded_at"`
	SeenCount     int                `json:"seen_count,omitempty"`
	Times         []TimeSpan         `json:"times,omitempty"`
	Valid         *Valid             `json:"valid,omitempty"`
	BecauseOf     []string           `json:"because_of,omitempty"`
	Supersedes    []string           `json:"supersedes,omitempty"`
	SupersededBy  string             `json:"superseded_by,omitempty"`
	Contradicts   []string           `json:"contradicts,omitempty"`
	Pending       []string           `json:"pending,omitempty"`
	Summary       string             `json:"summary,omitempty"` // by a model, of a long one; Get alone gives it
	Score         float64            `json:"score,omitempty"`
	Signals       map[string]float64 `json:"signals,omitempty"`
	Via           []Step             `json:"via,omitempty"`
}

// Valid is when a fact held: [From, Until), "" where unknown.
type Valid struct {
	From  string `json:"from,omitempty"`
	Until string `json:"until,omitempty"`
}

// Step is one step of the path by which a walk reached a memory, read "From -Relation-> this".
type Step struct {
	Relation string `json:"relation"`
	From     string `json:"from,omitempty"`
	Entity   string `json:"entity,omitempty"`
}

// Elided is a run of memories that the token budget shortened to one line.
type Elided struct {
	Count int      `json:"count"`
	From  string   `json:"from"`
	To    string   `json:"to"`
	Refs  []string `json:"refs"`
}

// Filter narrows what may be found. It is applied before ranking. Zero fields do not filter.
type Filter struct {
	Since    string   `json:"since,omitempty"`
	Until    string   `json:"until,omitempty"`
	AsOf     string   `json:"as_of,omitempty"`
	Speaker  string   `json:"speaker,omitempty"`
	Session  string   `json:"session,omitempty"`
	Kind     string   `json:"kind,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Entities []string `json:"entities,omitempty"`
}

// Question is what recall takes. Limit 0 is 10, MaxTokens 0 is 2000, Intent "" is auto, Relations nil is all four.
type Question struct {
	Query             string   `json:"query,omitempty"`
	Project           string   `json:"project,omitempty"`
	Limit             int      `json:"limit,omitempty"`
	MaxTokens         int      `json:"max_tokens,omitempty"`
	Intent            string   `json:"intent,omitempty"`
	Relations         []string `json:"relations,omitempty"`
	IncludeSuperseded bool     `json:"include_superseded,omitempty"`
	Explain           bool     `json:"explain,omitempty"`
	Filter
	From Session `json:"from"`
}

// Window is a span of time understood from a question.
type Window struct {
	Start *string `json:"start"`
	End   *string `json:"end"`
	Text  string  `json:"text"`
}

// Recollection is the answer to recall. Text is the block for a model to read, within MaxTokens
// (characters / 4); it is not part of the structured content.
type Recollection struct {
	Text      string   `json:"-"`
	Intent    string   `json:"intent"`
	Window    *Window  `json:"window"`
	Confident bool     `json:"confident"`
	Memories  []Memory `json:"memories"`
	Elided    []Elided `json:"elided,omitempty"`
	Omitted   int      `json:"omitted"`
	Tokens    int      `json:"tokens"`
	Degraded  []string `json:"degraded,omitempty"`
	Project   string   `json:"project"`
	Trace     *Trace   `json:"trace,omitempty"`
}

// Trace tells how an answer was found: intent weights, the anchors by signal, and the walk.
type Trace struct {
	Weights  map[string]float64 `json:"weights"`
	Terms    []string           `json:"terms,omitempty"`
	Speakers []string           `json:"speakers,omitempty"`
	Entities []string           `json:"entities,omitempty"`
	Anchors  []TraceAnchor      `json:"anchors,omitempty"`
	Walk     []TraceStep        `json:"walk,omitempty"`
	Coverage float64            `json:"coverage"`
}

// TraceAnchor is one anchor with its rank in each signal's list, 1 the best.
type TraceAnchor struct {
	ID    string         `json:"id"`
	Score float64        `json:"score"`
	Ranks map[string]int `json:"ranks,omitempty"`
}

// TraceStep is one node that the walk reached.
type TraceStep struct {
	ID       string  `json:"id"`
	From     string  `json:"from"`
	Relation string  `json:"relation"`
	Score    float64 `json:"score"`
	Depth    int     `json:"depth"`
}

// WhyQuestion is what why takes: a Query or an ID.
type WhyQuestion struct {
	Query     string   `json:"query,omitempty"`
	ID        string   `json:"id,omitempty"`
	Project   string   `json:"project,omitempty"`
	Depth     int      `json:"depth,omitempty"`
	Limit     int      `json:"limit,omitempty"`
	MaxTokens int      `json:"max_tokens,omitempty"`
	Relations []string `json:"relations,omitempty"`
	From      Session  `json:"from"`
}

// WhyAnswer is the answer to why.
type WhyAnswer struct {
	Text     string   `json:"-"`
	Found    bool     `json:"found"`
	Chains   []Chain  `json:"chains"`
	Memories []Memory `json:"memories"`
	Degraded []string `json:"degraded,omitempty"`
	Project  string   `json:"project"`
}

// Chain is a chain of causes; its last effect is what was asked about.
type Chain struct {
	Steps []ChainStep `json:"steps"`
}

// ChainStep is one causal edge with its evidence.
type ChainStep struct {
	Cause          string  `json:"cause"`
	Effect         string  `json:"effect"`
	Origin         string  `json:"origin"`
	Confidence     float64 `json:"confidence"`
	Evidence       string  `json:"evidence"`
	EvidenceMemory string  `json:"evidence_memory"`
}

// WhenQuestion is what when takes.
type WhenQuestion struct {
	Query     string   `json:"query"`
	Project   string   `json:"project,omitempty"`
	Since     string   `json:"since,omitempty"`
	Until     string   `json:"until,omitempty"`
	AsOf      string   `json:"as_of,omitempty"`
	Limit     int      `json:"limit,omitempty"`
	Relations []string `json:"relations,omitempty"`
	From      Session  `json:"from"`
}

// WhenAnswer is the answer to when; Answers best first, Memories in time order.
type WhenAnswer struct {
	Text     string       `json:"-"`
	Answers  []TimeAnswer `json:"answers"`
	Memories []Memory     `json:"memories"`
	Window   *Window      `json:"window"`
	Degraded []string     `json:"degraded,omitempty"`
	Project  string       `json:"project"`
}

// TimeAnswer is one interval that answers a question, and where it comes from. Basis is "resolved"
// (words of the memory, resolved against its date), "stated" (a date written out) or "occurred_at".
type TimeAnswer struct {
	Start      *string `json:"start"`
	End        *string `json:"end"`
	Grain      string  `json:"grain"`
	Text       string  `json:"text"`
	Basis      string  `json:"basis"`
	Expression string  `json:"expression,omitempty"`
	Memory     string  `json:"memory"`
	Source     string  `json:"source,omitempty"`
	Confidence float64 `json:"confidence"`
}

// Choice is what forget takes: IDs, or a choice by the other fields (all conditions hold together),
// or Everything, or the Confirm code of an earlier preview.
type Choice struct {
	IDs        []string `json:"ids,omitempty"`
	Query      string   `json:"query,omitempty"`
	Project    string   `json:"project,omitempty"`
	Speaker    string   `json:"speaker,omitempty"`
	Session    string   `json:"session,omitempty"`
	Source     string   `json:"source,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	WrittenBy  string   `json:"written_by,omitempty"`
	Since      string   `json:"since,omitempty"`
	Until      string   `json:"until,omitempty"`
	Everything bool     `json:"everything,omitempty"`
	Confirm    string   `json:"confirm,omitempty"`
	Purge      bool     `json:"purge,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	From       Session  `json:"from"`
}

// Removal is the answer to forget. Status is StatusForgotten or StatusPreview.
type Removal struct {
	Text      string      `json:"-"`
	Status    string      `json:"status"`
	Forgotten []Forgotten `json:"forgotten"`
	Count     int         `json:"count"`
	Confirm   string      `json:"confirm,omitempty"`
	Removed   Removed     `json:"removed"`
	Verified  bool        `json:"verified"`
	Purged    bool        `json:"purged"`
	Project   string      `json:"project"`
}

// Forgotten names one memory that was, or would be, removed: its id and first words.
type Forgotten struct {
	ID    string `json:"id"`
	Ref   string `json:"ref"`
	Words string `json:"words,omitempty"`
}

// Removed counts the rows that went.
type Removed struct {
	Memories int `json:"memories"`
	Vectors  int `json:"vectors"`
	Postings int `json:"postings"`
	Edges    int `json:"edges"`
	Entities int `json:"entities"`
	Queue    int `json:"queue"`
}

// Counted is a number of memories in words.
func Counted(n int) string {
	if n == 1 {
		return "1 memory"
	}
	return fmt.Sprintf("%d memories", n)
}
