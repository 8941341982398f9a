package tools

// Parts that the output schemas share. They say what a program may rely on and no more, since
// tools/list has to stay under 4,000 tokens. A field that may be null carries no type, because some
// clients refuse lists of types, but keywords that bind it where it is a string or an object, because a
// schema that says nothing at all is warned about.
const (
	stringsSchema = `{"type":"array","items":{"type":"string"}}`

	startSchema = `{"description":"RFC 3339 or null","minLength":10}`
	endSchema   = `{"description":"exclusive, or null","minLength":10}`

	// windowSchema is the time that was understood from a question.
	windowSchema = `{"description":"time understood from the question, or null","properties":{"start":` + startSchema + `,"end":` + endSchema +
		`,"text":{"type":"string"}},"required":["start","end","text"]}`

	timesSchema = `{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"},` +
		`"start":` + startSchema + `,"end":` + endSchema + `,"grain":{"type":"string"}},` +
		`"required":["text","start","end","grain"]}}`

	memoriesSchema = `{"type":"array","items":{"type":"object","properties":{"rank":{"type":"integer"},` +
		`"ref":{"type":"string"},"id":{"type":"string"},"project":{"type":"string"},"content":{"type":"string"},` +
		`"shortened":{"type":"boolean"},"speaker":{"type":"string"},"kind":{"type":"string"},"session":{"type":"string"},` +
		`"source":{"type":"string"},"part_of":{"type":"string"},"tags":{"type":"array"},"entities":{"type":"array"},` +
		`"occurred_at":{"type":"string"},"recorded_at":{"type":"string"},"times":{"type":"array"},"valid":{"type":"object"},` +
		`"superseded_by":{"type":"string"},"score":{"type":"number"},"signals":{"type":"object"},"via":{"type":"array"}},` +
		`"required":["ref","id","project","content","occurred_at","recorded_at"]}}`

	// briefMemoriesSchema is the same list where why and when repeat it: recall's schema has the rest.
	briefMemoriesSchema = `{"type":"array","items":{"type":"object","properties":{"ref":{"type":"string"},"id":{"type":"string"},` +
		`"project":{"type":"string"},"content":{"type":"string"},"occurred_at":{"type":"string"},"recorded_at":{"type":"string"},` +
		`"speaker":{"type":"string"},"source":{"type":"string"},"via":{"type":"array"}},` +
		`"required":["ref","id","project","content","occurred_at","recorded_at"]}}`
)

// Relations are the four graphs that a query may walk.
var Relations = []string{"temporal", "semantic", "causal", "entity"}

// Intents are what recall can be told a question asks for.
var Intents = []string{"auto", "why", "when", "entity", "general"}

// The most a caller can ask for at once. limit: more than a model reads, and no scan of a whole
// store. max_tokens: what fits MaxAnswer as characters / 4. depth: the walk's own bound in the design.
const (
	maxLimit  = 1000
	maxTokens = MaxAnswer / 4
	maxDepth  = 10
)
