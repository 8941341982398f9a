// Package ollama answers: what can the Ollama server on this machine do for us, and how do we ask it
// without being hurt?
//
// Memories are private, so a Server talks to this machine only (Config.AllowRemote lifts that), follows
// no redirect, uses no proxy, and models that Ollama would run in a cloud are told apart (Model.Cloud,
// Details.Cloud). The server is also a moving thing: it comes and goes, loads models for 15 seconds,
// answers 400 to what would work a moment later, and 200 with half an answer. So every call has a
// deadline, every failure is sorted into a Fault that says what to do about it, and an answer is
// returned only where it is whole.
//
// The requests and answers are those of github.com/ollama/ollama/api. Its Client is not used: it writes
// keep_alive as a string, reads answers of any size, signs requests when the environment asks for it,
// and reports a chat that was cut off as a success.
package ollama

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ollama/ollama/api"
)

// Config says where the server is and how long to wait for it. The zero value is the server of this
// machine at Ollama's own port.
type Config struct {
	// Host is as in OLLAMA_HOST: a URL, host:port, a host, or :port. "" is 127.0.0.1:11434. The
	// addresses a server listens on, 0.0.0.0 and ::, mean this machine.
	Host string
	// AllowRemote permits a host that is not this machine.
	AllowRemote bool
	// KeepAlive is how long the server keeps a model loaded after a call; 0 is 30 minutes, negative is
	// for ever. Ollama's own 5 minutes would put a cold load (5 to 15 s) before every question of a
	// person who reads for a while.
	KeepAlive time.Duration
	// Probe bounds a call that needs no model (0: 2 s; they take a millisecond), Call one that does
	// (0: 3 minutes: longer than any load seen, a large model from a slow disk included).
	Probe time.Duration
	Call  time.Duration
	// Transport carries the requests; nil is one of our own. Tests inject faults here.
	Transport http.RoundTripper
}

// Server is one Ollama server. It is safe for concurrent use.
type Server struct {
	base      *url.URL
	http      *http.Client
	keepAlive json.Number
	probe     time.Duration
	call      time.Duration
}

// maxAnswer bounds an answer: 1,000 vectors of 4,096 numbers written out are 50 MB.
const maxAnswer = 128 << 20

// New checks the host and makes a Server. It does not connect.
func New(c Config) (*Server, error) {
	base, local, err := parseHost(c.Host)
	if err != nil {
		return nil, err
	}
	if !local && !c.AllowRemote {
		return nil, fmt.Errorf("ollama host %s is not this machine: memories would leave it; set allow_remote to permit that", base.Host)
	}
	transport := c.Transport
	if transport == nil {
		dialer := &net.Dialer{Timeout: cmp.Or(c.Probe, 2*time.Second)}
		if local {
			dialer.Control = onlyLoopback
		}
		transport = &http.Transport{ // no Proxy: a memory must not pass through one
			DialContext:         dialer.DialContext,
			MaxIdleConnsPerHost: 4,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
		}
	}
	keep := cmp.Or(c.KeepAlive, 30*time.Minute)
	seconds := json.Number(strconv.FormatInt(int64((keep+time.Second-1)/time.Second), 10))
	if keep < 0 {
		seconds = "-1"
	}
	return &Server{
		base: base,
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server redirects, which would send memories elsewhere")
		}},
		keepAlive: seconds,
		probe:     cmp.Or(c.Probe, 2*time.Second),
		call:      cmp.Or(c.Call, 3*time.Minute),
	}, nil
}

// Host is the server's address for people, without a password.
func (s *Server) Host() string { return s.base.Host }

// Close lets go of idle connections.
func (s *Server) Close() { s.http.CloseIdleConnections() }

// parseHost reads a host as Ollama does and says whether it is this machine by name. That the name
// leads there is checked again when dialling.
func parseHost(host string) (*url.URL, bool, error) {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok {
		scheme, rest = "http", host
	}
	if scheme != "http" && scheme != "https" {
		return nil, false, fmt.Errorf("ollama host: scheme %q is not http or https", scheme)
	}
	authority, path, _ := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return nil, false, errors.New("ollama host: leave user and password out of the address")
	}
	name, port := authority, ""
	if h, p, err := net.SplitHostPort(authority); err == nil {
		name, port = h, p
	} else if strings.Count(authority, ":") < 2 && strings.Contains(authority, ":") {
		return nil, false, fmt.Errorf("ollama host: cannot read the address; write it as 127.0.0.1:11434")
	}
	name = strings.Trim(name, "[]")
	if port == "" {
		port = map[bool]string{true: "443", false: "11434"}[ok && scheme == "https"]
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return nil, false, fmt.Errorf("ollama host: port %q is not a number from 1 to 65535", port)
	}
	switch ip := net.ParseIP(name); {
	case name == "", ip != nil && ip.IsUnspecified():
		name = "127.0.0.1"
	}
	ip := net.ParseIP(name)
	local := strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
	u := &url.URL{Scheme: scheme, Host: net.JoinHostPort(name, port)}
	if path = strings.Trim(path, "/"); path != "" {
		u.Path = "/" + path
	}
	if _, err := url.Parse(u.String()); err != nil {
		return nil, false, errors.New("ollama host: cannot read the address; write it as 127.0.0.1:11434")
	}
	return u, local, nil
}

