// Package eval answers: how well does this memory find what a question needs, and which part of it does the work?
//
// It reads conversations with questions in the shape of LoCoMo or of LongMemEval and measures a
// memory.Engine on them in steps, each of which leaves a file that the next one reads:
//
//	strip      data file            -> stripped.json (turns and questions) and gold.json (answers, categories, evidence)
//	build      stripped.json        -> a store, one project per conversation
//	retrieve   stripped.json, store -> retrieved/<setting>.jsonl
//	answer     stripped.json, retrieved -> answers/<arm>.jsonl     (optional, with Ollama)
//	judge      answers, gold.json   -> judged/<arm>.jsonl          (optional)
//	score      retrieved, judged, gold.json -> report.json, report.html
//
// Build, retrieve and answer never open gold.json or the data file, and the names of conversations,
// sessions and questions in stripped.json are made anew, since LongMemEval's own say which sessions hold
// the answer. TestNoLeak plants canaries to keep it so. Every step can be stopped and started again.
//
// The tests measure what the command does not: the same conversations in other forms (TestForms), so that no ranking is
// won by the form of one data set, and a name in 20,000 of 50,000 memories (TestHub).
//
// Beside the engine's figures stand three floors that share nothing with it (floors.go), so that a
// change of the engine never moves what it is compared with.
package eval
