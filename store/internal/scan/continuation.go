package scan

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/fault"
)

// continuationVersion is the first byte of a continuation token. The token contains, for each part of the
// scope, the item after which the next page begins.
//
//	+---------+------------+----------+
//	| version | scope hash | progress |   base64url
//	+---------+------------+----------+
//	    1          4       query.MultiSourceReadProgress
const continuationVersion = 2

// FormatContinuation returns the continuation token of a page in a scope.
func FormatContinuation(sp *ResolvedKeyOrRange, at query.MultiSourceReadProgress) string {
	b := binary.BigEndian.AppendUint32([]byte{continuationVersion}, sp.hash)
	return base64.RawURLEncoding.EncodeToString(at.Append(b))
}

// ParseContinuation parses a continuation token. It returns CodeBadRequest if the token is malformed or
// of another scope. The empty token is the beginning.
func ParseContinuation(token string, sp *ResolvedKeyOrRange,
	spans []query.SourceKeyRange) (query.MultiSourceReadProgress,
	error) {
	if token == "" {
		return query.Begin(spans), nil
	}
	bad := fault.New(fault.CodeBadRequest, "Invalid Continuation Token")
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimSpace(token))
	if err != nil || len(b) < 5 || b[0] != continuationVersion || binary.BigEndian.Uint32(b[1:]) != sp.hash {
		return query.MultiSourceReadProgress{}, bad
	}
	at, rest, ok := query.ParseProgress(b[5:])
	if !ok || len(rest) > 0 || !at.Covers(spans) {
		return query.MultiSourceReadProgress{}, bad
	}
	return at, nil
}
