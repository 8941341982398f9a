package secrets

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

//go:embed rules/gitleaks.toml
var gitleaksRules []byte

// rule finds one kind of secret.
type rule struct {
	id, description string
	keywords        []string // lower case; none: always looked for
	regex           string
	secretGroup     int     // 0: the first group that took part, or the whole match
	entropy         float64 // the secret has more, in bits per character; 0: any
	allow           []*allowance

	// Of our own rules.
	trim   func(text string, from, to int) (int, int)
	accept func(secret string) bool

	// near is for a rule whose keywords are everyday words: one of these has to follow within nearBytes.
	near string

	once     sync.Once
	compiled *regexp.Regexp
	longest  int // of a match, in bytes; -1: unbounded
}

// expr compiles the rule's expression; a test compiles all.
func (r *rule) expr() *regexp.Regexp {
	r.once.Do(func() {
		r.compiled = regexp.MustCompile(r.regex)
		r.longest = longest(r.regex)
	})
	return r.compiled
}

// allowance is what only looks like a secret: a placeholder, an example, a word.
type allowance struct {
	regexes   []string
	target    string // what regexes are matched with: "" the secret, "match" or "line"
	stopwords []string
	all       bool // all of the conditions, not any
	paths     bool // one of the conditions is a file's path, which our texts have none of

	once     sync.Once
	compiled []*regexp.Regexp
}

func (a *allowance) exprs() []*regexp.Regexp {
	a.once.Do(func() {
		for _, re := range a.regexes {
			a.compiled = append(a.compiled, regexp.MustCompile(re))
		}
	})
	return a.compiled
}

// The parts of gitleaks' configuration that bear on a text. Rules about paths alone have no regex.
type (
	fileAllow struct {
		Condition   string   `toml:"condition"`
		RegexTarget string   `toml:"regexTarget"`
		Regexes     []string `toml:"regexes"`
		Stopwords   []string `toml:"stopwords"`
		Paths       []string `toml:"paths"`
	}
	fileRules struct {
		Allowlist fileAllow `toml:"allowlist"`
		Rules     []struct {
			ID          string      `toml:"id"`
			Description string      `toml:"description"`
			Regex       string      `toml:"regex"`
			Keywords    []string    `toml:"keywords"`
			SecretGroup int         `toml:"secretGroup"`
			Entropy     float64     `toml:"entropy"`
			Allowlists  []fileAllow `toml:"allowlists"`
		} `toml:"rules"`
	}
)

func (f fileAllow) allowance() *allowance {
	return &allowance{regexes: f.Regexes, target: f.RegexTarget, stopwords: f.Stopwords,
		all: strings.EqualFold(f.Condition, "AND") || f.Condition == "&&", paths: len(f.Paths) > 0}
}

type loaded struct {
	rules  []*rule
	global []*allowance
	words  *keywords
}

var load = sync.OnceValue(func() *loaded {
	var f fileRules
	if err := toml.Unmarshal(gitleaksRules, &f); err != nil {
		panic(fmt.Sprintf("rules/gitleaks.toml: %v: a bug in this program", err))
	}
	l := &loaded{global: []*allowance{f.Allowlist.allowance()}}
	for _, fr := range f.Rules {
		if fr.Regex == "" {
			continue
		}
		r := &rule{id: fr.ID, description: fr.Description, regex: fr.Regex, secretGroup: fr.SecretGroup, entropy: fr.Entropy}
		for _, k := range fr.Keywords {
			r.keywords = append(r.keywords, strings.ToLower(k))
		}
		for _, a := range fr.Allowlists {
			r.allow = append(r.allow, a.allowance())
		}
		if fr.ID == "generic-api-key" {
			r.near = "=>:|," // its expression asks for one of them after at most 23 characters
		}
		l.rules = append(l.rules, r)
	}
	l.rules = append(l.rules, ownRules()...)
	l.words = newKeywords(l.rules)
	return l
})

func ruleSet() []*rule            { return load().rules }
func globalAllowed() []*allowance { return load().global }

