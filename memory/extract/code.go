package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// chunkMentions finds what is recognised by its form alone: URLs, addresses, paths, versions, issue
// numbers, identifiers, hosts. Text is cut at white space, so the cost of plain prose is one look at
// each byte.
func chunkMentions(text string, out []Mention) []Mention {
	for i := 0; i < len(text); {
		if c := text[i]; c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			i++
			continue
		}
		if text[i] == '`' {
			if m, next, ok := backticked(text, i); ok {
				out = append(out, m)
				i = next
				continue
			}
		}
		j, odd := i, false
		for j < len(text) {
			c := text[j]
			if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
				break
			}
			if c == '`' && j > i && text[j-1] == '(' {
				break
			}
			switch c {
			case '/', '_', ':', '#', '&', '@', '.', '+', '\\', '(', '-', '>', '$', '=':
				odd = true
			default:
				if '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' && j > i || c >= utf8.RuneSelf {
					odd = true
				}
			}
			j++
		}
		if odd {
			out = classify(text, i, j, out)
		} else if w := strings.Trim(text[i:j], ",.;:!?\"'()[]"); len(w) >= 2 && services.has(w) {
			at := i + strings.Index(text[i:j], w)
			out = append(out, mention(text, Span{at, at + len(w)}, Service, 0.8))
		} else if len(w) >= 6 && w[0] <= 'Z' && plainFiles.has(w) {
			at := i + strings.Index(text[i:j], w)
			out = append(out, mention(text, Span{at, at + len(w)}, Path, 0.8))
		}
		i = j
	}
	return out
}

func mention(text string, s Span, t EntityType, conf float64) Mention {
	return Mention{Span: s, Text: s.In(text), Canonical: Key(s.In(text)), Type: t, Confidence: conf}
}

// backticked reads `code` at i; fenced blocks (```) are passed over whole.
func backticked(text string, i int) (Mention, int, bool) {
	if strings.HasPrefix(text[i:], "```") {
		return Mention{}, 0, false
	}
	end := strings.IndexByte(text[i+1:], '`')
	if end <= 0 || end > 80 || strings.ContainsAny(text[i+1:i+1+end], "\n\r") {
		return Mention{}, 0, false
	}
	s := Span{i + 1, i + 1 + end}
	body := s.In(text)
	trimmed := strings.TrimSpace(body)
	if trimmed == "" || len(strings.Fields(trimmed)) > 5 {
		return Mention{}, 0, false
	}
	lead := strings.Index(body, trimmed)
	s = Span{s.From + lead, s.From + lead + len(trimmed)}
	m := mention(text, s, Code, 0.9)
	if !strings.ContainsAny(trimmed, " \t") {
		if got := classify(text, s.From, s.To, nil); len(got) == 1 && got[0].Span == s {
			m.Type = got[0].Type
		} else if services.has(m.Canonical) {
			m.Type = Service
		}
	}
	return m, i + 1 + end + 1, true
}

const (
	openers = "([{<\"'`“‘*|,"
	closers = ".,;!?)]}>\"'`”’…*~|:"
)

// classify names the chunk text[from:to], or the parts of it that a dash, comma or bracket joins.
func classify(text string, from, to int, out []Mention) []Mention {
	s := text[from:to]
	if t := strings.TrimLeft(s, openers); len(t) < len(s) {
		from += len(s) - len(t)
		s = t
	}
	trimEnd := func() {
		for s != "" {
			r, w := utf8.DecodeLastRuneInString(s)
			if !strings.ContainsRune(closers, r) || r == ')' && strings.HasSuffix(s, "()") {
				return
			}
			s = s[:len(s)-w]
		}
	}
	trimEnd()
	for _, poss := range []string{"'s", "’s"} {
		if strings.HasSuffix(s, poss) {
			s = s[:len(s)-len(poss)]
			trimEnd()
		}
	}
	if len(s) < 2 || len(s) > 2048 {
		return out
	}
	if t, conf := form(s); conf > 0 {
		return append(out, mention(text, Span{from, from + len(s)}, t, conf))
	}
	// word(word), a,b, em-dashes, x=y: look at the parts.
	if k := strings.IndexAny(s, "(),;=[]{}<>|\"—–"); k > 0 && k < len(s)-1 {
		if s[k] == '=' && k >= 3 && ident(s[:k]) && strings.ToUpper(s[:k]) == s[:k] { // GOFLAGS=-mod=mod
			return append(out, mention(text, Span{from, from + k}, Code, 0.8))
		}
		_, w := utf8.DecodeRuneInString(s[k:])
		out = classify(text, from, from+k, out)
		return classify(text, from+k+w, from+len(s), out)
	}
	return out
}

