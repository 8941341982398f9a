// Package prompts gives a person four things to start from: how does one use this memory without
// knowing its tools?
//
// answer_with_memory recalls for a question and instructs by its kind (kind.go); load_context opens a
// session, save_session closes one, review_memory looks the store over. The words are templates in
// this folder, one a prompt and one a kind.
package prompts

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"text/template"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// BadArgument begins the message of an error about a prompt's arguments, for a transport that gives it
// its code: mcp-go neither checks them nor lets a handler choose one.
const BadArgument = "prompt argument "

//go:embed *.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"fence": func(s string) string { return tools.Fence(brief(s)) }}).ParseFS(files, "*.tmpl"))

// brief is the beginning of a memory, as much as recognises it among others: a whole one can be a
// megabyte.
func brief(content string) string {
	if runes := []rune(content); len(runes) > 400 {
		return string(runes[:400]) + " ..."
	}
	return content
}

// recentShown is how many of the newest memories review_memory lays before the model: what it can
// compare with each other in one go.
const recentShown = 30

// prompt is one prompt: what a client lists, and what makes its message.
type prompt struct {
	mcp.Prompt
	make func(context.Context, maker, map[string]string) (*mcp.GetPromptResult, error)
}

func all() []prompt {
	project := mcp.WithArgument("project", mcp.ArgumentDescription("Namespace; the default one if left out"))
	return []prompt{
		{mcp.NewPrompt("answer_with_memory", mcp.WithPromptDescription("Answer a question from what the memory holds, with refs"),
			mcp.WithArgument("question", mcp.RequiredArgument(), mcp.ArgumentDescription("The question")), project), answerWithMemory},
		{mcp.NewPrompt("load_context", mcp.WithPromptDescription("Begin a session with what the memory holds about a task"),
			project, mcp.WithArgument("task", mcp.ArgumentDescription("What you are about to do; without it the pinned and the newest come"))), loadContext},
		{mcp.NewPrompt("save_session", mcp.WithPromptDescription("End a session: store what is worth knowing later"), project), saveSession},
		{mcp.NewPrompt("review_memory", mcp.WithPromptDescription("Look the memory over for what is wrong, doubled or outdated"), project), reviewMemory},
	}
}

// Register adds the four prompts to s.
func Register(s *server.MCPServer, e memory.Engine, defaults tools.Scope, log *slog.Logger) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	for _, p := range all() {
		s.AddPrompt(p.Prompt, func(ctx context.Context, req mcp.GetPromptRequest) (result *mcp.GetPromptResult, err error) {
			defer func() {
				if r := recover(); r != nil {
					log.Error("panic", "doing", p.Name, "panic", fmt.Sprintf("%T", r))
					result, err = nil, errors.New(p.Name+": internal error, a bug in magma-mcp; its log on standard error says where")
				}
			}()
			for _, a := range p.Arguments {
				if a.Required && strings.TrimSpace(req.Params.Arguments[a.Name]) == "" {
					return nil, fmt.Errorf("%s%s of %s is missing", BadArgument, a.Name, p.Name)
				}
			}
			result, err = p.make(ctx, maker{engine: e, scope: tools.ScopeFrom(ctx, defaults), log: log}, req.Params.Arguments)
			if err != nil {
				begin := ""
				if code := memory.CodeOf(err); code == memory.CodeInvalid || code == memory.CodeRefused {
					begin = BadArgument
				}
				return nil, errors.New(begin + tools.FaultLine(log, p.Name, err))
			}
			result.Description = p.Description
			return result, nil
		})
	}
}

// maker is what a prompt is made with.
type maker struct {
	engine memory.Engine
	scope  tools.Scope
	log    *slog.Logger
}

// message runs a template into the one message of a prompt.
func message(name string, data any) (*mcp.GetPromptResult, error) {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, name+".tmpl", data); err != nil {
		return nil, fmt.Errorf("print prompt %s: %w", name, err)
	}
	return mcp.NewGetPromptResult("", []mcp.PromptMessage{
		mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(strings.TrimSpace(b.String()))),
	}), nil
}

func answerWithMemory(ctx context.Context, m maker, args map[string]string) (*mcp.GetPromptResult, error) {
	project, err := m.scope.ProjectFor(args["project"], true)
	if err != nil {
		return nil, err
	}
	question := strings.TrimSpace(args["question"])
	session := m.scope.Session(ctx)
	r, err := m.engine.Recall(ctx, memory.Question{Query: question, Project: project, From: session})
	if err != nil {
		return nil, err
	}
	data := struct {
		Question, Project, Memory, Extra, Rules string
		Confident                               bool
	}{Question: question, Project: project, Memory: strings.TrimSpace(r.Text), Confident: r.Confident}
	kind := KindOf(question)
	switch kind {
	case Time:
		w, err := m.engine.When(ctx, memory.WhenQuestion{Query: question, Project: project, From: session})
		if err != nil {
			return nil, err
		}
		data.Extra = strings.TrimSpace(w.Text)
		data.Confident = data.Confident || len(w.Answers) > 0
	case Reason:
		w, err := m.engine.Why(ctx, memory.WhyQuestion{Query: question, Project: project, From: session})
		if err != nil {
			return nil, err
		}
		data.Extra = strings.TrimSpace(w.Text)
		data.Confident = data.Confident || w.Found
	}
	var rules strings.Builder
	if err := templates.ExecuteTemplate(&rules, "kind_"+string(kind)+".tmpl", nil); err != nil {
		return nil, fmt.Errorf("print the rules for a %s question: %w", kind, err)
	}
	data.Rules = strings.TrimSpace(rules.String())
	return message("answer_with_memory", data)
}

func loadContext(ctx context.Context, m maker, args map[string]string) (*mcp.GetPromptResult, error) {
	project, err := m.scope.ProjectFor(args["project"], true)
	if err != nil {
		return nil, err
	}
	task := strings.TrimSpace(args["task"])
	r, err := m.engine.Recall(ctx, memory.Question{Query: task, Project: project, From: m.scope.Session(ctx)})
	if err != nil {
		return nil, err
	}
	return message("load_context", map[string]any{"Project": project, "Task": task, "Memory": strings.TrimSpace(r.Text), "Empty": len(r.Memories) == 0})
}

func saveSession(_ context.Context, m maker, args map[string]string) (*mcp.GetPromptResult, error) {
	project, err := m.scope.ProjectFor(args["project"], false)
	if err != nil {
		return nil, err
	}
	return message("save_session", map[string]any{"Project": project})
}

func reviewMemory(ctx context.Context, m maker, args map[string]string) (*mcp.GetPromptResult, error) {
	project, err := m.scope.ProjectFor(args["project"], false)
	if err != nil {
		return nil, err
	}
	stats, err := m.engine.Stats(ctx, project)
	if err != nil {
		return nil, err
	}
	recent, err := m.engine.Recent(ctx, project, recentShown)
	if err != nil {
		return nil, err
	}
	return message("review_memory", map[string]any{"Project": project, "Stats": stats, "Recent": recent})
}
