// Package setup answers: how does a client come to use the memory, without its settings being harmed?
//
// Where a client keeps its settings and what it wants to find there is a table (clients.go) of pure
// functions of an operating system, a home folder and an environment, so that every platform's paths are
// tested on any. What is written goes into the file that is there: its comments, its order, its other
// entries and its line ends stay byte for byte (json.go, toml.go, text.go), and what does not parse is
// refused, not mended. Do and Undo are the only functions that touch a disk (do.go); before the first
// change of a file they keep a copy beside it.
//
// A server alone does not make a model remember. So each client also gets a short rule for its
// instruction file where it has one, and Claude Code hooks, whose two commands are here too (hook.go).
package setup
