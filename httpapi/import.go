package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// parseImport reads the headers by which a create or an upsert has a _ts in the past. They want the master
// key.
func (h *reqHeaders) parseImport(name, value string) (err error) {
	if h.imported == nil {
		h.imported = new(store.ImportOptions)
	}
	switch name {
	case "X-Mayfly-Timestamp":
		h.imported.Timestamp, err = strconv.ParseInt(value, 10, 64)
		if err != nil || h.imported.Timestamp < 1 {
			return badHeader(name, value)
		}
	case "X-Mayfly-Age":
		h.imported.Age, err = parseSpan(name, value)
	default:
		h.imported.ExpiresIn, err = parseSpan(name, value)
	}
	return err
}

// parseSpan reads a duration that is not negative: "90s", "29d".
func parseSpan(name, value string) (time.Duration, error) {
	d, err := ttl.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, badHeader(name, value)
	}
	return d, nil
}

// refuseImport is the answer to an import by somebody who does not have the master key.
func refuseImport() error {
	return wireErr(http.StatusForbidden, 0, "An import needs the master key.")
}
