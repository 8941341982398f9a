package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/magma-mcp/magma-mcp/memory"
)

const verbReindex = "reindex"

// runReindex waits, in the process that owns the store, until every memory has the vectors of the model in use.
func runReindex(ctx context.Context, e memory.Engine, in json.RawMessage) (any, error) {
	var job string
	if err := json.Unmarshal(in, &job); err != nil {
		return nil, err
	}
	r, ok := e.(interface {
		Reindex(context.Context, func(done, total int)) (memory.ReindexReport, error)
	})
	if !ok {
		return nil, memory.Errorf(memory.CodeInternal, "this engine has no vectors")
	}
	progress, forget := watched(job)
	defer forget()
	return r.Reindex(ctx, func(done, total int) { progress(int64(done), int64(total)) })
}

type reindexCommand struct {
	JSON bool `name:"json" help:"Print the structured answer for programs."`
}

// Run waits for the vectors of every memory.
func (c *reindexCommand) Run(a *app) error {
	var r memory.ReindexReport
	job := jobName()
	if err := a.longDo(verbReindex, "making vectors", job, job, &r); err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(r)
	}
	return a.print(reindexText(r))
}

func reindexText(r memory.ReindexReport) string {
	model := fmt.Sprintf("%s %s, %d dimensions", r.Provider, r.Model, r.Dimensions)
	switch {
	case r.Provider == "builtin":
		return "Nothing to do: the embedder in use is the built-in word table, which needs no stored vectors. Once an Ollama embedding model is there, vectors are made by themselves."
	case r.Left > 0:
		return fmt.Sprintf("%s made (%s); %d failed and are tried again by themselves.", count(r.Done, "vector"), model, r.Left)
	}
	return fmt.Sprintf("Every memory has its vectors (%s); %d were made now.", model, r.Done)
}
