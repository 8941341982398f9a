package query

// The words the router reads, as sets of classes. A word may be in several. Multi-word cues are
// matched in route.go from these classes. The lists are closed word classes (question words,
// auxiliaries, units of time) and the ordinary English verbs and nouns of cause; none was taken from
// a benchmark's questions.

type class uint32

const (
	cAux      class = 1 << iota // auxiliaries that open or follow a question word
	cFunc                       // function words: what may follow a head noun without making it a modifier
	cTimeNoun                   // "what year", "the date of"
	cTimeUnit                   // "how many days"
	cPerson                     // "which colleague"
	cReason                     // "the reason", "root cause"
	cCauseV                     // "what made", "what led to": the subject is asked for
	cEffectV                    // "what did it lead to", "what followed from": the effect is asked for
	cEffectN                    // "the consequences of"
	cNeg                        // negation
	cPronoun                    // personal pronouns, subject of a clause
	cDet                        // determiners and possessives
	cPolite                     // words skipped at the start
	cPrep                       // prepositions that make a following "May" a month
	cOrderW                     // first, earlier, next, ...
	cListV                      // list, enumerate, name
	cAskV                       // said between a person and this memory
	cMonth                      // names of months that are also names of people or words
	cCalendar                   // other names of days and months: never people
	cWindow                     // words of a time window
	cPlural                     // irregular plurals
	cNotPlur                    // end in s, yet are no plurals
	cTold                       // verbs and nouns that a question may hang on: "said why", "no idea when"
)

var words = wordClasses()

