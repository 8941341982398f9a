package main

import (
	"os"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/consolidate"
	"github.com/magma-mcp/magma-mcp/memory/embed"
	"github.com/magma-mcp/magma-mcp/memory/embed/builtin"
	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
	"github.com/magma-mcp/magma-mcp/memory/store"
	"github.com/magma-mcp/magma-mcp/memory/temporal"
)

// openBank opens the store in dir as the configuration says. It runs in the process that owns it.
func (a *app) openBank(dir string) (*memory.Bank, error) {
	o, err := a.bankOptions()
	if err != nil {
		return nil, err
	}
	return memory.Open(dir, o)
}

// bankOptions is what the configuration says of a store.
func (a *app) bankOptions() (memory.Options, error) {
	c := a.config
	key, err := c.storeKey(os.Getenv)
	if err != nil {
		return memory.Options{}, memory.Errorf(memory.CodeStorage, "opening the store: %w", err)
	}
	o := memory.Options{
		Pebble: store.PebbleOptions{
			Key:           key,
			CacheBytes:    int64(c.Store.CacheMB) << 20,
			MemtableBytes: int64(c.Store.MemtableMB) << 20,
			Logger:        a.log,
		},
		Times: temporal.Options{
			DayFirst: c.Time.DayFirst, Southern: c.Time.Hemisphere == "southern", Holidays: c.Time.Holidays,
			WeekBefore: c.Time.WeekBeforeCalendar, RangeExclusive: c.Time.RangeExclusive,
		},
		MaxContent:      c.Store.MaxContentKB << 10,
		ExactWords:      !c.Query.RelatedWords,
		QuestionTimeout: time.Duration(c.Query.EmbedDeadline),
		ResidentDocs:    c.Store.ResidentMemories,
		Inspect:         inspector(c.Secrets.Policy),
		Logger:          a.log,
	}
	week := map[string]time.Weekday{"monday": time.Monday, "sunday": time.Sunday, "saturday": time.Saturday}[c.Time.WeekStart]
	o.Times.WeekStart = &week
	if c.Time.Zone != "" {
		zone, err := time.LoadLocation(c.Time.Zone)
		if err != nil {
			return o, err // load has looked at it already
		}
		o.Zone = zone
	}
	tuning, err := tuned(c.Query.Tuning)
	if err != nil {
		return o, err // load has looked at it already
	}
	o.Tuning = &tuning
	if err := a.background(&o); err != nil {
		return o, err
	}
	return o, nil
}

// background is what the configuration says of embedding and of the work after a write.
func (a *app) background(o *memory.Options) error {
	c := a.config.Embedding
	server := ollama.Config{
		Host: c.Host, AllowRemote: c.AllowRemote, KeepAlive: time.Duration(c.KeepAlive),
		Probe: time.Duration(c.Probe), Call: time.Duration(c.Call),
	}
	e := embed.Config{Provider: c.Provider, Ollama: server, Prefixes: c.Prefixes, NumCtx: c.NumCtx, BatchSize: c.Batch, Logger: a.log}
	if len(c.Models) > 0 {
		e.Models = c.Models
	}
	expected := c.Host != "" || len(c.Models) > 0
	words, err := builtin.New()
	if err != nil {
		return err
	}
	e.Builtin = func() embed.Embedder { return words }
	o.EmbedderFor = func(stay embed.Space) embed.Provider {
		e.Stay = stay
		if expected && stay.Provider == "" {
			e.Stay.Provider = "ollama" // somebody set it up: say so when it is away
		}
		return embed.NewAuto(e)
	}
	w := a.config.Consolidation
	o.Paused = !w.Enabled || a.wholesale
	o.Consolidation = consolidate.Options{Batch: c.Batch, MaxCalls: w.MaxCalls}
	if w.Model == "" || !w.Enabled {
		return nil
	}
	server.Call = time.Duration(w.Call)
	s, err := ollama.New(server)
	if err != nil {
		return err
	}
	chat, err := consolidate.NewChatModel(s, w.Model, w.NumCtx)
	if err != nil {
		return err
	}
	o.Chat = chat
	return nil
}
