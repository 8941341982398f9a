package temporal

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Instant reads an input field (occurred_at, since, until, valid_from): RFC 3339 (a point, grain Second), a
// date alone (that whole day), "2023-05", "2023", or plain words ("yesterday", "last May"), read against ref
// in its location. RFC 3339 keeps the offset it was written with. What cannot be read is an error that
// says what is allowed, without the input where it is long.
func (r *Resolver) Instant(input string, ref time.Time) (Interval, error) {
	s := strings.TrimSpace(input)
	if s == "" {
		return Interval{}, fmt.Errorf("an empty time: give RFC 3339 (2023-05-08T13:56:00Z), a date (2023-05-08) or plain words (yesterday)")
	}
	if len(s) >= 10 && s[4] == '-' {
		if t, n, g, ok := isoTime(s, ref.Location()); ok && n == len(s) {
			end := t.Add(time.Second)
			if g == Minute {
				end = t.Add(time.Minute)
			}
			return Interval{Start: t, End: end, Grain: g}, nil
		}
	}
	// Plain words look back unless they say otherwise: what is remembered has happened.
	buf := make([]token, 0, 16)
	toks, _ := tokenize(s, buf)
	p := &parser{reader: reader{r: r, ref: ref, bare: true, dir: -1}, text: s, toks: toks, free: -1}
	if pt, e := p.point(0); e == len(toks) && e > 0 {
		if iv, ok := p.at(pt, ref, p.dir); ok {
			return iv, nil
		}
	}
	for i := 0; i < len(toks) && i < 2; i++ { // "since March", "in May", "on Friday"
		if i == 1 && !p.has(0, cPrep) || !p.starts(i) {
			continue
		}
		if m, e, ok := p.mention(i); ok && e == len(toks) && !m.Interval.IsZero() {
			return m.Interval, nil
		}
	}
	if scripts(s)&^latin != 0 {
		if ms := r.Find(s, ref); len(ms) == 1 && ms[0].To-ms[0].From == len(s) {
			return ms[0].Interval, nil
		}
	}
	shown := s
	if len(shown) > 60 || !utf8.ValidString(shown) {
		shown = "this text"
	} else {
		shown = fmt.Sprintf("%q", shown)
	}
	return Interval{}, fmt.Errorf("%s is not a time that can be read: give RFC 3339 (2023-05-08T13:56:00Z), a date (2023-05-08), a month (2023-05) or plain words (yesterday, last May)", shown)
}
