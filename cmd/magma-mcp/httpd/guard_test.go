package httpd

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/magma-mcp/magma-mcp/tools"
)

func TestTokenIsAlwaysAskedFor(t *testing.T) {
	r := serve(t, Options{})
	for _, path := range []string{"/mcp", "/sse", "/sse/message", "/metrics"} {
		for _, auth := range []string{"", "Bearer wrong", "Bearer ", "Basic " + r.secret, r.secret} {
			method := "GET"
			if path == "/mcp" || path == "/sse/message" {
				method = "POST"
			}
			if resp := r.request(method, path, "{}", "Authorization", auth); resp.StatusCode != 401 || resp.Header.Get("WWW-Authenticate") == "" {
				if path == "/metrics" && method == "POST" {
					continue
				}
				t.Errorf("%s with %q: %s", path, auth, resp.Status)
			}
		}
	}
	if n := strings.Count(r.log.String(), "request refused"); n < 1 || n > 3 {
		t.Errorf("%d lines about refused requests, want about one a second", n)
	}
	if resp := r.request("GET", "/healthz", "", "Authorization", ""); resp.StatusCode != 200 || !strings.Contains(r.text(resp), `"ok"`) {
		t.Errorf("health: %s", resp.Status)
	}
	fi, err := os.Stat(filepath.Join(r.tokens.dir, secretName))
	if err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("token file: %v, %v", fi, err)
	}
	again, _, err := OpenTokens(r.tokens.dir).Builtin()
	if err != nil || again != r.secret {
		t.Errorf("the token changed: %v", err)
	}
}

func TestNoTokenOnLoopbackAlone(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:1", ":1", "[::]:1", "192.168.1.5:1", "example.org:1"} {
		if _, err := New(Options{Addr: addr, NoToken: true}); err == nil {
			t.Errorf("%s without a token is accepted", addr)
		}
	}
	r := serve(t, Options{NoToken: true})
	if resp := r.request("POST", "/mcp", initialize, "Authorization", ""); resp.StatusCode != 200 {
		t.Errorf("without a token: %s", resp.Status)
	}
	if !strings.Contains(r.log.String(), "level=WARN") {
		t.Error("no warning")
	}
}

func TestForeignPagesAreRefused(t *testing.T) {
	r := serve(t, Options{Origins: []string{"https://app.example"}, Hosts: []string{"proxy.example"}})
	for _, c := range []struct {
		header, value string
		want          int
	}{
		{"Host", "evil.example", 403}, {"Host", "evil.example:7749", 403}, {"Host", "127.0.0.1.evil.example", 403},
		{"Host", "192.168.1.5:80", 403}, {"Host", "proxy.example", 200}, {"Host", "localhost:1", 200}, {"Host", "[::1]:1", 200},
		{"Origin", "https://evil.example", 403}, {"Origin", "null", 403}, {"Origin", "http://localhost.evil.example", 403},
		{"Origin", "file://localhost", 403}, {"Origin", "http://localhost:6274", 200}, {"Origin", "https://app.example", 200},
	} {
		for _, path := range []string{"/mcp", "/healthz"} {
			method, body := "POST", initialize
			if path == "/healthz" {
				method, body = "GET", ""
			}
			if resp := r.request(method, path, body, c.header, c.value); resp.StatusCode != c.want {
				t.Errorf("%s %s %s: %s, want %d", path, c.header, c.value, resp.Status, c.want)
			}
		}
	}
	resp := r.request("OPTIONS", "/mcp", "", "Origin", "https://app.example", "Access-Control-Request-Method", "POST", "Authorization", "")
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("preflight: %s %v", resp.Status, resp.Header)
	}
	if resp := r.request("GET", "/sse", ""); resp.StatusCode != 200 || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a stream is open to every page: %v", resp.Header)
	}
	if resp := r.request("OPTIONS", "/mcp", "", "Origin", "https://evil.example", "Access-Control-Request-Method", "POST"); resp.StatusCode != 403 {
		t.Errorf("foreign preflight: %s", resp.Status)
	}
}

