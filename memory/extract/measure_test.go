package extract

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

// shared is the folder of outside data; the test is skipped where it is absent.
func shared(t *testing.T, parts ...string) string {
	t.Helper()
	dir := os.Getenv("MAGMA_SHARED")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	p := filepath.Join(append([]string{dir, "data"}, parts...)...)
	if _, err := os.Stat(p); err != nil {
		t.Skipf("outside data %s is not there; set MAGMA_SHARED to measure on it", filepath.Join(parts...))
	}
	return p
}

// TestCausalNews measures Causes as a classifier of news sentences, and its spans against the
// annotated ones. Precision is held; recall is reported: most causes in news carry no cue word.
func TestCausalNews(t *testing.T) {
	rows := readCSV(t, shared(t, "causal", "dev_subtask1.csv"))
	var tp, fp, fn, tn int
	kinds := map[string][2]int{}
	for _, r := range rows {
		text, gold := r["text"], r["label"] == "1"
		got := Causes(text)
		hit := len(got) > 0
		switch {
		case hit && gold:
			tp++
		case hit:
			fp++
			t.Logf("false: %q %q -> %q in %q", got[0].Cue.In(text), got[0].Cause.In(text), got[0].Effect.In(text), text)
		case gold:
			fn++
			if os.Getenv("EXTRACT_MISSED") != "" {
				t.Logf("missed: %s", text)
			}
		default:
			tn++
		}
		for _, c := range got {
			k := kinds[c.CueKind]
			if gold {
				k[0]++
			} else {
				k[1]++
			}
			kinds[c.CueKind] = k
		}
	}
	p := ratio(tp, tp+fp)
	t.Logf("confusion        said causal  said nothing\n  is causal      %10d %13d\n  is not         %10d %13d", tp, fn, fp, tn)
	t.Logf("precision %.3f recall %.3f of %d sentences", p, ratio(tp, tp+fn), len(rows))
	var names []string
	for k := range kinds {
		names = append(names, k)
	}
	sort.Strings(names)
	for _, k := range names {
		t.Logf("  %-8s right %d wrong %d", k, kinds[k][0], kinds[k][1])
	}
	if p < 0.85 {
		t.Errorf("precision %.3f is under 0.85", p)
	}
}

// TestCausalSpans: where a sentence has annotated pairs and we say one, do direction and spans agree?
func TestCausalSpans(t *testing.T) {
	rows := readCSV(t, shared(t, "causal", "dev_subtask2_grouped.csv"))
	right, turned, other, said := 0, 0, 0, 0
	for _, r := range rows {
		pairs := parsePairs(r["causal_text_w_pairs"])
		if len(pairs) == 0 {
			continue
		}
		text := r["text"]
		for _, c := range Causes(text) {
			said++
			cause, effect := c.Cause.In(text), c.Effect.In(text)
			best, back := 0.0, 0.0
			for _, p := range pairs {
				best = max(best, min(overlap(cause, p[0]), overlap(effect, p[1])))
				back = max(back, min(overlap(cause, p[1]), overlap(effect, p[0])))
			}
			switch {
			case best >= 0.4 && best >= back:
				right++
			case back >= 0.4:
				turned++
				t.Logf("turned: %q: %q -> %q", c.Cue.In(text), cause, effect)
			default:
				other++
				t.Logf("other spans: %q: %q -> %q of %v", c.Cue.In(text), cause, effect, pairs)
			}
		}
	}
	t.Logf("statements in causal sentences %d: spans and direction right %d, direction turned %d, other spans %d", said, right, turned, other)
	if right*10 < said*6 || turned*10 > said {
		t.Errorf("spans agree in %d of %d, turned in %d", right, said, turned)
	}
}

func overlap(a, b string) float64 {
	wa, wb := strings.Fields(a), strings.Fields(b)
	n := map[string]int{}
	for _, w := range wa {
		n[w]++
	}
	both := 0
	for _, w := range wb {
		if n[w] > 0 {
			n[w]--
			both++
		}
	}
	if len(wa)+len(wb) == 0 {
		return 0
	}
	return 2 * float64(both) / float64(len(wa)+len(wb))
}

// parsePairs reads (cause, effect) out of the marked-up strings.
func parsePairs(s string) [][2]string {
	var out [][2]string
	for rest := s; ; {
		i := strings.Index(rest, "<ARG")
		if i < 0 {
			return out
		}
		// One pair holds one ARG0 and one ARG1; read tag by tag.
		var pair [2]string
		for n := 0; n < 2; n++ {
			i = strings.Index(rest, "<ARG")
			if i < 0 {
				return out
			}
			k := rest[i+4 : i+5]
			end := strings.Index(rest[i:], "</ARG"+k+">")
			if end < 0 {
				return out
			}
			body := rest[i+6 : i+end]
			for _, tag := range []string{"<SIG0>", "</SIG0>", "<SIG1>", "</SIG1>", "<SIG2>", "</SIG2>", "<ARG0>", "<ARG1>", "</ARG0>", "</ARG1>"} {
				body = strings.ReplaceAll(body, tag, "")
			}
			if k == "0" {
				pair[0] = body
			} else {
				pair[1] = body
			}
			rest = rest[i+end:]
		}
		out = append(out, pair)
	}
}

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

