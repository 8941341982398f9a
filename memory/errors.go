package memory

import (
	"errors"
	"fmt"
	"strings"
)

// Code says what kind of fault an Error is. Codes cross the socket between processes, so they are
// appended to and never renamed.
type Code string

const (
	CodeInvalid   Code = "invalid"   // an argument cannot be read or is out of range
	CodeNotFound  Code = "not_found" // an id or ref that was never stored here
	CodeAmbiguous Code = "ambiguous" // a ref that ends several ids
	CodeTooLarge  Code = "too_large" // content over the limit; nothing was stored
	CodeConflict  Code = "conflict"  // an idempotency key used again with other content
	CodeExpired   Code = "expired"   // a confirm code that is unknown or too old
	CodeRefused   Code = "refused"   // a policy forbids it (secrets, read-only token)
	CodeClosed    Code = "closed"    // the store is closed or closing
	CodeLocked    Code = "locked"    // another process owns the store
	CodeFormat    Code = "format"    // the store was written by a newer or damaged program
	CodeStorage   Code = "storage"   // disk full, I/O error, corruption
	CodeBusy      Code = "busy"      // try again: the owner is changing
	CodeInternal  Code = "internal"  // a bug in this program
)

// Error is a fault whose text is meant for the caller: what is wrong and how to mend it, in one line.
// It never holds a memory's text.
type Error struct {
	Code Code   `json:"code"`
	Text string `json:"text"`
	// Err is the cause, kept for errors.Is in this process; it does not cross a socket.
	Err error `json:"-"`
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Err }

// Is makes errors.Is(err, &Error{Code: c}) true for any Error of that code.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Text == "" && t.Code == e.Code
}

// Errorf makes an Error; a %w in the format is kept as its cause.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Text: strings.ReplaceAll(err.Error(), "\n", "; "), Err: errors.Unwrap(err)} // joined errors stand in lines
}

// CodeOf is the code of the first Error in err's chain, CodeInternal for any other error, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}
