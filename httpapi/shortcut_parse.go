package httpapi

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/requestlog"
)

// Limits of a request that a connection serves itself, without net/http.
const (
	maxShortcutFields = 48
	maxShortcutBody   = 16 << 10 // bytes
)

// maybeShortcut reports whether p may be a query or a request for a single item, which the connection can
// answer without net/http. It is a cheap test that excludes most other requests; parse then checks
// everything.
func maybeShortcut(p []byte) bool {
	method, rest, _ := bytes.Cut(p[:min(len(p), len("DELETE /dbs/"))], []byte(" "))
	return bytes.HasPrefix(rest, []byte("/dbs/")) &&
		(len(method) != len("GET") || method[0] != 'G' || bytes.HasSuffix(p, []byte("\r\n\r\n")))
}

// parse fills s from a request. It returns false for everything but a complete query or request for a single
// item, in a form that every parser of HTTP understands in the same way.
func (s *fastPathConn) parse(p []byte) bool {
	end := bytes.Index(p, []byte("\r\n\r\n"))
	if end < 0 {
		return false
	}
	line, rest, _ := strings.Cut(string(p[:end+len("\r\n")]), "\r\n")
	body := p[end+len("\r\n\r\n"):]
	s.method, line, _ = strings.Cut(line, " ")
	var version string
	s.path, version, _ = strings.Cut(line, " ")
	if version != "HTTP/1.1" || !isItemPath(s.path, s.method == http.MethodPost) {
		return false
	}
	s.fields, s.host, s.length, s.body, s.query = s.fields[:0], "", -1, nil, false
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\r\n")
		if !s.parseField(line) {
			return false
		}
	}
	switch {
	case s.host == "" || len(body) != max(s.length, 0): // or another request follows
		return false
	case s.method == http.MethodGet:
		return s.length < 0
	case s.method == http.MethodDelete:
		return s.length <= 0
	case s.method == http.MethodPost || s.method == http.MethodPut || s.method == http.MethodPatch:
		s.body = bytes.Clone(body)
		return s.length > 0
	}
	return false
}

// parseField adds a header line. It returns false if the line is malformed, or if the header means that
// net/http must serve the request: for example a second Host, a large Content-Length, or a Content-Type other
// than those of items, patches and queries.
func (s *fastPathConn) parseField(line string) bool {
	name, value, ok := strings.Cut(line, ":")
	value = strings.Trim(value, " ")
	if !ok || len(s.fields) == maxShortcutFields || !isFieldName(name) || !isFieldValue(value) {
		return false
	}
	switch name = canonicalName(name); name {
	case "Host":
		if s.host != "" || !isPlainHost(value) {
			return false
		}
		s.host = value
		return true
	case "Connection":
		if !strings.EqualFold(value, "keep-alive") {
			return false
		}
	case "Content-Length":
		n, err := strconv.ParseUint(value, 10, 16)
		if err != nil || n > maxShortcutBody {
			return false
		}
		s.length = int(n)
	case "Content-Type":
		switch value {
		case "application/json", "application/json_patch+json", "application/json-patch+json":
		case "application/query+json":
			s.query = true
		default:
			return false
		}
	case "X-Ms-Documentdb-Isquery":
		s.query = true
	case "Transfer-Encoding", "Trailer", "Te", "Expect", "Upgrade", "Http2-Settings",
		"Pragma", // net/http treats these headers specially
		// other operations on more than one item, and triggers
		"X-Ms-Documentdb-Query", "X-Ms-Cosmos-Is-Query-Plan-Request",
		"X-Ms-Cosmos-Is-Batch-Request", "A-Im", "X-Ms-Documentdb-Pre-Trigger-Include",
		"X-Ms-Documentdb-Post-Trigger-Include":
		return false
	}
	for i := range s.fields {
		if s.fields[i].Name == name {
			return false
		}
	}
	s.fields = append(s.fields, requestlog.HeaderField{Name: name, Value: value})
	return true
}

// canonicalName returns the canonical form of the name of a header.
func canonicalName(name string) string {
	var lower [maxKnownName]byte
	if len(name) > len(lower) {
		return http.CanonicalHeaderKey(name)
	}
	for i := range len(name) {
		lower[i] = name[i]
		if 'A' <= name[i] && name[i] <= 'Z' {
			lower[i] |= 0x20
		}
	}
	if known, ok := canonicalNames[string(lower[:len(name)])]; ok {
		return known
	}
	return http.CanonicalHeaderKey(name)
}

// maxKnownName is the maximum length in bytes of a header name in canonicalNames, the table of common names.
const maxKnownName = 56

// canonicalNames maps the names, in lower case, of the headers that clients send with most queries and
// requests for items to their canonical forms. Making that form takes longer than looking it up.
var canonicalNames = lowerNames("Accept", "Accept-Encoding", "Authorization", "Cache-Control", "Connection",
	"Content-Length", "Content-Type", "Host", "If-Match", "If-None-Match", "Prefer", "User-Agent",
	"X-Ms-Activity-Id", "X-Ms-Client-Request-Id", "X-Ms-Consistency-Level", "X-Ms-Continuation",
	"X-Ms-Cosmos-Allow-Tentative-Writes", "X-Ms-Cosmos-Correlated-Activityid",
	"X-Ms-Cosmos-Sdk-Supportedcapabilities", "X-Ms-Date", "X-Ms-Documentdb-Is-Upsert",
	"X-Ms-Documentdb-Isquery", "X-Ms-Documentdb-Partitionkey", "X-Ms-Documentdb-Partitionkeyrangeid",
	"X-Ms-Documentdb-Populatequerymetrics", "X-Ms-Documentdb-Query-Enable-Scan",
	"X-Ms-Documentdb-Query-Enablecrosspartition", "X-Ms-Documentdb-Query-Iscontinuationexpected",
	"X-Ms-Documentdb-Query-Parallelizecrosspartitionquery",
	"X-Ms-Documentdb-Responsecontinuationtokenlimitinkb", "X-Ms-Max-Item-Count", "X-Ms-Session-Token",
	"X-Ms-Version")

func lowerNames(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, name := range names {
		m[strings.ToLower(name)] = name
	}
	return m
}

// isItemPath reports whether a path is /dbs/{id}/colls/{id}/docs/{id}, or for a feed the same without the
// last id. The ids must consist of common characters and valid percent escapes.
func isItemPath(path string, feed bool) bool {
	rest, ok := strings.CutPrefix(path, "/dbs/")
	database, rest, found := strings.Cut(rest, "/")
	rest, colls := strings.CutPrefix(rest, "colls/")
	container, rest, more := strings.Cut(rest, "/")
	id, docs := strings.CutPrefix(rest, "docs/")
	if feed {
		id, docs = "-", rest == "docs"
	}
	if !ok || !found || !colls || !more || !docs || database == "" || container == "" || id == "" {
		return false
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case isAlphanumeric(c) || strings.IndexByte("/-_.~=+$!*'(),:@;&", c) >= 0:
		case c == '%' && i+2 < len(path) && isHexDigit(path[i+1]) && isHexDigit(path[i+2]):
		default:
			return false
		}
	}
	return true
}

func isFieldName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && c != '-' {
			return false
		}
	}
	return s != ""
}

func isFieldValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

func isPlainHost(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isAlphanumeric(c) && strings.IndexByte(".-:[]", c) < 0 {
			return false
		}
	}
	return s != ""
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isHexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}
