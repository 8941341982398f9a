package consolidate

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/magma-mcp/magma-mcp/memory/embed/ollama"
)

// Chat is a chat model.
type Chat interface {
	// Name says which model answers, with a digest where there is one: derived rows carry it.
	Name(ctx context.Context) (string, error)
	// Ask returns the whole answer, or an error. Errors are *ollama.Error where they have a fault.
	Ask(ctx context.Context, p Prompt) (string, error)
}

// ChatModel is a model of an Ollama server as a Chat. Make one with NewChatModel.
type ChatModel struct {
	server *ollama.Server
	model  string
	numCtx int

	mu     sync.Mutex
	name   string // as it was when last looked at
	thinks bool
}

// NewChatModel makes a Chat of an installed model. numCtx is the context length to run it with; 0 is
// 8,192: the longest prompt here is about 4,000 tokens, and the answer 1,500. It connects to nothing; a
// model that runs in a cloud is refused, here by its name, later by what the server says.
func NewChatModel(server *ollama.Server, model string, numCtx int) (*ChatModel, error) {
	if ollama.CloudName(model) {
		return nil, fmt.Errorf("consolidation model %q runs in Ollama's cloud, and memories stay on this machine: name a local model", model)
	}
	return &ChatModel{server: server, model: model, numCtx: cmp.Or(numCtx, 8192)}, nil
}

// Name looks at the model: it may have been replaced under its name since the last call.
func (c *ChatModel) Name(ctx context.Context) (string, error) {
	refuse := func(fault ollama.Fault, text string) error {
		return &ollama.Error{Fault: fault, Doing: "use " + c.model + " for consolidation", Host: c.server.Host(), Text: text}
	}
	installed, err := c.server.Installed(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range installed {
		if !ollama.SameName(m.Name, c.model) {
			continue
		}
		name := m.Name + "@" + m.Digest[:min(12, len(m.Digest))]
		c.mu.Lock()
		known := c.name == name
		c.mu.Unlock()
		if known {
			return name, nil
		}
		d, err := c.server.Show(ctx, c.model)
		switch {
		case err != nil:
			return "", err
		case m.Cloud || d.Cloud:
			return "", refuse(ollama.Refused, "it runs in Ollama's cloud, and memories stay on this machine; name a local model")
		case d.Known && !d.Chats:
			return "", refuse(ollama.Refused, "it is no chat model; name another")
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.name, c.thinks = name, d.Thinks
		return name, nil
	}
	return "", refuse(ollama.Missing, "it is not installed; run: ollama pull "+c.model)
}

// Ask asks it.
func (c *ChatModel) Ask(ctx context.Context, p Prompt) (string, error) {
	if _, err := c.Name(ctx); err != nil {
		return "", err
	}
	c.mu.Lock()
	thinks := c.thinks
	c.mu.Unlock()
	return c.server.Chat(ctx, ollama.ChatCall{
		Model: c.model, System: p.System, User: p.User, Schema: p.Schema, NumCtx: c.numCtx, Tokens: p.Tokens, Thinks: thinks,
	})
}
