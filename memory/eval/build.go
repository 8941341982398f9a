package eval

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/memory"
)

// builtLine is one line of built.jsonl: a conversation that is wholly in the store.
type builtLine struct {
	Conversation string  `json:"conversation"`
	Turns        int     `json:"turns"`
	Seconds      float64 `json:"seconds"`
	Micros       []int64 `json:"micros"`
}

// build remembers every turn, one project for a conversation. A conversation that a stopped run left half
// stored is told again: its turns are duplicates by identity and stay one memory each.
func (c *Config) build(ctx context.Context, s Store) error {
	list, err := c.stripped()
	if err != nil {
		return err
	}
	done, err := readLines[builtLine](c.path("built.jsonl"))
	if err != nil {
		return err
	}
	have, total := map[string]bool{}, 0
	for _, d := range done {
		have[d.Conversation] = true
	}
	for _, conv := range list {
		if !have[conv.ID] {
			total += len(conv.Turns)
		}
	}
	if total == 0 {
		return s.Settle(ctx)
	}
	engine, err := s.Engine(full)
	if err != nil {
		return err
	}
	out, err := openLines(c.path("built.jsonl"))
	if err != nil {
		return err
	}
	bar := c.bar("build", total)
	for _, conv := range list {
		if have[conv.ID] {
			continue
		}
		line := builtLine{Conversation: conv.ID, Turns: len(conv.Turns)}
		start := time.Now()
		for _, t := range conv.Turns {
			bar.Add(1)
			if strings.TrimSpace(t.Text) == "" {
				continue
			}
			began := time.Now()
			_, err := engine.Remember(ctx, memory.Note{Content: t.Text, Project: conv.ID, OccurredAt: t.At, Speaker: t.Speaker, Session: t.Session, Source: t.Source})
			if err != nil {
				out.close()
				return fmt.Errorf("remember turn %s of %s: %w", t.Source, conv.ID, err)
			}
			line.Micros = append(line.Micros, time.Since(began).Microseconds())
		}
		line.Seconds = time.Since(start).Seconds()
		if err := s.Settle(ctx); err != nil {
			out.close()
			return fmt.Errorf("wait for the background work of %s: %w", conv.ID, err)
		}
		if err := out.add(line); err != nil {
			out.close()
			return err
		}
		if err := out.w.Flush(); err != nil {
			out.close()
			return err
		}
	}
	return out.close()
}
