package memory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory/index"
	"github.com/magma-mcp/magma-mcp/memory/query"
)

// fit writes the text block within the budget: the most relevant memories whole, then as many refs as
// there is room for; and puts the memories into reading order.
func (b *Bank) fit(out *Recollection, in *inquiry, list []found, budget int) {
	withProject := in.project == "*"
	room := budget * 4
	text := heading(out, in, len(list) == 0, room)
	used := runes(text)
	reserve := 0
	if len(list) > 1 {
		reserve = elideRoom
	}
	var shown, rest []found
	for i := range list {
		f := &list[i]
		f.memory.Rank = i + 1
		f.length = runes(block(&f.memory, withProject, f.refs))
		keep := reserve
		if i == len(list)-1 && len(rest) == 0 {
			keep = 0
		}
		switch {
		case used+f.length+keep <= room:
		case len(shown) == 0 && f.shorten(withProject, room-used-keep):
			f.length = runes(block(&f.memory, withProject, f.refs))
		default:
			rest = append(rest, *f)
			continue
		}
		used += f.length
		shown = append(shown, *f)
	}
	b.arrange(in, out, shown)
	var all strings.Builder
	all.WriteString(text)
	for i := range shown {
		all.WriteString(block(&shown[i].memory, withProject, shown[i].refs))
		out.Memories = append(out.Memories, shown[i].memory)
	}
	if len(rest) > 0 {
		line, n := elide(out, rest, room-used)
		all.WriteString(line)
		told := append(slices.Clone(shown), rest[:n]...)
		out.Omitted += places(append(told, rest[n:]...)) - places(told)
	}
	out.Text = all.String()
	out.Tokens = tokens(out.Text)
}

// elideRoom is kept for the line that names what did not fit: its words, two dates and one ref.
const elideRoom = 64

// heading is what stands over the memories, within room characters: whether anything answers, and what
// weakened the answer.
func heading(out *Recollection, in *inquiry, empty bool, room int) string {
	var h string
	switch {
	case empty:
		h = fmt.Sprintf("%s in project %s matches", leadNone, oneLine(in.project, 128))
		if out.Window != nil {
			h += " " + oneLine(out.Window.Text, 60)
		}
		h += ". Nothing stored answers this; that is not a no.\n"
	case !out.Confident:
		h = leadNearest + " Nearest memories:\n"
	default:
		h = leadFound + ". " + leadData + "\n"
	}
	if runes(h) > room {
		h = string([]rune(h)[:room])
	}
	left := room - runes(h)
	for _, d := range out.Degraded {
		note := leadDegraded + oneLine(d, 200) + "\n"
		if left -= runes(note); left < 0 {
			break
		}
		h += note
	}
	return h
}

func runes(s string) int { return utf8.RuneCountInString(s) }

// shorten cuts the shown content of a memory so that its block takes at most room characters, and reports
// whether some of it is left. The stored content is untouched and at its resource.
func (f *found) shorten(withProject bool, room int) bool {
	m := f.memory
	keep := room - runes(header(&m, withProject, f.refs)) - len("\n"+fence+"...\n")
	r := []rune(m.Content)
	m.Shortened = true
	for keep > 0 {
		m.Content = string(r[:min(keep, len(r))]) + "..."
		over := runes(block(&m, withProject, f.refs)) - room
		if over <= 0 {
			f.memory = m
			return true
		}
		keep -= over
	}
	return false
}

