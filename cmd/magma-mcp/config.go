package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adrg/xdg"
	"github.com/pelletier/go-toml/v2"

	"github.com/magma-mcp/magma-mcp/cmd/magma-mcp/httpd"
	"github.com/magma-mcp/magma-mcp/memory"
	"github.com/magma-mcp/magma-mcp/memory/embed"
)

// Config is everything that can be set, as the file config.example.toml documents it: flags win over
// the environment, that over the file, that over Default. Sizes and times carry their unit in the name
// or, as a Duration, in the value.
type Config struct {
	// Project is the default project; "auto" is the enclosing repository's name (see autoProject).
	Project  string `toml:"project"`
	LogLevel string `toml:"log_level"`
	// Retention is what is forgotten by itself; none by default.
	Retention []RetentionConfig `toml:"retention"`

	Store         StoreConfig         `toml:"store"`
	Time          TimeConfig          `toml:"time"`
	Embedding     EmbeddingConfig     `toml:"embedding"`
	Consolidation ConsolidationConfig `toml:"consolidation"`
	Query         QueryConfig         `toml:"query"`
	Secrets       SecretsConfig       `toml:"secrets"`
	Backup        BackupConfig        `toml:"backup"`
	HTTP          HTTPConfig          `toml:"http"`
}

// StoreConfig is where memories are kept and how much memory that may take.
type StoreConfig struct {
	DataDir          string `toml:"data_dir"`
	CacheMB          int    `toml:"cache_mb"`
	MemtableMB       int    `toml:"memtable_mb"`
	ResidentMemories int    `toml:"resident_memories"`
	MaxContentKB     int    `toml:"max_content_kb"`
	KeyFile          string `toml:"key_file"`
	Keyring          string `toml:"keyring"`
}

// RetentionConfig is a rule: memories of a project ("*" is all) and a kind ("" is all) go after days.
type RetentionConfig struct {
	Project string `toml:"project"`
	Kind    string `toml:"kind"`
	Days    int    `toml:"days"`
}

// BackupConfig is the backups that a server makes by itself.
type BackupConfig struct {
	Dir   string   `toml:"dir"`
	Every Duration `toml:"every"`
	Keep  int      `toml:"keep"`
}

// TimeConfig is how words for times are read.
type TimeConfig struct {
	Zone               string `toml:"zone"`
	DayFirst           bool   `toml:"day_first"`
	WeekStart          string `toml:"week_start"`
	Hemisphere         string `toml:"hemisphere"`
	Holidays           string `toml:"holidays"`
	WeekBeforeCalendar bool   `toml:"week_before_calendar"`
	RangeExclusive     bool   `toml:"range_exclusive"`
}

// EmbeddingConfig is which embedder runs.
type EmbeddingConfig struct {
	Provider    string                  `toml:"provider"`
	Host        string                  `toml:"host"`
	AllowRemote bool                    `toml:"allow_remote"`
	Models      []string                `toml:"models"`
	NumCtx      int                     `toml:"num_ctx"`
	Batch       int                     `toml:"batch"`
	KeepAlive   Duration                `toml:"keep_alive"`
	Probe       Duration                `toml:"probe_timeout"`
	Call        Duration                `toml:"call_timeout"`
	Prefixes    map[string]embed.Prefix `toml:"prefixes"`
}

// ConsolidationConfig is the background work after a write.
type ConsolidationConfig struct {
	Enabled  bool     `toml:"enabled"`
	Model    string   `toml:"model"`
	NumCtx   int      `toml:"num_ctx"`
	MaxCalls int      `toml:"max_calls"`
	Call     Duration `toml:"call_timeout"`
}

// QueryConfig is what a question may cost.
type QueryConfig struct {
	EmbedDeadline Duration           `toml:"embed_deadline"`
	RelatedWords  bool               `toml:"related_words"`
	Tuning        map[string]float64 `toml:"tuning"` // see tuned
}

// SecretsConfig says what becomes of keys and passwords in a memory: "warn", "mask" or "refuse".
type SecretsConfig struct {
	Policy string `toml:"policy"`
}

// HTTPConfig is the server over HTTP.
type HTTPConfig struct {
	Listen         string   `toml:"listen"`
	TLSCert        string   `toml:"tls_cert"`
	TLSKey         string   `toml:"tls_key"`
	AllowedOrigins []string `toml:"allowed_origins"`
	AllowedHosts   []string `toml:"allowed_hosts"`
	Connections    int      `toml:"max_connections"`
	Calls          int      `toml:"max_calls"`
	Sessions       int      `toml:"max_sessions"`
	Idle           Duration `toml:"session_idle"`
	Call           Duration `toml:"call_timeout"`
	Rate           float64  `toml:"rate"`
	Burst          int      `toml:"burst"`
}

