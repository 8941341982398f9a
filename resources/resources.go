// Package resources shows what a memory holds as MCP resources: what can a client read, subscribe to
// and complete?
//
// Every resource of the contract is JSON, and with ?format=md a page to read (page.go). One reader
// answers them all: it takes the URI apart itself, so that queries may come in any order and project
// names percent-encoded. Updates (updates.go) tells subscribers what changed.
package resources

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/tools"
)

// NotFound begins the message of an error for a resource that does not exist. mcp-go reports every
// error of a reader as an internal one; a transport that sees this beginning gives it the code that
// its protocol version has for it.
const NotFound = "resource not found: "

// The templates of CONTRACT section 6. everything matches whatever they do not (queries in another
// order, ?format=md) and is kept out of the lists.
const everything = "memory://{+rest}"

var templates = []struct{ uri, name, about string }{
	{"memory://{project}/stats", "stats", "Counts, embedder and background work of a project"},
	{"memory://{project}/recent", "recent", "The newest memories of a project"},
	{"memory://{project}/timeline{?since,until}", "timeline", "What happened, in order of time"},
	{"memory://{project}/memories/{id}", "memory", "One memory whole, by id or ref"},
	{"memory://{project}/entities", "entities", "People and things that are mentioned"},
	{"memory://{project}/entities/{name}", "entity", "Every namesake: aliases, facts, relationships, memories"},
	{"memory://{project}/episodes{?session}", "episodes", "Runs of memories that belong together, with title and summary"},
	{"memory://{project}/episodes/{id}", "episode", "One episode with its memories, by its id or that of a memory in it"},
	{"memory://{project}/topics", "topics", "What episodes of several sessions have in common"},
	{"memory://{project}/topics/{topic}", "topic", "Topics by id, name or keyword: their episodes and how they are linked"},
	{"memory://{project}/graph{?around,depth}", "graph", "Nodes and edges of the four graphs around a memory or entity"},
}

// listTimeout bounds how long resources/list waits for the project names: a client asks it at its own
// start, when the store may still be opening.
const listTimeout = time.Second

// mostListed is how many projects resources/list names; more are reached through memory://projects.
const mostListed = 100

// Register adds the resources of e to s and returns what sends updates to their subscribers: whoever
// serves s runs it. s must have been made with Hooks.
func Register(s *server.MCPServer, e memory.Engine, defaults tools.Scope, log *slog.Logger) *Updates {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	r := reader{engine: e, defaults: defaults, log: log}
	s.AddResource(mcp.NewResource("memory://projects", "projects",
		mcp.WithResourceDescription("All projects (namespaces) of this memory; add ?format=md for a page to read"),
		mcp.WithMIMEType("application/json")), r.read)
	for _, t := range templates {
		s.AddResourceTemplate(mcp.NewResourceTemplate(t.uri, t.name,
			mcp.WithTemplateDescription(t.about+" (JSON; format=md for a page)"),
			mcp.WithTemplateMIMEType("application/json")), r.read)
	}
	s.AddResourceTemplate(mcp.NewResourceTemplate(everything, "everything"), r.read)

	hooks := s.GetHooks()
	hooks.AddBeforeReadResource(func(_ context.Context, _ any, req *mcp.ReadResourceRequest) {
		req.Params.URI = encoded(req.Params.URI)
	})
	hooks.AddAfterListResources(func(ctx context.Context, _ any, _ *mcp.ListResourcesRequest, result *mcp.ListResourcesResult) {
		result.Resources = append(result.Resources, r.ofProjects(ctx)...)
	})
	hooks.AddAfterListResourceTemplates(func(_ context.Context, _ any, _ *mcp.ListResourceTemplatesRequest, result *mcp.ListResourceTemplatesResult) {
		shown := make([]mcp.ResourceTemplate, 0, len(result.ResourceTemplates))
		for _, t := range result.ResourceTemplates {
			if t.URITemplate == nil || t.URITemplate.Raw() != everything {
				shown = append(shown, t)
			}
		}
		result.ResourceTemplates = shown
	})
	return newUpdates(s, e, defaults, hooks, log)
}

