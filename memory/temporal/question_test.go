package temporal

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestQuestion(t *testing.T) {
	r := New(Options{})
	ref := time.Date(2023, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct{ q, want string }{
		{"When did Iris see the dentist?", ""},
		{"What is Ana's favourite colour?", ""},
		{"What did we deploy in May 2023?", "in May 2023 stated"},
		{"What did we deploy in June?", "in June 2023 yearless"},
		{"What happened in the last week of August?", "in the week of 21 August 2023 yearless"},
		{"What has changed since March?", "since since March 2023 yearless"},
		{"What did Bo do before 2020?", "before before 2020 stated"},
		{"What did Bo do after 3 May 2023?", "after since 4 May 2023 stated"},
		{"Which books did she read last summer?", "in summer 2023"},
		{"What did I tell you yesterday?", "in 19 November 2023"},
		{"Which flat did Iris leave 4 years ago?", "around 2019"},
		{"What did he mend last Friday on 23 January, 2022?", "in 21 January 2022"},
		{"What did they cook last weekend before April 10, 2023?", "in the weekend of 8 April 2023"},
		{"When did Iris see Tom after the flood?", "after «the flood»"},
		{"Where did Tom live before he moved to Lyon?", "before «he moved to Lyon»"},
		{"How has she slept since the operation?", "since «the operation»"},
		{"What broke during the night shift?", "in «the night shift»"},
		{"How long has Iris been keeping bees?", "duration day"},
		{"How long ago was the last outage?", "duration day ago"},
		{"How many weeks passed between planting the oak and felling it?", "duration week [planting the oak|felling it]"},
		{"How many days from the kick-off to the release?", "duration day [the kick-off|the release]"},
		{"Which came first, the move or the wedding?", "order -1 [the move|the wedding]"},
		{"What happened first: the outage or the deploy?", "order -1 [the outage|the deploy]"},
		{"What was the most recent book I read?", "order 1"},
		{"When did Tom run his first marathon?", "order -1"},
		{"What was the last film they saw?", "order 1"},
		{"How long will the trip last?", "duration day"},
		{"Where did they meet at first?", ""},
		{"What did he do in the last three months?", "in 20 August to 20 November 2023"},
		{"Why did the login deploy break last week?", "in the week of 13 November 2023"},
		{"What did it look like after all?", ""},
		{"May I see the second draft?", ""},
		{"上周我部署了什么？", "in the week of 13 November 2023"},
	} {
		got := r.Question(c.q, ref)
		var out []string
		add := func(s string) { out = append(out, s) }
		if got.Relation != "" {
			add(got.Relation)
		}
		if got.Window != nil {
			add(Format(*got.Window))
		}
		if got.Yearless {
			add("yearless")
		}
		if got.Stated {
			add("stated")
		}
		if got.Anchor != "" {
			add("«" + got.Anchor + "»")
		}
		if got.WantsDuration {
			add("duration " + got.Unit.String())
		}
		if got.Ago {
			add("ago")
		}
		if got.WantsOrder {
			add(fmt.Sprint("order ", got.Order))
		}
		if got.Between[0] != "" {
			add("[" + got.Between[0] + "|" + got.Between[1] + "]")
		}
		if s := strings.Join(out, " "); s != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.q, s, c.want)
		}
	}
}

func TestFits(t *testing.T) {
	r := New(Options{})
	ref := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		q, time string
		want    bool
	}{
		{"What broke in June?", "2023-06-12", true},
		{"What broke in June?", "2023-07-12", false},
		{"What broke in June 2026?", "2023-06-12", false},
		{"Where did we ski during the winter?", "2022-01-05", true},
		{"Where did we ski during the winter?", "2021-12-31", true},
		{"Where did we ski during the winter?", "2022-03-05", false},
		{"What broke before 2024?", "2023-06-12", true},
		{"What broke after 2023?", "2023-06-12", false},
		{"What broke?", "2023-06-12", true},
		{"What did we eat at Christmas?", "2019-12-25", true},
	} {
		iv, err := r.Instant(c.time, ref)
		if err != nil {
			t.Fatal(err)
		}
		if q := r.Question(c.q, ref); q.Fits(iv) != c.want {
			t.Errorf("%s %s: %v, window %+v", c.q, c.time, !c.want, q.Window)
		}
	}
}