func TestNamedTokens(t *testing.T) {
	r := serve(t, Options{Scope: tools.Scope{Project: "home"}})
	now := time.Now()
	add := func(tok Token) string {
		t.Helper()
		s, err := r.tokens.Add(tok, now)
		if err != nil {
			t.Fatal(err)
		}
		return "Bearer " + s
	}
	reader := add(Token{Name: "reader", Projects: []string{"Shop"}, Project: "SHOP", ReadOnly: true})
	service := add(Token{Name: "service", Projects: []string{"acme/"}})
	all := add(Token{Name: "all", Projects: []string{"*"}})

	open := func(auth string) func(tool, args string, headers ...string) (string, bool) {
		id := r.session("Authorization", auth)
		return func(tool, args string, headers ...string) (string, bool) {
			t.Helper()
			return r.call(id, tool, args, append([]string{"Authorization", auth}, headers...)...)
		}
	}
	refused := func(what, text string, isError bool) {
		t.Helper()
		if !isError {
			t.Errorf("%s is allowed: %s", what, text)
		}
	}
	read := open(reader)
	text, bad := read("remember", `{"content":"x"}`)
	refused("a write of a reading token", text, bad)
	text, bad = read("recall", `{"query":"x","project":"other"}`)
	refused("another project", text, bad)
	if text, bad := read("recall", `{"query":"x"}`); bad {
		t.Errorf("its own project: %s", text)
	}
	if q := r.engine.asked[len(r.engine.asked)-1]; q.Project != "shop" {
		t.Errorf("default project of the token is %q, want shop", q.Project)
	}

	serve := open(service)
	text, bad = serve("remember", `{"content":"x"}`)
	refused("a call without a project", text, bad)
	text, bad = serve("remember", `{"content":"x","project":"other/ann"}`)
	refused("another tenant", text, bad)
	text, bad = serve("remember", `{"content":"x","project":"acme"}`)
	refused("a name that only begins like the prefix", text, bad)
	if text, bad := serve("remember", `{"content":"x","project":"acme/Ann"}`); bad {
		t.Errorf("a person of the tenant: %s", text)
	}
	if n := r.engine.notes[len(r.engine.notes)-1]; n.Project != "acme/ann" || n.From.Client != "service" {
		t.Errorf("stored as %+v", n)
	}
	if text, bad := serve("recall", `{"query":"x"}`, ProjectHeader, "acme/%C3%9Cli"); bad {
		t.Errorf("project by header: %s", text)
	}
	if q := r.engine.asked[len(r.engine.asked)-1]; q.Project != "acme/üli" {
		t.Errorf("project by header is %q", q.Project)
	}
	text, bad = serve("recall", `{"query":"x"}`, ProjectHeader, "other/ann")
	refused("another tenant by header", text, bad)
	if text, bad := serve("recall", `{"query":"x","project":"*"}`); bad {
		t.Errorf("all that it may see: %s", text)
	}
	if q := r.engine.asked[len(r.engine.asked)-1]; fmt.Sprint(q.From.Allowed) != "[acme/]" {
		t.Errorf("* may see %q", q.From.Allowed)
	}

	if text, bad := open(all)("recall", `{"query":"x","project":"whatever"}`); bad {
		t.Errorf("a token for all: %s", text)
	}
	if text, bad := open("Bearer "+r.secret)("remember", `{"content":"x"}`); bad {
		t.Errorf("the built-in token: %s", text)
	}
	if n := r.engine.notes[len(r.engine.notes)-1]; n.Project != "home" || n.From.Client != "tester" {
		t.Errorf("stored as %+v", n)
	}

	if err := OpenTokens(r.tokens.dir).Revoke("reader"); err != nil { // as another process does
		t.Fatal(err)
	}
	if resp := r.request("POST", "/mcp", initialize, "Authorization", reader); resp.StatusCode != 401 {
		t.Errorf("a revoked token: %s", resp.Status)
	}
	b, err := os.ReadFile(filepath.Join(r.tokens.dir, tokensName))
	if err != nil || strings.Contains(string(b), service[len("Bearer "):]) {
		t.Errorf("the file holds a secret: %s, %v", b, err)
	}
	for what, tok := range map[string]Token{
		"twice":     {Name: "all", Projects: []string{"*"}},
		"a bad one": {Name: "a b", Projects: []string{"*"}},
		"no one":    {Name: "none"},
		"outside":   {Name: "outside", Projects: []string{"a"}, Project: "b"},
	} {
		if _, err := r.tokens.Add(tok, now); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func TestLimits(t *testing.T) {
	r := serve(t, Options{Limits: Limits{Body: 1 << 20, Header: 8 << 10, Rate: 0.001, Burst: 12}})
	if resp := r.request("POST", "/mcp", strings.Repeat("x", 100<<20)); resp.StatusCode != 413 {
		t.Errorf("100 MB: %s", resp.Status)
	}
	if resp := r.request("GET", "/healthz", "", "X-Big", strings.Repeat("x", 64<<10)); resp.StatusCode != 431 {
		t.Errorf("a huge header: %s", resp.Status)
	}
	for what, body := range map[string]string{
		"bad UTF-8":        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{\"uri\":\"memory://\xff\"}}",
		"a lone surrogate": `{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"memory://\ud800"}}`,
	} {
		resp := r.request("POST", "/mcp", body)
		if text := r.text(resp); resp.StatusCode != 400 || !strings.Contains(text, `"id":7`) || !strings.Contains(text, "-32602") {
			t.Errorf("%s: %s %s", what, resp.Status, text)
		}
	}
	if resp := r.request("POST", "/mcp", strings.Repeat("[", 100_000)); resp.StatusCode >= 500 {
		t.Errorf("deep nesting: %s", resp.Status)
	}
	limited := false
	for range 12 {
		limited = limited || r.request("POST", "/mcp", initialize).StatusCode == 429
	}
	if !limited {
		t.Error("no rate limit")
	}
}

func TestCertificateIsNeededWhole(t *testing.T) {
	if _, err := New(Options{NoToken: true, CertFile: "a"}); err == nil {
		t.Error("a certificate without a key is accepted")
	}
}