// limits are what the configuration says of how much clients can take.
func (h HTTPConfig) limits() httpd.Limits {
	return httpd.Limits{Connections: h.Connections, Calls: h.Calls, Sessions: h.Sessions, Idle: time.Duration(h.Idle),
		Call: time.Duration(h.Call), Rate: h.Rate, Burst: h.Burst}
}

// Duration is a time.Duration that TOML writes as "250ms".
type Duration time.Duration

func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Default is the configuration of a user who set nothing. config.example.toml says where each value
// comes from, and a test holds the two together.
func Default() Config {
	web := httpd.DefaultLimits()
	return Config{
		LogLevel:      "info",
		Retention:     []RetentionConfig{},
		Store:         StoreConfig{CacheMB: 32, MemtableMB: 4, ResidentMemories: 2_000_000, MaxContentKB: 1024},
		Time:          TimeConfig{WeekStart: "monday", Hemisphere: "northern", Holidays: "us"},
		Embedding:     EmbeddingConfig{Provider: "auto", Models: []string{}, Batch: 64, KeepAlive: Duration(30 * time.Minute), Probe: Duration(2 * time.Second), Call: Duration(3 * time.Minute)},
		Consolidation: ConsolidationConfig{Enabled: true, NumCtx: 8192, MaxCalls: 500, Call: Duration(5 * time.Minute)},
		Query:         QueryConfig{EmbedDeadline: Duration(250 * time.Millisecond), RelatedWords: true},
		Secrets:       SecretsConfig{Policy: "warn"},
		Backup:        BackupConfig{Keep: 7},
		HTTP: HTTPConfig{Listen: "127.0.0.1:7749", AllowedOrigins: []string{}, AllowedHosts: []string{},
			Connections: web.Connections, Calls: web.Calls, Sessions: web.Sessions, Idle: Duration(web.Idle), Call: Duration(web.Call), Rate: web.Rate, Burst: web.Burst},
	}
}

// settings are the flags that stand above the environment and the file; "" is not given.
type settings struct {
	Config   string `placeholder:"FILE" help:"Configuration file (env MAGMA_CONFIG)."`
	DataDir  string `placeholder:"DIR" help:"Where memories are kept (env MAGMA_DATA_DIR)."`
	Project  string `placeholder:"NAME" help:"Project (namespace); auto takes the enclosing repository's name (env MAGMA_PROJECT)."`
	Zone     string `placeholder:"ZONE" aliases:"time-zone" help:"IANA time zone in which words like yesterday are read (env MAGMA_ZONE)."`
	LogLevel string `placeholder:"LEVEL" help:"debug, info, warn or error, to standard error (env MAGMA_LOG_LEVEL)."`
}

// load reads the configuration: flags, then getenv, then the file, then Default. The data directory of
// the result is absolute. An error names the key and what is allowed.
func load(flags settings, getenv func(string) string) (Config, error) {
	c := Default()
	path := cmp.Or(flags.Config, getenv("MAGMA_CONFIG"))
	named := path != ""
	if !named {
		path = filepath.Join(xdg.ConfigHome, "magma-mcp", "config.toml")
	}
	raw, err := os.ReadFile(path)
	switch {
	case err == nil:
		if err := decode(raw, &c); err != nil {
			return Config{}, fmt.Errorf("%s: %w", path, err)
		}
	case named || !errors.Is(err, fs.ErrNotExist):
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	c.Project = cmp.Or(flags.Project, getenv("MAGMA_PROJECT"), c.Project)
	c.Store.DataDir = cmp.Or(flags.DataDir, getenv("MAGMA_DATA_DIR"), c.Store.DataDir, filepath.Join(xdg.DataHome, "magma-mcp"))
	c.Time.Zone = cmp.Or(flags.Zone, getenv("MAGMA_ZONE"), c.Time.Zone)
	c.LogLevel = cmp.Or(flags.LogLevel, getenv("MAGMA_LOG_LEVEL"), c.LogLevel)
	c.Embedding.Host = cmp.Or(getenv("OLLAMA_HOST"), c.Embedding.Host)
	if c.Store.DataDir, err = filepath.Abs(c.Store.DataDir); err != nil {
		return Config{}, fmt.Errorf("data directory: %w", err)
	}
	return c, c.check()
}

// decode reads a file strictly: a key that means nothing is an error, since it is most often a typing
// mistake that would otherwise go unnoticed. A byte-order mark and CRLF are what some editors write.
func decode(raw []byte, c *Config) error {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	d := toml.NewDecoder(bytes.NewReader(bytes.ReplaceAll(raw, []byte("\r\n"), []byte("\n"))))
	d.DisallowUnknownFields()
	err := d.Decode(c)
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) {
		var keys []string
		for _, e := range unknown.Errors {
			keys = append(keys, strings.Join(e.Key(), "."))
		}
		return fmt.Errorf("unknown key %s; config.example.toml lists all there are", strings.Join(keys, ", "))
	}
	var bad *toml.DecodeError
	if errors.As(err, &bad) {
		row, col := bad.Position()
		if key := strings.Join(bad.Key(), "."); key != "" {
			return fmt.Errorf("line %d, %s: %w", row, key, err)
		}
		return fmt.Errorf("line %d, column %d: %w", row, col, err)
	}
	return err
}

