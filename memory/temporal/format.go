package temporal

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Format writes an interval for a reader: "7 May 2023", "June 2023", "the week of 5 June 2023",
// "2 to 9 June 2023", "summer 2022", "since 2016", "until 9 June 2023", "8 May 2023, 13:56". What it writes
// Find reads as the same interval, except for parts of a day with unusual bounds.
func Format(i Interval) string {
	switch {
	case i.IsZero():
		return "unknown"
	case i.OpenStart && i.OpenEnd:
		return "any time"
	case i.OpenEnd:
		return "since " + startWords(i.Start, i.Grain)
	case i.OpenStart:
		return "before " + startWords(i.End, i.Grain)
	}
	if s, ok := whole(i); ok {
		return s
	}
	if !midnight(i.Start) || !midnight(i.End) {
		return instant(i.Start, i.Grain) + " to " + instantAfter(i.Start, i.End, i.Grain)
	}
	last := days(i.End, -1)
	if !last.After(i.Start) {
		return dayWords(i.Start)
	}
	a, b := i.Start, last
	switch {
	case a.Day() == 1 && i.End.Day() == 1 && a.Month() == 1 && i.End.Month() == 1:
		return strconv.Itoa(a.Year()) + " to " + strconv.Itoa(b.Year())
	case a.Day() == 1 && i.End.Day() == 1 && a.Year() == b.Year():
		return a.Month().String() + " to " + monthWords(b)
	case a.Day() == 1 && i.End.Day() == 1:
		return monthWords(a) + " to " + monthWords(b)
	case a.Year() == b.Year() && a.Month() == b.Month():
		return fmt.Sprintf("%d to %s", a.Day(), dayWords(b))
	case a.Year() == b.Year():
		return fmt.Sprintf("%d %s to %s", a.Day(), a.Month(), dayWords(b))
	}
	return dayWords(a) + " to " + dayWords(b)
}

// whole names an interval that is one unit of the calendar.
func whole(i Interval) (string, bool) {
	s := i.Start
	is := func(g Grain) bool { return i.End.Equal(unit(s, g).End) }
	switch i.Grain {
	case Second, Minute, Hour:
		if is(i.Grain) {
			return instant(s, i.Grain), true
		}
	case PartOfDay:
		for _, c := range []struct {
			p part
			s string
		}{{partMorning, "in the morning"}, {partAfternoon, "in the afternoon"}, {partEvening, "in the evening"}} {
			if s.Equal(hourOf(day(s), c.p.from)) && i.End.Equal(hourOf(day(s), c.p.to)) {
				return dayWords(s) + " " + c.s, true
			}
		}
	}
	if !midnight(s) || !midnight(i.End) {
		return "", false
	}
	switch {
	case is(Day):
		return dayWords(s), true
	case i.Grain == Weekend && is(Weekend) && s.Weekday() == time.Saturday:
		return "the weekend of " + dayWords(s), true
	case i.Grain == Week && is(Week) && s.Weekday() == time.Monday:
		return "the week of " + dayWords(s), true
	case s.Day() == 1 && is(Month):
		return monthWords(s), true
	case i.Grain == Quarter && s.Day() == 1 && s.Month()%3 == 1 && is(Quarter):
		return fmt.Sprintf("Q%d %s", (s.Month()+2)/3, yearWords(s)), true
	case i.Grain == Season && s.Day() == 1 && s.Month()%3 == 0 && is(Season):
		return [...]string{"spring ", "summer ", "autumn ", "winter "}[s.Month()/3-1] + yearWords(s), true
	case s.YearDay() == 1 && is(Year):
		return yearWords(s), true
	case i.Grain == Decade && s.YearDay() == 1 && s.Year()%10 == 0 && (s.Year()%100 != 0 || s.Year() >= 2000) && is(Decade) && s.Year() >= 1000 && s.Year() <= 9999: // the 1900s are a century
		return "the " + yearWords(s) + "s", true
	}
	return "", false
}

func hourOf(d time.Time, h int) time.Time {
	if h == 24 {
		return days(d, 1)
	}
	if h == 0 {
		return d
	}
	return hour(d, h, 0, 0)
}

func midnight(t time.Time) bool { return t.Equal(day(t)) }

func dayWords(t time.Time) string { return fmt.Sprintf("%d %s %s", t.Day(), t.Month(), yearWords(t)) }

func monthWords(t time.Time) string { return t.Month().String() + " " + yearWords(t) }

func yearWords(t time.Time) string { return fmt.Sprintf("%04d", t.Year()) }

// instant writes a point in time as finely as the grain.
func instant(t time.Time, g Grain) string {
	if g == Second || t.Second() != 0 {
		return dayWords(t) + ", " + t.Format("15:04:05")
	}
	return dayWords(t) + ", " + t.Format("15:04")
}

// instantAfter writes the end of a range that started at a: without the day where that is the same.
func instantAfter(a, t time.Time, g Grain) string {
	if a.Year() == t.Year() && a.YearDay() == t.YearDay() {
		return strings.TrimPrefix(instant(t, g), dayWords(t)+", ")
	}
	return instant(t, g)
}

// startWords writes the edge of an open interval.
func startWords(t time.Time, g Grain) string {
	switch {
	case !midnight(t):
		return instant(t, g)
	case t.YearDay() == 1 && g >= Year:
		return yearWords(t)
	case t.Day() == 1 && g >= Month:
		return monthWords(t)
	}
	return dayWords(t)
}

