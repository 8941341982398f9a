package memory

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The time scenarios of the field notes, through the Bank: what users of memory servers run into.

// zoned is a Bank whose clock stands at an instant and whose caller lives in a zone.
func zoned(t *testing.T, zone string, now time.Time) (*fixture, Session) {
	t.Helper()
	if _, err := time.LoadLocation(zone); err != nil {
		t.Skipf("this machine has no zone data for %s", zone)
	}
	return open(t, func(o *Options) { o.Now = (&clock{t: now}).now }), Session{Zone: zone}
}

func (f *fixture) when(q WhenQuestion) WhenAnswer {
	f.t.Helper()
	a, err := f.When(ctx, q)
	if err != nil {
		f.t.Fatalf("when %q: %v", q.Query, err)
	}
	return a
}

// best is the best answer's interval as "start / end", "nothing" where there is none.
func (f *fixture) best(q WhenQuestion) string {
	f.t.Helper()
	a := f.when(q)
	if len(a.Answers) == 0 {
		return "nothing"
	}
	return deref(a.Answers[0].Start) + " / " + deref(a.Answers[0].End)
}

func TestDeployedTodayIsTheLocalDate(t *testing.T) {
	for _, c := range []struct {
		zone, now               string
		today, yesterday        string // the days of "today" and "yesterday"
		hoursToday, hoursBefore int
	}{
		// 2 a.m. is left out on 9 March 2025 and comes twice on 2 November
		{"America/Los_Angeles", "2025-03-10T06:30:00Z", "2025-03-09T00:00:00-08:00 / 2025-03-10T00:00:00-07:00", "2025-03-08T00:00:00-08:00 / 2025-03-09T00:00:00-08:00", 23, 24},
		{"America/Los_Angeles", "2025-03-10T16:00:00Z", "2025-03-10T00:00:00-07:00 / 2025-03-11T00:00:00-07:00", "2025-03-09T00:00:00-08:00 / 2025-03-10T00:00:00-07:00", 24, 23},
		{"America/Los_Angeles", "2025-11-02T09:30:00Z", "2025-11-02T00:00:00-07:00 / 2025-11-03T00:00:00-08:00", "2025-11-01T00:00:00-07:00 / 2025-11-02T00:00:00-07:00", 25, 24},
		{"Asia/Kolkata", "2025-06-15T19:00:00Z", "2025-06-16T00:00:00+05:30 / 2025-06-17T00:00:00+05:30", "2025-06-15T00:00:00+05:30 / 2025-06-16T00:00:00+05:30", 24, 24},
		{"Pacific/Kiritimati", "2025-12-31T10:30:00Z", "2026-01-01T00:00:00+14:00 / 2026-01-02T00:00:00+14:00", "2025-12-31T00:00:00+14:00 / 2026-01-01T00:00:00+14:00", 24, 24},
		{"UTC", "2025-06-16T23:59:59Z", "2025-06-16T00:00:00Z / 2025-06-17T00:00:00Z", "2025-06-15T00:00:00Z / 2025-06-16T00:00:00Z", 24, 24},
	} {
		t.Run(c.zone+" "+c.now, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, c.now)
			if err != nil {
				t.Fatal(err)
			}
			f, who := zoned(t, c.zone, now)
			r := f.remember(Note{Content: "The billing service was deployed today.", From: who})
			f.remember(Note{Content: "The search index was rebuilt yesterday.", From: who})
			for _, s := range []string{r.OccurredAt, r.RecordedAt} {
				if at, err := time.Parse(time.RFC3339Nano, s); err != nil || at.Sub(now).Abs() > time.Second {
					t.Errorf("stamp %q, want the instant %s with an offset", s, c.now)
				}
			}
			for _, q := range []struct {
				text, want string
				hours      int
			}{{"When was the billing service deployed?", c.today, c.hoursToday}, {"When was the search index rebuilt?", c.yesterday, c.hoursBefore}} {
				got := f.best(WhenQuestion{Query: q.text, From: who})
				if got != q.want {
					t.Errorf("%s: got %s, want %s", q.text, got, q.want)
					continue
				}
				from, to, _ := strings.Cut(got, " / ")
				a, _ := time.Parse(time.RFC3339, from)
				b, _ := time.Parse(time.RFC3339, to)
				if h := int(b.Sub(a).Hours()); h != q.hours {
					t.Errorf("%s: that day has %d hours, want %d", q.text, h, q.hours)
				}
			}
			// asked without words, by the same person's day
			got := f.recall(Question{Query: "What was deployed today?", From: who})
			if got.Window == nil || deref(got.Window.Start)+" / "+deref(got.Window.End) != c.today {
				t.Errorf("the window of today is %+v, want %s", got.Window, c.today)
			}
		})
	}
}

