//go:build long

package peers

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"

	"github.com/mayflydb/mayfly/sdktest"
)

// sqlite is SQLite in the process of the test: the documents are JSON text, with indexes on expressions.
type sqlite struct {
	db    *sql.DB
	known map[string]*sql.Stmt
}

func openSQLite(ctx context.Context, file string) (*sqlite, error) {
	db, err := sql.Open("sqlite3", file+"?_journal_mode=WAL&_cache_size=-64000")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &sqlite{db, map[string]*sql.Stmt{}}, nil
}

func (*sqlite) name() string { return "SQLite" }

func (l *sqlite) fill(ctx context.Context, s documentSet) error {
	if _, err := l.db.ExecContext(ctx, `CREATE TABLE docs (id TEXT PRIMARY KEY, doc TEXT)`); err != nil {
		return err
	}
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	insert, err := tx.PrepareContext(ctx, `INSERT INTO docs VALUES (?, ?)`)
	if err != nil {
		return err
	}
	for i := range s.docs {
		if _, err := insert.ExecContext(ctx, id(i), string(s.json(i))); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for i, on := range []string{
		`doc->>'$.price'`, `doc->>'$.category', doc->>'$.price'`, `doc->>'$.active'`, `doc->>'$.seq'`,
		`doc->>'$.pk', doc->>'$.ts'`,
	} {
		if _, err := l.db.ExecContext(ctx, fmt.Sprintf(`CREATE INDEX i%d ON docs (%s)`, i, on)); err != nil {
			return err
		}
	}
	_, err = l.db.ExecContext(ctx, `ANALYZE`)
	return err
}

func (l *sqlite) ask(ctx context.Context, q *queryTestCase, s documentSet, k int) (rows [][]byte, err error) {
	stmt := l.known[q.sqlite]
	if stmt == nil {
		if stmt, err = l.db.PrepareContext(ctx, q.sqlite); err != nil {
			return nil, err
		}
		l.known[q.sqlite] = stmt
	}
	params := q.params(s, k)
	for i, v := range params {
		if list, ok := v.([]string); ok {
			text, err := json.Marshal(list)
			if err != nil {
				return nil, err
			}
			params[i] = string(text)
		}
	}
	found, err := stmt.QueryContext(ctx, params...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		var row []byte
		if err := found.Scan(&row); err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, found.Err()
}

func (l *sqlite) close() error { return l.db.Close() }

// postgresServer is a PostgreSQL server started by the test, queried over TCP: the documents are jsonb, with
// B-trees on expressions and a GIN index.
type postgresServer struct {
	dir  string
	cmd  *exec.Cmd
	conn *pgx.Conn
}

// errNoPostgres says that PostgreSQL is not installed.
var errNoPostgres = errors.New("PostgreSQL is not installed; on Debian: apt-get install postgresql")

// postgresProgram returns the path of a PostgreSQL program, also of one that Debian does not install in
// PATH.
func postgresProgram(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.EvalSymlinks(path)
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil || len(found) == 0 {
		return "", errNoPostgres
	}
	return slices.Max(found), nil
}

// startPostgres creates and starts a PostgreSQL server with data in a temporary folder. If the test runs
// as root, which PostgreSQL refuses, the server runs as the user postgres.
func startPostgres(ctx context.Context) (p *postgresServer, err error) {
	initdb, err := postgresProgram("initdb")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(filepath.Dir(initdb), "postgres")
	p = &postgresServer{}
	if p.dir, err = os.MkdirTemp("", "peers-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	as, err := owner(p.dir)
	if err != nil {
		return p, err
	}
	data := filepath.Join(p.dir, "data")
	init := exec.CommandContext(ctx, initdb, "-D", data, "-U", "peers", "-A", "trust", "-E", "UTF8",
		"--locale=C")
	init.SysProcAttr, init.Dir = as, p.dir
	if out, err := init.CombinedOutput(); err != nil {
		return p, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := sdktest.FreePort()
	if err != nil {
		return p, err
	}
	p.cmd = exec.Command(program, "-D", data, "-k", "", "-c", "listen_addresses=127.0.0.1",
		"-c", "port="+strconv.Itoa(port), "-c", "max_wal_size=4GB")
	p.cmd.SysProcAttr, p.cmd.Dir = as, p.dir
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return p, err
	}
	for range 100 { // until it listens
		p.conn, err = pgx.Connect(ctx,
			fmt.Sprintf("host=127.0.0.1 port=%d sslmode=disable user=peers dbname=postgres", port))
		if err == nil {
			return p, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return p, err
}

// owner returns the process attributes with which PostgreSQL must be started. If the test runs as root,
// they select the user postgres, to whom owner gives the folder dir; otherwise they are nil.
func owner(dir string) (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	as := &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return as, os.Chown(dir, uid, gid)
}

func (*postgresServer) name() string { return "PostgreSQL" }

func (p *postgresServer) fill(ctx context.Context, s documentSet) error {
	if _, err := p.conn.Exec(ctx, `CREATE TABLE docs (id text PRIMARY KEY, doc jsonb)`); err != nil {
		return err
	}
	i := 0
	_, err := p.conn.CopyFrom(ctx, pgx.Identifier{"docs"}, []string{"id", "doc"},
		pgx.CopyFromFunc(func() ([]any, error) {
			if i == s.docs {
				return nil, nil
			}
			i++
			return []any{id(i - 1), s.json(i - 1)}, nil
		}))
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`CREATE INDEX ON docs (((doc->>'price')::float8))`,
		`CREATE INDEX ON docs ((doc->>'category'), ((doc->>'price')::float8))`,
		`CREATE INDEX ON docs (((doc->>'active')::boolean))`,
		`CREATE INDEX ON docs (((doc->>'seq')::bigint))`,
		`CREATE INDEX ON docs ((doc->>'pk'), ((doc->>'ts')::bigint))`,
		`CREATE INDEX ON docs USING gin (doc jsonb_path_ops)`,
		`VACUUM ANALYZE docs`,
		`CHECKPOINT`,
	} {
		if _, err := p.conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func (p *postgresServer) ask(ctx context.Context, q *queryTestCase, s documentSet,
	k int) (rows [][]byte, err error) {
	found, err := p.conn.Query(ctx, q.postgres, q.params(s, k)...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		rows = append(rows, slices.Clone(found.RawValues()[0]))
	}
	return rows, found.Err()
}

func (p *postgresServer) close() (err error) {
	if p.conn != nil {
		err = p.conn.Close(context.Background())
	}
	if p.cmd != nil {
		err = errors.Join(err, p.cmd.Process.Signal(syscall.SIGINT), p.cmd.Wait()) // ends what is under way
	}
	return errors.Join(err, os.RemoveAll(p.dir))
}
