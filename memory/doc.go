// Package memory is the engine: how does a program remember, recall, explain, date and forget?
//
// This is the tour for somebody new to the source. It follows one memory in and one question out, then says
// where the bytes are, what runs in the background, and where the engine departs from the paper it is
// built after: "MAGMA: A Multi-Graph based Agentic Memory Architecture for AI Agents" (arXiv 2601.03236).
//
// # Words used everywhere
//
// A memory is one text with two clocks: when it happened (occurred_at, as given) and when it was stored
// (recorded_at). It belongs to a project, and nothing crosses from one project into another unless all are
// asked. A memory may be told in a session, by a speaker, from a source. An entity is a person or thing that
// memories mention. A project's memories hang together in four graphs:
//
//	temporal   next, previous    the order of a session by (occurred_at, sequence), never of arrival
//	semantic   similar           likeness
//	causal     causes            stated by the caller, or read from words that are kept as evidence
//	entity     mentions          memory - entity - memory
//
// Engine (api.go) is the engine as its front ends see it: plain values that survive a JSON round trip,
// because the process that asks is often not the one that owns the store (cmd/magma-mcp/attach). Bank is
// the one implementation that has a store. Errors that a caller can do something about are *Error with a
// Code (errors.go).
//
// # One memory in
//
// Bank.Remember (remember.go; paper section 3.4, Algorithm 2) does this, without a model and without the
// network:
//
//  1. prepare: fields are checked, the text is split into segments where it is long or a pasted transcript
//     (package extract), occurred_at is read.
//  2. analyze (analyze.go): what the words say by rule. Terms (package text), time expressions resolved
//     against occurred_at to half-open intervals (package temporal), names, causes and replies (extract). It
//     is a pure function of the record, so that `rebuild` makes the same rows.
//  3. commit, under the writer's lock: an exact duplicate becomes one more sighting; else one batch holds the
//     record, its analysis, the rows it is found by, and what it owes to the background. The batch is applied
//     and the project's index in memory follows.
//  4. The wait for the disk's sync is outside the lock, so that writers share it. Only then comes the receipt.
//
// Nothing is thrown away for being similar to something else, and a correction (supersedes) leaves the
// old memory in place.
//
// # One question out
//
// Bank.Recall (recall.go; paper section 3.3), Bank.Why (why.go) and Bank.When (when.go; dated.go and telling.go say
// which clause, turn and tense, beside.go what "after the road trip" means, reckon.go does the arithmetic) share
// one way:
//
//  1. inquire (inquiry.go) reads the question (query/question.go): the router's soft intent (query/route.go), its
//     words and their related words, its names, and a window of time. It may embed the question, for 250 ms at most.
//  2. The project's index.Shard is loaded (load.go) if it is not in memory: postings, session order, times, mentions,
//     causal edges, vectors. It is a copy of what the store derives; what the store no longer holds is dropped
//     from an answer.
//  3. query.Run finds (Algorithm 1): query/words.go and query/candidates.go give each memory that shares something with the question a
//     score in [0, 1]; query/walk.go goes best-first from the best of them over the graphs, weighted by intent;
//     query/order.go makes the list, query/confident.go decides whether anything stored really answers. query/tuning.go is the table of
//     what counts how much, with the measurement behind it. query never sees an embedder or the disk: the same
//     shard and the same request give the same answer to the bit. query/gist.go is one more entrance, for a question
//     that nothing but a model's summary of an episode answers.
//  4. fit.go and render.go write the text for a model: reading order by intent, one header line and the fenced
//     words of each memory, the least relevant shrunk to one line, all within the token budget.
//
// Bank.Forget (forget.go, remove.go) takes ids at once and any other choice after a preview; it removes every row that
// comes from a memory (remove_rows.go), looks by every route whether it is gone, and with purge makes the bytes
// leave the data files (verify.go). once.go lets an attached process ask again. read.go, entities.go, episodes.go
// and around.go hold what resources show; export.go and import.go begin what leaves and comes; backup.go and
// repair.go keep the store itself.
//
// # The bytes
//
// store/keys.go draws every key on disk. A record is truth; nearly everything else is derived from it and can
// be deleted and made again (check.go compares, rebuild.go remakes). No key holds a word of a user, since deleted
// keys outlive deleted values in a log-structured store. store.KV is the seam under which another ordered,
// transactional store would fit; storetest is what it has to pass.
//
// # In the background
//
// What a memory is owed stands in a queue in the same store. Open starts three goroutines (slow.go), the only
// ones of the engine that outlive a call, and Close waits for them: the embedding provider, which decides whether there is a model
// (package embed), a worker for vectors, episodes, summaries and topics, and one for what a chat model may find
// (package consolidate; section 3.4, Algorithm 3). They only add. Every row they make knows its pass and the
// words that are its evidence, and goes when the memory under it is forgotten.
//
// # Where the paper's parts are
//
//	3.1  three layers             the table of arrows in imports_test.go
//	3.2  event node (Eq. 3)       store.Record and store.Analysis; vectors in rows of their own
//	     temporal graph           index.Shard's session order: derived, so a late write is right at once
//	     causal graph             package extract by rule, because_of, consolidate/link.go by a model
//	     semantic graph           index.Shard.SimilarByWords, index.VectorSpace.Alike
//	     entity graph             index/entity.go; aliases and namesakes with where each comes from
//	3.3  router                   query/route*.go
//	     anchors (Eq. 4)          query/words.go, query/candidates.go
//	     transition (Eq. 5, 6),   query/walk.go; the weights in query/tuning.go
//	     Algorithm 1
//	     linearization (Eq. 7)    query/order.go, fit.go, render.go
//	3.4  fast path, Algorithm 2   remember.go
//	     slow path, Algorithm 3   package consolidate, slow*.go
//	4    experiments              package eval
//
// # Where we depart from it, and why
//
//   - Anchors are scored, not ranked and fused (Eq. 4). Each signal is brought to [0, 1] and added. Reciprocal
//     rank fusion of the same signals, weighted, was measured worse on the development conversations (recall@10
//     .80 to .81 at best, where adding gave .83) and lost most on the first rank: a rank forgets how much better
//     the best is. Lists of several vector spaces are still fused by rank, since their scales differ.
//   - The words of a memory's neighbours in its session count for it, with a decay (index.Kernel), and a
//     question's words also find related words (embed/builtin). The paper has neither; both were measured to gain.
//   - A window of time in a question is a signal, not the paper's hard filter: a memory often tells in June
//     of what happened in May. since and until, which a caller gives, are filters, and come before any ranking.
//   - The walk's scale is mended. In the paper weights of up to 6 stand in an exponent, so that similarity drowns,
//     and scores add up along a path, so that the anchors end last. Here a step is worth its parent's score
//     times the graph's weight times the edge's confidence times a mean of structure and affinity, all in [0, 1],
//     with a decay a step: depth alone never outranks an anchor. Every node keeps the path that reached it.
//   - One rank in seven is kept for what only the walk finds (query/order.go). Without it the graphs find what
//     answers a question in other words and the list has no room for it.
//   - The semantic graph is not kept. Neighbours come from the rare words two memories share and, where there are
//     vectors, from one space of them (index/alike.go): the mutual nearest. The threshold is of each memory's own
//     distribution, and both are computed when a walk asks. So there is no pass over all pairs, no edge to forget,
//     and a store that was rebuilt walks the same; one that lost its model still has the vectors it had.
//   - Postings, times and mentions are rows of one analysis per memory on disk and arrays per project in memory
//     (index.Shard), not an index on disk: a write is one small batch, a question touches no disk until it
//     prints, and forgetting one memory deletes few rows. The price is memory, about 500 bytes a memory, given back
//     by the project asked least recently; and the time to load a project when it is first asked.
//   - No clock time is invented, and neither order nor adjacency makes a cause. A causal edge holds the words
//     that say so, or was stated.
//   - Vectors are made after the answer, not before (Algorithm 2 has them on the fast path): a memory is found
//     by its words at once and by meaning a moment later, and a model that is slow or away delays nobody.
//   - A model's answer is believed only where its quotes stand in the text it was shown.
//
// # What to read next
//
// The three files of the verbs, then store/keys.go, then query/tuning.go with query/walk.go. The stories under
// testdata/stories say, each in a page, what one graph alone can find. imports_test.go is the map of packages.
package memory
