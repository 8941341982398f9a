package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// label is what stands before a turn: [At, Speaker] and where the spoken words begin.
type label struct {
	from, body  int // of the line, of the words after the label
	speaker, at string
}

// transcript cuts a pasted conversation into turns; nil where text is none. It is one if two lines or
// more carry a speaker's label of the same make and either a label comes again, or each has a
// time, or all labels look like names; lists of fields ("Name: ...", "Host: ...") are none.
func transcript(text string) []Segment {
	if strings.IndexByte(text, '\n') < 0 {
		return nil
	}
	var labels []label
	fence, lines := false, 0
	for i := 0; i < len(text); {
		j := strings.IndexByte(text[i:], '\n')
		if j < 0 {
			j = len(text)
		} else {
			j += i
		}
		line := text[i:j]
		if t := strings.TrimSpace(line); strings.HasPrefix(t, "```") {
			fence = !fence
		} else if t != "" && !fence {
			lines++
			if l, ok := labelOf(line); ok {
				l.from = i
				l.body += i
				labels = append(labels, l)
			}
		}
		i = j + 1
	}
	if !spoken(labels, lines) {
		return nil
	}
	var out []Segment
	if s := (Span{0, labels[0].from}); strings.TrimSpace(s.In(text)) != "" {
		out = append(out, Segment{Span: s, Body: trim(text, s)})
	} else {
		labels[0].from = 0
	}
	for k, l := range labels {
		to := len(text)
		if k+1 < len(labels) {
			to = labels[k+1].from
		}
		s := Span{l.from, to}
		if to-l.from <= maxSegment || utf8.RuneCountInString(s.In(text)) <= maxSegment {
			out = append(out, Segment{Span: s, Body: trim(text, Span{min(l.body, to), to}), Speaker: l.speaker, At: l.at})
			continue
		}
		for n, p := range pack(text, s) { // a speech
			g := Segment{Span: p, Body: trim(text, p), Speaker: l.speaker, At: l.at}
			if n == 0 && l.body < p.To {
				g.Body = trim(text, Span{l.body, p.To})
			}
			out = append(out, g)
		}
	}
	return out
}

// spoken decides whether labels make a conversation of a text of so many filled lines.
func spoken(labels []label, lines int) bool {
	if len(labels) < 2 {
		return false
	}
	count := map[string]int{}
	timed, names, again := 0, 0, 0
	for _, l := range labels {
		k := Key(l.speaker)
		if count[k]++; count[k] == 2 {
			again++
		}
		if l.at != "" {
			timed++
		}
		if speakerName(l.speaker) {
			names++
		}
	}
	n := len(labels)
	switch {
	case timed == n:
		return true
	case names*10 < n*8:
		return false
	case again > 0 && len(count) >= 2 && n >= 3:
		return len(count)*2 <= n+2
	case n >= 2 && len(count) >= 2 && names == n && lines <= 3*n:
		known := 0
		for _, l := range labels {
			w := strings.Fields(strings.ToLower(l.speaker))
			if len(w) > 0 && (givenNames.has(w[0]) || ambiguousNames.has(w[0]) || roles.has(w[0]) || titles.has(strings.TrimSuffix(w[0], "."))) {
				known++
			}
		}
		return known == n || n == 2 && known >= 1
	}
	return false
}

// roles speak in logs of assistants and interviews.
var roles = words(`user assistant human ai system bot agent me you interviewer interviewee host guest q a tool customer support operator moderator patient speaker caller student teacher mom dad mum model claude chatgpt gpt gemini copilot`)

// fieldNames are labels that no speaker has.
var fieldNames = words(`note notes warning error todo fix fixme summary title date subject from to cc bcc re step steps example examples name age city address phone email e-mail time location place status type version author description
result results input output expected actual question answer problem solution cause effect reason goal goals tip tips pros cons conclusion introduction abstract background method methods url link http https file path port server
price total cost id key value tags tag category priority severity owner assignee environment reproduction update edit ps nb caution important hint info debug trace fatal usage options default returns return param params args
class func function type var const import package module what why when where who how monday tuesday wednesday thursday friday saturday sunday ingredients instructions directions agenda attendees participants action actions
decision decisions context risk risks impact timeline day week month year today tomorrow yesterday before after morning afternoon evening duration language country state zip root mitigation impact detection follow-up next done blocked blockers`)

