package embed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
)

// Config says which embedders may run. The zero value is "auto" with the server of this machine.
type Config struct {
	// Provider is "auto" (Ollama where it answers and has a model, else the built-in one, else none),
	// "ollama", "builtin" or "none". "" is auto.
	Provider string
	// Ollama is where the server is.
	Ollama ollama.Config
	// Models are the Ollama models to use, the first that is installed; nil is DefaultModels.
	Models []string
	// Stay is the space that the store's vectors are in, if any. While Models is nil, a model that
	// yields it is kept although a better one is installed: making all vectors again is the user's
	// decision, who takes it by naming a model.
	Stay Space
	// Prefixes adds to, and overrides, the table of what models want before a text, by a part of the
	// model's name.
	Prefixes map[string]Prefix
	// NumCtx is the context length to run the embedding model with; 0 is the model's own. A value
	// that differs from another client's makes the server load the model anew for each of them.
	NumCtx int
	// BatchSize is how many texts go into one request; 0 is 64. See DefaultBatch.
	BatchSize int
	// Builtin makes the embedder that is part of the program, nil where there is none. It is called at
	// most once.
	Builtin func() Embedder
	// Recheck is how often a server that works is looked at (0: 30 s, a list of models costs it a
	// millisecond); RetryMin and RetryMax are the first and longest pause between looks at one that
	// does not (0: 1 s and 60 s).
	Recheck, RetryMin, RetryMax time.Duration
	// Logger is told when the choice changes; nil is nobody.
	Logger *slog.Logger
}

// DefaultBatch is the number of texts in a request. Against the real server, 64 reached the rate of one
// request with 1,000 within 2 % (TestBackfillRate), where 8 lost a tenth; not more, since a batch is
// what is done again after a failure, and what a question may have to wait behind.
const DefaultBatch = 64

