package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// FindingSeverity says how serious a DatabaseExaminationFinding, one result of the examination of a database,
// is for a server.
type FindingSeverity int

// The severities of a DatabaseExaminationFinding.
const (
	Fine    FindingSeverity = iota
	Warning                 // a server works, but slowly or not safely
	Failure                 // a server does not start, or does not work
)

// DatabaseExaminationFinding is the result of one examination of a database.
type DatabaseExaminationFinding struct {
	Check    string // what was examined, as one word
	Severity FindingSeverity
	Found    string
	Remedy   string // "" if there is nothing to do
}

// farTrip is the round trip time from which on a Warning says that writes and queries are slow.
const farTrip = 5 * time.Millisecond

// serversExpected is the number of servers for whose connection pools the database should allow enough
// connections.
const serversExpected = 2

// Examine examines a database that a server will use. It changes nothing. now returns the current time, by
// which Examine measures round trips.
func Examine(ctx context.Context, o Options, now func() time.Time) []DatabaseExaminationFinding {
	if err := o.defaults(); err != nil {
		return []DatabaseExaminationFinding{{"address", Failure, err.Error(),
			"give postgres://user:password@host/database"}}
	}
	config, err := o.config(1)
	if err != nil {
		return []DatabaseExaminationFinding{{"address", Failure, err.Error(),
			"give postgres://user:password@host/database"}}
	}
	var c *pgx.Conn
	err = withLimit(ctx, openLimit, func(own context.Context) (err error) {
		c, err = pgx.ConnectConfig(own, config.ConnConfig.Copy())
		return err
	})
	if err != nil {
		return []DatabaseExaminationFinding{{"connect", Failure, opening(err).Error(),
			"is the server running, is a host of the address the one that accepts writes, is the password " +
				"right?"}}
	}
	x := &databaseExaminer{ctx: ctx, c: c, o: o}
	defer x.close()
	list := []DatabaseExaminationFinding{x.trip(now), x.version()}
	list = append(list, x.settings()...)
	return append(list, x.standbys(), x.connections(), x.timeouts(), x.room(), x.tables())
}

// databaseExaminer is a run of Examine over one connection.
type databaseExaminer struct {
	ctx context.Context
	c   *pgx.Conn
	o   Options
}

func (x *databaseExaminer) close() {
	own, cancel := context.WithTimeout(context.Background(), connectLimit)
	defer cancel()
	_ = x.c.Close(own) // nothing is running
}

// ask runs a statement that returns one row, and stores its columns in into.
func (x *databaseExaminer) ask(sql string, into ...any) error {
	return withLimit(x.ctx, readLimit, func(own context.Context) error {
		return x.c.QueryRow(own, sql).Scan(into...)
	})
}

// unknown returns the finding for an examination that fails, for instance because a database that is not
// PostgreSQL lacks a system view.
func unknown(check string, err error) DatabaseExaminationFinding {
	return DatabaseExaminationFinding{check, Fine, "not known: " + err.Error(), ""}
}

func (x *databaseExaminer) trip(now func() time.Time) DatabaseExaminationFinding {
	best := time.Duration(0)
	for n := range 5 {
		begin := now()
		var one int
		if err := x.ask("SELECT 1", &one); err != nil {
			return DatabaseExaminationFinding{"trip", Failure, err.Error(), ""}
		}
		if took := now().Sub(begin); n == 0 || took < best {
			best = took
		}
	}
	found := fmt.Sprintf("a round trip takes %v", best.Round(10*time.Microsecond))
	if best > farTrip {
		return DatabaseExaminationFinding{"trip", Warning, found,
			"a create needs two round trips, a page of a query three or more: run Mayfly near the database"}
	}
	return DatabaseExaminationFinding{"trip", Fine, found, ""}
}

// oldest is the oldest version of PostgreSQL with which Mayfly is tested, as in PostgreSQL's setting
// server_version_num: 150000 is version 15.
const oldest = 150000

func (x *databaseExaminer) version() DatabaseExaminationFinding {
	var text string
	var number int
	if err := x.ask("SELECT version(), "+
		"current_setting('server_version_num')::int", &text, &number); err != nil {
		return unknown("version", err)
	}
	if number < oldest {
		return DatabaseExaminationFinding{"version", Warning, text, "versions before 15 are not tested"}
	}
	return DatabaseExaminationFinding{"version", Fine, text, ""}
}

// settings examines the settings on which durability depends.
func (x *databaseExaminer) settings() (list []DatabaseExaminationFinding) {
	for _, name := range durable {
		var value string
		if err := x.ask("SHOW "+name, &value); err != nil {
			list = append(list, unknown(name, err))
		} else if unsafe(value) {
			list = append(list, DatabaseExaminationFinding{name, Failure, value,
				"set it to on: the database may lose what it " +
					"has acknowledged"})
		} else {
			list = append(list, DatabaseExaminationFinding{name, Fine, value, ""})
		}
	}
	return list
}