// form tells the type of s by its shape; confidence 0 where it has none.
func form(s string) (EntityType, float64) {
	if !asciiMostly(s) {
		return Unknown, 0
	}
	low := strings.ToLower(s)
	switch {
	case strings.Contains(s, "://"):
		if k := strings.Index(s, "://"); k > 1 && alphaNum(s[:k]) && len(s) > k+3 {
			return URL, 1
		}
		return Unknown, 0
	case strings.HasPrefix(low, "www.") && len(s) > 6:
		return URL, 1
	case strings.IndexByte(s, '@') >= 0:
		return atForm(s)
	case s[0] == '#':
		if digits(s[1:]) && len(s) <= 9 {
			return Issue, 0.95
		}
		return Unknown, 0
	case low == "c++", low == "c#", low == "f#", low == ".net", low == "asp.net", low == "objective-c":
		return Code, 0.9
	}
	if k := strings.LastIndexByte(s, '#'); k > 0 && digits(s[k+1:]) && (strings.EqualFold(s[:k], "pr") || strings.EqualFold(s[:k], "gh") || strings.Count(s[:k], "/") == 1 || strings.EqualFold(s[:k], "issue")) {
		return Issue, 0.95
	}
	if k := strings.IndexByte(s, '&'); k > 0 && k <= 3 && len(s)-k <= 4 && alpha(s[:k]) && alpha(s[k+1:]) && strings.ToUpper(s) == s {
		switch s {
		case "Q&A", "R&D", "R&R", "B&B", "M&A", "P&L", "D&D":
			return Unknown, 0
		}
		return Org, 0.7
	}
	if issueKey(s) {
		return Issue, 0.9
	}
	if uuid(s) {
		return Code, 0.8
	}
	if version(s) {
		return Version, 0.9
	}
	if ip(s) {
		return Service, 0.85
	}
	if t, c := pathForm(s, low); c > 0 {
		return t, c
	}
	if t, c := hostForm(s, low); c > 0 {
		return t, c
	}
	return identForm(s, low)
}

func asciiMostly(s string) bool {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			n++
		}
	}
	return n*4 < len(s) || strings.ContainsAny(s, "/_")
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

func alphaNum(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i] | 0x20
		if !('a' <= c && c <= 'z' || '0' <= s[i] && s[i] <= '9') {
			return false
		}
	}
	return s != ""
}

func alpha(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return s != ""
}

func atForm(s string) (EntityType, float64) {
	k := strings.IndexByte(s, '@')
	host := s[k+1:]
	switch {
	case k == 0 && strings.IndexByte(host, '/') > 0: // @scope/package
		return Code, 0.85
	case k == 0 && len(host) >= 2 && ident(strings.ReplaceAll(host, "-", "_")) && host[0] > '9':
		return Person, 0.7
	case k > 0 && strings.Count(s, "@") == 1 && strings.IndexByte(host, '.') > 0 && !strings.ContainsAny(s, "/()") && !version(host):
		if e := host[strings.LastIndexByte(host, '.')+1:]; len(e) >= 2 && alpha(e) {
			return Email, 1
		}
	case k > 0 && version(host): // module@v1.2.3
		return Code, 0.85
	}
	return Unknown, 0
}

// standards look like issue keys (UTF-8, SHA-256) and are none.
var standards = words(`utf iso sha rfc covid gpt md aes rsa ipv pep http tls ssl usb hdmi mp3 mp4 ieee ansi ecma posix es b c f g h k r s t u v x boeing airbus mi ak hiv sars gp pm dd top cd dvd ps`)

