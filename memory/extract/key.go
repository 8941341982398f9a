package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Key is the form under which names are compared: NFC, case folded, blanks collapsed, a leading
// article and a possessive ending off, ’ written as '. Given names, speakers and mentions folded by
// it meet. A name that would fold to nothing keeps its own folded form.
func Key(name string) string {
	s := strings.TrimSpace(name)
	ascii, clean := true, true
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			ascii = false
			break
		}
		if c >= 'A' && c <= 'Z' || c < ' ' || c == ' ' && i+1 < len(s) && s[i+1] == ' ' {
			clean = false
		}
	}
	if ascii {
		if !clean {
			s = strings.Join(strings.Fields(strings.ToLower(s)), " ")
		}
	} else {
		s = strings.ToValidUTF8(s, "\uFFFD")
		s = norm.NFC.String(cases.Fold().String(norm.NFC.String(s)))
		s = strings.Map(func(r rune) rune {
			switch {
			case r == '’' || r == 'ʼ':
				return '\''
			case r == '\u200e' || r == '\u200f' || r == '\u2060' || r == '\ufeff':
				return -1
			case unicode.IsSpace(r):
				return ' '
			}
			return r
		}, s)
		s = strings.Join(strings.Fields(s), " ")
	}
	t := s
	for _, article := range [...]string{"the ", "a ", "an "} {
		if strings.HasPrefix(t, article) {
			t = t[len(article):]
			break
		}
	}
	switch {
	case strings.HasSuffix(t, "'s"):
		t = t[:len(t)-2]
	case strings.HasSuffix(t, "s'"):
		t = t[:len(t)-1]
	}
	if t = strings.TrimSpace(t); t == "" {
		return s
	}
	return t
}
