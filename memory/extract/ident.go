package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hosts, services and identifiers, by their form.

var serviceTails = words(`service svc api server worker workers db gateway proxy queue cluster prod staging daemon backend frontend broker cache scheduler operator exporter controller cron job lambda bucket`)

func hostForm(s, low string) (EntityType, float64) {
	host, port := low, ""
	if k := strings.IndexByte(low, ':'); k > 0 {
		host, port = low[:k], low[k+1:]
		if !digits(port) || len(port) > 5 || len(port) < 2 {
			return Unknown, 0
		}
		if digits(strings.ReplaceAll(host, ".", "0")) { // 10:30
			return Unknown, 0
		}
	}
	for i := 0; i < len(host); i++ {
		if c := host[i]; !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-') {
			return Unknown, 0
		}
	}
	if k := strings.LastIndexByte(host, '.'); k > 0 && host[0] != '.' && !strings.Contains(host, "..") {
		tld := host[k+1:]
		dot := strings.IndexByte(host, '.')
		first := host[:dot]
		if topDomains.has(tld) && len(first) > 1 && !digits(first) {
			// "great.in", "ok.so": a missing blank after a full stop, not a host.
			if dot == k && (commonWord(first) || len(tld) == 2 && functionWords.has(tld)) && port == "" && tld != "com" && tld != "org" && tld != "dev" && tld != "io" && tld != "net" {
				return Unknown, 0
			}
			if s != low && s[dot+1] >= 'A' && s[dot+1] <= 'Z' {
				return Unknown, 0
			}
			return Service, 0.8
		}
	}
	if port != "" && (host == "localhost" || len(host) >= 3 && len(port) >= 4 && host[0] > '9') {
		return Service, 0.8
	}
	if k := strings.LastIndexByte(host, '-'); k > 0 && port == "" && s == low {
		tail := host[k+1:]
		head := host[:strings.IndexByte(host, '-')]
		if serviceTails.has(tail) && len(head) > 1 && !plainModifier.has(head) && !functionWords.has(head) {
			return Service, 0.75
		}
		if digits(tail) && len(tail) <= 3 && (nodeHeads.has(host[:k]) || len(head) == 2 && strings.Count(host, "-") == 2 && alpha(head)) {
			return Service, 0.7 // db-01, eu-west-1
		}
		if services.has(head) && len(tail) > 1 {
			return Service, 0.75
		}
	}
	return Unknown, 0
}

var nodeHeads = words(`node host web app db prod staging shard pod replica worker server api cache queue broker ci runner build edge lb`)

// plainModifier opens compounds that are kinds, not services: "full-time job", "self-service".
var plainModifier = words(`self full part day non in on high low long short multi single web client server two three dream first new old pre post re co customer room food lip night side full-time after`)

func ident(s string) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf || !wordRune(rune(s[i])) {
			return false
		}
	}
	return true
}

// brands are written with a small first letter and a capital inside, like identifiers.
var brands = words(`iphone iphones ipad ipads ipod imac ios ipados icloud itunes imessage imovie ebay macos watchos tvos phd ebook ebooks`)

var codeTails = []string{"Error", "Exception", "Handler", "Factory", "Manager", "Client", "Controller", "Listener", "Config", "Request", "Response", "Reader", "Writer", "Store", "Index", "Context", "Provider", "Service", "Repository", "Interface", "Func", "Test", "Builder", "Parser", "Worker", "Queue", "Pool", "Cache", "Middleware"}

var codeHeads = []string{"Test", "Benchmark", "Fuzz", "Handle", "Get", "Parse", "Make", "Read", "Write", "Load", "Open", "Close"}

var plainFiles = words(`Makefile Dockerfile Jenkinsfile Procfile Vagrantfile README LICENSE CHANGELOG`)

var packageWords = words(`time sort strings errors context os io path log math fmt http json net sync bytes bufio regexp rand url exec flag testing filepath atomic runtime reflect sql xml csv hex base64 zip utf8 unicode slices maps iter slog template html image db ctx self this app np pd plt tf torch random re sys subprocess asyncio logging`)