func wordClasses() map[string]class {
	m := make(map[string]class, 512)
	put := func(c class, ws ...string) {
		for _, w := range ws {
			m[w] |= c
		}
	}
	put(cAux, "did", "do", "does", "is", "are", "was", "were", "am", "has", "have", "had", "will", "would",
		"can", "could", "should", "shall", "might", "must", "didn't", "don't", "doesn't", "isn't", "aren't",
		"wasn't", "weren't", "hasn't", "haven't", "hadn't", "won't", "wouldn't", "can't", "couldn't",
		"shouldn't", "ain't", "didnt", "dont", "doesnt", "isnt", "wasnt", "werent", "hasnt", "havent", "cant", "wont")
	put(cNeg, "not", "never", "no", "nobody", "none", "nothing", "nowhere", "neither", "nor", "without",
		"didn't", "don't", "doesn't", "isn't", "aren't", "wasn't", "weren't", "hasn't", "haven't", "hadn't",
		"won't", "wouldn't", "can't", "couldn't", "shouldn't", "cannot", "ain't", "except", "hardly",
		"didnt", "dont", "doesnt", "isnt", "wasnt", "werent", "hasnt", "havent", "cant", "wont")
	put(cPronoun, "i", "you", "he", "she", "it", "we", "they", "me", "him", "us", "them", "someone",
		"everyone", "anyone", "somebody", "everybody", "anybody", "this", "that", "these", "those", "there")
	put(cDet, "the", "a", "an", "my", "your", "his", "her", "its", "our", "their", "this", "that", "these",
		"those", "some", "any", "all", "both", "each", "every")
	put(cFunc, "of", "for", "that", "when", "on", "in", "at", "to", "by", "with", "from", "about", "behind",
		"which", "who", "where", "why", "or", "and", "but", "so", "as", "if", "than", "then", "because",
		"after", "before", "since", "until", "till", "between", "during", "was", "were", "we", "i", "you",
		"he", "she", "it", "they", "again", "exactly", "please", "the", "a", "an", "my", "your", "our",
		"his", "her", "their", "its", "this", "these", "those", "not", "be", "been", "being")
	put(cTimeNoun, "time", "date", "day", "year", "month", "week", "weekday", "weekend", "hour", "minute",
		"decade", "century", "quarter", "season", "times", "dates", "days", "years", "months", "weeks",
		"hours", "evening", "morning", "deadline", "birthday", "anniversary")
	put(cTimeUnit, "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days", "night", "nights",
		"week", "weeks", "weekends", "month", "months", "year", "years", "decades", "sprints", "quarters")
	put(cPerson, "person", "people", "friend", "friends", "colleague", "colleagues", "teammate", "teammates",
		"engineer", "engineers", "developer", "developers", "maintainer", "maintainers", "author", "authors",
		"company", "companies", "team", "teams", "customer", "customers", "client", "clients", "vendor",
		"vendors", "cousin", "cousins", "sibling", "siblings", "brother", "sister", "relative", "relatives",
		"neighbour", "neighbor", "neighbours", "neighbors", "doctor", "teacher", "manager", "reviewer",
		"reviewers", "user", "users", "member", "members", "guy", "woman", "man", "kid", "child", "students",
		"student", "singer", "artist", "band", "organisation", "organization", "contractor", "supplier", "everyone", "everybody", "anybody", "anyone", "somebody", "owner", "owners")
	put(cReason, "reason", "reasons", "cause", "causes", "motive", "motives", "motivation", "motivations",
		"explanation", "rationale", "justification", "trigger", "culprit", "reasoning", "root-cause", "driver", "grounds",
		"factor", "factors", "purpose")
	put(cCauseV, "made", "makes", "caused", "causes", "causing", "led", "leads", "triggered", "triggers", "prompted",
		"motivated", "motivates", "inspired", "drove", "drives", "convinced", "persuaded", "pushed", "forced",
		"compelled", "provoked", "sparked", "brought", "kept", "keeps", "stopped", "prevented", "prevents",
		"explains", "explained", "broke", "breaks", "encouraged", "discouraged", "ruined", "delayed", "blocked",
		"got", "moved", "spurred", "possessed", "turned")
	put(cEffectV, "lead", "leads", "led", "cause", "result", "resulted", "results", "trigger", "bring", "come", "contribute", "stem")
	put(cEffectN, "consequence", "consequences", "effect", "effects", "impact", "fallout", "aftermath", "repercussions", "result", "outcome")
	put(cPolite, "please", "hey", "hi", "hello", "ok", "okay", "so", "and", "but", "well", "also", "now",
		"um", "uh", "hmm", "just", "quick", "question", "sorry", "again", "oh", "btw", "anyway")
	put(cPrep, "in", "on", "by", "since", "until", "till", "last", "next", "early", "late", "mid", "of",
		"from", "during", "through", "before", "after", "this", "end", "to", "and", "between", "around")
	put(cOrderW, "first", "earlier", "later", "next", "last", "earliest", "latest", "afterwards", "subsequently")
	put(cListV, "list", "enumerate", "name", "count", "collect", "gather")
	put(cAskV, "ask", "asked", "tell", "told", "say", "said", "mention", "mentioned", "discuss", "discussed",
		"talk", "talked", "chat", "chatted", "speak", "spoke", "write", "share", "shared", "talking", "discussing", "asking")
	put(cMonth, "april", "may", "june", "august", "march", "jan")
	put(cCalendar, "january", "february", "july", "september", "october", "november", "december", "monday",
		"tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "christmas", "easter")
	put(cWindow, "yesterday", "today", "tomorrow", "tonight", "ago", "recently", "lately", "week", "month",
		"year", "morning", "evening", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday",
		"sunday", "january", "february", "july", "september", "october", "november", "december")
	put(cTold, "say", "said", "says", "tell", "told", "know", "knows", "known", "mention", "mentioned", "explain",
		"explained", "understand", "get", "see", "sure", "idea", "clue", "wonder", "figure", "decide", "decided", "check",
		"find", "out", "remember", "recall", "forgot", "care", "matter", "clear")
	put(cPlural, "people", "children", "men", "women", "feet", "criteria", "kinds", "types", "sorts")
	put(cNotPlur, "is", "was", "does", "has", "this", "its", "his", "hers", "us", "as", "news", "always", "yes",
		"class", "process", "access", "address", "status", "business", "bus", "plus", "series", "perhaps",
		"besides", "canvas", "corpus", "basis", "analysis", "gas", "christmas", "kubernetes", "postgres",
		"redis", "sometimes", "makes", "causes", "keeps", "happens", "drives", "leads", "prevents", "explains",
		"triggers", "breaks", "goes", "comes", "needs", "motivates", "virus", "tennis", "jenkins", "aws", "dns", "tls", "css", "os", "ios", "https")
	return m
}

// foreign holds question words of other languages by intent, read only where no English one was
// found. first marks words that are a question word only where they open the question ("quand il
// pleut" inside a sentence is none).
type foreignWord struct {
	intent Intent
	kind   QuestionKind
	first  bool
}

var foreign = map[string]foreignWord{
	"warum": {Why, Single, false}, "wieso": {Why, Single, false}, "weshalb": {Why, Single, false}, "wann": {When, Single, false},
	"wer": {Entity, Single, true}, "wem": {Entity, Single, true}, "wen": {Entity, Single, true},
	"pourquoi": {Why, Single, false}, "quand": {When, Single, true}, "qui": {Entity, Single, true},
	"perché": {Why, Single, true}, "quando": {When, Single, true}, "chi": {Entity, Single, true},
	"cuándo": {When, Single, false}, "quién": {Entity, Single, false}, "quiénes": {Entity, Several, false}, "cuántos": {General, Several, false}, "cuántas": {General, Several, false},
	"quem": {Entity, Single, true}, "waarom": {Why, Single, false}, "wanneer": {When, Single, true}, "wie": {General, Open, true},
	"varför": {Why, Single, false}, "hvorfor": {Why, Single, false}, "dlaczego": {Why, Single, false}, "kiedy": {When, Single, true}, "kto": {Entity, Single, true},
	"почему": {Why, Single, false}, "зачем": {Why, Single, false}, "когда": {When, Single, true}, "кто": {Entity, Single, true},
	"لماذا": {Why, Single, false}, "متى": {When, Single, false},
	"क्यों": {Why, Single, false}, "कब": {When, Single, false}, "कौन": {Entity, Single, false},
	"neden": {Why, Single, false}, "niçin": {Why, Single, false}, "kim": {Entity, Single, true},
}

// cjkCue is a cue of a language written without spaces, found anywhere in the text.
type cjkCue struct {
	text   string
	intent Intent
	kind   QuestionKind
}

// cjkCues are tried in order; the first that occurs decides.
var cjkCues = []cjkCue{
	{"我问过你", General, Meta}, {"我跟你说过", General, Meta}, {"我告诉过你", General, Meta}, {"我们聊过", General, Meta}, {"我之前问", General, Meta}, {"上次聊", General, Meta},
	{"为什么", Why, Single}, {"為什麼", Why, Single}, {"为何", Why, Single}, {"為何", Why, Single}, {"为啥", Why, Single}, {"怎么会", Why, Single}, {"何故", Why, Single},
	{"原因", Why, Single}, {"缘由", Why, Single}, {"理由", Why, Single}, {"导致", Why, Single},
	{"多久", When, Duration}, {"多长时间", When, Duration}, {"几天", When, Duration}, {"几个月", When, Duration}, {"几年", When, Duration},
	{"先后", When, Order}, {"顺序", When, Order},
	{"什么时候", When, Single}, {"什麼時候", When, Single}, {"何时", When, Single}, {"何時", When, Single}, {"几时", When, Single}, {"哪天", When, Single}, {"哪一天", When, Single},
	{"几点", When, Single}, {"哪年", When, Single}, {"哪一年", When, Single}, {"几月", When, Single}, {"几号", When, Single}, {"什么时间", When, Single}, {"哪个月", When, Single},
	{"有哪些人", Entity, Several}, {"谁", Entity, Single}, {"誰", Entity, Single}, {"哪位", Entity, Single}, {"叫什么名字", Entity, Single},
	{"哪些", General, Several}, {"多少", General, Several}, {"几个", General, Several}, {"列出", General, Several},
	{"介绍一下", Entity, Open}, {"讲讲", Entity, Open}, {"说说", Entity, Open},
	{"なぜ", Why, Single}, {"どうして", Why, Single}, {"何年", When, Single}, {"いつ", When, Single}, {"だれ", Entity, Single}, {"いくつ", General, Several},
	{"왜", Why, Single}, {"언제", When, Single}, {"누구", Entity, Single}, {"누가", Entity, Single}, {"몇 개", General, Several},
	{"怎么", General, Open}, {"怎样", General, Open}, {"如何", General, Open},
	{"吗", General, YesNo}, {"嗎", General, YesNo}, {"是不是", General, YesNo}, {"有没有", General, YesNo},
}

var cjkNegations = [...]string{"不", "没", "未曾", "从未"}