func TestUntilADateCoversThatDay(t *testing.T) {
	for _, zone := range []string{"America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati", "UTC"} {
		t.Run(zone, func(t *testing.T) {
			f, who := zoned(t, zone, time.Date(2025, 11, 20, 9, 0, 0, 0, time.UTC))
			loc, _ := time.LoadLocation(zone)
			midnight := time.Date(2025, 11, 2, 0, 0, 0, 0, loc) // a night of a clock change in the first of them
			next := time.Date(2025, 11, 3, 0, 0, 0, 0, loc)
			for i, at := range []time.Time{midnight.Add(-time.Millisecond), midnight, midnight.Add(12 * time.Hour), next.Add(-100 * time.Millisecond), next} {
				f.remember(Note{Content: fmt.Sprintf("Backup run number %d ended.", i), OccurredAt: at.Format(time.RFC3339Nano), From: who})
			}
			q := Question{Query: "backup run", From: who}
			q.Since, q.Until = "2025-11-02", "2025-11-02"
			r := f.recall(q)
			if len(r.Memories) != 3 {
				t.Errorf("%d memories of that day, want 3: %s", len(r.Memories), r.Text)
			}
			a := f.when(WhenQuestion{Query: "When did backup run number 4 end?", Until: "2025-11-02", From: who})
			for _, x := range a.Answers {
				if at, _ := time.Parse(time.RFC3339, deref(x.Start)); !at.Before(next) {
					t.Errorf("an answer of the next day: %s", x.Text)
				}
			}
			line, err := f.Timeline(ctx, TimelineQuery{Since: "2025-11-02", Until: "2025-11-02", From: who})
			if err != nil || len(line.Entries) != 3 {
				t.Errorf("timeline: %d entries, %v, want 3", len(line.Entries), err)
			}
		})
	}
}

func TestSaidLongBeforeItIsStored(t *testing.T) {
	f := open(t, func(o *Options) { o.Now = (&clock{t: time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC)}).now })
	r := f.remember(Note{Content: "Last May we moved to Postgres.", OccurredAt: "2025-09-10T12:00:00Z"})
	if r.OccurredAt != "2025-09-10T12:00:00Z" || !strings.HasPrefix(r.RecordedAt, "2026-02-01T09:00:00") {
		t.Errorf("occurred %s, recorded %s", r.OccurredAt, r.RecordedAt)
	}
	a := f.when(WhenQuestion{Query: "When did we move to Postgres?"})
	if len(a.Answers) == 0 || deref(a.Answers[0].Start) != "2025-05-01T00:00:00Z" || deref(a.Answers[0].End) != "2025-06-01T00:00:00Z" || a.Answers[0].Basis != basisResolved {
		t.Fatalf("answers %+v, want May 2025", a.Answers)
	}
	// its time, not the time of storing, is in the window
	for _, c := range []struct {
		query string
		in    bool
	}{{"What happened in May 2025?", true}, {"What happened in February 2026?", false}} {
		found := false
		for _, m := range f.recall(Question{Query: c.query}).Memories {
			found = found || m.ID == r.ID && m.Signals["time"] > 0
		}
		if found != c.in {
			t.Errorf("%s: in the window %v, want %v", c.query, found, c.in)
		}
	}
}

