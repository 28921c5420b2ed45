package classify

import (
	"errors"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/script"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// ToFault returns err as a *fault.Error. It is the only function that depends on the error types of the
// packages below the store.
func ToFault(err error) error {
	if err == nil {
		return nil
	}
	var e *fault.Error
	if errors.As(err, &e) {
		return e
	}
	if e := queryError(err); e != nil {
		return e
	}
	if e := scriptError(err); e != nil {
		return e
	}
	if e := hostError(err); e != nil {
		return e
	}
	if a, known := classErrors[host.Classify(err)]; known {
		return &fault.Error{Code: a.code, Message: a.message, Hint: a.hint, Err: err}
	}
	return &fault.Error{Code: fault.CodeInternal, Message: "internal error: " + err.Error(), Err: err}
}

// hostError converts the errors of package host to a *fault.Error; nil for other errors.
func hostError(err error) *fault.Error {
	var change *ttl.InvalidClockChangeError
	var far *host.ClockTooFarBackError
	var behind *host.ClockBehindError
	if free, reserve, ok := host.Reserve(err); ok {
		full := classErrors[host.DiskFull]
		return &fault.Error{Code: full.code, Hint: full.hint, Err: err,
			Message: fmt.Sprintf("The disk is full: %s are free, but a reserve of %s is kept. "+
				"Nothing was written.", mebibytes(free), mebibytes(reserve))}
	}
	switch {
	case errors.As(err, &change):
		return &fault.Error{Code: fault.CodeBadRequest, Message: change.Reason, Err: err}
	case errors.Is(err, host.ErrSystemClock):
		return &fault.Error{Code: fault.CodeForbidden, Err: err,
			Message: "The clock of this server is the system's: it cannot be moved. " +
				"A server that is started with --virtual-clock has one that can."}
	case errors.Is(err, host.ErrSeveralServers):
		return &fault.Error{Code: fault.CodeForbidden, Err: err,
			Message: "Several servers are running on this database: their clock cannot be moved.",
			Hint:    "stop all servers but one"}
	case errors.Is(err, host.ErrCatalogMoved):
		return &fault.Error{Code: fault.CodeUnavailable, Err: err,
			Message: "Another server has changed the databases and containers meanwhile.", Hint: "try again"}
	case errors.As(err, &far):
		return &fault.Error{
			Code: fault.CodeBadRequest,
			Message: fmt.Sprintf("The clock cannot be set to %s: %s at %s (%d).",
				view.ClockText(far.To.Unix()), far.What, view.ClockText(far.At.Unix()), far.At.Unix()),
			Hint: "restore a snapshot to go further back",
			Err:  err,
		}
	case errors.As(err, &behind):
		data := "The data"
		if behind.Of != "" {
			data += " " + behind.Of
		}
		return &fault.Error{
			Code: fault.CodeUnavailable,
			Message: fmt.Sprintf("%s was written up to %s, but the clock says %s.",
				data, view.ClockText(behind.Data), view.ClockText(behind.Clock)),
			Hint: "set the system's clock right, or open the folder with a virtual clock (--virtual-clock)",
			Err:  err,
		}
	}
	return nil
}

// mebibytes formats a number of bytes in MiB for messages.
func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// classErrors maps each error class of package host to the code, message and hint of the store's error.
var classErrors = map[host.ErrorClass]struct {
	code    fault.Code
	message string
	hint    string
}{
	host.Canceled: {fault.CodeCanceled, "The request was cancelled.", ""},
	host.Deadline: {fault.CodeCanceled, "The request ran out of time.", ""},
	host.Closed:   {fault.CodeUnavailable, "The store is closed.", ""},
	host.TooLarge: {fault.CodeTooLarge, "Request size is too large: one transaction may write at most 16 MB.",
		""},
	host.DiskFull: {fault.CodeDiskFull, "The disk is full; nothing was written.",
		"free some space: writes resume by themselves"},
	host.ReadFailed: {fault.CodeUnavailable, "The data could not be read from disk.", "check the disk"},
	host.WriteFailed: {fault.CodeUnavailable, "A write to disk failed; the store takes no more writes.",
		"check the disk and restart"},
	host.Unreachable: {fault.CodeUnavailable, "The database that keeps the data does not answer.", ""},
	host.UnknownOutcome: {fault.CodeCanceled,
		"The database did not answer: it is not known whether the write was done.", "read before the next try"},
	host.NoSnapshot:     {fault.CodeNotFound, "Resource Not Found: there is no such snapshot.", ""},
	host.SnapshotExists: {fault.CodeConflict, "A snapshot of that name exists already.", ""},
	host.SnapshotName: {fault.CodeBadRequest,
		"The name of a snapshot is 1 to 64 lower-case letters, digits, '-', '_' and '.'," +
			" begins with a letter or a digit, and is no device of Windows (con, nul ...).", ""},
	host.NoSnapshots: {fault.CodeForbidden, "The storage engine of this server keeps no snapshots.", ""},
	host.NewerFormat: {fault.CodeInternal, "The data folder has a newer format than this program reads.",
		"open it with the program that wrote it"},
	host.OlderFormat: {fault.CodeInternal,
		"The data folder has an older format, which this program does not read.",
		"export with the program that wrote it (mayfly export --db NAME --to FOLDER), import into a new folder"},
	host.Incomplete: {fault.CodeInternal, "A migration into this store has not finished.",
		"repeat mayfly migrate, or start the server of the source again with --migrate-to"},
	host.Moved: {fault.CodeInternal, "The store was migrated to another place.",
		"start the server at the new place (--engine, or --data for a folder), or permit the old place " +
			"again: mayfly migrate --reopen --from PLACE"},
	host.Corrupt: {fault.CodeInternal, "The data folder is corrupt.",
		"run mayfly check on the folder and restore it from a copy"},
}

// scriptError converts the errors of package script to a *fault.Error; nil for other errors.
func scriptError(err error) *fault.Error {
	var failed *script.Error
	var timeout *script.TimeoutError
	var large *script.SizeOrMemoryLimitError
	var busy *script.TooManyAbandonedScriptsError
	switch {
	case errors.As(err, &failed):
		return &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
	case errors.As(err, &timeout):
		return &fault.Error{Code: fault.CodeCanceled, Message: err.Error(), Err: err}
	case errors.As(err, &large):
		return &fault.Error{Code: fault.CodeTooLarge, Message: err.Error(), Err: err}
	case errors.As(err, &busy):
		return &fault.Error{Code: fault.CodeUnavailable, Message: err.Error(), Err: err}
	}
	return nil
}

// memoryRetry is the delay after which a client should retry a query that found no free memory.
const memoryRetry = time.Second

// queryError converts the errors of package query to a *fault.Error; nil for other errors.
func queryError(err error) *fault.Error {
	var wrong *query.Error
	var unsupported *query.MissingClientFeaturesError
	var cursor *query.CursorError
	var memory *query.MemoryError
	var match *query.RegexTimeoutError
	var late *query.TimeLimitError
	var busy *query.MemoryUnavailableError
	switch {
	case errors.As(err, &busy):
		return &fault.Error{Code: fault.CodeThrottled, Message: err.Error(),
			Err: errors.Join(&fault.ThrottledError{RetryAfter: memoryRetry}, err)}
	case errors.As(err, &late):
		return &fault.Error{Code: fault.CodeCanceled, Message: err.Error(), Err: err}
	case errors.As(err, &cursor):
		return &fault.Error{Code: fault.CodeBadRequest, Message: "Invalid Continuation Token", Err: err}
	case errors.As(err, &unsupported):
		return &fault.Error{Code: fault.CodeCrossPartition, Message: err.Error(), Err: err}
	case errors.As(err, &wrong), errors.As(err, &memory), errors.As(err, &match):
		return &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
	}
	return nil
}
