package temporal

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var zones = []string{"UTC", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Kiritimati", "Europe/Berlin"}

func drawRef(t *rapid.T) time.Time {
	loc, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
	if err != nil {
		loc = time.UTC
	}
	y := rapid.IntRange(1600, 2400).Draw(t, "year")
	d := rapid.IntRange(0, 365).Draw(t, "day")
	h := rapid.IntRange(3, 23).Draw(t, "hour") // past the hours of a clock change
	m := rapid.IntRange(0, 59).Draw(t, "minute")
	return time.Date(y, 1, 1+d, h, m, 0, 0, loc)
}

// An interval contains what its own Format says, read again from any time in the same zone.
func TestFormatReadsBack(t *testing.T) {
	r := New(Options{})
	rapid.Check(t, func(t *rapid.T) {
		ref := drawRef(t)
		grains := []Grain{Second, Minute, Day, Weekend, Week, Month, Quarter, Season, Year, Decade}
		g := rapid.SampledFrom(grains).Draw(t, "grain")
		iv := r.current(ref, g)
		switch rapid.IntRange(0, 4).Draw(t, "shape") {
		case 1:
			n := rapid.IntRange(1, 60).Draw(t, "days")
			iv = Interval{Start: day(ref), End: days(day(ref), n), Grain: Range}
		case 2:
			n := rapid.IntRange(1, 30).Draw(t, "months")
			s := r.floor(ref, Month)
			iv = Interval{Start: s, End: add(s, Month, n), Grain: Range}
		case 3:
			if g >= Day && g != Weekend && g != Week {
				iv = Interval{Start: iv.Start, OpenEnd: true, Grain: g}
			}
		case 4:
			if g >= Day && g != Weekend && g != Week {
				iv = Interval{End: iv.Start, OpenStart: true, Grain: g}
			}
		}
		text := Format(iv)
		other := ref.AddDate(rapid.IntRange(-3, 3).Draw(t, "years"), 0, rapid.IntRange(-40, 40).Draw(t, "apart"))
		said := "It was " + text + "."
		if len(text) == 4 { // a year alone wants its preposition
			said = "It was in " + text + "."
		} else if len(text) == 12 && strings.Contains(text, " to ") {
			said = "It was from " + text + "."
		}
		ms := r.Find(said, other)
		if len(ms) != 1 {
			t.Fatalf("%q has %d times: %v", text, len(ms), ms)
		}
		if got := ms[0].Interval; !iv.Covers(got) || !got.Covers(iv) {
			t.Fatalf("%q is %v, reads as %v", text, iv, got)
		}
	})
}

var relatives = strings.Split("yesterday,today,tomorrow,the day before yesterday,two days ago,in 3 days,10 days ago,a fortnight ago,"+
	"yesterday morning,last night,tomorrow at 5pm,5 days from now,the day after tomorrow,昨天,前天晚上八点,三天后,大后天", ",")

var weekly = strings.Split("last week,this week,next week,last Friday,this Monday,next Tuesday,last weekend,two weekends ago,a week ago,"+
	"Monday,on Friday at noon,the week before last,Wednesday of next week,2 Thursdays ago,上周五,下周,周末", ",")

// Shifting the reference by whole days (weeks, for what hangs on the weekday) shifts relative answers alike.
func TestShift(t *testing.T) {
	r := New(Options{})
	rapid.Check(t, func(t *rapid.T) {
		ref := drawRef(t)
		n := rapid.IntRange(-2000, 2000).Draw(t, "shift")
		list, step := relatives, 1
		if rapid.Bool().Draw(t, "weekly") {
			list, step = weekly, 7
		}
		text := rapid.SampledFrom(list).Draw(t, "text")
		later := time.Date(ref.Year(), ref.Month(), ref.Day()+n*step, ref.Hour(), ref.Minute(), 0, 0, ref.Location())
		a, b := r.Find(text, ref), r.Find(text, later)
		if len(a) != 1 || len(b) != 1 {
			t.Fatalf("%q: %d and %d times", text, len(a), len(b))
		}
		apart := func(ref, x time.Time) string {
			if midnight(x) { // which a clock change can move
				return fmt.Sprint(daysBetween(ref, x))
			}
			return fmt.Sprint(daysBetween(ref, x), x.Hour(), x.Minute())
		}
		if apart(ref, a[0].Start) != apart(later, b[0].Start) || apart(ref, a[0].End) != apart(later, b[0].End) {
			t.Fatalf("%q at %v is %v, at %v is %v", text, ref, a[0].Interval, later, b[0].Interval)
		}
	})
}

// Every unit of the calendar holds the time it was asked for, and units follow one another without a gap.
func TestUnitsTile(t *testing.T) {
	r := New(Options{})
	rapid.Check(t, func(t *rapid.T) {
		ref := drawRef(t)
		g := rapid.SampledFrom([]Grain{Second, Minute, Hour, Day, Week, Month, Quarter, Season, Year, Decade, Century}).Draw(t, "grain")
		iv := r.current(ref, g)
		if !iv.Contains(ref) {
			t.Fatalf("the %v of %v is %v", g, ref, iv)
		}
		if next := r.current(iv.End, g); !next.Start.Equal(iv.End) {
			t.Fatalf("after %v comes %v", iv, next)
		}
	})
}

// checkMentions holds what Find promises of any text.
func checkMentions(t testing.TB, text string, ms []Mention) {
	last := 0
	for _, m := range ms {
		if m.From < last || m.To <= m.From || m.To > len(text) {
			t.Fatalf("span [%d,%d) after %d of %d bytes in %q", m.From, m.To, last, len(text), text)
		}
		if text[m.From:m.To] != m.Text {
			t.Fatalf("span [%d,%d) of %q is not %q", m.From, m.To, text, m.Text)
		}
		if utf8.ValidString(text) && !utf8.ValidString(m.Text) {
			t.Fatalf("%q cuts a character", m.Text)
		}
		if !m.OpenStart && !m.OpenEnd && !m.End.After(m.Start) {
			t.Fatalf("%q in %q is empty: %v", m.Text, text, m.Interval)
		}
		if m.OpenStart && m.OpenEnd {
			t.Fatalf("%q is open at both ends", m.Text)
		}
		Format(m.Interval)
		last = m.To
	}
}

// Words of the grammar in any order neither panic nor give an empty or overlapping time.
func TestAnyOrder(t *testing.T) {
	r := New(Options{})
	words := strings.Fields("last next this the week weekend month year May 8 8th 2023 , of before after since until by from to - and between 3pm at noon " +
		"two few a couple ago in for now early late end morning Friday Fri 15:30 Christmas half quarter past first third Q3 summer 90s ' every 's on 周 年 月 上 下 三 点 前 后 日 去年 从 到 : / . 12 00 2/15")
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(t, "words")
		var b strings.Builder
		for range n {
			b.WriteString(rapid.SampledFrom(words).Draw(t, "word"))
			if rapid.IntRange(0, 3).Draw(t, "glue") > 0 {
				b.WriteByte(' ')
			}
		}
		text := b.String()
		ref := time.Date(2023, 6, 9, 19, 55, 0, 0, time.UTC)
		last := 0
		for _, m := range r.Find(text, ref) {
			if m.From < last || text[m.From:m.To] != m.Text || !m.OpenStart && !m.OpenEnd && !m.End.After(m.Start) {
				t.Fatalf("%q gives %+v", text, m)
			}
			last = m.To
		}
		r.Question(text, ref)
		_, _ = r.Instant(text, ref)
	})
}