// ownRules are for what people say. They are made so as to leave talk about passwords alone: what counts as
// one has to look like no word.
func ownRules() []*rule {
	const (
		names = `passwords?|passcode|passphrase|pass[ -]?code|passwort|kennwort|mot de passe|contraseña|contrasena|wachtwoord|senha|пароль|пароля`
		are   = `(?:=|:|\b(?:(?:is|was|were|been|got) )?(?:set|changed|reset|updated|switched) (?:it )?to\b|\b(?:is|was|are|ist|war|est|es|era|é)\b)`
	)
	keys := []string{"passwor", "passcode", "passphrase", "pass code", "pass-code", "kennwort", "mot de passe", "contrase", "wachtwoord", "senha", "парол"}
	return []*rule{
		{
			id:          "password-in-words",
			description: "A password told in plain words.",
			keywords:    keys,
			regex:       `(?i)(?:^|[^\pL])(?:` + names + `)(?:[^\pL.\n!?][^.\n!?:=]{0,40}?)??\s*` + are + `\s*(?:now )?["'` + "`" + `“‘«]?([^\s"'` + "`" + `“”‘’«»]{4,80})`,
			trim:        trimPunctuation,
			accept:      looksMade,
		},
		{
			id:          "password-quoted",
			description: "A password or passphrase in quotation marks.",
			keywords:    keys,
			regex:       `(?i)(?:^|[^\pL])(?:` + names + `)(?:[^\pL.\n!?][^.\n!?:=]{0,40}?)??\s*` + are + `\s*(?:now )?["` + "`" + `“«]([^"` + "`" + `“”«»\n]{6,80})["` + "`" + `”»]`,
			accept: func(s string) bool {
				return !placeholder(s) && (strings.Contains(strings.TrimSpace(s), " ") || looksMade(s))
			},
		},
		{
			id:          "password-in-url",
			description: "A user name and password inside a URL or connection string.",
			keywords:    []string{"://"},
			regex:       `(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@"'<>]{0,64}:([^\s/@"'<>]{3,128})@[\w.\[-]`,
			accept:      func(s string) bool { return !placeholder(s) },
		},
		{
			id:          "pin-in-words",
			description: "A PIN told in plain words.",
			keywords:    []string{"pin"},
			regex:       `(?:^|[^\pL])(?:PIN|(?i:pin (?:code|number))|(?i:(?:card|phone|sim|door|alarm|bank|debit|credit)(?:'s)? pin))(?: (?:code|number))?(?: for [^.\n!?:=]{1,30}?)?\s*` + are + `\s*(?:now )?["'“]?(\d{4,8})\b`,
		},
	}
}

// trimPunctuation takes off the end of the sentence.
func trimPunctuation(text string, from, to int) (int, int) {
	return from, from + len(strings.TrimRight(text[from:to], `.,;:?)]}>`))
}

// looksMade says whether a word looks like a password and not like a word, a number of the everyday kind
// or a placeholder.
func looksMade(s string) bool {
	var letters, upper, digits, symbols int
	for i, c := range s {
		switch {
		case unicode.IsDigit(c):
			digits++
		case unicode.IsLetter(c):
			letters++
			if i > 0 && unicode.IsUpper(c) {
				upper++
			}
		default:
			symbols++
		}
	}
	switch {
	case placeholder(s) || len(s) < 4 || strings.Contains(s, "://"):
		return false
	case letters == 0:
		return digits >= 6 && symbols == 0 // not a date, a time or a price
	case digits > 0:
		return len(s) >= 6 && !ordinary.MatchString(s)
	case symbols > 0:
		return len(s) >= 6 && strings.ContainsAny(strings.Trim(s, "!-'’"), "!@#$%^&*_+=|~?")
	}
	return upper > 1 && upper < letters-1 && len(s) >= 8 // camelCase words are rare after "is"
}

var (
	// Things with digits that are no passwords: ordinals, times, products, versions.
	ordinary = regexp.MustCompile(`(?i)^(?:\d+(?:st|nd|rd|th|am|pm|px|kb|mb|gb|ms|s|min|h|hours?|days?|weeks?|months?|years?|chars?|bits?|-\pL+)|v?\d+(?:\.\d+)+|1password|\d{1,2}[:.]\d{2}(?:am|pm)?|(?:sha|md|utf|aes|oauth|base|bcrypt|argon|pbkdf)-?\d+\w*)$`)

	filler = []string{"example", "placeholder", "redacted", "your", "xxxx", "****", "....", "<", "${", "{{", "%s", "changeme", "[secret:"}
)

func placeholder(s string) bool {
	low := strings.ToLower(s)
	return strings.Trim(s, "*x.•X-_") == "" || strings.HasPrefix(s, "$") && strings.ToUpper(s) == s ||
		slices.ContainsFunc(filler, func(f string) bool { return strings.Contains(low, f) })
}