func issueKey(s string) bool {
	k := strings.IndexByte(s, '-')
	if k < 2 || k > 12 || k == len(s)-1 || !digits(strings.ReplaceAll(s[k+1:], "-", "0")) || len(s)-k > 11 {
		return false
	}
	if s[k+1] == '-' || s[len(s)-1] == '-' || strings.IndexByte(s[k+1:], '-') >= 0 && !strings.HasPrefix(s, "CVE-") {
		return false
	}
	for i := 0; i < k; i++ {
		if !(s[i] >= 'A' && s[i] <= 'Z' || i > 0 && s[i] >= '0' && s[i] <= '9') {
			return false
		}
	}
	return !standards.has(strings.ToLower(s[:k]))
}

func uuid(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := 0; i < 36; i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if !hex(s[i]) {
			return false
		}
	}
	return true
}

func hex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// version knows v2, v1.4, 2.1.7, 1.0.0-rc.1, go1.26, python3.11; not 3.5, not 12.05.2023.
func version(s string) bool {
	body := s
	name := 0
	for name < len(body) && (body[name]|0x20) >= 'a' && (body[name]|0x20) <= 'z' {
		name++
	}
	prefix := strings.ToLower(body[:name])
	body = body[name:]
	core, suffix := body, ""
	if k := strings.IndexAny(body, "-+"); k >= 0 {
		core, suffix = body[:k], body[k+1:]
	}
	parts := strings.Split(core, ".")
	for i, p := range parts {
		if i > 0 && i == len(parts)-1 && (p == "x" || p == "*") {
			continue
		}
		if !digits(p) || len(p) > 5 {
			if i == len(parts)-1 && i > 0 && len(p) > 1 && len(p) <= 8 && p[0] >= '0' && p[0] <= '9' && alphaNum(p) { // 1.2.3rc1
				continue
			}
			return false
		}
	}
	if suffix != "" && !alphaNum(strings.NewReplacer(".", "0", "-", "0", "+", "0").Replace(suffix)) {
		return false
	}
	switch {
	case prefix == "v":
		return true
	case prefix != "":
		return len(parts) >= 2 && len(parts) <= 4 && len(prefix) <= 12 && suffix == ""
	case len(parts) == 4:
		return false // an address
	case len(parts) >= 3:
		last := parts[len(parts)-1]
		return len(last) < 4 && !(len(parts[0]) == 4 && len(parts[1]) == 2 && len(last) == 2)
	}
	return len(parts) == 2 && suffix != "" && (suffix[0]|0x20) >= 'a' && (strings.HasPrefix(suffix, "rc") || strings.HasPrefix(suffix, "beta") || strings.HasPrefix(suffix, "alpha"))
}

func ip(s string) bool {
	host := s
	if k := strings.IndexByte(s, ':'); k > 0 {
		if !digits(s[k+1:]) || len(s)-k > 6 {
			return false
		}
		host = s[:k]
	} else if k := strings.IndexByte(s, '/'); k > 0 {
		if !digits(s[k+1:]) || len(s)-k > 3 {
			return false
		}
		host = s[:k]
	}
	parts := strings.Split(host, ".")
	if len(parts) != 4 {
		return false
	}
	for _, p := range parts {
		if !digits(p) || len(p) > 3 || len(p) == 3 && p > "255" {
			return false
		}
	}
	return true
}

var fileExts = words(`go py js ts tsx jsx mjs md mdx json jsonl yaml yml toml txt sh bash zsh rs c h cc cpp hpp java kt rb php css scss html htm sql proto csv tsv log lock mod sum
xml ini cfg conf env pdf png jpg jpeg gif svg gz tar zip tgz so dll exe bin db sqlite bak tmp swift scala ex exs lua pl vue svelte tf tfvars gradle ipynb parquet docx xlsx pptx wasm pem key crt plist
service bat ps1 patch diff tmpl`)

var pathHeads = words(`src cmd pkg internal lib libs test tests testdata docs doc bin app apps api etc usr var tmp home opt dev proc sys root scripts tools config configs assets public static build dist vendor
node_modules examples migrations templates components pages utils server client web deploy k8s charts terraform memory store core common modules packages services`)

