package temporal

import (
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/rickar/cal/v2"
	"github.com/rickar/cal/v2/aa"
	"github.com/rickar/cal/v2/gb"
	"github.com/rickar/cal/v2/us"
)

// Feast days: the common ones, computed by github.com/rickar/cal. The Christian ones are known in every
// locale; the civil ones are a locale's. No table of ours: what the library does not hold is a fixed day
// of the year or a weekday's offset, computed by its functions.

// feast is a day that recurs each year.
type feast struct{ rule *cal.Holiday }

// feastTable finds feasts by the first word of their names, longest names first.
type feastTable map[string][]feastName

type feastName struct {
	words []string
	feast *feast
}

// on is the feast's day in year y; false in years before it was kept.
func (f *feast) on(y int, loc *time.Location) (Interval, bool) {
	if y < 1 {
		return Interval{}, false
	}
	d, _ := f.rule.Calc(y)
	if d.IsZero() || d.Year() != y {
		return Interval{}, false
	}
	return unit(date(y, d.Month(), d.Day(), loc), Day), true
}

func fixedDay(m time.Month, d int) *cal.Holiday {
	return &cal.Holiday{Month: m, Day: d, Func: cal.CalcDayOfMonth}
}

func nthWeekday(m time.Month, wd time.Weekday, n int) *cal.Holiday {
	return &cal.Holiday{Month: m, Weekday: wd, Offset: n, Func: cal.CalcWeekdayOffset}
}

func fromEaster(days int) *cal.Holiday { return &cal.Holiday{Offset: days, Func: cal.CalcEasterOffset} }

type namedDay struct {
	names string
	rule  *cal.Holiday
}

var feastsEverywhere = []namedDay{
	{"christmas,christmas day,xmas,xmas day", aa.ChristmasDay},
	{"christmas eve,xmas eve", fixedDay(time.December, 24)},
	{"new years eve,new year eve,new years", fixedDay(time.December, 31)},
	{"new years day,new year day", aa.NewYear},
	{"easter,easter sunday,easter day", aa.Easter},
	{"easter monday,easter mon", aa.EasterMonday},
	{"good friday", aa.GoodFriday},
	{"maundy thursday", aa.MaundyThursday},
	{"ash wednesday", fromEaster(-46)},
	{"palm sunday", fromEaster(-7)},
	{"ascension day", aa.AscensionDay},
	{"pentecost,whit sunday", aa.Pentecost},
	{"whit monday,pentecost monday", aa.PentecostMonday},
	{"mardi gras,pancake day,shrove tuesday,fat tuesday", fromEaster(-47)},
	{"halloween", fixedDay(time.October, 31)},
	{"all saints day", aa.AllSaintsDay},
	{"valentines day,valentine day", fixedDay(time.February, 14)},
	{"st patricks day,saint patricks day,st paddys day,saint paddys day", fixedDay(time.March, 17)},
	{"april fools day,april fools", fixedDay(time.April, 1)},
}

var feastsOfLocale = map[string][]namedDay{
	"us": {
		{"thanksgiving,thanksgiving day", us.ThanksgivingDay},
		{"black friday", us.DayAfterThanksgivingDay},
		{"mlk day,mlk jr day,martin luther king day,martin luther king jr day,martin luther kings day", us.MlkDay},
		{"presidents day", us.PresidentsDay},
		{"memorial day", us.MemorialDay},
		{"juneteenth", us.Juneteenth},
		{"independence day", us.IndependenceDay},
		{"labor day", us.LaborDay},
		{"columbus day", us.ColumbusDay},
		{"veterans day", us.VeteransDay},
		{"mothers day", nthWeekday(time.May, time.Sunday, 2)},
		{"fathers day", nthWeekday(time.June, time.Sunday, 3)},
	},
	"gb": {
		{"boxing day", gb.BoxingDay},
		{"bonfire night,guy fawkes night", fixedDay(time.November, 5)},
		{"mothers day,mothering sunday", fromEaster(-21)},
		{"fathers day", nthWeekday(time.June, time.Sunday, 3)},
		{"spring bank holiday", gb.SpringHoliday},
		{"summer bank holiday,august bank holiday", gb.SummerHoliday},
	},
}

var feastTables sync.Map // locale: feastTable

// feastsOf makes the table of a locale: "us" (also ""), "gb"; "none" has no feast at all, any other locale
// those that are kept everywhere.
func feastsOf(locale string) feastTable {
	if locale == "" {
		locale = "us"
	}
	locale = strings.ToLower(locale)
	if t, ok := feastTables.Load(locale); ok {
		return t.(feastTable)
	}
	t := feastTable{}
	if locale != "none" {
		for _, group := range [][]namedDay{feastsEverywhere, feastsOfLocale[locale]} {
			for _, d := range group {
				f := &feast{rule: d.rule}
				for _, name := range strings.Split(d.names, ",") {
					words := strings.Fields(name)
					t[words[0]] = append(t[words[0]], feastName{words, f})
				}
			}
		}
	}
	for _, l := range t {
		sort.SliceStable(l, func(i, j int) bool { return len(l[i].words) > len(l[j].words) })
	}
	got, _ := feastTables.LoadOrStore(locale, t)
	return got.(feastTable)
}

// feastWords are the words that feast names are made of, for the vocabulary.
func feastWords() (out []string) {
	groups := [][]namedDay{feastsEverywhere, feastsOfLocale["us"], feastsOfLocale["gb"]}
	for _, g := range groups {
		for _, d := range g {
			out = append(out, strings.Fields(strings.ReplaceAll(d.names, ",", " "))...)
		}
	}
	return out
}

// feastAt reads a feast's name at token i. As the first part of a compound ("a Christmas tree") it is no time.
func (p *parser) feastAt(i int) (*feast, int) {
	if !p.has(i, cFeast) {
		return nil, 0
	}
	switch p.plainWord(i - 1) { // another calendar's
	case "chinese", "lunar", "orthodox", "islamic", "jewish", "persian":
		return nil, 0
	}
	for _, n := range p.r.feasts[p.plainWord(i)] {
		k := i
		for _, w := range n.words {
			if p.plainWord(k) != w {
				k = -1
				break
			}
			k++
			if p.isMark(k, '\'') && p.glued(k) && w[len(w)-1] == 's' || p.isMark(k, '.') && p.glued(k) && len(w) == 2 {
				k++ // presidents' day, St. Patrick
			}
		}
		if k < 0 {
			continue
		}
		if !p.bare && k < len(p.toks) && p.toks[k].w == nil && p.toks[k].kind == aWord && p.counted(k) {
			return nil, 0
		}
		return n.feast, k
	}
	return nil, 0
}

// plainWord is the word at i in small letters without apostrophes.
func (p *parser) plainWord(i int) string {
	if i < 0 || i >= len(p.toks) || p.toks[i].kind != aWord {
		return ""
	}
	if w := p.toks[i].w; w != nil && !p.toks[i].poss && strings.IndexByte(w.s, '\'') < 0 && w.s[0] != '-' {
		return w.s
	}
	s := strings.ToLower(p.text[p.toks[i].from:p.toks[i].to])
	return strings.NewReplacer("'", "", "’", "").Replace(s)
}
