package jsondoc

import (
	"slices"
	"strconv"
)

// IsSystem reports whether name is a system property, which the server provides at the top level of a
// document and which Parse therefore drops there. Other names that begin with _ belong to the client.
func IsSystem(name string) bool {
	switch name {
	case "_rid", "_self", "_etag", "_ts", "_attachments", "_lsn":
		return true
	}
	return false
}

// SystemProperties holds the properties that the server adds to a document when it returns the document.
// Parse drops these properties.
type SystemProperties struct {
	RID  string
	Self string
	ETag string // as in the header, including its quotes: "0000d826-0000-…"
	TS   int64  // time of the last write, in seconds since 1970 UTC
	LSN  uint64 // written as _lsn if it is not 0, as Cosmos DB does in change feeds only
}

// systemText is at least the length of the system properties without the values that are strings.
const systemText = 160

// Append appends body, the Body of a ParsedDocument, with the system properties after its own properties, in
// the order of Cosmos DB.
func (s SystemProperties) Append(dst, body []byte) []byte {
	return AppendSystem(dst, body, s.RID, s.Self, s.ETag, s.TS, s.LSN)
}

// AppendSystem appends a document, the JSON object body, to which it adds the system properties _rid, _self,
// _etag, _attachments and _ts, and _lsn if lsn is not 0. etag includes its quotes; ts is in seconds since
// 1970 UTC.
func AppendSystem[S string | []byte](dst, body []byte, rid, self, etag S, ts int64, lsn uint64) []byte {
	dst = slices.Grow(dst, len(body)+len(rid)+len(self)+len(etag)+systemText)
	if len(body) <= len("{}") {
		dst = append(dst, '{')
	} else {
		dst = append(dst, body[:len(body)-1]...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"_rid":`...)
	dst = AppendString(dst, rid)
	dst = append(dst, `,"_self":`...)
	dst = AppendString(dst, self)
	dst = append(dst, `,"_etag":`...)
	dst = AppendString(dst, etag)
	dst = append(dst, `,"_attachments":"attachments/","_ts":`...)
	dst = strconv.AppendInt(dst, ts, 10)
	if lsn > 0 {
		dst = append(dst, `,"_lsn":`...)
		dst = strconv.AppendUint(dst, lsn, 10)
	}
	return append(dst, '}')
}
