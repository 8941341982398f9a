package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"

	"github.com/magma-mcp/magma-mcp/memory"
)

// Once is what an engine offers so that a write which is tried again happens once even when the process
// that did it is gone. The request id is committed in the same batch as the write, with what is needed
// to give the same answer again; both for at least ten minutes. An empty id is a plain call.
type Once interface {
	RememberOnce(ctx context.Context, request string, n memory.Note) (memory.Receipt, error)
	ForgetOnce(ctx context.Context, request string, c memory.Choice) (memory.Removal, error)
}

// Verb is a command-line operation that needs the open store and is not a method of memory.Engine, for
// example a backup. It runs in the process that owns the store, on the engine that open returned.
type Verb func(ctx context.Context, eng memory.Engine, in json.RawMessage) (any, error)

// verb is one method of the engine, as both ends know it.
type verb[In, Out any] struct {
	name  string
	write bool
	// run does it on the engine of this process. request is "" on a first try that cannot be repeated.
	run func(ctx context.Context, eng memory.Engine, request string, in In) (Out, error)
}

// texted carries an answer with the text block that its own JSON leaves out.
type texted[T any] struct {
	Answer T      `json:"answer"`
	Text   string `json:"text"`
}

type (
	projectQuery struct {
		Project string `json:"project"`
		Name    string `json:"name,omitempty"`
		Limit   int    `json:"limit,omitempty"`
	}
	none struct{}
)

var (
	verbRemember = verb[memory.Note, memory.Receipt]{"remember", true,
		func(ctx context.Context, eng memory.Engine, request string, n memory.Note) (memory.Receipt, error) {
			if o, ok := eng.(Once); ok && request != "" {
				return o.RememberOnce(ctx, request, n)
			}
			return eng.Remember(ctx, n)
		}}
	verbForget = verb[memory.Choice, texted[memory.Removal]]{"forget", true,
		func(ctx context.Context, eng memory.Engine, request string, c memory.Choice) (texted[memory.Removal], error) {
			var r memory.Removal
			var err error
			if o, ok := eng.(Once); ok && request != "" {
				r, err = o.ForgetOnce(ctx, request, c)
			} else {
				r, err = eng.Forget(ctx, c)
			}
			return texted[memory.Removal]{r, r.Text}, err
		}}
	verbRecall = verb[memory.Question, texted[memory.Recollection]]{"recall", false,
		func(ctx context.Context, eng memory.Engine, _ string, q memory.Question) (texted[memory.Recollection], error) {
			r, err := eng.Recall(ctx, q)
			return texted[memory.Recollection]{r, r.Text}, err
		}}
	verbWhy = verb[memory.WhyQuestion, texted[memory.WhyAnswer]]{"why", false,
		func(ctx context.Context, eng memory.Engine, _ string, q memory.WhyQuestion) (texted[memory.WhyAnswer], error) {
			r, err := eng.Why(ctx, q)
			return texted[memory.WhyAnswer]{r, r.Text}, err
		}}
	verbWhen = verb[memory.WhenQuestion, texted[memory.WhenAnswer]]{"when", false,
		func(ctx context.Context, eng memory.Engine, _ string, q memory.WhenQuestion) (texted[memory.WhenAnswer], error) {
			r, err := eng.When(ctx, q)
			return texted[memory.WhenAnswer]{r, r.Text}, err
		}}
	verbProjects = verb[none, []memory.ProjectInfo]{"projects", false,
		func(ctx context.Context, eng memory.Engine, _ string, _ none) ([]memory.ProjectInfo, error) {
			return eng.Projects(ctx)
		}}
	verbStats = verb[projectQuery, memory.Stats]{"stats", false,
		func(ctx context.Context, eng memory.Engine, _ string, q projectQuery) (memory.Stats, error) {
			return eng.Stats(ctx, q.Project)
		}}
	verbRecent = verb[projectQuery, []memory.Memory]{"recent", false,
		func(ctx context.Context, eng memory.Engine, _ string, q projectQuery) ([]memory.Memory, error) {
			return eng.Recent(ctx, q.Project, q.Limit)
		}}
	verbTimeline = verb[memory.TimelineQuery, memory.Timeline]{"timeline", false,
		func(ctx context.Context, eng memory.Engine, _ string, q memory.TimelineQuery) (memory.Timeline, error) {
			return eng.Timeline(ctx, q)
		}}
	verbGet = verb[projectQuery, memory.Memory]{"get", false,
		func(ctx context.Context, eng memory.Engine, _ string, q projectQuery) (memory.Memory, error) {
			return eng.Get(ctx, q.Project, q.Name)
		}}
	verbEntities = verb[projectQuery, []memory.EntityInfo]{"entities", false,
		func(ctx context.Context, eng memory.Engine, _ string, q projectQuery) ([]memory.EntityInfo, error) {
			return eng.Entities(ctx, q.Project)
		}}
	verbEntity = verb[projectQuery, []memory.EntityInfo]{"entity", false,
		func(ctx context.Context, eng memory.Engine, _ string, q projectQuery) ([]memory.EntityInfo, error) {
			return eng.Entity(ctx, q.Project, q.Name)
		}}
	verbGraph = verb[memory.GraphQuery, memory.Graph]{"graph", false,
		func(ctx context.Context, eng memory.Engine, _ string, q memory.GraphQuery) (memory.Graph, error) {
			return eng.Graph(ctx, q)
		}}
	verbEpisodes = verb[memory.EpisodeQuery, memory.EpisodeList]{"episodes", false,
		func(ctx context.Context, eng memory.Engine, _ string, q memory.EpisodeQuery) (memory.EpisodeList, error) {
			return eng.Episodes(ctx, q)
		}}
	verbEpisode = verb[projectQuery, memory.EpisodeInfo]{"episode", false,
		func(ctx context.Context, eng memory.Engine, _ string, q projectQuery) (memory.EpisodeInfo, error) {
			return eng.Episode(ctx, q.Project, q.Name)
		}}
	verbTopics = verb[projectQuery, []memory.TopicInfo]{"topics", false,
		func(ctx context.Context, eng memory.Engine, _ string, q projectQuery) ([]memory.TopicInfo, error) {
			return eng.Topics(ctx, q.Project)
		}}
	verbTopic = verb[projectQuery, []memory.TopicInfo]{"topic", false,
		func(ctx context.Context, eng memory.Engine, _ string, q projectQuery) ([]memory.TopicInfo, error) {
			return eng.Topic(ctx, q.Project, q.Name)
		}}
)