func (c *Config) setDefaults() {
	c.Provider = cmp.Or(strings.ToLower(strings.TrimSpace(c.Provider)), "auto")
	c.BatchSize = cmp.Or(c.BatchSize, DefaultBatch)
	c.Recheck = cmp.Or(c.Recheck, 30*time.Second)
	c.RetryMin = cmp.Or(c.RetryMin, time.Second)
	c.RetryMax = cmp.Or(c.RetryMax, time.Minute)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

// Open makes the provider that the configuration asks for. It connects to nothing; the provider's Run
// does. The error is one of the configuration.
func Open(c Config) (Provider, error) {
	c.setDefaults()
	for _, m := range c.Models {
		if ollama.CloudName(m) {
			return nil, fmt.Errorf("embedding model %q runs in Ollama's cloud, and memories stay on this machine: name a local model", m)
		}
	}
	if c.BatchSize < 0 || c.NumCtx < 0 {
		return nil, fmt.Errorf("batch size and num_ctx cannot be negative")
	}
	var standby Embedder
	if c.Builtin != nil && (c.Provider == "auto" || c.Provider == "builtin") {
		standby = c.Builtin()
	}
	switch c.Provider {
	case "none":
		return None(), nil
	case "builtin":
		if standby == nil {
			return nil, fmt.Errorf("this build has no built-in embedder: set the embedding provider to auto, ollama or none")
		}
		return Fixed(standby), nil
	case "auto", "ollama":
		server, err := ollama.New(c.Ollama)
		if err != nil {
			return nil, err
		}
		return newAuto(c, server, standby), nil
	}
	return nil, fmt.Errorf("embedding provider %q is unknown: use auto, ollama, builtin or none", c.Provider)
}

// NewAuto is Open for a configuration that is known to be right: after an error it is a provider that
// is Off and gives the error as its reason.
func NewAuto(c Config) Provider {
	p, err := Open(c)
	if err != nil {
		return fixed{state: Off, reason: err.Error()}
	}
	return p
}

// Fixed is a provider of one embedder, always ready.
func Fixed(e Embedder) Provider { return fixed{embedder: e, state: Ready} }

// None is a provider of no embedder: memories are found by words, time and relations.
func None() Provider { return fixed{state: Off, reason: "embedding is switched off"} }

type fixed struct {
	embedder Embedder
	state    State
	reason   string
}

func (f fixed) Run(ctx context.Context) error      { <-ctx.Done(); return nil }
func (f fixed) Current() (Embedder, State, string) { return f.embedder, f.state, f.reason }
func (f fixed) Changed() <-chan struct{}           { return nil } // never

// Reopen is the one embedder, where it is of that space.
func (f fixed) Reopen(s Space) Embedder {
	if f.embedder != nil && f.embedder.Space().Fingerprint() == s.Fingerprint() {
		return f.embedder
	}
	return nil
}

// DefaultModels is the order in which installed embedding models are taken. The figures are the
// published means of nDCG@10 over the retrieval tasks of MTEB, English unless noted, the number of
// parameters, and the size of Ollama's file. The first criterion is whether a question can be embedded
// within 250 ms on a laptop's processor, which holds to about 350 million parameters; within that,
// quality.
var DefaultModels = []string{
	"embeddinggemma",          // 308 M, 622 MB; best under 500 M on MTEB's multilingual and English lists when it came out (2025)
	"mxbai-embed-large",       // 335 M, 670 MB; 54.4, reads 512 tokens
	"nomic-embed-text",        // 137 M, 274 MB; 53.0 (v1.5), the usual first install, a third of the work of the two above
	"snowflake-arctic-embed",  // 335 M, 669 MB; 56.0 on the same tasks, but far behind on texts unlike them
	"snowflake-arctic-embed2", // 568 M, 1.2 GB; 55.6, many languages
	"bge-m3",                  // 567 M, 1.2 GB; 57.9 on the multilingual list: the choice for languages other than English
	"qwen3-embedding:0.6b",    // 596 M, 639 MB; 64.6 on the multilingual list; slow without a graphics card
	"nomic-embed-text-v2-moe", // 475 M of which 305 M at work, 958 MB; 52.9, many languages
	"bge-large",               // 335 M, 671 MB; 54.3
	"granite-embedding",       // 30 M, 63 MB; 49.1
	"paraphrase-multilingual", // 278 M, 563 MB; made for comparing sentences, not for retrieval
	"all-minilm",              // 23 M, 46 MB; 41.9: little, but better than words alone, and the fastest
}

// Prefix is what a model wants before a text.
type Prefix struct {
	Query    string `json:"query,omitempty" toml:"query"`
	Document string `json:"document,omitempty" toml:"document"`
}

// prefixes is from the models' own cards, by a part of their name; the longest part that fits counts.
var prefixes = map[string]Prefix{
	"nomic-embed":             {"search_query: ", "search_document: "},
	"embeddinggemma":          {"task: search result | query: ", "title: none | text: "},
	"mxbai-embed":             {Query: "Represent this sentence for searching relevant passages: "},
	"mxbai-embed-xsmall":      {},
	"bge-small":               {Query: "Represent this sentence for searching relevant passages: "},
	"bge-base":                {Query: "Represent this sentence for searching relevant passages: "},
	"bge-large":               {Query: "Represent this sentence for searching relevant passages: "},
	"bge-m3":                  {},
	"snowflake-arctic-embed":  {Query: "Represent this sentence for searching relevant passages: "},
	"snowflake-arctic-embed2": {Query: "query: "},
	"arctic-embed-l-v2":       {Query: "query: "},
	"arctic-embed-m-v2":       {Query: "query: "},
	"e5-small":                {"query: ", "passage: "},
	"e5-base":                 {"query: ", "passage: "},
	"e5-large":                {"query: ", "passage: "},
	"e5-large-instruct":       {Query: "Instruct: Given a question, retrieve the passages that answer it\nQuery: "},
	"e5-mistral":              {Query: "Instruct: Given a question, retrieve the passages that answer it\nQuery: "},
	"qwen3-embedding":         {Query: "Instruct: Given a question, retrieve the passages that answer it\nQuery: "},
	"all-minilm":              {},
}

// prefixFor looks a model up: first among the configured ones, then in the table.
func prefixFor(model string, configured map[string]Prefix) Prefix {
	name := strings.ToLower(model)
	for _, table := range []map[string]Prefix{configured, prefixes} {
		best := ""
		for part := range table {
			if strings.Contains(name, strings.ToLower(part)) && (len(part) > len(best) || len(part) == len(best) && part < best) {
				best = part
			}
		}
		if best != "" {
			return table[best]
		}
	}
	return Prefix{}
}

// recipe is what Space.Recipe holds, as JSON: enough to make vectors of that space again.
type recipe struct {
	Chunks string `json:"chunks"` // the version of the chunking
	Tokens int    `json:"tokens"` // the size of a piece
	Prefix
}

func (r recipe) String() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic("embed: a recipe of strings and a number cannot be written: " + err.Error())
	}
	return string(b)
}
