package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/magma-mcp/magma-mcp/memory/text"
)

// followed are WordNet's pointers (wninput(5WN)) to what may stand for a word: hypernym, hyponym, instance,
// derivationally related form, similar, pertainym, also see, entailment, cause. Not parts, members and
// antonyms.
var followed = map[string]bool{"@": true, "~": true, "@i": true, "~i": true, "+": true, "&": true, "\\": true, "^": true, "*": true, ">": true, "=": true}

type synset struct {
	words, to []string
}

// readWordNet returns which terms share a synset, or stand in two that a followed pointer joins.
func readWordNet(dir string) (map[string]map[string]bool, error) {
	synsets := map[string]*synset{}
	for _, pos := range []string{"noun", "verb", "adj", "adv"} {
		if err := readSynsets(filepath.Join(dir, "data."+pos), synsets); err != nil {
			return nil, err
		}
	}
	a := text.New()
	term := func(word string) string {
		k := a.Tokens(word)
		if len(k) != 1 || strings.Contains(word, "_") {
			return ""
		}
		return k[0].Term
	}
	related := map[string]map[string]bool{}
	add := func(a, b string) {
		if a == "" || b == "" || a == b {
			return
		}
		if related[a] == nil {
			related[a] = map[string]bool{}
		}
		related[a][b] = true
	}
	for _, s := range synsets {
		all := append([]string(nil), s.words...)
		for _, to := range s.to {
			if o := synsets[to]; o != nil {
				all = append(all, o.words...)
			}
		}
		for _, x := range s.words {
			for _, y := range all {
				add(term(x), term(y))
				add(term(y), term(x))
			}
		}
	}
	return related, nil
}

// readSynsets reads a data file (wndb(5WN)): offset, file, part of speech, count of words in hex, each word
// with a number, count of pointers, each with offset, part of speech and a number.
func readSynsets(file string, synsets map[string]*synset) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	adjective := func(pos string) string {
		if pos == "s" {
			return "a" // a satellite
		}
		return pos
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), " ") {
			continue // the licence
		}
		w := strings.Fields(lines.Text())
		s := &synset{}
		bad := fmt.Errorf("%s: a line is not a synset: %.60q", file, lines.Text())
		if len(w) < 6 {
			return bad
		}
		n, err := strconv.ParseUint(w[3], 16, 8)
		if err != nil || len(w) < 5+2*int(n) {
			return bad
		}
		for i := range int(n) {
			s.words = append(s.words, strings.ToLower(w[4+2*i]))
		}
		rest := w[4+2*n:]
		m, err := strconv.Atoi(rest[0])
		if err != nil || len(rest) < 1+4*m {
			return bad
		}
		for i := range m {
			if p := rest[1+4*i:]; followed[p[0]] {
				s.to = append(s.to, adjective(p[2])+p[1])
			}
		}
		synsets[adjective(w[2])+w[0]] = s
	}
	return lines.Err()
}
