package ollama

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/ollama/ollama/api"
)

// EmbedCall asks for the vectors of some texts.
type EmbedCall struct {
	Model  string
	Texts  []string // none blank: the server answers a blank text with a meaningless vector
	NumCtx int      // 0: the model's own
}

type embedRequest struct {
	Model     string         `json:"model"`
	Input     []string       `json:"input"`
	Truncate  bool           `json:"truncate"` // false: a text that is too long must be an error, not cut
	KeepAlive json.Number    `json:"keep_alive"`
	Options   map[string]any `json:"options,omitempty"`
}

// Embed returns the vectors as the server sent them. The caller checks them.
func (s *Server) Embed(ctx context.Context, c EmbedCall) ([][]float32, error) {
	what := fmt.Sprintf("embed %d texts with %s", len(c.Texts), c.Model)
	in := embedRequest{Model: c.Model, Input: c.Texts, KeepAlive: s.keepAlive}
	if c.NumCtx > 0 {
		in.Options = map[string]any{"num_ctx": c.NumCtx}
	}
	var answer api.EmbedResponse
	if err := s.do(ctx, what, s.call, http.MethodPost, "api/embed", in, &answer); err != nil {
		return nil, err
	}
	return answer.Embeddings, nil
}

// ChatCall asks a model for one answer, the likeliest one (temperature 0).
type ChatCall struct {
	Model  string
	System string
	User   string
	// Schema is the JSON schema of the answer, nil for plain text. The server holds the model to it,
	// except for models that think: an answer has to be checked all the same.
	Schema json.RawMessage
	NumCtx int  // tokens of prompt and answer together; must be given, the default cuts silently
	Tokens int  // of the answer at most; reaching it is Cut
	Thinks bool // the model can think, and is told not to
}

type chatRequest struct {
	Model     string          `json:"model"`
	Messages  []chatMessage   `json:"messages"`
	Stream    bool            `json:"stream"`
	Format    json.RawMessage `json:"format,omitempty"`
	KeepAlive json.Number     `json:"keep_alive"`
	Options   map[string]any  `json:"options"`
	Think     *bool           `json:"think,omitempty"`
	Truncate  bool            `json:"truncate"`
	Shift     bool            `json:"shift"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Chat returns the answer's text. Only a whole answer is one: done, for the reason "stop". A prompt that
// does not fit NumCtx is TooLong; nothing is cut.
func (s *Server) Chat(ctx context.Context, c ChatCall) (string, error) {
	what := "ask " + c.Model
	in := chatRequest{
		Model: c.Model, Format: c.Schema, KeepAlive: s.keepAlive,
		Messages: []chatMessage{{"system", c.System}, {"user", c.User}},
		Options:  map[string]any{"temperature": 0, "seed": 1, "num_ctx": c.NumCtx, "num_predict": c.Tokens},
	}
	if c.Thinks {
		in.Think = new(bool)
	}
	var answer api.ChatResponse
	if err := s.do(ctx, what, s.call, http.MethodPost, "api/chat", in, &answer); err != nil {
		return "", err
	}
	if !answer.Done || answer.DoneReason != "stop" {
		reason := answer.DoneReason
		if reason == "" {
			reason = "no reason given"
		}
		return "", &Error{Fault: Cut, Doing: what, Host: s.base.Host, Text: "the answer was not finished (" + brief(reason) + ")"}
	}
	text := strings.TrimSpace(answer.Message.Content)
	if text == "" {
		return "", &Error{Fault: Broken, Doing: what, Host: s.base.Host, Text: "the answer is empty"}
	}
	return text, nil
}
