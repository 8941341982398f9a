package temporal

import (
	"strings"
	"time"
)

// class tells what an English word can be in a time expression, or what its form says of the tense.
type class uint64

const (
	cNumber    class = 1 << iota // two
	cOrdinal                     // second
	cMonth                       // May
	cMonthName                   // a month's name that is another word too: may, march, mar, jun
	cWeekday                     // Friday
	cDayName                     // a weekday's short form that is another word too: sun, sat, wed
	cUnit                        // week
	cDeictic                     // today
	cPrevious                    // last, past
	cFollowing                   // next, coming
	cCurrent                     // this
	cPart                        // morning
	cSeason                      // summer
	cAmPm                        // pm
	cClock                       // noon, o'clock
	cDecade                      // nineties
	cZone                        // UTC
	cPosition                    // early, mid, late, beginning, end
	cQuarter                     // quarter, Q3's q
	cFeast                       // first word of a feast day
	cTrigger                     // a time expression may hang on it
	cNoun                        // may carry 's
	cFunction                    // a small word that says nothing of its own
	cPast                        // tense
	cFuture
	cPresent
	cBe     // a form of be
	cHave   // a form of have
	cGerund // -ing
	cSubject
	cPrep // makes a latent form a time: in May, at 3, on the 24th
)

// word is an entry of the vocabulary.
type word struct {
	s     string
	cls   class
	n     int   // number, ordinal, month, weekday (Monday 1), season, decade
	unit  Grain // of a unit
	shift int   // of a time zone, minutes east of UTC
}

var vocabulary = map[string]*word{}

// Forms by ending, for words that are not in the vocabulary.
var (
	wordPast   = &word{s: "-ed", cls: cPast}
	wordGerund = &word{s: "-ing", cls: cGerund}
	wordWill   = &word{s: "will", cls: cFuture}
	wordHad    = &word{s: "-'d", cls: cFunction}
	wordHave   = &word{s: "have", cls: cHave}
	wordBe     = &word{s: "is", cls: cBe | cPresent}
	wordNot    = &word{s: "not", cls: cPresent}
	wordS      = &word{s: "-'s", cls: cSubject}
)

// guess classes an unknown word by its ending.
func guess(w []byte) *word {
	n := len(w)
	end := func(s string) bool { return n > len(s) && string(w[n-len(s):]) == s }
	switch {
	case end("'ll"):
		return wordWill
	case end("'d"):
		return wordHad
	case end("'ve"):
		return wordHave
	case end("'re"), end("'m"):
		return wordBe
	case end("'s"):
		return wordS
	case end("n't"):
		return wordNot
	case n > 4 && end("ed") && !end("eed"), n > 4 && end("ied"):
		return wordPast
	case n > 4 && end("ing"):
		return wordGerund
	}
	return nil
}