func (x *databaseExaminer) standbys() DatabaseExaminationFinding {
	const check = "standby"
	var wanted string
	var synchronous, all int
	err := x.ask(`SELECT current_setting('synchronous_standby_names'),
		count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), count(*) FROM pg_stat_replication`,
		&wanted, &synchronous, &all)
	switch {
	case err != nil:
		return unknown(check, err)
	case wanted != "" && synchronous == 0:
		return DatabaseExaminationFinding{check, Failure,
			"a synchronous standby is demanded (" + wanted + "), and none is " +
				"connected: a commit waits",
			"start the standby"}
	case wanted == "" && all == 0:
		return DatabaseExaminationFinding{check, Warning, "no standby is connected",
			"the loss of the database's machine " +
				"loses the data"}
	case wanted == "":
		return DatabaseExaminationFinding{check, Warning, fmt.Sprintf("%d, none of them synchronous", all),
			"a failover may lose the last commits: set synchronous_standby_names"}
	}
	return DatabaseExaminationFinding{check, Fine, fmt.Sprintf("%d of %d are synchronous", synchronous,
		all), ""}
}

func (x *databaseExaminer) connections() DatabaseExaminationFinding {
	const check = "connections"
	var most, used int
	err := x.ask("SELECT current_setting('max_connections')::int, count(*) FROM "+
		"pg_stat_activity", &most, &used)
	if err != nil {
		return unknown(check, err)
	}
	own := x.o.Writers + x.o.Readers
	found := fmt.Sprintf("%d of %d are used; a server uses up to %d", used, most, own)
	if most < serversExpected*own {
		return DatabaseExaminationFinding{check, Warning, found, fmt.Sprintf("raise max_connections to "+
			"%d", serversExpected*own+20)}
	}
	return DatabaseExaminationFinding{check, Fine, found, ""}
}

func (x *databaseExaminer) timeouts() DatabaseExaminationFinding {
	const check = "timeouts"
	var lock, transaction string
	err := x.ask(`SELECT coalesce(max(reset_val) FILTER (WHERE name = 'lock_timeout'), '0'),
		coalesce(max(reset_val) FILTER (WHERE name = 'transaction_timeout'), '0') FROM pg_settings`,
		&lock, &transaction)
	if err != nil {
		return unknown(check, err)
	}
	if lock != "0" || transaction != "0" {
		return DatabaseExaminationFinding{check, Warning,
			fmt.Sprintf("lock_timeout %s ms, transaction_timeout %s "+
				"ms", lock, transaction),
			"Mayfly has limits of its own; set these to 0 for its user"}
	}
	return DatabaseExaminationFinding{check, Fine, "none that disturbs", ""}
}

func (x *databaseExaminer) room() DatabaseExaminationFinding {
	const check = "size"
	var size int64
	if err := x.ask("SELECT pg_database_size(current_database())", &size); err != nil {
		return unknown(check, err)
	}
	return DatabaseExaminationFinding{check, Fine, fmt.Sprintf("the database has %d MB", size>>20), ""}
}

// tables examines the schema: its version, and the servers that use it.
func (x *databaseExaminer) tables() DatabaseExaminationFinding {
	const check = "schema"
	var known bool
	err := withLimit(x.ctx, readLimit, func(own context.Context) (err error) {
		known, err = version(own, x.c)
		return err
	})
	if err != nil {
		return DatabaseExaminationFinding{check, Failure, err.Error(), "use the release that has made it"}
	}
	if !known {
		var may bool
		if err := x.ask("SELECT has_database_privilege(current_database(), "+
			"'CREATE')", &may); err == nil && !may {
			return DatabaseExaminationFinding{check, Failure,
				x.o.Schema + " does not exist, and the user may not create it",
				"GRANT CREATE ON DATABASE, or create the schema for the user"}
		}
		return DatabaseExaminationFinding{check, Fine,
			x.o.Schema + " does not exist yet, or is older: the first start makes it", ""}
	}
	return DatabaseExaminationFinding{check, Fine, fmt.Sprintf("%s has version %d", x.o.Schema,
		schemaVersion), ""}
}

// Name describes the database of the options in messages, without its password.
func (o Options) Name() (string, error) {
	if err := o.defaults(); err != nil {
		return "", err
	}
	config, err := o.config(1)
	if err != nil {
		return "", err
	}
	c := config.ConnConfig
	return fmt.Sprintf("postgres://%s:%d/%s, schema %s", c.Host, c.Port, c.Database, o.Schema), nil
}
