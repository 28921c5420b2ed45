package httpapi

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

// grammar lists the keywords in Cosmos DB's paths. For each it says below which kind of resource the keyword
// may follow, and which kind it denotes.
var grammar = [...]struct {
	keyword      string
	parent, kind cosmos.ResourceKind
}{
	{"dbs", cosmos.KindAccount, cosmos.KindDatabase},
	{"colls", cosmos.KindDatabase, cosmos.KindContainer},
	{"docs", cosmos.KindContainer, cosmos.KindItem},
	{"pkranges", cosmos.KindContainer, cosmos.KindRange},
	{"offers", cosmos.KindAccount, cosmos.KindOffer},
	{"operations", cosmos.KindContainer, cosmos.KindPartitionDelete},
	{"sprocs", cosmos.KindContainer, cosmos.KindSproc},
	{"triggers", cosmos.KindContainer, cosmos.KindTrigger},
	{"udfs", cosmos.KindContainer, cosmos.KindUDF},
	{"conflicts", cosmos.KindContainer, cosmos.KindConflict},
	{"attachments", cosmos.KindItem, cosmos.KindAttachment},
	{"users", cosmos.KindDatabase, cosmos.KindUser},
	{"permissions", cosmos.KindUser, cosmos.KindPermission},
	{"clientencryptionkeys", cosmos.KindDatabase, cosmos.KindEncryptionKey},
	{"addresses", cosmos.KindAccount, cosmos.KindAddresses},
	{"_mayfly", cosmos.KindAccount, cosmos.KindNone},
	{"_explorer", cosmos.KindAccount, cosmos.KindNone},
	{"debug", cosmos.KindAccount, cosmos.KindNone},
}

// targetResource is the resource that a request addresses, as parsed from the raw path.
type targetResource struct {
	cosmos.ResourceAddress
	kind cosmos.ResourceKind
	feed bool // the path ends in a keyword (/dbs/x/colls); kind is then the kind of the children

	// resourceType is the second field of the signed text: the keyword in lower case; empty for the account
	// and for cosmos.KindNone.
	resourceType string
	// labRoute is the path of a request to Mayfly's own API (cosmos.KindNone), without slashes at its ends:
	// "_mayfly/clock". Ids of a database and a container in the path, or the name of a snapshot, are moved
	// to IDs and replaced by placeholders: "_mayfly/dbs/{db}/colls/{coll}/split",
	// "_mayfly/snapshots/{name}".
	labRoute string

	rangeIDs []string // ranges whose addresses are requested

	path     string // unescaped resource link, such as "dbs/x/colls/y"; for a feed, the link of the parent
	query    string // unescaped query string; it may be a part of an item id that contains an unescaped '?'
	rawQuery string
}

// parseTarget parses a path as sent, still escaped, and its query string.
//
// A path is split before it is unescaped, so that %2F stays inside its id; '+' is a literal plus. Empty
// segments (a doubled or a trailing slash) are ignored, and keywords are case-insensitive. Segments
// alternate between keywords and ids.
func parseTarget(rawPath, rawQuery string) (targetResource, error) {
	t := targetResource{rawQuery: rawQuery}
	start := skipSlashes(rawPath, 0)
	pos, end := start, start // end is the end of the resource link
	for pos < len(rawPath) {
		keyword, after := segment(rawPath, pos)
		k, name, ok := lookup(t.kind, keyword)
		if !ok {
			return t, cosmos.NotFound("The path segment '" + keyword + "' is not known here.")
		}
		t.kind, t.resourceType, t.feed = k, name, true
		idAt := skipSlashes(rawPath, after)
		switch {
		case k == cosmos.KindAddresses:
			return t, nil
		case k == cosmos.KindNone:
			return t, t.parseLabRoute(rawPath[start:])
		case idAt == len(rawPath):
			pos = idAt
			continue
		}
		id, next := segment(rawPath, idAt)
		if k == cosmos.KindItem {
			id, next = itemID(rawPath, idAt)
		}
		pos = skipSlashes(rawPath, next)
		if k == cosmos.KindPartitionDelete {
			if !strings.EqualFold(id, "partitionkeydelete") || pos < len(rawPath) {
				return t, cosmos.NotFound("There is no operation '" + id + "'.")
			}
			t.feed, t.resourceType = false, "colls"
			break
		}
		// The self link of an offer may follow the path of the feed of offers.
		if k == cosmos.KindOffer && strings.EqualFold(id, "offers") {
			t.kind, start, pos = cosmos.KindAccount, idAt, idAt
			continue
		}
		plain, err := url.PathUnescape(id)
		if err != nil {
			return t, cosmos.BadRequest("The path holds a malformed escape.")
		}
		t.IDs[t.N], t.N, t.feed = plain, t.N+1, false
		end = next
	}
	return t, t.finish(rawPath[start:end])
}