// serve runs a verb for another process: JSON in, JSON out.
type serve func(ctx context.Context, eng memory.Engine, request string, in json.RawMessage) (json.RawMessage, error)

func served[In, Out any](v verb[In, Out]) serve {
	return func(ctx context.Context, eng memory.Engine, request string, raw json.RawMessage) (json.RawMessage, error) {
		var in In
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, memory.Errorf(memory.CodeInternal, "read a %s request of another process: %w", v.name, err)
		}
		out, err := v.run(ctx, eng, request, in)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
}

// verbTable is every verb that crosses the socket, with those of the options.
func verbTable(extra map[string]Verb) map[string]serve {
	t := map[string]serve{
		verbRemember.name: served(verbRemember), verbForget.name: served(verbForget),
		verbRecall.name: served(verbRecall), verbWhy.name: served(verbWhy), verbWhen.name: served(verbWhen),
		verbProjects.name: served(verbProjects), verbStats.name: served(verbStats), verbRecent.name: served(verbRecent),
		verbTimeline.name: served(verbTimeline), verbGet.name: served(verbGet), verbEntities.name: served(verbEntities),
		verbEntity.name: served(verbEntity), verbGraph.name: served(verbGraph),
		verbEpisodes.name: served(verbEpisodes), verbEpisode.name: served(verbEpisode), verbTopics.name: served(verbTopics), verbTopic.name: served(verbTopic),
	}
	for name, run := range extra {
		t["+"+name] = func(ctx context.Context, eng memory.Engine, _ string, in json.RawMessage) (json.RawMessage, error) {
			out, err := run(ctx, eng, in)
			if err != nil {
				return nil, err
			}
			return encode(out)
		}
	}
	return t
}

// guarded runs f and turns a panic into an error: one call's bug must not take the store away from every
// other client, nor follow the retry into the next owner.
func guarded[T any](e *Engine, name string, f func() (T, error)) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			e.o.Logger.Error("panic in a call", "verb", name, "panic", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			err = memory.Errorf(memory.CodeInternal, "%s hit a bug in magma-mcp; the log on standard error has the trace", name)
		}
	}()
	return f()
}