func identForm(s, low string) (EntityType, float64) {
	call := strings.HasSuffix(s, "()")
	body := strings.TrimSuffix(s, "()")
	if strings.HasPrefix(s, "--") && len(s) > 4 && alpha(s[2:3]) && ident(strings.NewReplacer("-", "_", "=", "_", ".", "_").Replace(s[2:])) {
		return Code, 0.8 // --no-verify
	}
	if s[0] == '$' && len(s) > 2 && ident(s[1:]) {
		return Code, 0.8
	}
	body = strings.TrimLeft(body, "*&$")
	if body == "" {
		return Unknown, 0
	}
	if strings.Contains(body, "::") || strings.Contains(body, "->") {
		ok := ident(strings.NewReplacer("::", "_", "->", "_", "~", "_").Replace(body)) && alphaNum(body[:1])
		if ok {
			return Code, 0.9
		}
		return Unknown, 0
	}
	if k := strings.IndexByte(body, '.'); k > 0 && k < len(body)-1 {
		parts := strings.Split(body, ".")
		odd := call
		for i, p := range parts {
			if !ident(p) {
				return Unknown, 0
			}
			if len(p) == 1 && i == 0 && !call { // e.g, U.S
				return Unknown, 0
			}
			odd = odd || strings.IndexByte(p, '_') >= 0 || camel(p)
		}
		first, second := parts[0], parts[1]
		switch {
		case odd:
			return Code, 0.9
		case len(second) < 2:
			return Unknown, 0
		case packageWords.has(first) && second[0] >= 'A' && second[0] <= 'Z':
			return Code, 0.85
		case first == strings.ToLower(first) && second[0] >= 'A' && second[0] <= 'Z' && !commonWord(first) && !functionWords.has(strings.ToLower(second)) && !commonWord(strings.ToLower(second)) && !givenNames.has(strings.ToLower(second)):
			return Code, 0.7
		}
		return Unknown, 0
	}
	if len(body) >= 7 && len(body) <= 40 && hexID(body) {
		return Code, 0.75
	}
	if !ident(body) {
		return Unknown, 0
	}
	if call {
		return Code, 0.9
	}
	if k := strings.IndexByte(body, '_'); k >= 0 {
		if t := strings.Trim(body, "_"); strings.IndexByte(t, '_') > 0 || len(t) < len(body) && len(t) > 2 && strings.HasPrefix(body, "__") {
			return Code, 0.9
		}
		return Unknown, 0
	}
	if brands.has(low) {
		return Thing, 0.8
	}
	if k := strings.IndexFunc(body, unicode.IsUpper); k > 0 && (functionWords.has(body[:k]) || interjections.has(body[:k])) && givenNames.has(strings.ToLower(body[k:])) {
		return Unknown, 0 // "forMax", a missing blank
	}
	if body[0] >= 'a' && body[0] <= 'z' && camel(body) {
		return Code, 0.85
	}
	if camel(body) {
		if humps(body) >= 3 {
			return Code, 0.75 // HandleSignIn
		}
		for _, t := range codeHeads {
			if strings.HasPrefix(body, t) && len(body) > len(t)+2 && unicode.IsUpper(rune(body[len(t)])) {
				return Code, 0.75
			}
		}
		for _, t := range codeTails {
			if strings.HasSuffix(body, t) && len(body) > len(t)+1 {
				return Code, 0.8
			}
		}
	}
	if services.has(low) {
		return Service, 0.8
	}
	return Unknown, 0
}

// humps counts the words of an identifier in camel case.
func humps(s string) int {
	n := 1
	for i := 1; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' && s[i-1] >= 'a' && s[i-1] <= 'z' {
			n++
		}
	}
	return n
}

// camel tells whether an upper-case letter follows a lower-case one and a further one comes after.
func camel(s string) bool {
	for i := 1; i < len(s)-1; i++ {
		if s[i] >= 'A' && s[i] <= 'Z' && (s[i-1] >= 'a' && s[i-1] <= 'z' || s[i-1] >= '0' && s[i-1] <= '9') {
			return true
		}
	}
	return false
}

// hexID knows abbreviated commits: hex digits of one case with both letters and digits among them.
func hexID(s string) bool {
	letter, digit := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digit++
		case 'a' <= c && c <= 'f':
			letter++
		default:
			return false
		}
	}
	return letter > 0 && digit > 0
}
