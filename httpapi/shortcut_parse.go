package httpapi

import (
	"bytes"
	"net/http"
	"strings"
)

// maxShortcutFields is the maximum number of headers of a read that a connection serves by itself.
const maxShortcutFields = 48

// shortcutStart is the beginning of each such read.
const shortcutStart = "GET /dbs/"

// maybeShortcut reports whether p may be a complete read of an item. It is a cheap test that excludes most
// other requests.
func maybeShortcut(p []byte) bool {
	return bytes.HasPrefix(p, []byte(shortcutStart)) && bytes.HasSuffix(p, []byte("\r\n\r\n"))
}

// parse fills s.req from a head. It returns false for everything but a read of an item in a form that every
// parser of HTTP understands in the same way.
func (s *shortcut) parse(head string) bool {
	line, rest, _ := strings.Cut(head, "\r\n")
	target, version, _ := strings.Cut(line[len("GET "):], " ")
	if version != "HTTP/1.1" || !isItemPath(target) {
		return false
	}
	clear(s.fields)
	s.req.Host = ""
	for used := 0; ; used++ {
		line, rest, _ = strings.Cut(rest, "\r\n")
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " ")
		if !ok || used == len(s.values) || !isFieldName(name) || !isFieldValue(value) {
			return false
		}
		name = http.CanonicalHeaderKey(name)
		switch name {
		case "Host":
			if s.req.Host != "" || !isPlainHost(value) {
				return false
			}
			s.req.Host = value
			continue
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		case "Content-Length", "Transfer-Encoding", "Trailer", "Te", "Expect", "Upgrade", "Http2-Settings",
			"Pragma": // net/http treats these headers specially
			return false
		}
		if _, twice := s.fields[name]; twice {
			return false
		}
		s.values[used] = value
		s.fields[name] = s.values[used : used+1 : used+1]
	}
	if rest != "" || s.req.Host == "" { // another request follows
		return false
	}
	s.req.RequestURI, s.req.Header, s.url.Path = target, s.fields, target
	return true
}

// isItemPath reports whether a path is /dbs/{id}/colls/{id}/docs/{id} with ids that consist of common
// characters and valid percent escapes.
func isItemPath(path string) bool {
	rest, ok := strings.CutPrefix(path, "/dbs/")
	database, rest, found := strings.Cut(rest, "/")
	rest, colls := strings.CutPrefix(rest, "colls/")
	container, rest, more := strings.Cut(rest, "/")
	id, docs := strings.CutPrefix(rest, "docs/")
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
