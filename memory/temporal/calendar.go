package temporal

import "time"

// Calendar arithmetic. Everything goes through time.Date, which normalizes fields in the location: a day
// is the span between two local midnights, whether it has 23, 24 or 25 hours.

// day is local midnight of t's day. Where a clock change skips midnight it is the first instant of the day.
func day(t time.Time) time.Time {
	y, m, d := t.Date()
	return date(y, m, d, t.Location())
}

func date(y int, m time.Month, d int, loc *time.Location) time.Time {
	t := time.Date(y, m, d, 0, 0, 0, 0, loc)
	if t.Hour() != 0 { // midnight does not exist that day: Date may answer an hour before it
		if want := time.Date(y, m, d, 12, 0, 0, 0, loc); t.Day() != want.Day() {
			t = time.Date(y, m, d, 1, 0, 0, 0, loc)
		}
	}
	return t
}

// days moves a local midnight by n days.
func days(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	return date(y, m, d+n, t.Location())
}

// months moves a date by n months, staying in the month: one month after 31 January is 28 February.
func months(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	first := time.Date(y, m+time.Month(n), 1, 12, 0, 0, 0, time.UTC)
	if last := daysIn(first.Year(), first.Month()); d > last {
		d = last
	}
	return date(first.Year(), first.Month(), d, t.Location())
}

func daysIn(y int, m time.Month) int { return time.Date(y, m+1, 0, 12, 0, 0, 0, time.UTC).Day() }

// valid reports whether y-m-d is a day of the calendar.
func valid(y, m, d int) bool { return m >= 1 && m <= 12 && d >= 1 && d <= daysIn(y, time.Month(m)) }

// floor is the start of the unit of grain g that holds t.
func (r *Resolver) floor(t time.Time, g Grain) time.Time {
	y, m, _ := t.Date()
	loc := t.Location()
	switch g {
	case Second:
		return t.Truncate(time.Second)
	case Minute:
		return t.Add(-time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	case Hour, PartOfDay:
		return t.Add(-time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
	case Week:
		d := day(t)
		return days(d, -int((d.Weekday()-r.weekStart+7)%7))
	case Weekend: // the Saturday of t's week, weeks counted from Monday whatever WeekStart says
		d := day(t)
		return days(d, 5-int((d.Weekday()+6)%7))
	case Month:
		return date(y, m, 1, loc)
	case Quarter:
		return date(y, (m-1)/3*3+1, 1, loc)
	case Season: // December, March, June, September
		if m == time.December {
			return date(y, m, 1, loc)
		}
		return date(y, m/3*3, 1, loc) // month 0 is December of the year before
	case Year:
		return date(y, 1, 1, loc)
	case Decade:
		return date(floorDiv(y, 10)*10, 1, 1, loc)
	case Century: // the 20th century is 1901 to 2000
		return date(floorDiv(y-1, 100)*100+1, 1, 1, loc)
	}
	return day(t)
}

func floorDiv(a, b int) int {
	if a < 0 {
		return -((-a + b - 1) / b)
	}
	return a / b
}

// add moves t by n units of g. Days and coarser are moved on the calendar and keep the clock time;
// hours and finer are lengths.
func add(t time.Time, g Grain, n int) time.Time {
	switch g {
	case Second:
		return t.Add(time.Duration(n) * time.Second)
	case Minute:
		return t.Add(time.Duration(n) * time.Minute)
	case Hour, PartOfDay:
		return t.Add(time.Duration(n) * time.Hour)
	case Day, Range:
		return atClock(days(day(t), n), t)
	case Week, Weekend:
		return atClock(days(day(t), 7*n), t)
	}
	return atClock(months(day(t), n*monthsOf(g)), t)
}

func monthsOf(g Grain) int {
	switch g {
	case Month:
		return 1
	case Quarter, Season:
		return 3
	case Year:
		return 12
	case Decade:
		return 120
	case Century:
		return 1200
	}
	return 0
}

// atClock is d's day with t's clock time; the start of a day stays one, also where that is not midnight.
func atClock(d, t time.Time) time.Time {
	h, m, s := t.Clock()
	if h|m|s|t.Nanosecond() == 0 || t.Equal(day(t)) {
		return d
	}
	return time.Date(d.Year(), d.Month(), d.Day(), h, m, s, t.Nanosecond(), d.Location())
}

// unit is the interval of one unit of g that starts at start.
func unit(start time.Time, g Grain) Interval {
	end := add(start, g, 1)
	if g == Weekend {
		end = days(start, 2)
	}
	return Interval{Start: start, End: end, Grain: g}
}

// current is the unit of g that holds t.
func (r *Resolver) current(t time.Time, g Grain) Interval { return unit(r.floor(t, g), g) }

// nth is the unit of g that lies n units after (before, for n < 0) the one that holds t.
func (r *Resolver) nth(t time.Time, g Grain, n int) Interval {
	return unit(add(r.floor(t, g), g, n), g)
}

// weekday is the nearest day of weekday wd strictly before (dir < 0) or after (dir > 0) the day of t.
func weekday(t time.Time, wd time.Weekday, dir int) time.Time {
	d := day(t)
	if dir < 0 {
		n := int((d.Weekday() - wd + 7) % 7)
		if n == 0 {
			n = 7
		}
		return days(d, -n)
	}
	n := int((wd - d.Weekday() + 7) % 7)
	if n == 0 {
		n = 7
	}
	return days(d, n)
}

// seasonMonth is the month in which season s (0 winter, 1 spring, 2 summer, 3 autumn) starts.
func (r *Resolver) seasonMonth(s int) time.Month {
	if r.o.Southern {
		s = (s + 2) % 4
	}
	return [...]time.Month{time.December, time.March, time.June, time.September}[s]
}

// seasonOf is season s of year y; a season that starts in December belongs to the year it starts in.
func (r *Resolver) seasonOf(s, y int, loc *time.Location) Interval {
	return unit(date(y, r.seasonMonth(s), 1, loc), Season)
}