func init() {
	put := func(cls class, n int, unit Grain, words string) {
		for _, s := range strings.Fields(words) {
			w := vocabulary[s]
			if w == nil {
				w = &word{s: s}
				vocabulary[s] = w
			}
			w.cls |= cls
			if n != 0 {
				w.n = n
			}
			if unit != 0 {
				w.unit = unit
			}
		}
	}
	list := func(cls class, first int, words string) {
		for i, s := range strings.Split(words, ",") {
			put(cls, first+i, 0, s)
		}
	}
	list(cNumber, 1, "one,two,three,four,five,six,seven,eight,nine,ten,eleven,twelve,thirteen,fourteen,fifteen,sixteen,seventeen,eighteen,nineteen")
	for i, s := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		put(cNumber, 20+10*i, 0, s)
	}
	put(cNumber, 12, 0, "dozen")
	list(cOrdinal, 1, "first,second,third,fourth,fifth,sixth,seventh,eighth,ninth,tenth,eleventh,twelfth,thirteenth,fourteenth,fifteenth,sixteenth,seventeenth,eighteenth,nineteenth,twentieth")
	put(cOrdinal, 30, 0, "thirtieth")

	list(cMonth|cTrigger|cNoun, 1, "january jan janv,february feb febr,march mar,april apr,may,june jun,july jul,august aug,september sep sept,october oct,november nov,december dec")
	put(cMonthName, 0, 0, "may march mar april june august jan dec sep jun nov oct jul apr aug feb")
	list(cWeekday|cTrigger|cNoun, 1, "monday mondays mon,tuesday tuesdays tue tues,wednesday wednesdays wed weds,thursday thursdays thu thur thurs,friday fridays fri,saturday saturdays sat,sunday sundays sun")
	put(cDayName, 0, 0, "mon tue wed weds thu fri sat sun thur")

	put(cUnit|cTrigger|cOrdinal, 2, 0, "second")
	put(cUnit|cTrigger, 0, 0, "seconds sec secs")
	put(cUnit|cTrigger, 0, Minute, "minute minutes min mins")
	put(cUnit|cTrigger, 0, Hour, "hour hours hr hrs h")
	put(cUnit|cTrigger|cNoun, 0, Day, "day days")
	put(cUnit|cTrigger|cNoun, 0, Week, "week weeks wk wks fortnight fortnights")
	put(cUnit|cTrigger|cNoun, 0, Weekend, "weekend weekends wkend")
	put(cUnit|cTrigger|cNoun, 0, Month, "month months mo mos")
	put(cUnit|cTrigger|cNoun|cQuarter, 0, Quarter, "quarter quarters qtr qtrs q")
	put(cUnit|cTrigger|cNoun, 0, Season, "season seasons")
	put(cUnit|cTrigger|cNoun, 0, Year, "year years yr yrs")
	put(cUnit|cTrigger|cNoun, 0, Decade, "decade decades")
	put(cUnit|cTrigger|cNoun, 0, Century, "century centuries")

	put(cDeictic|cTrigger|cNoun, 0, 0, "today tonight tonite tomorrow tomorrows tmrw tmr yesterday now overnight")
	put(cTrigger, 0, 0, "eod eom eoy bom boy eow asap atm recently lately nowadays")
	put(cPrevious, 0, 0, "last past previous preceding prior")
	put(cFollowing, 0, 0, "next coming upcoming following")
	put(cCurrent, 0, 0, "this current")
	put(cPart|cTrigger|cNoun, 0, 0, "morning mornings afternoon afternoons evening evenings night nights nite lunch lunchtime noonish afternoonish")
	put(cSeason|cTrigger|cNoun, 0, 0, "winter spring summer autumn fall")
	vocabulary["winter"].n, vocabulary["spring"].n, vocabulary["summer"].n, vocabulary["autumn"].n, vocabulary["fall"].n = 0, 1, 2, 3, 3
	put(cAmPm|cTrigger, 1, 0, "am a.m")
	put(cAmPm|cTrigger, 2, 0, "pm p.m")
	put(cClock|cTrigger, 0, 0, "noon midday midnight o'clock oclock half")
	for i, s := range strings.Fields("twenties thirties forties fifties sixties seventies eighties nineties") {
		put(cDecade|cTrigger, 20+10*i, 0, s)
	}
	put(cPosition, 1, 0, "early beginning start")
	put(cPosition, 2, 0, "mid middle")
	put(cPosition, 3, 0, "late end")
	put(cTrigger, 0, 0, "ago since until till thousand nights mornings")
	put(cFunction, 0, 0, "thousand hundred or ago since until till untill til through thru by before after from between for within in on at of the a an and to or during over around about approximately roughly circa almost nearly under back hence just about right rest all whole entire couple few several pair more less than later earlier ish sharp zero ou moment p a m d oh o h ad bc era only exactly sometime sometimes anytime time starting including throughout onwards onward every each per day's closest no-later not if so but as well it its my our your his her their e.g")
	put(cPrep, 0, 0, "in on at by since until till from before after during of around through thru about to for late early mid")
	put(cSubject, 0, 0, "i we he she they you who it that")

	for _, z := range strings.Fields("utc:0 gmt:0 wet:0 bst:60 west:60 cet:60 cest:120 eet:120 eest:180 msk:180 ist:330 jst:540 kst:540 aest:600 aedt:660 nzst:720 nzdt:780 est:-300 edt:-240 cst:-360 cdt:-300 mst:-420 mdt:-360 pst:-480 pdt:-420 akst:-540 hst:-600") {
		name, num, _ := strings.Cut(z, ":")
		put(cZone, 0, 0, name)
		n, neg := 0, strings.HasPrefix(num, "-")
		for _, c := range strings.TrimPrefix(num, "-") {
			n = n*10 + int(c-'0')
		}
		if neg {
			n = -n
		}
		vocabulary[name].shift = n
	}

	// Words of tense. The past of irregular verbs; what looks ahead; the forms of be and have.
	put(cPast, 0, 0, `was were did had went got made saw came took met bought gave found told said left felt became began brought built
		caught chose drew drank drove ate fell fought flew forgot forgave froze grew hung heard hid held kept knew led learnt lent lost
		meant paid ran rode rang rose sold sent shook shot sang sat slept spoke spent stood stole struck swam swept taught thought threw
		understood woke wore won wrote been done gone seen taken given written broke broken done started ended
		did't didn't wasn't weren't hadn't used happened finally ago blew bent bet bled bred cast clung crept dealt
		dug dreamt fed fled ground knelt laid leapt lit overcame rebuilt shut slid spilt spun split sprang stuck stung swore tore wept
		withdrew wound undertook overheard mistook shed burst cut hit hurt put quit set upset`)
	delete(vocabulary, "did't")
	vocabulary["ago"].cls &^= cPast
	put(cFuture, 0, 0, `will shall gonna going'll tomorrow plan plans planning planned hope hopes hoping want wants wanna upcoming soon need needs see
		scheduled deadline due appointment reminder remind todo intend intends expect expects expecting let's lets
		can't won't should must might`)
	delete(vocabulary, "going'll")
	for _, s := range []string{"may", "march"} {
		vocabulary[s].cls &^= cFuture
	}
	vocabulary["tomorrow"].cls &^= cFuture
	put(cBe|cPresent, 0, 0, "am is are isn't aren't be i'm it's he's she's that's there's what's we're they're you're")
	put(cHave, 0, 0, "have has i've we've they've you've haven't hasn't")
	// contractions cut off by a tokenizer: I 'll, gon na
	put(cFuture, 0, 0, "ll gon")
	put(cHave, 0, 0, "ve")
	put(cBe|cPresent, 0, 0, "re")
	put(cPresent, 0, 0, "do does don't doesn't start starts begin begins open opens leave leaves arrive arrives")
	put(cGerund, 0, 0, "going")
}

// The words of feast names; those that hardly mean anything else can make a text worth reading.
func init() {
	for _, s := range feastWords() {
		w := vocabulary[s]
		if w == nil {
			w = &word{s: s}
			vocabulary[s] = w
		}
		w.cls |= cFeast | cNoun
		if one := strings.TrimSuffix(s, "s"); one != s && len(s) > 5 && vocabulary[one] == nil { // valentine's
			vocabulary[one] = &word{s: one, cls: cFeast | cNoun}
		}
	}
	for _, s := range strings.Fields("christmas xmas easter thanksgiving halloween juneteenth pentecost eve years gras fools night") {
		vocabulary[s].cls |= cTrigger
	}
}

// isoWeekday is time.Weekday of Monday-1 numbering.
func isoWeekday(n int) time.Weekday { return time.Weekday(n % 7) }
