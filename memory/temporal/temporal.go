// Package temporal answers the question: when does this text say it happened?
//
// Find reads the time expressions of a text against a reference time (when the text was said) and gives
// half-open intervals with a grain: "yesterday" said on 8 May 2023 is [7 May, 8 May), a day. Instant reads
// an input field, Question the time in a question, Format and Describe write intervals for a reader.
//
// The grammar is our own, one rule set per language (english*.go, chinese*.go), chosen by script; clock
// times in figures ("3:15 pm") are read by github.com/olebedev/when (clock.go). All arithmetic is on the
// calendar (calendar.go), never on durations, so that nights of a clock change, month ends and every zone
// come out right, and any year does.
//
// The sentence's tense decides where a bare weekday, month or date lies (tense.go): a memory looks back
// unless its words look ahead. A bare expression without any other word ("monday", "2/15") has no tense
// and looks ahead, as calendars do; and it is read exactly ("a week ago" is a day), where the same words
// in a told sentence are as coarse as their unit ("I moved in a week ago").
package temporal

import (
	"fmt"
	"strings"
	"time"
)

// Grain is how finely a time is known. String gives the contract's names. The numbers are written to disk:
// append, never renumber.
type Grain uint8

// The grains, finest first. Range is an interval of no single unit.
const (
	Second    Grain = 0
	Minute    Grain = 1
	Hour      Grain = 2
	PartOfDay Grain = 3
	Day       Grain = 4
	Weekend   Grain = 5
	Week      Grain = 6
	Month     Grain = 7
	Quarter   Grain = 8
	Season    Grain = 9
	Year      Grain = 10
	Decade    Grain = 11
	Century   Grain = 12
	Range     Grain = 13
)

var grainNames = [...]string{"second", "minute", "hour", "part_of_day", "day", "weekend", "week", "month",
	"quarter", "season", "year", "decade", "century", "range"}

// String gives the contract's name of the grain: "part_of_day", "week".
func (g Grain) String() string {
	if int(g) < len(grainNames) {
		return grainNames[g]
	}
	return fmt.Sprintf("grain(%d)", uint8(g))
}

// ParseGrain reads what String wrote.
func ParseGrain(s string) (Grain, error) {
	for i, n := range grainNames {
		if s == n {
			return Grain(i), nil
		}
	}
	return 0, fmt.Errorf("unknown grain %q: one of %s", s, strings.Join(grainNames[:], ", "))
}

// Interval is the half-open span [Start, End). With OpenStart it has no beginning ("until Friday") and
// Start is zero; with OpenEnd it has no end ("since 2016") and End is zero.
type Interval struct {
	Start, End         time.Time
	OpenStart, OpenEnd bool
	Grain              Grain
}

// IsZero reports whether i is the zero value: no place in time at all.
func (i Interval) IsZero() bool {
	return !i.OpenStart && !i.OpenEnd && i.Start.IsZero() && i.End.IsZero()
}

// Contains reports whether t lies in i.
func (i Interval) Contains(t time.Time) bool {
	return (i.OpenStart || !t.Before(i.Start)) && (i.OpenEnd || t.Before(i.End))
}

// Covers reports whether all of j lies in i.
func (i Interval) Covers(j Interval) bool {
	return (i.OpenStart || !j.OpenStart && !j.Start.Before(i.Start)) && (i.OpenEnd || !j.OpenEnd && !j.End.After(i.End))
}

// Overlaps reports whether i and j share an instant.
func (i Interval) Overlaps(j Interval) bool {
	return (i.OpenEnd || j.OpenStart || j.Start.Before(i.End)) && (i.OpenStart || j.OpenEnd || i.Start.Before(j.End))
}

// InYear is i moved by whole years so that it starts in year y: what "in June" may mean besides the nearest June.
// Open edges stay open.
func (i Interval) InYear(y int) Interval {
	at := i.Start
	if i.OpenStart {
		at = i.End
	}
	n := y - at.Year()
	if !i.OpenStart {
		i.Start = add(i.Start, Year, n)
	}
	if !i.OpenEnd {
		i.End = add(i.End, Year, n)
	}
	return i
}

