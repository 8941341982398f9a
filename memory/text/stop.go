package text

import "strings"

// The Snowball project's English stop list with the contractions written both ways, and the words with which
// questions are asked. They carry no topic; "not" and "no" stay out of BM25 too, as they match everything.
var stop = func() map[string]struct{} {
	m := map[string]struct{}{}
	for _, w := range strings.Fields(`
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves what which who whom whose this that these those am is are was were
be been being have has had having do does did doing would should could ought can will shall may might must
i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd she'd we'd they'd i'll you'll he'll
she'll we'll they'll isn't aren't wasn't weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't shan't
shouldn't can't cannot couldn't mustn't let's that's who's what's here's there's when's where's why's how's
a an the and but if or because as until while of at by for with about against between into through during before
after above below to from up down in out on off over under again further then once here there when where why how all
any both each few more most other some such no nor not only own same so than too very just also
s t d ll m re ve im dont didnt doesnt isnt cant wont ive id youre thats whats
yeah yes ok okay oh hey hi hello wow thanks thank please`) {
		m[w] = struct{}{}
		m[strings.ReplaceAll(w, "'", "’")] = struct{}{}
	}
	return m
}()

// IsStop reports whether a folded word is an English stop word.
func IsStop(w string) bool { _, ok := stop[w]; return ok }