// elide is the line that stands for memories that did not fit, and how many it names.
func elide(out *Recollection, rest []found, room int) (string, int) {
	e := Elided{}
	lo, hi := rest[0].memory.OccurredAt, rest[0].memory.OccurredAt
	line := func() string {
		span := shortTime(lo, "day")
		if to := shortTime(hi, "day"); to != span {
			span += " to " + to
		}
		return fmt.Sprintf("%s%d more, %s (%s)\n", leadMore, len(rest), span, strings.Join(e.Refs, ", "))
	}
	var last string
	for _, f := range rest {
		a, z := lo, hi
		if before(f.memory.OccurredAt, lo) {
			lo = f.memory.OccurredAt
		}
		if before(hi, f.memory.OccurredAt) {
			hi = f.memory.OccurredAt
		}
		e.Refs = append(e.Refs, f.memory.Ref)
		if s := line(); runes(s) <= room {
			last = s
			continue
		}
		e.Refs = e.Refs[:len(e.Refs)-1]
		lo, hi = a, z
		break
	}
	if len(e.Refs) == 0 {
		return "", 0
	}
	e.Count, e.From, e.To = len(e.Refs), lo, hi
	out.Elided = append(out.Elided, e)
	return last, len(e.Refs)
}

func before(a, b string) bool {
	x, err := time.Parse(time.RFC3339Nano, a)
	y, err2 := time.Parse(time.RFC3339Nano, b)
	return err == nil && err2 == nil && x.Before(y)
}

// arrange puts what is shown into reading order: WHY causes before effects; WHEN by time; else by time inside a
// session, the most relevant session first (DESIGN section 4).
func (b *Bank) arrange(in *inquiry, out *Recollection, shown []found) {
	byTime := func(x, y found) int {
		a, b := &x.record.At, &y.record.At
		return cmp.Or(cmp.Compare(a.Sec, b.Sec), cmp.Compare(a.Nanos, b.Nanos), compareIDs(x.record.ID, y.record.ID))
	}
	switch out.Intent {
	case query.When.String():
		slices.SortStableFunc(shown, byTime)
	case query.Why.String():
		// What is in a chain of causes comes first; the other candidates follow by rank.
		n := 0
		if len(in.chain) > 0 {
			slices.SortStableFunc(shown, func(x, y found) int {
				return cmp.Compare(boolInt(!in.chain[x.record.ID]), boolInt(!in.chain[y.record.ID]))
			})
			for n < len(shown) && in.chain[shown[n].record.ID] {
				n++
			}
		} else {
			n = len(shown)
		}
		slices.SortStableFunc(shown[:n], byTime)
		causesFirst(shown[:n])
	default:
		first := map[string]int{}
		keyOf := func(f *found) string { return f.memory.Project + "\x00" + f.memory.Session }
		for i := range shown {
			k := keyOf(&shown[i])
			if _, ok := first[k]; !ok {
				first[k] = shown[i].memory.Rank
			}
		}
		slices.SortStableFunc(shown, func(x, y found) int {
			return cmp.Or(cmp.Compare(first[keyOf(&x)], first[keyOf(&y)]), byTime(x, y))
		})
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// causesFirst moves each cause before its effects (a stable topological order; a cycle keeps the order of time).
func causesFirst(shown []found) {
	type at struct {
		shard *index.Shard
		doc   uint32
	}
	place := map[at]int{}
	for i := range shown {
		place[at{shown[i].shard, shown[i].item.Doc}] = i
	}
	blocked := make([]map[int]bool, len(shown)) // by which causes
	for i := range shown {
		blocked[i] = map[int]bool{}
		s := shown[i].shard
		s.RLock()
		query.CausalEdges(s, shown[i].item.Doc, func(v uint32, e index.Edge, effect bool) {
			if j, ok := place[at{s, v}]; ok && j != i && !effect {
				blocked[i][j] = true
			}
		})
		s.RUnlock()
	}
	out := make([]found, 0, len(shown))
	done := make([]bool, len(shown))
	for len(out) < len(shown) {
		pick := -1
		for i := range shown {
			if done[i] {
				continue
			}
			if pick < 0 {
				pick = i // breaks a cycle at the earliest
			}
			free := true
			for j := range blocked[i] {
				free = free && done[j]
			}
			if free {
				pick = i
				break
			}
		}
		done[pick] = true
		out = append(out, shown[pick])
	}
	copy(shown, out)
}