var branchHeads = words(`feature feat fix hotfix bugfix release chore refs origin upstream refactor`)

var topDomains = words(`com org net io dev ai app co uk de fr internal local lan edu gov info biz me tv ch nl eu us ca au jp cn in br ru se no it es xyz cloud tech sh so gg id example test`)

func pathForm(s, low string) (EntityType, float64) {
	body, line := s, false
	if k := strings.IndexByte(s, ':'); k > 1 { // file.go:12, file.go:12:3, file.go:12-20
		if rest := strings.NewReplacer(":", "0", "-", "0", "L", "0").Replace(s[k+1:]); digits(rest) {
			body, line = s[:k], true
		}
	}
	for i := 0; i < len(body); i++ {
		c := body[i]
		if c < utf8.RuneSelf && !wordRune(rune(c)) && strings.IndexByte("./-+@~*\\:%[]", c) < 0 {
			return Unknown, 0
		}
	}
	if len(body) > 3 && body[1] == ':' && body[2] == '\\' && alpha(body[:1]) {
		return Path, 0.95
	}
	if strings.ContainsAny(body, "\\:") {
		return Unknown, 0
	}
	slash := strings.Count(body, "/")
	last := body[strings.LastIndexByte(body, '/')+1:]
	ext := ""
	if k := strings.LastIndexByte(last, '.'); k >= 0 {
		ext = strings.ToLower(last[k+1:])
	}
	if slash == 0 {
		switch {
		case ext != "" && ext != low && fileExts.has(ext) && len(last) > len(ext)+1:
			stem := last[:len(last)-len(ext)-1]
			if (ext == "js" || ext == "io" || ext == "ai") && unicode.IsUpper(rune(stem[0])) {
				return Thing, 0.8 // Node.js
			}
			if len(stem) == 1 && !line && (ext == "h" || ext == "c" || ext == "so") {
				return Unknown, 0
			}
			if !line && ext == "so" && commonWord(strings.ToLower(stem)) {
				return Unknown, 0 // "done.so", a missing blank
			}
			return Path, 0.9
		case strings.HasPrefix(s, ".") && len(s) > 3 && ident(strings.ReplaceAll(s[1:], "-", "_")) && alpha(s[1:2]):
			return Path, 0.7 // .gitignore
		case plainFiles.has(s):
			return Path, 0.8
		}
		return Unknown, 0
	}
	segs := strings.Split(body, "/")
	head := strings.ToLower(segs[0])
	switch {
	case strings.HasPrefix(body, "//"):
		return Unknown, 0
	case segs[0] == "" || segs[0] == "." || segs[0] == ".." || segs[0] == "~":
		if len(strings.Trim(body, "./~")) >= 2 && !digits(strings.Trim(body, "/")) {
			return Path, 0.9
		}
		return Unknown, 0
	case strings.IndexByte(head, '.') > 0 && topDomains.has(head[strings.LastIndexByte(head, '.')+1:]) && alpha(head[strings.LastIndexByte(head, '.')+1:]):
		return URL, 0.9
	case fileExts.has(ext) && len(last) > len(ext)+1:
		return Path, 0.95
	case branchHeads.has(head) && len(segs) >= 2 && segs[1] != "":
		return Code, 0.75
	}
	for _, p := range segs {
		if digits(p) {
			return Unknown, 0 // 1/2, 10/12/2023
		}
	}
	switch {
	case pathHeads.has(head) && len(body) > len(head)+1 && (slash > 1 || !commonWord(strings.ToLower(segs[1])) || strings.HasSuffix(body, "/")):
		return Path, 0.85
	case pathHeads.has(head) && slash == 1 && segs[1] == "":
		return Path, 0.8
	case strings.ContainsAny(body, "_") || slash >= 2 && strings.ContainsAny(body, "-."):
		return Path, 0.75
	case slash >= 3 && body == low:
		return Path, 0.6
	case slash == 1 && len(segs[1]) > 1 && body == low && strings.IndexByte(body, '-') > 0 && !functionWords.has(segs[0]) && !commonWord(segs[0]):
		return Path, 0.6 // owner/some-repo
	}
	return Unknown, 0
}
