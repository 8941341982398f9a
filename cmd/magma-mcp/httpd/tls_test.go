package httpd

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/front"
)

// writeCertificate makes a certificate of this machine with a serial number to know it by.
func writeCertificate(t *testing.T, dir string, serial int64, at time.Time) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	cert, err := x509.CreateCertificate(rand.Reader, &template, &template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, b := range map[string]*pem.Block{keyFile: {Type: "EC PRIVATE KEY", Bytes: der}, certFile: {Type: "CERTIFICATE", Bytes: cert}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(certFile, at, at); err != nil {
		t.Fatal(err)
	}
	return certFile, keyFile
}

// TLS, and a renewed certificate without a restart.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := writeCertificate(t, dir, 1, time.Unix(1000, 0))
	tokens := OpenTokens(t.TempDir())
	secret, _, err := tokens.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{MCP: front.New(front.Options{Engine: &engine{}}).MCP, Tokens: tokens, Addr: "127.0.0.1:0", CertFile: certFile, KeyFile: keyFile})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln) }()
	serial := func() int64 {
		t.Helper()
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
		req, err := http.NewRequest("POST", "https://"+ln.Addr().String()+"/mcp", strings.NewReader(initialize))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Errorf("over TLS: %s", resp.Status)
		}
		return resp.TLS.PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("certificate %d", got)
	}
	if resp, err := http.Get("http://" + ln.Addr().String() + "/healthz"); err == nil {
		resp.Body.Close()
		if resp.StatusCode == 200 {
			t.Error("plain HTTP is served where TLS is asked for")
		}
	}
	writeCertificate(t, dir, 2, time.Unix(2000, 0))
	if got := serial(); got != 2 {
		t.Errorf("after a renewal: certificate %d", got)
	}
	if err := os.WriteFile(keyFile, []byte("half a renewal"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(certFile, time.Unix(3000, 0), time.Unix(3000, 0)); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 2 {
		t.Errorf("in the middle of a renewal: certificate %d", got)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	http.DefaultClient.CloseIdleConnections()
	if _, err := (&certificate{certFile: "none", keyFile: "none"}).get(nil); err == nil {
		t.Error("a certificate that is not there is accepted")
	}
}

// A stream that broke goes on where it was, for the session that it belongs to.
func TestBrokenStreamResumes(t *testing.T) {
	m := server.NewMCPServer("noisy", "1", server.WithToolCapabilities(true), server.WithHooks(&server.Hooks{}))
	r := serve(t, Options{MCP: m})
	id := r.session()
	r.request("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", id)
	say := func(what string) {
		t.Helper()
		if err := m.SendNotificationToSpecificClient(id, "notifications/test", map[string]any{"what": what}); err != nil {
			t.Fatal(err)
		}
	}
	// read gives the next event's id and data.
	read := func(sc *bufio.Scanner) (eventID, data string) {
		for sc.Scan() {
			if v, ok := strings.CutPrefix(sc.Text(), "id: "); ok {
				eventID = v
			}
			if v, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
				return eventID, v
			}
		}
		t.Fatal("the stream ended")
		return "", ""
	}
	ctx, cancel := context.WithTimeout(t.Context(), watchdog)
	defer cancel()
	open := func(headers ...string) (*bufio.Scanner, func()) {
		t.Helper()
		ctx, stop := context.WithCancel(ctx)
		req, err := http.NewRequestWithContext(ctx, "GET", r.base+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.secret)
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Mcp-Session-Id", id)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v %v", resp, err)
		}
		return bufio.NewScanner(resp.Body), func() { stop(); resp.Body.Close() }
	}
	stream, stop := open()
	say("one")
	last, data := read(stream)
	if last == "" || !strings.Contains(data, `"one"`) {
		t.Fatalf("event %q: %s", last, data)
	}
	stop()
	say("two")
	stream, stop = open("Last-Event-ID", last)
	defer stop()
	if _, data := read(stream); !strings.Contains(data, `"two"`) {
		t.Errorf("resumed with %s", data)
	}
	other := r.session()
	if resp := r.request("GET", "/mcp", "", "Mcp-Session-Id", other, "Last-Event-ID", last); resp.StatusCode != 400 {
		t.Errorf("another session resumes it: %s", resp.Status)
	}
}