func TestInstant(t *testing.T) {
	r := New(Options{})
	ref := time.Date(2023, 6, 9, 19, 55, 0, 0, time.FixedZone("", 2*3600))
	for _, c := range []struct{ in, want string }{
		{"2023-05-08T13:56:00Z", "2023-05-08T13:56:00Z 2023-05-08T13:56:01Z second"},
		{"2023-05-08T13:56:00.250+05:30", "2023-05-08T13:56:00.25+05:30 2023-05-08T13:56:01.25+05:30 second"},
		{"2023-05-08T13:56", "2023-05-08T13:56:00+02:00 2023-05-08T13:57:00+02:00 minute"},
		{"2023-05-08", "2023-05-08T00:00:00+02:00 2023-05-09T00:00:00+02:00 day"},
		{"2023-05", "2023-05-01T00:00:00+02:00 2023-06-01T00:00:00+02:00 month"},
		{"2023", "2023-01-01T00:00:00+02:00 2024-01-01T00:00:00+02:00 year"},
		{"1:56 pm on 8 May, 2023", "2023-05-08T13:56:00+02:00 2023-05-08T13:57:00+02:00 minute"},
		{" yesterday ", "2023-06-08T00:00:00+02:00 2023-06-09T00:00:00+02:00 day"},
		{"last May", "2023-05-01T00:00:00+02:00 2023-06-01T00:00:00+02:00 month"},
		{"two weeks ago", "2023-05-26T00:00:00+02:00 2023-05-27T00:00:00+02:00 day"},
		{"Friday", "2023-06-02T00:00:00+02:00 2023-06-03T00:00:00+02:00 day"},
		{"in May", "2023-05-01T00:00:00+02:00 2023-06-01T00:00:00+02:00 month"},
		{"next Friday", "2023-06-16T00:00:00+02:00 2023-06-17T00:00:00+02:00 day"},
		{"the week before 9 June 2023", "2023-06-02T00:00:00+02:00 2023-06-09T00:00:00+02:00 week"},
		{"now", "2023-06-09T19:55:00+02:00 2023-06-09T19:55:01+02:00 second"},
		{"昨天", "2023-06-08T00:00:00+02:00 2023-06-09T00:00:00+02:00 day"},
		{"summer 2022", "2022-06-01T00:00:00+02:00 2022-09-01T00:00:00+02:00 season"},
	} {
		iv, err := r.Instant(c.in, ref)
		if err != nil {
			t.Errorf("%q: %v", c.in, err)
			continue
		}
		if got := iv.Start.Format(time.RFC3339Nano) + " " + iv.End.Format(time.RFC3339Nano) + " " + iv.Grain.String(); got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.in, got, c.want)
		}
	}
	for _, in := range []string{"", "banana", "2023-13-45", "2023-02-30", "25", "we met yesterday", "v2.1.7", strings.Repeat("x", 5000), "\xff"} {
		iv, err := r.Instant(in, ref)
		if err == nil {
			t.Errorf("%.20q is %v, want an error", in, iv)
		} else if len(err.Error()) > 300 {
			t.Errorf("the error for %.20q has %d bytes", in, len(err.Error()))
		}
	}
}