// onlyLoopback refuses a connection that would leave the machine, whatever a name resolved to.
func onlyLoopback(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return errors.New("the name leads to an address that is not this machine; set allow_remote to permit that")
	}
	return nil
}

// Model is one installed model.
type Model struct {
	Name   string // as installed, tag included
	Digest string // of its weights and settings
	Size   int64  // bytes on disk
	Cloud  bool   // runs on somebody else's machine
}

// Installed lists the models, in the server's order.
func (s *Server) Installed(ctx context.Context) ([]Model, error) {
	var answer api.ListResponse
	if err := s.do(ctx, "list the models", s.probe, http.MethodGet, "api/tags", nil, &answer); err != nil {
		return nil, err
	}
	if answer.Models == nil {
		return nil, &Error{Fault: Broken, Doing: "list the models", Host: s.base.Host, Text: "what answers there is no Ollama server"}
	}
	models := make([]Model, 0, len(answer.Models))
	for _, m := range answer.Models {
		name := cmp.Or(m.Name, m.Model)
		models = append(models, Model{
			Name: name, Digest: m.Digest, Size: m.Size,
			Cloud: m.RemoteHost != "" || m.RemoteModel != "" || CloudName(name),
		})
	}
	return models, nil
}

// CloudName says of a model's name that it stands for a model that runs in Ollama's cloud.
func CloudName(name string) bool {
	_, tag, _ := strings.Cut(name, ":")
	return tag == "cloud" || strings.HasSuffix(tag, "-cloud") || strings.HasSuffix(name, "-cloud")
}

// SameName says whether two model names mean one model: case is ignored and no tag is :latest.
func SameName(a, b string) bool { return strings.EqualFold(fullName(a), fullName(b)) }

func fullName(name string) string {
	if strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
		return name
	}
	return name + ":latest"
}

// Details is what Show says of a model.
type Details struct {
	Embeds   bool // it can make vectors
	Chats    bool // it can answer
	Thinks   bool // it thinks before it answers, unless told not to
	Known    bool // the server says what the model can do; older ones do not
	Cloud    bool
	Context  int // tokens it reads at most: the architecture's, or less where its parameters say so; 0 unknown
	Embedded int // length of its vectors; 0 unknown
}

// Show asks what a model can do.
func (s *Server) Show(ctx context.Context, model string) (Details, error) {
	var answer api.ShowResponse
	if err := s.do(ctx, "look at model "+model, s.probe, http.MethodPost, "api/show",
		map[string]any{"model": model}, &answer); err != nil {
		return Details{}, err
	}
	d := Details{
		Known: len(answer.Capabilities) > 0,
		Cloud: answer.RemoteHost != "" || answer.RemoteModel != "" || CloudName(model),
	}
	for _, c := range answer.Capabilities {
		switch c {
		case "embedding":
			d.Embeds = true
		case "completion":
			d.Chats = true
		case "thinking":
			d.Thinks = true
		}
	}
	arch, _ := answer.ModelInfo["general.architecture"].(string)
	d.Context = number(answer.ModelInfo[arch+".context_length"])
	d.Embedded = number(answer.ModelInfo[arch+".embedding_length"])
	for line := range strings.Lines(answer.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 && (d.Context == 0 || n < d.Context) {
				d.Context = n
			}
		}
	}
	return d, nil
}

func number(v any) int {
	f, _ := v.(float64)
	if f < 0 || f > 1<<30 {
		return 0
	}
	return int(f)
}

// do makes one call. what names it in errors ("list the models"); limit is its own deadline, on top of
// the context's.
func (s *Server) do(ctx context.Context, what string, limit time.Duration, method, path string, in, out any) error {
	fault := func(kind Fault, text string, err error) error {
		return &Error{Fault: kind, Doing: what, Host: s.base.Host, Text: text, Err: err}
	}
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return fault(Refused, "write the request", err)
		}
		body = bytes.NewReader(b)
	}
	mine, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(mine, method, s.base.JoinPath(path).String(), body)
	if err != nil {
		return fault(Refused, "make the request", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	resp, err := s.http.Do(req)
	if err == nil {
		defer resp.Body.Close()
		var text []byte
		text, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
		switch {
		case err != nil:
		case len(text) > maxAnswer:
			return fault(Broken, fmt.Sprintf("the answer is over %d MB", maxAnswer>>20), nil)
		case resp.StatusCode/100 != 2:
			kind, message := sortStatus(resp.StatusCode, text)
			return fault(kind, message, nil)
		default:
			if err := json.Unmarshal(text, out); err != nil {
				return fault(Broken, "the answer is not what an Ollama server sends", nil)
			}
			return nil
		}
	}
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%s: %w", what, context.Cause(ctx)) // the caller's own doing, no fault of the server
	case mine.Err() != nil:
		return fault(Slow, "no answer in time", context.DeadlineExceeded)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fault(Away, "no server answers there", err)
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the URL
	}
	return fault(Away, "the connection failed", err)
}
