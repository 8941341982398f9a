// Command tinymodel makes a tiny test model and writes it to a file, creates
// it on an Ollama server, or both.
//
//	tinymodel -kind bert -out embed.gguf
//	tinymodel -kind llama -server http://127.0.0.1:11434 -name tiny-chat
package main

import (
	"context"
	"flag"
	"log"
	"os"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollamatest/tinymodel"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("tinymodel: ")
	var (
		kind   = flag.String("kind", "bert", "bert (embeddings), or llama or qwen3 (chat)")
		out    = flag.String("out", "", "write the model to this GGUF `file`")
		server = flag.String("server", "", "create the model on the Ollama server at this `URL`")
		name   = flag.String("name", "", "the model's name on the server")
		seed   = flag.Uint64("seed", 1, "seed of the weights")
		ctxLen = flag.Int("context", 0, "context length in tokens (0: the kind's default)")
		dim    = flag.Int("dim", 0, "bert: length of the vectors (0: 64)")
		ff     = flag.Int("ff", 0, "bert: inner size of a layer (0: twice the vectors' length)")
		nan    = flag.String("nan", "", "bert: a `word` that makes the vector NaN")
		style  = flag.String("style", "tidy", "chat: tidy, random or loop")
		reply  = flag.String("reply", "", "chat: the `text` to answer with")
		think  = flag.Bool("think", false, "chat: use the thinking template")
		parser = flag.String("parser", "", "chat: name of one of the server's output parsers")
	)
	flag.Parse()
	if flag.NArg() > 0 || *out == "" && *server == "" || (*server == "") != (*name == "") {
		flag.Usage()
		os.Exit(2)
	}

	var g *tinymodel.GGUF
	settings := tinymodel.Settings{Parser: *parser}
	switch *kind {
	case "bert":
		g = tinymodel.Embedder{Seed: *seed, Context: *ctxLen, Dim: *dim, FF: *ff, NaNWord: *nan}.GGUF()
	case "llama", "qwen3":
		g = tinymodel.Chat{Arch: *kind, Style: tinymodel.Style(*style), Seed: *seed, Context: *ctxLen, Reply: *reply}.GGUF()
		settings.Template = tinymodel.ChatTemplate
		if *think {
			settings.Template = tinymodel.ThinkingTemplate
		}
	default:
		log.Fatalf("unknown kind %q", *kind)
	}
	file := g.Bytes()
	if *out != "" {
		if err := os.WriteFile(*out, file, 0o644); err != nil {
			log.Fatal(err)
		}
	}
	if *server != "" {
		if err := tinymodel.Create(context.Background(), *server, *name, file, settings); err != nil {
			log.Fatal(err)
		}
	}
}
