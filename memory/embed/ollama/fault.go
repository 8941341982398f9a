package ollama

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Fault sorts failures by what to do about them.
type Fault string

const (
	Away    Fault = "away"     // no server, or it went during the call: look again later
	Slow    Fault = "slow"     // no answer before the deadline: the server hangs, or loads
	Missing Fault = "missing"  // the model is not installed
	Busy    Fault = "busy"     // a passing state (loading, queue full, a runner that died): try again
	TooLong Fault = "too long" // the input does not fit the model's context: send less
	Broken  Fault = "broken"   // an answer that cannot be used: try with less, then leave it
	Cut     Fault = "cut"      // a chat answer that did not come to its end
	Refused Fault = "refused"  // the server will not, and will not later either
)

// Error is a failed call. Its text holds no memory's text: the server's own messages are shortened and
// kept only where they are about the server.
type Error struct {
	Fault Fault
	Doing string // "embed 12 texts with nomic-embed-text"
	Host  string
	Text  string
	Err   error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s at %s: %s: %v", e.Doing, e.Host, e.Text, e.Err)
	}
	return fmt.Sprintf("%s at %s: %s", e.Doing, e.Host, e.Text)
}

func (e *Error) Unwrap() error { return e.Err }

// FaultOf is the fault in err's chain, "" where there is none.
func FaultOf(err error) Fault {
	var e *Error
	if errors.As(err, &e) {
		return e.Fault
	}
	return ""
}

// sortStatus reads an answer that is no success. The texts are those of Ollama 0.17.4; an unknown one
// is sorted by its status alone.
func sortStatus(status int, body []byte) (Fault, string) {
	var answer struct {
		Error any `json:"error"`
	}
	message := ""
	if json.Unmarshal(body, &answer) == nil {
		switch e := answer.Error.(type) {
		case string:
			message = e
		case map[string]any: // llama.cpp's own shape
			message, _ = e["message"].(string)
		}
	}
	low := strings.ToLower(message)
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(low, p) {
				return true
			}
		}
		return false
	}
	text := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if message != "" {
		text += ": " + brief(message)
	}
	switch {
	case status == http.StatusNotFound:
		return Missing, text
	case has("exceeds the context length", "exceeds maximum context", "maximum context length", "context size", "input length"):
		return TooLong, text
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests,
		status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return Busy, text
	case has("eof", "health resp", "llm server", "loading model", "runner", "connection refused",
		"connection reset", "context canceled", "server busy", "no longer running", "broken pipe"):
		return Busy, text
	case status >= 500 && status != http.StatusNotImplemented:
		return Broken, text
	}
	return Refused, text
}

// brief shortens a server's message to one line of at most 160 characters.
func brief(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 160 {
		s = string(r[:160]) + "..."
	}
	return s
}