// check refuses values that mean nothing.
func (c Config) check() error {
	oneOf := func(key, value string, allowed ...string) error {
		if slices.Contains(allowed, value) {
			return nil
		}
		return fmt.Errorf("%s: %q came; allowed are %s", key, value, strings.Join(allowed, ", "))
	}
	positive := func(key string, n int) error {
		if n > 0 {
			return nil
		}
		return fmt.Errorf("%s: %d came; it has to be at least 1", key, n)
	}
	err := errors.Join(
		oneOf("log_level", c.LogLevel, "debug", "info", "warn", "error"),
		oneOf("time.week_start", c.Time.WeekStart, "monday", "sunday", "saturday"),
		oneOf("time.hemisphere", c.Time.Hemisphere, "northern", "southern"),
		oneOf("time.holidays", c.Time.Holidays, "us", "gb", "de", "none"),
		oneOf("embedding.provider", c.Embedding.Provider, "auto", "ollama", "builtin", "none"),
		oneOf("secrets.policy", c.Secrets.Policy, "warn", "mask", "refuse"),
		positive("store.cache_mb", c.Store.CacheMB),
		positive("store.memtable_mb", c.Store.MemtableMB),
		positive("store.resident_memories", c.Store.ResidentMemories),
		positive("store.max_content_kb", c.Store.MaxContentKB),
		positive("http.max_connections", c.HTTP.Connections),
		positive("http.max_calls", c.HTTP.Calls),
		positive("http.max_sessions", c.HTTP.Sessions),
		positive("http.burst", c.HTTP.Burst),
		positive("embedding.batch", c.Embedding.Batch),
		positive("consolidation.num_ctx", c.Consolidation.NumCtx),
	)
	if _, tuneErr := tuned(c.Query.Tuning); tuneErr != nil {
		err = errors.Join(err, tuneErr)
	}
	if c.Time.Zone != "" {
		if _, zoneErr := time.LoadLocation(c.Time.Zone); zoneErr != nil {
			err = errors.Join(err, fmt.Errorf("time.zone: %q is no IANA time zone, like Europe/Berlin", c.Time.Zone))
		}
	}
	for i, r := range c.Retention {
		if _, nameErr := memory.CanonicalProject(r.Project, "", true); nameErr != nil || r.Project == "" || r.Days < 1 {
			err = errors.Join(err, fmt.Errorf(`retention, rule %d: it needs a project ("*" is all) and days, at least 1`, i+1))
		}
	}
	if c.HTTP.Idle < Duration(time.Second) || c.HTTP.Call < Duration(time.Second) || c.HTTP.Rate <= 0 {
		err = errors.Join(err, fmt.Errorf("http: session_idle %v, call_timeout %v, rate %v came; the times are at least 1s, rate over 0", time.Duration(c.HTTP.Idle), time.Duration(c.HTTP.Call), c.HTTP.Rate))
	}
	if c.Store.KeyFile != "" && c.Store.Keyring != "" {
		err = errors.Join(err, errors.New("store: key_file and keyring are both set; the key lies in one of them"))
	}
	if c.Backup.Every != 0 && c.Backup.Every < Duration(time.Minute) || c.Backup.Keep < 0 {
		err = errors.Join(err, fmt.Errorf("backup: every %v, keep %d came; every is 0s (none) or at least 1m, keep at least 0 (all)", time.Duration(c.Backup.Every), c.Backup.Keep))
	}
	if c.Store.MaxContentKB > 8<<10 {
		err = errors.Join(err, fmt.Errorf("store.max_content_kb: %d came; at most 8192, what a client can send in one message", c.Store.MaxContentKB))
	}
	return err
}
