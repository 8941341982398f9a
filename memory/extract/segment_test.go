package extract

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTranscripts(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"names":     {"Alice: hi there\nBob: hello\n", "Alice||hi there / Bob||hello"},
		"again":     {"Zork: one\nQuux: two\nZork: three", "Zork||one / Quux||two / Zork||three"},
		"brackets":  {"[10:32] Alice: hi\n[10:33] Bob: yo\nand more\n", "Alice|10:32|hi / Bob|10:33|yo\nand more"},
		"bold":      {"**Alice** (10:32): hi\n\n**Bob** (10:40): yo", "Alice|10:32|hi / Bob|10:40|yo"},
		"bold name": {"**Alice:** hi\n**Bob:** yo\n**Alice:** so", "Alice||hi / Bob||yo / Alice||so"},
		"bold time": {"**Alice** (10:32)\nhi\n\n**Bob** (10:40)\nyo", "Alice|10:32|hi / Bob|10:40|yo"},
		"whatsapp":  {"12/05/23, 10:32 - Alice: hi\n12/05/23, 10:33 - Bob Lee: yo", "Alice|12/05/23, 10:32|hi / Bob Lee|12/05/23, 10:33|yo"},
		"iphone":    {"[12/05/2023, 10:32:11] Alice: hi\n[12/05/2023, 10:33:00] Bob: yo", "Alice|12/05/2023, 10:32:11|hi / Bob|12/05/2023, 10:33:00|yo"},
		"irc":       {"10:32 <ann> hi\n10:33 <bo_b> yo", "ann|10:32|hi / bo_b|10:33|yo"},
		"slack":     {"Alice  10:32 AM\nhi all\nBob  10:33 AM\nyo", "Alice|10:32 AM|hi all / Bob|10:33 AM|yo"},
		"roles":     {"User: fix it\nAssistant: done\n", "User||fix it / Assistant||done"},
		"small":     {"user: fix it\nassistant: done\n", "user||fix it / assistant||done"},
		"preface":   {"From the meeting:\n\nAnna: we ship on Friday\nOtto: fine\nAnna: good", "||From the meeting: / Anna||we ship on Friday / Otto||fine / Anna||good"},
		"multiline": {"Anna: first\n\nsecond paragraph\nOtto: fine\n", "Anna||first\n\nsecond paragraph / Otto||fine"},
		"iso":       {"2024-03-01T10:32:00Z Anna: a\n2024-03-01T10:33:00Z Otto: b", "Anna|2024-03-01T10:32:00Z|a / Otto|2024-03-01T10:33:00Z|b"},
		"crlf":      {"Anna: a\r\nOtto: b\r\nAnna: c\r\n", "Anna||a / Otto||b / Anna||c"},
		"other":     {"Иван: привет\nОльга: пока\nИван: да", "Иван||привет / Ольга||пока / Иван||да"},

		"fields":  {"Name: Bob\nAge: 5\nCity: Paris\n", ""},
		"config":  {"host: localhost\nport: 80\nhost: b\nport: 81\n", ""},
		"notes":   {"Note: one\nWarning: two\nNote: three\n", ""},
		"one":     {"Alice: hi\nand nothing more", ""},
		"prose":   {"He said: no.\nShe said: yes.\n", ""},
		"times":   {"10:30 standup\n11:00 review\n12:00 lunch", ""},
		"urls":    {"See http://a.b/c\nSee http://a.b/d\n", ""},
		"code":    {"```\nAlice: a\nBob: b\nAlice: c\n```\n", ""},
		"mail":    {"From: Anna\nTo: Otto\nSubject: Lunch\n\nDear Otto", ""},
		"headers": {"Decision: use Go\nContext: speed\nDecision: use Pebble\nContext: size", ""},
		"days":    {"Monday: run\nTuesday: swim\nMonday: rest", ""},
		"empty":   {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			segs := Segments(c.text)
			checkSegments(t, c.text, segs)
			var out []string
			for _, s := range segs {
				out = append(out, fmt.Sprintf("%s|%s|%s", s.Speaker, s.At, s.Body.In(c.text)))
			}
			if got := strings.Join(out, " / "); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestSegments(t *testing.T) {
	para := strings.Repeat("The harbour was quiet in the morning. ", 12) // 456 runes
	long := strings.Repeat("word and ", 400)
	for name, text := range map[string]string{
		"paragraphs": strings.TrimSpace(strings.Repeat(para+"\n\n", 12)),
		"markdown":   strings.Repeat("# A heading\n\n"+para+"\n\n## A lower one\n\n"+para+"\n\n", 5),
		"one block":  strings.Repeat(para, 8),
		"no ends":    long,
		"no blanks":  strings.Repeat("x", 9000),
		"clusters":   strings.Repeat("👩‍👩‍👧‍👦", 2500),
		"cjk":        strings.Repeat("今日は東京に行きました。", 400),
		"fence":      para + "\n\n```go\n" + strings.Repeat("x := 1\n\n", 100) + "```\n\n" + strings.Repeat(para+"\n\n", 5),
		"crlf":       strings.Repeat(para+"\r\n\r\n", 9),
		"blanks":     strings.Repeat("\n", 5000) + para,
		"speech":     "Anna: " + strings.Repeat(para, 8) + "\nOtto: fine\nAnna: good",
	} {
		t.Run(name, func(t *testing.T) {
			segs := Segments(text)
			if len(segs) < 2 && name != "blanks" {
				t.Fatalf("%d segments", len(segs))
			}
			checkSegments(t, text, segs)
			for i, s := range segs {
				n := utf8.RuneCountInString(s.Body.In(text))
				if n > maxSegment {
					t.Errorf("segment %d has %d runes", i, n)
				}
				if name == "clusters" && !strings.HasPrefix(s.Body.In(text), "👩") {
					t.Errorf("segment %d cuts a cluster", i)
				}
				if name == "paragraphs" && !strings.HasSuffix(s.Body.In(text), ".") || name == "cjk" && !strings.HasSuffix(s.Body.In(text), "。") {
					t.Errorf("segment %d ends inside a sentence: %q", i, s.Body.In(text))
				}
				if name == "markdown" && !strings.HasPrefix(s.Body.In(text), "#") {
					t.Errorf("segment %d does not open with its heading", i)
				}
				if name == "fence" && strings.Count(s.Body.In(text), "```")%2 != 0 {
					t.Errorf("segment %d tears the code", i)
				}
			}
		})
	}
	for _, short := range []string{"", "One line.", strings.Repeat("é", shortText), para + "\n\n" + para} {
		if segs := Segments(short); segs != nil {
			t.Errorf("%d segments of a short text", len(segs))
		}
	}
}