func readCSV(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	all, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := all[0]
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
	var out []map[string]string
	for _, row := range all[1:] {
		m := map[string]string{}
		for i, h := range head {
			if i < len(row) {
				m[h] = row[i]
			}
		}
		out = append(out, m)
	}
	return out
}

// TestDialogueNames measures person names on dialogue whose every person mention is annotated;
// pronouns and common nouns are left out. Names of places and things are not annotated there, so
// only mentions typed person count against precision.
func TestDialogueNames(t *testing.T) {
	raw, err := os.ReadFile(shared(t, "entities", "character-identification-dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Episodes []struct {
			Scenes []struct {
				Utterances []struct {
					Transcript string              `json:"transcript"`
					Tokens     [][]string          `json:"tokens"`
					Entities   [][]json.RawMessage `json:"character_entities"`
				} `json:"utterances"`
			} `json:"scenes"`
		} `json:"episodes"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	var gold, found, said, sound, any int
	missed, wrong := map[string]int{}, map[string]int{}
	for _, e := range d.Episodes {
		for _, sc := range e.Scenes {
			for _, u := range sc.Utterances {
				var names []string
				for s, ents := range u.Entities {
					for _, raw := range ents {
						var m []any2
						if json.Unmarshal(raw, &m) != nil || len(m) < 3 {
							continue
						}
						words := u.Tokens[s][m[0].n:m[1].n]
						name := strings.Join(words, " ")
						if isName(words) {
							names = append(names, Key(name))
						}
					}
				}
				got := Mentions(u.Transcript)
				used := make([]bool, len(got))
				for _, n := range names {
					gold++
					hit := false
					for i, m := range got {
						if !used[i] && sameName(m.Canonical, n) {
							used[i], hit = true, true
							break
						}
					}
					if hit {
						found++
					} else {
						missed[n]++
					}
				}
				for i, m := range got {
					any++
					if m.Type != Person {
						continue
					}
					said++
					if used[i] {
						sound++
					} else {
						wrong[m.Text]++
					}
				}
			}
		}
	}
	t.Logf("names %d, found %d: recall %.3f; typed person %d, of them annotated %d: precision %.3f; mentions of any type %d",
		gold, found, ratio(found, gold), said, sound, ratio(sound, said), any)
	t.Logf("missed most: %s", top(missed, 25))
	t.Logf("person and not annotated: %s", top(wrong, 25))
	if ratio(found, gold) < 0.85 || ratio(sound, said) < 0.85 {
		t.Errorf("recall %.3f, precision %.3f: want 0.85 each", ratio(found, gold), ratio(sound, said))
	}
}

// any2 is a number or a string of a JSON list.
type any2 struct {
	n int
	s string
}

func (a *any2) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, &a.s)
	}
	return json.Unmarshal(b, &a.n)
}

// isName tells annotated names from pronouns and nouns: every word but connectors is capitalised, and the
// words are not such as stand for persons by their role.
func isName(words []string) bool {
	n := 0
	for _, w := range words {
		if w == "." || w == "-" {
			continue
		}
		low := strings.ToLower(w)
		if w[0] < 'A' || w[0] > 'Z' || functionWords.has(low) || interjections.has(low) {
			return false
		}
		if _, _, ok := role(low); ok && len(words) == 1 {
			return false
		}
		if len(words) == 1 && titles.has(low) || commonWord(low) && len(words) == 1 && !givenNames.has(low) && !ambiguousNames.has(low) {
			return false
		}
		n++
	}
	return n > 0
}

func sameName(a, b string) bool {
	a, b = strings.ReplaceAll(a, ".", ""), strings.ReplaceAll(strings.ReplaceAll(b, " .", ""), ".", "")
	return a == b || strings.HasPrefix(a, b+" ") || strings.HasSuffix(a, " "+b) || strings.HasSuffix(b, " "+a) || strings.HasPrefix(b, a+" ")
}

func top(m map[string]int, n int) string {
	var ks []string
	for k := range m {
		ks = append(ks, k)
	}
	sort.Slice(ks, func(i, j int) bool { return m[ks[i]] > m[ks[j]] || m[ks[i]] == m[ks[j]] && ks[i] < ks[j] })
	if len(ks) > n {
		ks = ks[:n]
	}
	var b strings.Builder
	for _, k := range ks {
		fmt.Fprintf(&b, "%s %d, ", k, m[k])
	}
	return b.String()
}