func TestYesterdaysAmongAThousandOld(t *testing.T) {
	f := open(t)
	for i := range 300 {
		f.remember(Note{Content: fmt.Sprintf("The nightly export finished with %d rows.", i), OccurredAt: time.Date(2024, 1, 1, 3, 0, i, 0, time.UTC).Format(time.RFC3339)})
	}
	new := f.remember(Note{Content: "The nightly export finished with 12 rows, it was stuck.", OccurredAt: "2025-06-15T03:00:00Z"})
	q := Question{Query: "nightly export finished"}
	q.Since = "yesterday"
	if r := f.recall(q); len(r.Memories) != 1 || r.Memories[0].ID != new.ID {
		t.Errorf("since yesterday: %d memories, want the one", len(r.Memories))
	}
	if got := f.best(WhenQuestion{Query: "When did the nightly export finish?", Since: "yesterday"}); got != "2025-06-15T00:00:00Z / 2025-06-16T00:00:00Z" {
		t.Errorf("when since yesterday: %s", got)
	}
}

// Unknown is not "no" and not "never": nothing that shares too little with a question dates it.
func TestWhenUnknown(t *testing.T) {
	f := open(t)
	for i, c := range []string{"We baked sourdough bread last Sunday.", "The tomato soup needs more basil.", "Yesterday the oven was repaired.", "I bought a new cast iron pan in May."} {
		f.remember(Note{Content: c, Speaker: []string{"Ana", "Bo"}[i%2], OccurredAt: fmt.Sprintf("2025-06-%02dT10:00:00Z", 3+i)})
	}
	for _, q := range []string{"When did the Kubernetes ingress lose its TLS certificate?", "When did Ana adopt a parrot?", "When was Bo in Reykjavik?"} {
		a := f.when(WhenQuestion{Query: q})
		if len(a.Answers) != 0 || !strings.Contains(a.Text, "Unknown is not never") {
			t.Errorf("%s: %d answers, text %q", q, len(a.Answers), firstLine(a.Text))
		}
	}
	if got := f.best(WhenQuestion{Query: "When was the oven repaired?"}); got != "2025-06-04T00:00:00Z / 2025-06-05T00:00:00Z" {
		t.Errorf("the oven: %s", got)
	}
}

// Every interval that when gives carries an offset, starts before it ends and belongs to a memory that is shown.
func TestWhenAnswersAreWhole(t *testing.T) {
	f := open(t)
	for i, c := range []string{"The audit starts next Monday and takes two weeks.", "Since 2019 the audit is done by an outside firm.", "The audit report came on 3 March 2025 at 14:30.", "Until last Friday the audit was on hold."} {
		f.remember(Note{Content: c, OccurredAt: fmt.Sprintf("2025-0%d-11T10:00:00+02:00", i+1)})
	}
	a := f.when(WhenQuestion{Query: "When was the audit?", Limit: 10})
	if len(a.Answers) < 4 {
		t.Fatalf("%d answers", len(a.Answers))
	}
	shown := map[string]bool{}
	for _, m := range a.Memories {
		shown[m.ID] = true
	}
	for i, x := range a.Answers {
		if !shown[x.Memory] {
			t.Errorf("answer %q: its memory is not among those shown", x.Text)
		}
		if x.Start != nil && x.End != nil {
			from, err := time.Parse(time.RFC3339, *x.Start)
			to, err2 := time.Parse(time.RFC3339, *x.End)
			if err != nil || err2 != nil || !from.Before(to) {
				t.Errorf("answer %q: [%s, %s)", x.Text, *x.Start, *x.End)
			}
		}
		if x.Confidence <= 0 || x.Confidence > 1 || i > 0 && x.Confidence > a.Answers[i-1].Confidence {
			t.Errorf("answer %q: confidence %v after %v", x.Text, x.Confidence, a.Answers[max(0, i-1)].Confidence)
		}
	}
}