func TestOptions(t *testing.T) {
	ref := time.Date(2023, 6, 9, 19, 55, 0, 0, time.UTC)
	for _, c := range []struct {
		o          Options
		text, want string
	}{
		{Options{}, "on 3/4/2023", "4 March 2023"},
		{Options{DayFirst: true}, "on 3/4/2023", "3 April 2023"},
		{Options{DayFirst: true}, "on 12/31/2023", "31 December 2023"},
		{Options{WeekStart: new(time.Sunday)}, "last week", "28 May to 3 June 2023"},
		{Options{Southern: true}, "summer 2022", "winter 2022"}, // December to March, in Format's northern words
		{Options{WeekBefore: true}, "the week before 9 June 2023", "the week of 29 May 2023"},
		{Options{RangeExclusive: true}, "26 to 28 June 2023", "26 to 27 June 2023"},
		{Options{Holidays: "gb"}, "Boxing Day 2022", "26 December 2022"},
		{Options{Holidays: "gb"}, "Mother's Day 2023", "19 March 2023"},
		{Options{}, "Mother's Day 2023", "14 May 2023"},
		{Options{Holidays: "none"}, "Christmas", ""},
	} {
		got := ""
		if ms := New(c.o).Find(c.text, ref); len(ms) > 0 {
			got = Format(ms[0].Interval)
		}
		if got != c.want {
			t.Errorf("%+v %q: %q, want %q", c.o, c.text, got, c.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	r := New(Options{})
	ref := time.Date(2023, 7, 15, 13, 51, 0, 0, time.UTC)
	for _, c := range []struct{ text, want string }{
		{"I went there yesterday", "14 July 2023"},
		{"Last Friday I went to a meeting", "14 July 2023, the Friday before 15 July 2023"},
		{"We had a picnic last week", "the week before 15 July 2023 (3 to 9 July 2023)"},
		{"I joined last weekend", "the weekend before 15 July 2023 (8 to 9 July 2023)"},
		{"We camped two weekends ago", "two weekends before 15 July 2023 (1 to 2 July 2023)"},
		{"It was ten years ago", "around 2013"},
		{"I have lived here since 2016", "since 2016"},
		{"I met her on 8 May 2023", "8 May 2023"},
		{"We go there next month", "August 2023"},
		{"I will send it by Friday", "by 21 July 2023"},
		{"I hurt my knee last summer", "summer 2022"},
	} {
		ms := r.Find(c.text, ref)
		if len(ms) != 1 {
			t.Errorf("%q: %d times", c.text, len(ms))
			continue
		}
		if got := Describe(ms[0], ref); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestElapsed(t *testing.T) {
	r := New(Options{})
	ref := time.Date(2023, 6, 9, 0, 0, 0, 0, time.UTC)
	at := func(s string) Interval {
		iv, err := r.Instant(s, ref)
		if err != nil {
			t.Fatal(err)
		}
		return iv
	}
	for _, c := range []struct {
		a, b string
		g    Grain
		want string
	}{
		{"2023-05-01", "2023-06-07", Week, "5 weeks and 2 days"},
		{"2023-06-07", "2023-05-01", Week, "5 weeks and 2 days"},
		{"2023-05-01", "2023-05-02", Day, "1 day"},
		{"2020-05-01", "2023-06-01", Year, "3 years and 1 month"},
		{"2023-01-31", "2023-02-28", Month, "1 month"},
		{"2023-01-31", "2023-03-01", Month, "1 month and 1 day"},
		{"2023-05-01", "2023-05-04", Week, "3 days"},
		{"2023-05-01", "2023-08-03", Year, "3 months and 2 days"},
		{"2023-05-08T10:00:00Z", "2023-05-08T13:30:00Z", Hour, "3 hours and 30 minutes"},
		{"1990", "2023", Decade, "3 decades and 3 years"},
	} {
		if got := Elapsed(at(c.a), at(c.b), c.g); got != c.want {
			t.Errorf("%s to %s in %v: %q, want %q", c.a, c.b, c.g, got, c.want)
		}
	}
}

func TestBeganAndLengths(t *testing.T) {
	r := New(Options{})
	ref := time.Date(2022, 1, 23, 14, 0, 0, 0, time.UTC)
	for _, c := range []struct{ text, began string }{
		{"I've had them for 3 years now", "2019"},
		{"I have been playing for about four months", "September 2021"},
		{"We have been dating for a year", "January 2021"},
		{"Seven years now, and I still love it", "2015"},
		{"I went there last week", ""},
	} {
		got := ""
		if ms := r.Find(c.text, ref); len(ms) == 1 {
			if iv, ok := ms[0].Began(); ok {
				got = Format(iv)
			}
		}
		if got != c.began {
			t.Errorf("%q began %q, want %q", c.text, got, c.began)
		}
	}
	if ms := r.Find("We lived in Rome for three years.", ref); len(ms) != 0 {
		t.Errorf("a length without a place is a time: %v", ms)
	}
	ls := r.Lengths("We lived in Rome for three years.", ref)
	if len(ls) != 1 || !ls[0].IsZero() || *ls[0].Length != (Span{3, Year}) {
		t.Errorf("lengths: %+v", ls)
	}
	june := Interval{Start: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC), Grain: Month}
	if got := Format(june.InYear(2023)); got != "June 2023" {
		t.Errorf("June in 2023: %s", got)
	}
}

func TestGrains(t *testing.T) {
	for g := Second; g <= Range; g++ {
		if back, err := ParseGrain(g.String()); err != nil || back != g {
			t.Errorf("%v reads back as %v, %v", g, back, err)
		}
	}
	if _, err := ParseGrain("fortnight"); err == nil {
		t.Error("fortnight is a grain")
	}
	if Grain(99).String() != "grain(99)" {
		t.Error(Grain(99).String())
	}
}

// A Resolver is safe for concurrent use; the race detector has the last word.
func TestConcurrent(t *testing.T) {
	r := New(Options{})
	ref := time.Date(2023, 6, 9, 19, 55, 0, 0, time.UTC)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, c := range speedTexts {
				if got := len(r.Find(c.text, ref)); (got > 0) != c.timed {
					t.Errorf("%s: %d times", c.name, got)
				}
				New(Options{Holidays: "gb"}).Question(c.text, ref)
			}
		})
	}
	wg.Wait()
}

func TestIntervalSets(t *testing.T) {
	d := func(n int) time.Time { return time.Date(2023, 6, n, 0, 0, 0, 0, time.UTC) }
	week := Interval{Start: d(5), End: d(12), Grain: Week}
	for _, c := range []struct {
		j                Interval
		overlaps, covers bool
	}{
		{Interval{Start: d(5), End: d(12)}, true, true},
		{Interval{Start: d(6), End: d(7)}, true, true},
		{Interval{Start: d(1), End: d(5)}, false, false},
		{Interval{Start: d(12), End: d(13)}, false, false},
		{Interval{Start: d(11), End: d(13)}, true, false},
		{Interval{OpenStart: true, End: d(6)}, true, false},
		{Interval{OpenStart: true, End: d(5)}, false, false},
		{Interval{Start: d(11), OpenEnd: true}, true, false},
		{Interval{Start: d(12), OpenEnd: true}, false, false},
	} {
		if week.Overlaps(c.j) != c.overlaps || c.j.Overlaps(week) != c.overlaps || week.Covers(c.j) != c.covers {
			t.Errorf("%v: overlaps %v, covers %v", c.j, week.Overlaps(c.j), week.Covers(c.j))
		}
	}
	if !week.Contains(d(5)) || week.Contains(d(12)) || !(Interval{Start: d(1), OpenEnd: true}).Contains(d(30)) {
		t.Error("Contains is not half-open")
	}
}
