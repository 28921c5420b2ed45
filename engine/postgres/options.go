package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options are the options of Open.
type Options struct {
	// URL is a PostgreSQL connection string:
	// postgres://user:password@host1,host2/database?sslmode=verify-full. For several hosts
	// target_session_attrs=read-write is added unless the URL sets it.
	URL string
	// Schema is the name of the schema with the tables. It is created if it is missing. Default: mayfly.
	Schema string
	// Writers and Readers are the maximum numbers of connections for Updates and for Views. Default: 16
	// each.
	Writers, Readers int
	// AllowUnsafe opens a database that may lose acknowledged writes, because synchronous_commit, fsync or
	// full_page_writes is off.
	AllowUnsafe bool
	// Logger receives warnings. Default: they are discarded.
	Logger *slog.Logger

	rerun func() bool // in tests: makes a commit fail that would succeed
}

// defaultPool is the default number of connections of a pool.
const defaultPool = 16

// ErrUnsafe is returned by Open for a database whose settings may lose acknowledged writes.
var ErrUnsafe = errors.New("engine: the database may lose acknowledged writes")

// ErrURL is returned by Open for an invalid connection string.
var ErrURL = errors.New("engine: not a connection string of PostgreSQL")

// defaults sets the defaults and checks the options.
func (o *Options) defaults() error {
	if o.Schema == "" {
		o.Schema = "mayfly"
	}
	if strings.ContainsAny(o.Schema, "\x00\"") || len(o.Schema) > 63 {
		return fmt.Errorf("%w: the schema's name cannot be %q", ErrURL, o.Schema)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Writers <= 0 {
		o.Writers = defaultPool
	}
	if o.Readers <= 0 {
		o.Readers = defaultPool
	}
	return nil
}

// IsURL reports whether a text has the form of Options.URL. It may still be invalid.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// config returns the configuration of a pool with at most size connections.
func (o *Options) config(size int) (*pgxpool.Config, error) {
	url := o.URL
	if !IsURL(url) {
		return nil, fmt.Errorf("%w: it must begin with postgres://", ErrURL)
	}
	if !strings.Contains(url, "target_session_attrs=") {
		sep := "?"
		if strings.Contains(url, "?") {
			sep = "&"
		}
		url += sep + "target_session_attrs=read-write"
	}
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrURL, err) // pgx omits the password
	}
	if c.ConnConfig.ConnectTimeout == 0 || c.ConnConfig.ConnectTimeout > connectLimit {
		c.ConnConfig.ConnectTimeout = connectLimit
	}
	c.MaxConns = int32(size)
	p := c.ConnConfig.RuntimeParams
	if p["application_name"] == "" {
		p["application_name"] = "mayfly"
	}
	p["search_path"] = quote(o.Schema)
	p["idle_in_transaction_session_timeout"] = "5000"
	p["statement_timeout"] = "0"
	// A connection plans each statement once, since planning takes longer than reading a few keys. The plan
	// must be good for all arguments and for a table that grows, so it always uses the primary key. If that
	// is impossible, its estimated cost is so high that jit must be off.
	p["plan_cache_mode"] = "force_generic_plan"
	p["enable_seqscan"], p["enable_bitmapscan"], p["jit"] = "off", "off", "off"
	return c, nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// Open opens a database, and creates the tables in a new one. It fails with ErrURL, ErrUnsafe,
// engine.ErrUnavailable if no server answers, engine.ErrDenied if the database refuses the user,
// engine.ErrNewerFormat or engine.ErrNotDatabase.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if err := o.defaults(); err != nil {
		return nil, err
	}
	e := &Engine{log: o.Logger, rerun: o.rerun, channel: channelOf(o.Schema),
		queues: waitingUpdateQueuesByScope{m: map[string]*scopeUpdateQueue{}}}
	if err := prepare(ctx, o); err != nil {
		return nil, err
	}
	config, err := o.config(1)
	if err != nil {
		return nil, err
	}
	e.listener = config.ConnConfig
	if e.writers, err = e.pool(o, o.Writers); err != nil {
		return nil, err
	}
	if e.readers, err = e.pool(o, o.Readers); err != nil {
		e.writers.Close()
		return nil, err
	}
	return e, nil
}