// ofProjects lists what can be opened by name: four pages of the caller's own project, and the newest
// memories of each other one.
func (r reader) ofProjects(ctx context.Context) []mcp.Resource {
	scope := tools.ScopeFrom(ctx, r.defaults)
	var list []mcp.Resource
	add := func(project, page string) {
		list = append(list, mcp.NewResource("memory://"+url.PathEscape(project)+"/"+page, page+" of "+project,
			mcp.WithMIMEType("application/json")))
	}
	own, err := scope.ProjectFor("", false)
	if err == nil {
		for _, page := range []string{"entities", "recent", "stats", "timeline"} {
			add(own, page)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	projects, err := r.engine.Projects(ctx)
	if err != nil {
		return list // the engine is not open yet: what can be named without it is named
	}
	for _, p := range projects {
		if p.Project != own && scope.Allows(p.Project) && len(list) < mostListed {
			add(p.Project, "recent")
		}
	}
	return list
}

// encoded percent-encodes what people write into a URI as it is, letters of other scripts and spaces:
// mcp-go matches templates against URIs alone.
func encoded(uri string) string {
	var b strings.Builder
	for i := range len(uri) {
		if c := uri[i]; c > ' ' && c < 0x7f && !strings.ContainsRune(`"<>\^`+"`{|}", rune(c)) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// address is a resource URI taken apart.
type address struct {
	page    string // projects, stats, recent, timeline, memory, entities, entity, episodes, episode, topics, topic, graph
	project string // canonical; "" for projects
	name    string // of a memory, an entity, an episode or a topic
	query   url.Values
}

// parse takes a memory:// URI apart; the error is a NotFound.
func parse(uri string) (address, error) {
	unknown := func() (address, error) {
		return address{}, fmt.Errorf("%s%s; see resources/templates/list", NotFound, uri)
	}
	rest, ok := strings.CutPrefix(uri, "memory://")
	if !ok {
		return unknown()
	}
	path, rawQuery, _ := strings.Cut(rest, "?")
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return unknown()
	}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, p := range parts {
		if parts[i], err = url.PathUnescape(p); err != nil || parts[i] == "" {
			return unknown()
		}
	}
	if len(parts) == 1 {
		if parts[0] != "projects" {
			return unknown()
		}
		return address{page: "projects", query: query}, nil
	}
	project, err := memory.CanonicalProject(parts[0], "", false)
	if err != nil {
		return unknown()
	}
	a := address{page: parts[1], project: project, query: query}
	switch {
	case len(parts) == 2 && strings.Contains(" stats recent timeline entities episodes topics graph ", " "+a.page+" "):
	case len(parts) == 3 && a.page == "memories":
		a.page, a.name = "memory", parts[2]
	case len(parts) == 3 && a.page == "episodes":
		a.page, a.name = "episode", parts[2]
	case len(parts) >= 3 && a.page == "topics": // a name may hold a slash
		a.page, a.name = "topic", strings.Join(parts[2:], "/")
	case len(parts) >= 3 && a.page == "entities":
		a.page, a.name = "entity", strings.Join(parts[2:], "/")
	default:
		return unknown()
	}
	return a, nil
}

type reader struct {
	engine   memory.Engine
	defaults tools.Scope
	log      *slog.Logger
}

// read answers resources/read for every URI.
func (r reader) read(ctx context.Context, req mcp.ReadResourceRequest) (contents []mcp.ResourceContents, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("panic", "doing", "read a resource", "panic", fmt.Sprintf("%T", p))
			contents, err = nil, errors.New("internal error, a bug in magma-mcp; its log on standard error says where")
		}
	}()
	uri := req.Params.URI
	a, err := parse(uri)
	if err != nil {
		return nil, err
	}
	scope := tools.ScopeFrom(ctx, r.defaults)
	if a.project != "" && (a.project == "*" || !scope.Allows(a.project)) {
		return nil, fmt.Errorf("%s%s", NotFound, uri)
	}
	v, err := r.get(ctx, scope, a)
	if memory.CodeOf(err) == memory.CodeNotFound {
		return nil, fmt.Errorf("%s%s", NotFound, uri)
	}
	if err != nil {
		return nil, errors.New(tools.FaultLine(r.log, "read "+a.page, err))
	}
	// A list shows the beginnings of its memories where the whole would be too long for a client; each
	// is whole at its own resource, which is as long as it is.
	var text, mime string
	for _, most := range []int{math.MaxInt, 64 << 10, 8 << 10, 1 << 10, 128} {
		if v.shorten(most) > tools.MaxAnswer {
			continue // not even the texts alone
		}
		if text, mime, err = v.render(a); err != nil || len(text) <= tools.MaxAnswer || v.contents == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if text == "" || len(text) > tools.MaxAnswer && a.page != "memory" {
		return nil, errors.New(a.page + ": the answer would be over 1 MiB; ask for less, with limit or a narrower time")
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: mime, Text: text}}, nil
}

// view is a page's JSON value, what prints it to read, and the contents in it that can be shortened.
type view struct {
	value    any
	page     func() string
	contents []content
}

// content is a memory's text inside a value, and the mark that says it was cut (nil where there is none).
type content struct {
	text      *string
	shortened *bool
}

// render is the view as the address asks for it.
func (v view) render(a address) (text, mime string, err error) {
	if a.query.Get("format") == "md" {
		return v.page(), "text/markdown", nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v.value); err != nil {
		return "", "", fmt.Errorf("print %s: %w", a.page, err)
	}
	return strings.TrimSuffix(b.String(), "\n"), "application/json", nil
}

// shorten cuts every content to at most that many bytes, at a character, and marks it. It returns how
// many bytes they have left.
func (v view) shorten(most int) (total int) {
	for _, c := range v.contents {
		if end := most; len(*c.text) > most {
			for end > 0 && !utf8.RuneStart((*c.text)[end]) {
				end--
			}
			*c.text = (*c.text)[:end] + " ..."
			if c.shortened != nil {
				*c.shortened = true
			}
		}
		total += len(*c.text)
	}
	return total
}

// contentsOf are the contents of a list of memories.
func contentsOf(list []memory.Memory) []content {
	var out []content
	for i := range list {
		out = append(out, content{&list[i].Content, &list[i].Shortened})
	}
	return out
}

// get asks the engine for a page.
func (r reader) get(ctx context.Context, scope tools.Scope, a address) (v view, err error) {
	number := func(name string) int {
		s := a.query.Get(name)
		n, atoi := strconv.Atoi(s)
		if s != "" && (atoi != nil || n < 0) && err == nil {
			err = memory.Errorf(memory.CodeInvalid, "%s: %q came; a whole number is allowed", name, s)
		}
		return min(n, mostEntries)
	}
	limit, depth := number("limit"), min(number("depth"), mostDepth)
	if err != nil {
		return v, err
	}
	switch a.page {
	case "projects":
		all, err := r.engine.Projects(ctx)
		seen := []memory.ProjectInfo{}
		for _, p := range all {
			if scope.Allows(p.Project) {
				seen = append(seen, p)
			}
		}
		return view{map[string]any{"projects": seen}, func() string { return projectsPage(seen) }, nil}, err
	case "stats":
		s, err := r.engine.Stats(ctx, a.project)
		return view{s, func() string { return statsPage(s) }, nil}, err
	case "recent":
		list, err := r.engine.Recent(ctx, a.project, cmp.Or(limit, recentEntries))
		list = slices.Clone(present(list))
		return view{map[string]any{"project": a.project, "memories": list}, func() string { return recentPage(a.project, list) }, contentsOf(list)}, err
	case "timeline":
		t, err := r.engine.Timeline(ctx, memory.TimelineQuery{Project: a.project, Since: a.query.Get("since"),
			Until: a.query.Get("until"), Limit: limit, From: scope.Session(ctx)})
		t.Entries = slices.Clone(present(t.Entries))
		var contents []content
		for i := range t.Entries {
			contents = append(contents, content{text: &t.Entries[i].Content})
		}
		return view{t, func() string { return timelinePage(t) }, contents}, err
	case "memory":
		m, err := r.engine.Get(ctx, a.project, a.name)
		return view{m, func() string { return memoryPage(m) }, nil}, err
	case "entities":
		list, err := r.engine.Entities(ctx, a.project)
		return view{map[string]any{"project": a.project, "entities": present(list)}, func() string { return entitiesPage(a.project, list) }, nil}, err
	case "entity":
		list, err := r.engine.Entity(ctx, a.project, a.name)
		if err == nil && len(list) == 0 {
			err = memory.Errorf(memory.CodeNotFound, "no entity of that name")
		}
		list = slices.Clone(list)
		var contents []content
		for i := range list {
			list[i].Memories = slices.Clone(list[i].Memories)
			contents = append(contents, contentsOf(list[i].Memories)...)
		}
		return view{map[string]any{"project": a.project, "name": a.name, "entities": list}, func() string { return entityPage(a.project, list) }, contents}, err
	case "episodes":
		list, err := r.engine.Episodes(ctx, memory.EpisodeQuery{Project: a.project, Session: a.query.Get("session"), Limit: limit, From: scope.Session(ctx)})
		list.Episodes = present(list.Episodes)
		return view{list, func() string { return episodesPage(list) }, nil}, err
	case "episode":
		e, err := r.engine.Episode(ctx, a.project, a.name)
		e.Memories = slices.Clone(e.Memories)
		return view{e, func() string { return episodePage(a.project, e) }, contentsOf(e.Memories)}, err
	case "topics":
		list, err := r.engine.Topics(ctx, a.project)
		omitted := max(0, len(list)-cmp.Or(limit, topicEntries))
		list = present(list)[:len(list)-omitted]
		return view{map[string]any{"project": a.project, "topics": list, "omitted": omitted}, func() string { return topicsPage(a.project, list, omitted) }, nil}, err
	case "topic":
		list, err := r.engine.Topic(ctx, a.project, a.name)
		if err == nil && len(list) == 0 {
			err = memory.Errorf(memory.CodeNotFound, "no topic of that name")
		}
		return view{map[string]any{"project": a.project, "name": a.name, "topics": list}, func() string { return topicPage(a.project, list) }, nil}, err
	default: // graph: parse lets no other through
		g, err := r.engine.Graph(ctx, memory.GraphQuery{Project: a.project, Around: a.query.Get("around"),
			Depth: depth, Limit: limit, From: scope.Session(ctx)})
		g.Nodes, g.Edges = present(g.Nodes), present(g.Edges)
		return view{g, func() string { return graphPage(g) }, nil}, err
	}
}

// recentEntries is how many memories recent shows unless ?limit= says: a screenful or two; topicEntries is how many
// topics, a line each.
// mostEntries bounds ?limit=, so that no page grows with the store; mostDepth is the walk's own bound.
const (
	recentEntries = 50
	topicEntries  = 200
	mostEntries   = 1000
	mostDepth     = 5
)

func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