// finish sets the resource link, and sets whether the ids are rids.
func (t *targetResource) finish(rawLink string) error {
	t.path = rawLink
	if strings.Contains(rawLink, "%") || strings.Contains(rawLink, "//") {
		t.path = unescapeLink(rawLink, t)
	}
	t.ByRID = t.N > 0 && (t.resourceType == "offers" || looksLikeDatabaseRID(t.IDs[0]))
	if t.rawQuery != "" {
		q, err := url.PathUnescape(t.rawQuery)
		if err != nil {
			return cosmos.BadRequest("The query string holds a malformed escape.")
		}
		t.query = q
	}
	return nil
}

// parseLabRoute parses a path of Mayfly's own API.
func (t *targetResource) parseLabRoute(rawPath string) error {
	rawPath = strings.TrimRight(rawPath, "/")
	plain, err := url.PathUnescape(rawPath)
	if err != nil {
		return cosmos.BadRequest("The path holds a malformed escape.")
	}
	t.labRoute, t.path = plain, plain
	t.resourceType, t.feed = "", false
	parts := strings.Split(rawPath, "/")
	id := func(at int, keyword, name string) bool { // _mayfly/keyword/id
		if len(parts) < at+2 || !strings.EqualFold(parts[at], keyword) {
			return false
		}
		t.IDs[t.N], _ = url.PathUnescape(parts[at+1]) // cannot fail, since the whole path was unescaped above
		t.N++
		parts[at], parts[at+1] = keyword, name
		return true
	}
	if id(1, "dbs", "{db}") && id(3, "colls", "{coll}") || id(1, "snapshots", "{name}") ||
		id(1, "entities", "{entity}") || t.N > 0 {
		t.labRoute = strings.Join(parts, "/")
	}
	return nil
}

// labPath returns the path of a request for Mayfly's own API as the router of that API expects it: ids are
// escaped as by url.PathEscape, and nothing else is. It returns "/" if no path of that API can be meant.
func (t *targetResource) labPath() string {
	if t.N == 0 && (strings.HasPrefix(t.labRoute, "_mayfly/dbs/") ||
		strings.HasPrefix(t.labRoute, "_mayfly/snapshots/") || strings.HasPrefix(t.labRoute,
		"_mayfly/entities/")) {
		return "/" // an escape hid a keyword or a slash: there is no such path
	}
	parts := strings.Split("/"+t.labRoute, "/")
	for level := range t.N {
		parts[2*level+3] = url.PathEscape(t.IDs[level]) // /_mayfly/keyword/id
	}
	return strings.Join(parts, "/")
}

// absorbQuery appends the query string to the last id. Cosmos DB's clients do not send query strings. If
// there is one, it is the rest of an id that contains a '?', sent by a client that escapes with JavaScript's
// encodeURI.
func (t *targetResource) absorbQuery() {
	if t.query != "" && t.kind == cosmos.KindItem && !t.feed {
		t.IDs[t.N-1] += "?" + t.query
		t.query, t.rawQuery = "", ""
	}
}