// Describe writes a mention's time the way a reader finds it easiest to check against ref, when it was
// said: "the week before 9 June 2023", "the Friday before 15 July 2023", "the weekend before 17 July 2023",
// "around May 2022"; else as Format does. The words say no more than the interval does.
func Describe(m Mention, ref time.Time) string {
	i := m.Interval
	if !i.OpenStart && !i.OpenEnd && len(m.Text) > 3 && strings.EqualFold(m.Text[:3], "by ") && !i.End.Before(ref) {
		if midnight(i.End) {
			return "by " + dayWords(days(i.End, -1))
		}
		return "by " + instant(i.End, Minute)
	}
	if m.Absolute || i.OpenStart || i.OpenEnd || i.IsZero() {
		return about(m, Format(i))
	}
	d := day(ref)
	switch i.Grain {
	case Day:
		n := daysBetween(i.Start, d)
		words := strings.ToLower(m.Text)
		if n >= 1 && n <= 7 && strings.Contains(words, strings.ToLower(i.Start.Weekday().String()[:3])) && !strings.ContainsAny(words, "0123456789") {
			return fmt.Sprintf("%s, the %s before %s", dayWords(i.Start), i.Start.Weekday(), dayWords(d))
		}
		return about(m, dayWords(i.Start))
	case Weekend:
		switch n := daysBetween(i.Start, d); {
		case n > 1 && n <= 8:
			return fmt.Sprintf("the weekend before %s (%s)", dayWords(d), short(i))
		case n > 8 && n <= 15:
			return fmt.Sprintf("two weekends before %s (%s)", dayWords(d), short(i))
		}
		return fmt.Sprintf("the weekend of %s", short(i))
	case Week:
		switch {
		case i.End.Equal(d):
			return fmt.Sprintf("the week before %s", dayWords(d))
		case !i.End.After(d) && daysBetween(i.End, d) < 7:
			return fmt.Sprintf("the week before %s (%s)", dayWords(d), short(i))
		}
	}
	return about(m, Format(i))
}

func about(m Mention, s string) string {
	if m.Approx && !m.OpenStart && !m.OpenEnd && !m.IsZero() {
		return "around " + s
	}
	return s
}

// short writes a run of days as a range whatever its grain.
func short(i Interval) string { return Format(Interval{Start: i.Start, End: i.End, Grain: Range}) }

// daysBetween counts calendar days from a to b, negative where b lies before a.
func daysBetween(a, b time.Time) int {
	x := time.Date(a.Year(), a.Month(), a.Day(), 0, 0, 0, 0, time.UTC)
	y := time.Date(b.Year(), b.Month(), b.Day(), 0, 0, 0, 0, time.UTC)
	return int((y.Unix() - x.Unix()) / 86400)
}

// Elapsed writes how long it is from a to b (from the earlier start to the later one) in unit: "5 weeks and 2 days",
// "3 years and 1 month". Calendar arithmetic: months and years are those of the calendar. A unit that is
// no unit of length (Range, PartOfDay, Weekend, Season) counts as days; Week as weeks.
func Elapsed(a, b Interval, g Grain) string {
	x, y := a.Start, b.Start
	if x.IsZero() || a.OpenStart {
		x = a.End
	}
	if y.IsZero() || b.OpenStart {
		y = b.End
	}
	if y.Before(x) {
		x, y = y, x
	}
	y = y.In(x.Location())
	switch g {
	case Second, Minute, Hour:
		d := y.Sub(x)
		one := [...]time.Duration{time.Second, time.Minute, time.Hour}[g]
		n := int64(d / one)
		if rest := int64(d%one) / int64(time.Minute); g == Hour && rest > 0 {
			return plural(n, "hour") + " and " + plural(rest, "minute")
		}
		return plural(n, g.String())
	case Week:
		n := daysBetween(x, y)
		return joined(plural(int64(n/7), "week"), int64(n%7), "day", n/7 == 0)
	case Month, Quarter, Year, Decade, Century:
		n := monthsBetween(x, y)
		rest := daysBetween(months(day(x), n), y)
		if g == Month {
			return joined(plural(int64(n), "month"), int64(rest), "day", n == 0)
		}
		per := monthsOf(g)
		left := int64(n % per)
		if g > Year {
			return joined(plural(int64(n/per), g.String()), left/12, "year", n/per == 0)
		}
		if n < 12 && g == Year {
			return joined(plural(int64(n), "month"), int64(rest), "day", n == 0)
		}
		return joined(plural(int64(n/per), g.String()), left, "month", n/per == 0)
	}
	return plural(int64(daysBetween(x, y)), "day")
}

// monthsBetween counts whole calendar months from x to y.
func monthsBetween(x, y time.Time) int {
	n := (y.Year()-x.Year())*12 + int(y.Month()) - int(x.Month())
	if n > 0 && months(day(x), n).After(y) {
		n--
	}
	return n
}

func joined(first string, n int64, unit string, skipFirst bool) string {
	switch {
	case n == 0:
		return first
	case skipFirst:
		return plural(n, unit)
	}
	return first + " and " + plural(n, unit)
}

func plural(n int64, s string) string {
	if n == 1 {
		return "1 " + s
	}
	if s == "century" {
		return fmt.Sprintf("%d centuries", n)
	}
	return fmt.Sprintf("%d %ss", n, s)
}
