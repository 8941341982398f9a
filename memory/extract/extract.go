// Package extract answers "what does this text say, by rule?": whom and what it names (Mentions),
// what it calls the cause of what (Causes, ReplyCauses), which events a long text or a pasted
// conversation consists of (Segments), who is related to whom (Relations), and whether two names may
// be one by their form (Aliases).
//
// Everything here is a pure function of its arguments: no model, no state, no I/O, linear in the
// length of the text, and without a panic on any bytes. The rules are for English prose and for the
// log of a software project; other languages give names where capitals mark them, and nothing where
// they do not. Precision comes first: what is not marked by a word, a form or a position is left to
// the consolidation passes, which have a model.
//
// The chapters: scan.go cuts text into words and sentences. code.go and ident.go know the forms of
// paths, versions, issues and identifiers; mention.go finds names, weigh.go weighs them, with the lists
// of lexicon.go and names.go. cause.go walks a text's cues, cause_rules.go is the table of them, the
// other cause files are its guards, and reply.go reads two turns together. segment.go and transcript.go
// split; alias.go and relation.go are about persons.
package extract

// Span is the half-open byte range [From, To) of a text. Both ends lie on rune boundaries where the
// text is valid UTF-8.
type Span struct{ From, To int }

// Empty tells whether the span holds nothing.
func (s Span) Empty() bool { return s.To <= s.From }

// In is the part of text that s covers, "" where s does not lie in it.
func (s Span) In(text string) string {
	if s.From < 0 || s.To > len(text) || s.From >= s.To {
		return ""
	}
	return text[s.From:s.To]
}