func (e *Engine) Remember(ctx context.Context, n memory.Note) (memory.Receipt, error) {
	return invoke(ctx, e, verbRemember, n)
}

func (e *Engine) Recall(ctx context.Context, q memory.Question) (memory.Recollection, error) {
	r, err := invoke(ctx, e, verbRecall, q)
	r.Answer.Text = r.Text
	return r.Answer, err
}

func (e *Engine) Why(ctx context.Context, q memory.WhyQuestion) (memory.WhyAnswer, error) {
	r, err := invoke(ctx, e, verbWhy, q)
	r.Answer.Text = r.Text
	return r.Answer, err
}

func (e *Engine) When(ctx context.Context, q memory.WhenQuestion) (memory.WhenAnswer, error) {
	r, err := invoke(ctx, e, verbWhen, q)
	r.Answer.Text = r.Text
	return r.Answer, err
}

func (e *Engine) Forget(ctx context.Context, c memory.Choice) (memory.Removal, error) {
	r, err := invoke(ctx, e, verbForget, c)
	r.Answer.Text = r.Text
	return r.Answer, err
}

func (e *Engine) Projects(ctx context.Context) ([]memory.ProjectInfo, error) {
	return invoke(ctx, e, verbProjects, none{})
}

func (e *Engine) Stats(ctx context.Context, project string) (memory.Stats, error) {
	return invoke(ctx, e, verbStats, projectQuery{Project: project})
}

func (e *Engine) Recent(ctx context.Context, project string, limit int) ([]memory.Memory, error) {
	return invoke(ctx, e, verbRecent, projectQuery{Project: project, Limit: limit})
}

func (e *Engine) Timeline(ctx context.Context, q memory.TimelineQuery) (memory.Timeline, error) {
	return invoke(ctx, e, verbTimeline, q)
}

func (e *Engine) Get(ctx context.Context, project, id string) (memory.Memory, error) {
	return invoke(ctx, e, verbGet, projectQuery{Project: project, Name: id})
}

func (e *Engine) Entities(ctx context.Context, project string) ([]memory.EntityInfo, error) {
	return invoke(ctx, e, verbEntities, projectQuery{Project: project})
}

func (e *Engine) Entity(ctx context.Context, project, name string) ([]memory.EntityInfo, error) {
	return invoke(ctx, e, verbEntity, projectQuery{Project: project, Name: name})
}

func (e *Engine) Graph(ctx context.Context, q memory.GraphQuery) (memory.Graph, error) {
	return invoke(ctx, e, verbGraph, q)
}

func (e *Engine) Episodes(ctx context.Context, q memory.EpisodeQuery) (memory.EpisodeList, error) {
	return invoke(ctx, e, verbEpisodes, q)
}

func (e *Engine) Episode(ctx context.Context, project, id string) (memory.EpisodeInfo, error) {
	return invoke(ctx, e, verbEpisode, projectQuery{Project: project, Name: id})
}

func (e *Engine) Topics(ctx context.Context, project string) ([]memory.TopicInfo, error) {
	return invoke(ctx, e, verbTopics, projectQuery{Project: project})
}

func (e *Engine) Topic(ctx context.Context, project, name string) ([]memory.TopicInfo, error) {
	return invoke(ctx, e, verbTopic, projectQuery{Project: project, Name: name})
}

// Do runs a verb of Options.Verbs in the process that owns the store. An owner of another version may
// not know it; that is a CodeInvalid error.
func (e *Engine) Do(ctx context.Context, name string, in, out any) error {
	raw, err := encode(in)
	if err != nil {
		return fmt.Errorf("encode the request of %s: %w", name, err)
	}
	run, known := e.verbs["+"+name]
	v := verb[json.RawMessage, json.RawMessage]{"+" + name, true,
		func(ctx context.Context, eng memory.Engine, request string, in json.RawMessage) (json.RawMessage, error) {
			if !known {
				return nil, memory.Errorf(memory.CodeInvalid, "%s is not a verb of this version", name)
			}
			return run(ctx, eng, request, in)
		}}
	answer, err := invoke(ctx, e, v, raw)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("read the answer of %s: %w", name, err)
	}
	return nil
}