func speakerName(s string) bool {
	w := strings.Fields(strings.ToLower(s))
	if len(w) == 0 || len(w) > 4 {
		return false
	}
	if fieldNames.has(w[0]) || fieldNames.has(w[len(w)-1]) {
		return false
	}
	if len(w) == 1 && commonWord(w[0]) && !roles.has(w[0]) && !givenNames.has(w[0]) && !ambiguousNames.has(w[0]) {
		return false
	}
	return true
}

// labelOf reads the forms that chat programs and people write:
//
//	Alice: hi              **Alice:** hi            **Alice**: hi       <alice> hi
//	[10:32] Alice: hi      (10:32 AM) Alice: hi     10:32 Alice: hi     [2024-03-01 10:32] <alice> hi
//	12/05/23, 10:32 - Alice: hi                     [12/05/2023, 10:32:11] Alice: hi
//	Alice (10:32): hi      **Alice** (10:32): hi    Alice [10:32]: hi
//	Alice  10:32 AM        **Alice** 10:32          (a line of its own, the words follow)
func labelOf(line string) (label, bool) {
	if len(line) > 4096 {
		line = line[:4096]
		for !utf8.ValidString(line[len(line)-min(4, len(line)):]) && len(line) > 4090 {
			line = line[:len(line)-1]
		}
	}
	p := 0
	skip := func(set string) {
		for p < len(line) && strings.IndexByte(set, line[p]) >= 0 {
			p++
		}
	}
	skip(" \t>")
	for strings.HasPrefix(line[p:], "\u200e") {
		p += len("\u200e")
	}
	if strings.HasPrefix(line[p:], "- ") || strings.HasPrefix(line[p:], "* ") {
		p += 2
	}
	var l label
	if at, n := timeStamp(line[p:]); n > 0 {
		l.at = at
		p += n
		skip(" \t")
		if strings.HasPrefix(line[p:], "- ") {
			p += 2
		} else if strings.HasPrefix(line[p:], "– ") {
			p += len("– ")
		}
	}
	if p < len(line) && line[p] == '<' {
		if e := strings.IndexByte(line[p:], '>'); e > 1 && e < 40 && p+e+1 < len(line) && line[p+e+1] == ' ' {
			name := strings.Trim(line[p+1:p+e], "@+ ")
			if nameShape(name, true) {
				l.speaker, l.body = name, p+e+1
				return l, true
			}
		}
		return l, false
	}
	before := l.at != "" // "10:30 standup" names nobody
	bold := false
	if strings.HasPrefix(line[p:], "**") {
		bold = true
		p += 2
	}
	// The name reaches to a colon, a bracket with a time, two blanks before a time, or the bold's end.
	start := p
	for p < len(line) && p-start <= 48 {
		switch line[p] {
		case ':', '*', '(', '[', '\t':
		case ' ':
			if _, n := timeStamp(line[p+1:]); n > 0 && p > start || strings.HasPrefix(line[p:], "  ") {
				break
			}
			p++
			continue
		default:
			p++
			continue
		}
		break
	}
	name := strings.TrimSpace(line[start:min(p, len(line))])
	if !nameShape(name, l.at != "" || bold) {
		return l, false
	}
	l.speaker = name
	colon := false
	for p < len(line) {
		switch {
		case strings.HasPrefix(line[p:], "**"):
			p += 2
			bold = false
		case line[p] == ' ' || line[p] == '\t':
			p++
		case line[p] == ':':
			colon = true
			p++
		default:
			if !colon && l.at == "" {
				if at, n := timeStamp(line[p:]); n > 0 {
					l.at = at
					p += n
					continue
				}
			}
			if colon && !bold {
				// "http://", "10:30" and "std::vector" are no labels.
				if line[p] == '/' || line[p-1] == ':' && (line[p] >= '0' && line[p] <= '9') && l.at == "" {
					return l, false
				}
				l.body = p
				return l, true
			}
			return l, false
		}
	}
	if colon && !bold {
		l.body = len(line)
		return l, true
	}
	l.body = len(line) // the words follow on the next line
	return l, l.at != "" && !before && !bold
}

