// Package demo holds the conversation that `magma-mcp demo` remembers: what does a memory look like
// that somebody could have?
//
// A software team's month, written for this purpose: decisions, incidents, corrections, relative dates.
// Each line of conversation.jsonl is the arguments of one remember call, with key as its name inside
// the file: because_of and supersedes name keys of earlier lines.
package demo

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed conversation.jsonl
var conversation []byte

// Turn is one line of the conversation.
type Turn struct {
	Key string
	// Arguments of remember; because_of and supersedes still hold keys.
	Arguments map[string]any
}

// Conversation is the turns in the order they are to be remembered. It panics where the file, which is
// part of the program, is broken.
func Conversation() []Turn {
	var turns []Turn
	for line := range bytes.Lines(conversation) {
		args := map[string]any{}
		if err := json.Unmarshal(line, &args); err != nil {
			panic(fmt.Sprintf("demo: conversation.jsonl: %v", err))
		}
		key, _ := args["key"].(string)
		delete(args, "key")
		turns = append(turns, Turn{Key: key, Arguments: args})
	}
	return turns
}
