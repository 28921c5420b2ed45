package httpapi

import (
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/ttl"
)

// parseFeatures splits the comma-separated list of query features that the client can merge. It does not
// check the names.
func parseFeatures(value string) []string {
	list := strings.Split(value, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list
}

// parseList parses a comma-separated list of names.
func parseList(value string) (names []string) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// parseSupportedFormats parses x-ms-cosmos-supported-serialization-formats, a list. Unknown formats are
// ignored.
func parseSupportedFormats(list string) cosmos.AcceptedJSONEncodings {
	return cosmos.AcceptedJSONEncodings{Text: hasElement(list, "JsonText"),
		Binary: hasElement(list, "CosmosBinary")}
}

// parseContentFormat parses x-ms-documentdb-content-serialization-format, which names the one format that
// the client accepts.
func parseContentFormat(value string) (cosmos.AcceptedJSONEncodings, error) {
	f := parseSupportedFormats(value)
	if f.Text == f.Binary {
		return f, cosmos.BadRequest("The serialization format '" + value +
			"' is not supported by this server: JsonText and CosmosBinary are.")
	}
	return f, nil
}

// parseImport parses the headers by which a create or an upsert sets a _ts in the past. They require the
// master key.
func (h *reqHeaders) parseImport(name, value string) (err error) {
	if h.Imported == nil {
		h.Imported = new(store.ImportTimestampOptions)
	}
	switch name {
	case "X-Mayfly-Timestamp":
		h.Imported.Timestamp, err = strconv.ParseInt(value, 10, 64)
		if err != nil || h.Imported.Timestamp < 1 {
			return cosmos.BadHeader(name, value)
		}
	case "X-Mayfly-Age":
		h.Imported.Age, err = parseSpan(name, value)
	default:
		h.Imported.ExpiresIn, err = parseSpan(name, value)
	}
	return err
}

// parseSpan parses a nonnegative duration: "90s", "29d".
func parseSpan(name, value string) (time.Duration, error) {
	d, err := ttl.ParseDuration(value)
	if err != nil || d < 0 {
		return 0, cosmos.BadHeader(name, value)
	}
	return d, nil
}
