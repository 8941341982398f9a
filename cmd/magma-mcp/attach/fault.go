package attach

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"

	"github.com/magma-mcp/magma-mcp/memory"
)

var (
	errFrameSize = fmt.Errorf("a message between two magma-mcp processes is over %d MiB", maxFrame>>20)
	// errLost: the connection ended before the answer came. The write may or may not have happened.
	errLost = errors.New("the connection to the process that owns the store was lost")
	// errGoing: the owner takes no more calls. The call did not begin.
	errGoing = errors.New("the process that owns the store is going")
)

// fault is an error on the wire. Code is a memory.Code or one of the two below.
type fault struct {
	Code memory.Code `json:"code"`
	Text string      `json:"text"`
}

const (
	codeCanceled memory.Code = "canceled"
	codeDeadline memory.Code = "deadline"
)

func toFault(err error) *fault {
	var e *memory.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return &fault{Code: e.Code, Text: err.Error()}
	case errors.Is(err, context.Canceled):
		return &fault{Code: codeCanceled, Text: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return &fault{Code: codeDeadline, Text: err.Error()}
	}
	return &fault{Code: memory.CodeInternal, Text: err.Error()}
}

func (f *fault) err() error {
	switch f.Code {
	case codeCanceled:
		return context.Canceled
	case codeDeadline:
		return context.DeadlineExceeded
	}
	return &memory.Error{Code: f.Code, Text: f.Text}
}

// validUTF8 refuses strings that a JSON encoder would silently replace: text is stored byte for byte or
// not at all, whichever process holds the store.
func validUTF8(v any) error {
	if !validStrings(reflect.ValueOf(v)) {
		return memory.Errorf(memory.CodeInvalid, "text is not valid UTF-8: send it as UTF-8; nothing was stored")
	}
	return nil
}

func validStrings(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Struct:
		for i := range v.NumField() {
			if !validStrings(v.Field(i)) {
				return false
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return utf8.Valid(v.Bytes())
		}
		for i := range v.Len() {
			if !validStrings(v.Index(i)) {
				return false
			}
		}
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || validStrings(v.Elem())
	}
	return true
}