// link returns the i-th resource link that a client may have signed for this target, most likely first; ok
// is false after the last. The link is not escaped: in a link with "%20", the id contains these characters
// literally. Clients differ in trailing slashes and in the case of rids. query reports whether the link
// includes the query string as part of the id.
func (t *targetResource) link(i int) (link string, query, ok bool) {
	if t.ByRID {
		switch i {
		case 0:
			return strings.ToLower(t.Leaf()), false, true
		case 1:
			return t.Leaf(), false, true
		}
		i -= 2
	}
	switch {
	case i == 0:
		return t.path, false, true
	case i == 1:
		return t.path + "/", false, true
	case i == 2 && t.query != "":
		return t.path + "?" + t.query, true, true
	}
	return "", false, false
}

// lookup returns the kind of resource that a keyword in a path stands for below a parent, and the keyword in
// its usual case. It returns false if the parent has no such keyword.
func lookup(parent cosmos.ResourceKind, keyword string) (cosmos.ResourceKind, string, bool) {
	for i := range grammar {
		g := &grammar[i]
		if g.parent == parent && strings.EqualFold(g.keyword, keyword) {
			return g.kind, g.keyword, true
		}
	}
	return 0, "", false
}

// itemID returns the raw id of an item at pos and the position of its end. Some clients do not escape
// slashes in ids, so the whole rest of the path belongs to the id, unless it is the path of an attachment.
func itemID(rawPath string, pos int) (id string, next int) {
	id, next = segment(rawPath, pos)
	rest := skipSlashes(rawPath, next)
	if rest == len(rawPath) {
		return id, next
	}
	if word, _ := segment(rawPath, rest); strings.EqualFold(word, "attachments") {
		return id, next
	}
	id = strings.TrimRight(rawPath[pos:], "/")
	return id, pos + len(id)
}

// segment returns the text from pos to the next slash, and the position of that slash.
func segment(path string, pos int) (text string, next int) {
	if i := strings.IndexByte(path[pos:], '/'); i >= 0 {
		return path[pos : pos+i], pos + i
	}
	return path[pos:], len(path)
}

func skipSlashes(path string, pos int) int {
	for pos < len(path) && path[pos] == '/' {
		pos++
	}
	return pos
}

// unescapeLink joins the unescaped segments of a link. It takes the ids from the target, since the last id
// may contain slashes.
func unescapeLink(raw string, t *targetResource) string {
	var b strings.Builder
	b.Grow(len(raw))
	level := 0
	for pos := 0; pos < len(raw) && level < t.N; level++ {
		keyword, next := segment(raw, pos)
		b.WriteString(keyword)
		b.WriteByte('/')
		b.WriteString(t.IDs[level])
		if level < t.N-1 {
			b.WriteByte('/')
		}
		_, next = segment(raw, skipSlashes(raw, next))
		pos = skipSlashes(raw, next)
	}
	return b.String()
}

// looksLikeDatabaseRID reports whether an id has the form of a database's rid: four bytes in base64 with '-'
// in place of '/'. Clients apply the same test when they decide what to sign.
func looksLikeDatabaseRID(id string) bool {
	if len(id) != 8 || id[6:] != "==" {
		return false
	}
	var text, raw [8]byte
	for i := range len(id) {
		if text[i] = id[i]; text[i] == '-' {
			text[i] = '/'
		}
	}
	n, err := base64.StdEncoding.Decode(raw[:], text[:])
	return err == nil && n == 4
}

// requestPath returns the path and the query string exactly as sent. It does not use r.URL, since net/http
// unescapes the path, and does not keep the original if that contains a character that should have been
// escaped.
func requestPath(r *http.Request) (path, query string) {
	if strings.HasPrefix(r.RequestURI, "/") {
		path, query, _ = strings.Cut(r.RequestURI, "?")
		return path, query
	}
	return r.URL.EscapedPath(), r.URL.RawQuery
}
