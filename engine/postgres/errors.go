package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mayflydb/mayfly/engine"
)

// The time limits of one exchange with the database, by the machine's clock. They protect against servers
// that are stopped and hosts that are gone.
const (
	connectLimit = 2 * time.Second // to connect to a host
	openLimit    = 15 * time.Second
	beginLimit   = 6 * time.Second // to acquire a connection and the locks
	readLimit    = 5 * time.Second
	commitLimit  = 8 * time.Second
	// outageLimit is the time for which operations are retried while the database is unavailable, and for
	// which the outcome of a commit whose response was lost is searched.
	outageLimit = 10 * time.Second
	// commitBytes extends the time limit of large commits: a commit gets one second in addition to
	// commitLimit for each commitBytes bytes that it writes.
	commitBytes = 4 << 20
)

// reruns is the maximum number of times that a transaction is run again after conflicts with others.
const reruns = 20

// withLimit runs fn with a context that ends when limit has passed or ctx ends, and returns its error, or
// that of ctx if ctx has ended. fn's context is not derived from ctx, since ctx may be of a kind from
// which no context can be derived.
func withLimit(ctx context.Context, limit time.Duration, fn func(own context.Context) error) error {
	own, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if ctx.Done() == nil {
		return fn(own)
	}
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			cancel()
		case <-over:
		}
	}()
	err := fn(own)
	close(over)
	<-watched
	if err != nil {
		if ended := ctx.Err(); ended != nil {
			return ended
		}
	}
	return err
}

// pause waits for the duration d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	own, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-own.Done():
	}
}

// errorReaction says what must be done after an error of the database: report it, run the transaction
// again, or run it again on another connection.
type errorReaction int

const (
	fails   errorReaction = iota // the statement failed and nothing was written
	collide                      // a conflict with another transaction: run again
	lost                         // the connection is lost: run again on another one
)

// classify decides from an error of the database whether the transaction has failed, is to be run again,
// or is to be run again on another connection.
func classify(err error) errorReaction {
	var pe *pgconn.PgError
	if !errors.As(err, &pe) {
		return lost // a network error, a time limit, or a closed connection
	}
	switch pe.Code {
	case "40001", "40P01", "55P03":
		return collide
	case "57P01",
		"57P02",
		"57P03",
		"57P05",
		"25P03", // the server is stopping or starting, or has ended an idle session
		"25006", // it has become a standby
		"53300",
		"3D000": // too many connections; a new primary may not have the database yet
		return lost
	}
	if strings.HasPrefix(pe.Code, "08") {
		return lost
	}
	return fails
}

// isStored reports whether err means that a row could not be inserted because its key is stored already.
func isStored(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe) && pe.Code == "23505"
}

// isServer reports whether an error was sent by the database server.
func isServer(err error) bool {
	var pe *pgconn.PgError
	return errors.As(err, &pe)
}

// toEngine converts an error of the database to an error of package engine.
func toEngine(err error) error {
	var pe *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &pe):
		return fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	}
	switch {
	case pe.Code == "53100", pe.Code == "53200":
		return fmt.Errorf("%w: %w", engine.ErrDiskFull, err)
	case pe.Code == "23505", pe.Code == "54000":
		return fmt.Errorf("%w: %w", engine.ErrCorrupt, err)
	case pe.Code == "42P01", pe.Code == "42703":
		return fmt.Errorf("%w: %w", engine.ErrNotDatabase, err)
	case pe.Code == "42501", strings.HasPrefix(pe.Code, "28"):
		return fmt.Errorf("%w: %w", engine.ErrDenied, err)
	case classify(err) != fails:
		return fmt.Errorf("%w: %w", engine.ErrUnavailable, err)
	}
	return fmt.Errorf("%w: %w", engine.ErrRead, err)
}

// opening converts an error that occurred in Open to an error of package engine, unless it already is an
// error that Open may return.
func opening(err error) error {
	for _, own := range []error{engine.ErrNewerFormat, engine.ErrOlderFormat, ErrUnsafe, context.Canceled} {
		if errors.Is(err, own) {
			return err
		}
	}
	return toEngine(err)
}
