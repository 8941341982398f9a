package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/front"
	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/httpd"
)

type serveCommand struct {
	HTTP    string   `name:"http" placeholder:"ADDR" help:"Address to listen on (127.0.0.1:7749)."`
	TLSCert string   `name:"tls-cert" placeholder:"FILE" help:"Certificate file for TLS."`
	TLSKey  string   `name:"tls-key" placeholder:"FILE" help:"Key file for TLS."`
	Origin  []string `placeholder:"URL" help:"A further web origin that may call."`
	Host    []string `placeholder:"NAME" help:"A further name in the Host header, of a reverse proxy."`
	NoToken bool     `help:"Serve without a token, on loopback only: for test suites."`
}

// Run serves MCP over HTTP until a signal comes.
func (c *serveCommand) Run(a *app) error {
	scope, err := a.scope()
	if err != nil {
		return err
	}
	h := a.config.HTTP
	set := func(v *string, flag string) {
		if flag != "" {
			*v = flag
		}
	}
	set(&h.Listen, c.HTTP)
	set(&h.TLSCert, c.TLSCert)
	set(&h.TLSKey, c.TLSKey)

	store, err := a.attach(a.ctx, scope)
	if err != nil {
		return err
	}
	s := front.New(front.Options{Engine: store.engine, Scope: scope, Version: buildVersion(), Log: a.log})
	tokens := httpd.OpenTokens(a.config.Store.DataDir)
	web, err := httpd.New(httpd.Options{
		MCP: s.MCP, Tokens: tokens, Scope: scope, Addr: h.Listen, CertFile: h.TLSCert, KeyFile: h.TLSKey,
		NoToken: c.NoToken, Hosts: append(h.AllowedHosts, c.Host...), Origins: append(h.AllowedOrigins, c.Origin...),
		Version: buildVersion(), Log: a.log, Watch: store.engine.Watch, Limits: h.limits(),
		Store: func() (string, error) {
			st := store.engine.State()
			if st.Err != "" {
				return st.Role, errors.New(st.Err)
			}
			return st.Role, nil
		},
	})
	if err != nil {
		return errors.Join(usageError{err}, store.close())
	}
	if !c.NoToken {
		_, path, err := tokens.Builtin()
		if err != nil {
			return errors.Join(err, store.close())
		}
		a.log.Info("the bearer token is in a file that only you can read", "file", path)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(a.ctx))
	updates := make(chan struct{})
	go func() {
		defer close(updates)
		_ = s.Run(ctx) // logged by itself; serving goes on without updates
	}()
	err = web.Run(a.ctx)
	cancel()
	err = errors.Join(err, store.close())
	<-updates
	return err
}

type tokenCommand struct {
	Add    tokenAddCommand    `cmd:"" help:"Make a token; it is shown once."`
	List   tokenListCommand   `cmd:"" help:"The tokens there are, without their secrets."`
	Revoke tokenRevokeCommand `cmd:"" help:"Make a token invalid at once."`
}

type tokenAddCommand struct {
	Name     string   `arg:"" help:"Name of the token, kept as written_by."`
	Projects []string `name:"allow" required:"" placeholder:"PROJECT" help:"A project it may see, a prefix that ends in /, or * for all."`
	Default  string   `placeholder:"PROJECT" help:"The project of its calls that name none."`
	ReadOnly bool     `help:"It may not remember or forget."`
}

func (c *tokenAddCommand) Run(a *app) error {
	secret, err := httpd.OpenTokens(a.config.Store.DataDir).Add(httpd.Token{
		Name: c.Name, Projects: c.Projects, Project: c.Default, ReadOnly: c.ReadOnly}, time.Now())
	if err != nil {
		return err
	}
	fmt.Fprintln(a.stderr, "This is the only time that the token is shown:")
	return a.print(secret)
}

type tokenListCommand struct {
	JSON bool `name:"json" help:"Print the structured answer for programs."`
}

func (c *tokenListCommand) Run(a *app) error {
	list, err := httpd.OpenTokens(a.config.Store.DataDir).List()
	if err != nil {
		return err
	}
	if c.JSON {
		type shown struct {
			Name     string    `json:"name"`
			Projects []string  `json:"projects"`
			Project  string    `json:"project,omitempty"`
			ReadOnly bool      `json:"read_only"`
			Created  time.Time `json:"created"`
		}
		out := []shown{}
		for _, t := range list {
			out = append(out, shown{t.Name, seen(t), t.Project, t.ReadOnly, t.Created})
		}
		return a.printJSON(map[string]any{"tokens": out})
	}
	if len(list) == 0 {
		return a.print("No named tokens; the built-in one is made by `magma-mcp serve`.")
	}
	var b strings.Builder
	for _, t := range list {
		mode := "read and write"
		if t.ReadOnly {
			mode = "read only"
		}
		fmt.Fprintf(&b, "%-20s %-14s %s  %s\n", t.Name, mode, t.Created.Format(time.DateOnly), strings.Join(seen(t), ", "))
	}
	return a.print(b.String())
}

// seen is what a token may see, "*" for all.
func seen(t httpd.Token) []string {
	if t.Projects == nil {
		return []string{"*"}
	}
	return t.Projects
}

type tokenRevokeCommand struct {
	Name string `arg:"" help:"Name of the token."`
}

func (c *tokenRevokeCommand) Run(a *app) error {
	if err := httpd.OpenTokens(a.config.Store.DataDir).Revoke(c.Name); err != nil {
		return err
	}
	return a.print(fmt.Sprintf("Token %q is revoked.", c.Name))
}
