// Package query answers: given a question, which memories of a project, in what order, and how did we get there?
//
// Run goes the way of the paper's Algorithm 1, in four steps:
//
//	question.go   what the words ask: intent, terms, names, a window of time (router in route.go)
//	words.go      anchors: the question's words in a memory and in its neighbourhood (BM25), next to one another
//	score.go      anchors: all signals on one scale, [0, 1], with what a session and a question before it add
//	segments.go   a long text counts once
//	walk.go       a best-first walk from the anchors over the four graphs, weighted by intent
//	order.go      the final list and its reading order
//	confident.go  whether anything stored really answers
//	person.go     whom "I" and "you" ask about, and the words that only put a question
//
// The tables that say how much each signal and each graph counts are in tuning.go, with the measurement
// behind each number. Nothing here reads the disk: contents arrive through Request.Content when a phrase has to
// be checked. The same shard and the same request give the same result to the bit.
package query
