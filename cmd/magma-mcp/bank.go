package main

import (
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/embed"
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
	o := memory.Options{
		Pebble: store.PebbleOptions{
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
	o.Embedder = embed.NewAuto(embed.Config{
		Provider: c.Embedding.Provider,
		Ollama: ollama.Config{
			Host: c.Embedding.Host, AllowRemote: c.Embedding.AllowRemote, KeepAlive: time.Duration(c.Embedding.KeepAlive),
			Probe: time.Duration(c.Embedding.Probe), Call: time.Duration(c.Embedding.Call),
		},
		Models: c.Embedding.Models, Prefixes: c.Embedding.Prefixes, NumCtx: c.Embedding.NumCtx, BatchSize: c.Embedding.Batch,
		Logger: a.log,
	})
	return o, nil
}