// nameShape: one to four words, of letters, that begin with a capital or stand where only a name does.
func nameShape(s string, loose bool) bool {
	if s == "" || len(s) > 48 {
		return false
	}
	ws := strings.Fields(s)
	if len(ws) > 4 {
		return false
	}
	small := 0
	for _, w := range ws {
		r, _ := utf8.DecodeRuneInString(w)
		if !unicode.IsLetter(r) && r != '@' {
			if !(len(ws) > 1 && digits(w)) {
				return false
			}
			continue
		}
		if unicode.IsLower(r) {
			small++
		}
		for _, r := range w {
			if !(unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.M, r) || strings.ContainsRune("-_.'’@#", r)) {
				return false
			}
		}
	}
	if small > 0 && !loose {
		return len(ws) == 1 && (roles.has(s) || givenNames.has(s) || strings.ContainsAny(s, "0123456789_"))
	}
	return true
}

// timeStamp reads a time at the start of s, in brackets or bare: the text of it, and its length with
// the brackets.
func timeStamp(s string) (string, int) {
	if s == "" {
		return "", 0
	}
	if closer := map[byte]byte{'[': ']', '(': ')'}[s[0]]; closer != 0 {
		e := strings.IndexByte(s, closer)
		if e < 4 || e > 40 {
			return "", 0
		}
		in := strings.TrimSpace(s[1:e])
		if _, n := clock(in); n > 0 || dateish(in) {
			return in, e + 1
		}
		return "", 0
	}
	return clock(s)
}

// clock reads "10:32", "10:32:11", "10:32 AM", with a date before it ("12/05/23, 10:32",
// "2024-03-01T10:32:00Z").
func clock(s string) (string, int) {
	i := 0
	num := func() int {
		n := 0
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
			n++
		}
		return n
	}
	n := num()
	if n == 0 || n > 4 {
		return "", 0
	}
	if i < len(s) && (s[i] == '/' || s[i] == '-' || s[i] == '.') {
		sep := s[i]
		i++
		if num() == 0 || i >= len(s) || s[i] != sep {
			return "", 0
		}
		i++
		if num() == 0 {
			return "", 0
		}
		switch {
		case strings.HasPrefix(s[i:], ", "):
			i += 2
		case i < len(s) && (s[i] == ' ' || s[i] == 'T' || s[i] == ','):
			i++
		default:
			return "", 0
		}
		if n = num(); n == 0 {
			return "", 0
		}
	}
	if n > 2 || i >= len(s) || s[i] != ':' {
		return "", 0
	}
	i++
	if num() != 2 {
		return "", 0
	}
	if i < len(s) && s[i] == ':' {
		i++
		if num() != 2 {
			return "", 0
		}
	}
	if i < len(s) && s[i] == '.' {
		k := i
		i++
		if num() == 0 {
			i = k
		}
	}
	end := i
	if i < len(s) && s[i] == 'Z' {
		end = i + 1
	} else {
		k := i
		for _, sp := range []string{" ", "\u202f", "\u00a0"} {
			if strings.HasPrefix(s[k:], sp) {
				k += len(sp)
				break
			}
		}
		if k+2 <= len(s) {
			if m := strings.ToLower(s[k : k+2]); (m == "am" || m == "pm") && (k+2 == len(s) || !wordRune(rune(s[k+2]))) {
				end = k + 2
			}
		}
	}
	if end < len(s) && wordRune(rune(s[end])) {
		return "", 0
	}
	return s[:end], end
}

// dateish: what brackets hold beside a clock time: "12 May 2024, 10:32", "Today at 10:32".
func dateish(s string) bool {
	digit := false
	for i := 0; i < len(s); i++ {
		if s[i] >= '0' && s[i] <= '9' {
			digit = true
			break
		}
	}
	if !digit {
		return false
	}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) }) {
		if !calendarWords.has(w) && w != "at" && w != "t" && w != "z" && w != "st" && w != "nd" && w != "rd" && w != "th" && w != "of" {
			return false
		}
	}
	return strings.ContainsAny(s, ":/-") || strings.ContainsFunc(s, unicode.IsLetter)
}