// Span is a length of time: Amount units of Grain. Amount may be broken ("2.5 hours").
type Span struct {
	Amount float64
	Grain  Grain
}

// Mention is one time expression of a text. From and To are its byte span, Text the words.
type Mention struct {
	From, To int
	Text     string
	Interval
	Absolute bool  // written out with its year (basis "stated"); false: resolved against the reference
	Yearless bool  // a time of the year without its year ("in June", "at Christmas"): the nearest by tense is given, see InYear
	Approx   bool  // "around", "a few days ago", "the other day"
	Duration bool  // a length rather than a place in time: "for three years"
	Length   *Span // of a duration
	Tense    int8  // -1 past, +1 future, 0 unknown: the direction of the sentence
}

// Began is when the state of a duration that still goes on began, as finely as its unit tells: "for three
// years now" said in 2022 began in 2019, "for four months" said in December in August. False for anything
// else, and for a length without a place in time.
func (m Mention) Began() (Interval, bool) {
	if !m.Duration || m.IsZero() || m.OpenStart || m.OpenEnd {
		return Interval{}, false
	}
	g := Day
	if m.Length == nil { // a stored mention: by how long it is
		switch n := daysBetween(m.Start, m.End); {
		case n > 2*365:
			g = Year
		case n > 45:
			g = Month
		case n > 10:
			g = Week
		}
	} else {
		g = m.Length.Grain
		if g > Day && m.Length.Amount != float64(int(m.Length.Amount)) || g == Year && m.Length.Amount == 1 {
			g = Month
		}
	}
	var r Resolver
	r.weekStart = time.Monday
	switch {
	case g < Day:
		return unit(m.Start, g), true
	case g == Week:
		return Interval{Start: days(m.Start, -3), End: days(m.Start, 4), Grain: Week}, true
	}
	return r.current(m.Start, g), true
}

// Options are the conventions of reading. The zero value is the contract's: American order of figures
// (month before day), weeks from Monday, northern seasons, American feast days.
type Options struct {
	DayFirst  bool          // 3/4/2023 is the 3rd of April
	WeekStart *time.Weekday // nil: Monday
	Southern  bool          // summer starts in December
	Holidays  string        // locale of the feast days: "us" (the default), "gb", "de", "none"
	// WeekBefore true reads "the week before D" as the calendar week before D's; the default is the seven days up to D.
	WeekBefore bool
	// RangeExclusive true ends "26 to 28 June" at the 28th at 00:00; by default a range includes its last unit.
	RangeExclusive bool
}

// Resolver reads time expressions. It is safe for concurrent use.
type Resolver struct {
	o         Options
	weekStart time.Weekday
	feasts    feastTable
}

// New makes a Resolver.
func New(o Options) *Resolver {
	r := &Resolver{o: o, weekStart: time.Monday}
	if o.WeekStart != nil {
		r.weekStart = *o.WeekStart
	}
	r.feasts = feastsOf(o.Holidays)
	return r
}

// Find gives the time expressions of text, resolved against ref, in ref's location: in text order, not
// overlapping, the longest reading of each place. Lengths without a place in time ("we stayed for three
// days") are left out (Lengths has them). It is nil where there is none, and never fails.
func (r *Resolver) Find(text string, ref time.Time) []Mention {
	all := r.scan(text, ref)
	out := all[:0]
	for _, m := range all {
		if !m.IsZero() {
			out = append(out, m)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Lengths gives the durations that text names ("for three years", "two hours long"), placed in time or
// not: one without a place has a zero Interval.
func (r *Resolver) Lengths(text string, ref time.Time) []Mention {
	var out []Mention
	for _, m := range r.scan(text, ref) {
		if m.Length != nil {
			out = append(out, m)
		}
	}
	return out
}