// Repetition must not make the work explode.
func TestLongTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("timing")
	}
	r := New(Options{})
	ref := time.Date(2023, 6, 9, 19, 55, 0, 0, time.UTC)
	for _, s := range []string{"the week before ", "last ", "the ", "1-", "2 ", "from 3 to ", "the first day of ", "half ", "at ", "on Monday ", "before ", "二", "上", "前天", "三年", "从", "一到", "a couple of ", "may ", "15:30 ", "I will go. ", "for 2 "} {
		text := strings.Repeat(s, 100_000/len(s))
		start := time.Now()
		r.Find(text, ref)
		if d := time.Since(start); d > 20*time.Second { // 0.2 s on an idle machine
			t.Errorf("100 kB of %q took %v", s, d)
		} else if testing.Verbose() {
			t.Logf("100 kB of %q: %v", s, d)
		}
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"We went camping two weekends ago", "8 May 2023, 1:56 pm", "2023-05-08T13:56:00.123+02:00", "from 9:30 - 11:00 on Thursday",
		"the third last week of 2018", "昨天下午三点半", "2023年5月8日至10日", "v2.1.7 :8080", "'23 's ’s", "9 999999999 days ago", "in 99999 centuries", "\xff last \xf0week",
		"two thousand ten", "half past", "the week before", "at at at 3"} {
		f.Add(s)
	}
	r := New(Options{})
	ref := time.Date(2023, 6, 9, 19, 55, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		checkMentions(t, text, r.Find(text, ref))
		for _, m := range r.Lengths(text, ref) {
			Describe(m, ref)
		}
		r.Question(text, ref)
		_, _ = r.Instant(text, ref)
	})
}
