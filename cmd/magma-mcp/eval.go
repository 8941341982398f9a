package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/magma-mcp/magma-mcp/memory/eval"
)

// evalCommand measures the memory on conversations with questions (package eval). Its store is its own,
// under the folder of results; that of the user is not touched.
type evalCommand struct {
	Data    string   `arg:"" type:"existingfile" help:"Conversations with questions, in the shape of LoCoMo or of LongMemEval."`
	Out     string   `help:"Folder for the results and the store under measure; a stopped run goes on from it. Default: eval-NAME in the working folder." placeholder:"DIR"`
	Only    []string `help:"Take these conversations alone." placeholder:"NAME"`
	Apart   []string `help:"Conversations that no parameter was chosen on: tables of their own." placeholder:"NAME"`
	Steps   []string `help:"Some of strip, build, retrieve, answer, judge, score." placeholder:"STEP"`
	Budgets []int    `help:"Token budgets of a context (500,1000,2000)." placeholder:"N"`
	Ablate  bool     `help:"Also with each graph and each signal off, each graph alone, built up, without the walk."`
	Corrupt string   `help:"Also with a share of this graph's edges wrong: temporal, semantic, causal or entity." placeholder:"GRAPH[=0..50%]"`
	Seed    uint64   `help:"Seed of the bootstrap and of wrong edges." default:"1"`
	Fresh   bool     `help:"Remove what an earlier run left in the folder."`
	Answer  string   `help:"Let this Ollama model answer: without memory, from the whole text, from BM25's context and from ours." placeholder:"MODEL"`
	Judge   string   `help:"The model that judges the answers; the same where left out." placeholder:"MODEL"`
	Arms    []string `help:"Some of none, full, bm25, ours." placeholder:"ARM"`
	Most    int      `help:"Answer this many questions of each conversation, evenly spread (0: all)." placeholder:"N"`
	JSON    bool     `name:"json" help:"Print the report as JSON."`
}

func (c *evalCommand) Run(a *app) error {
	o, err := a.bankOptions()
	if err != nil {
		return err
	}
	if c.Judge != "" && c.Answer == "" {
		return usageError{errors.New("--judge judges answers: name the model that gives them with --answer")}
	}
	out := c.Out
	if out == "" {
		name := filepath.Base(c.Data)
		out = "eval-" + name[:len(name)-len(filepath.Ext(name))]
	}
	config := eval.Config{Data: c.Data, Only: c.Only, Apart: c.Apart, Out: out, Open: eval.OpenBank(o), Fresh: c.Fresh, Steps: c.Steps,
		Budgets: c.Budgets, Ablate: c.Ablate, Corrupt: c.Corrupt, Seed: c.Seed, Progress: a.stderr}
	if c.Answer != "" {
		config.Answers = &eval.Answers{URL: a.config.Embedding.Host, AllowRemote: a.config.Embedding.AllowRemote, Model: c.Answer, Judge: c.Judge, Arms: c.Arms, Most: c.Most}
	}
	report, err := eval.Run(a.ctx, config)
	if err != nil {
		return err
	}
	if len(report.Tables) == 0 { // the score step was not asked for
		return nil
	}
	if c.JSON {
		data, err := os.ReadFile(filepath.Join(out, "report.json"))
		if err != nil {
			return fmt.Errorf("read the report: %w", err)
		}
		_, err = a.stdout.Write(data)
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s\n%s\n", report.Text(), filepath.Join(out, "report.html"))
	return err
}
