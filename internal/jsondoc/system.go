package jsondoc

import "strconv"

// IsSystem reports whether name is that of a property which the server provides at the top level of a
// document, and which Parse therefore drops there. Other names that begin with _ are the client's own.
func IsSystem(name string) bool {
	switch name {
	case "_rid", "_self", "_etag", "_ts", "_attachments", "_lsn":
		return true
	}
	return false
}

// System is what the server adds to a document when it is rendered: the properties that Parse drops.
type System struct {
	RID  string
	Self string
	ETag string // as in the header, with the quotes that are part of it: "0000d826-0000-…"
	TS   int64  // time of the last write, in seconds since 1970 UTC
	LSN  uint64 // rendered as _lsn where it is not 0, which Cosmos DB does in change feeds only
}

// Append appends body, the Body of a Parsed, with the system properties behind its own, in the service's
// order.
func (s System) Append(dst, body []byte) []byte {
	if len(body) <= len("{}") {
		dst = append(dst, '{')
	} else {
		dst = append(dst, body[:len(body)-1]...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"_rid":`...)
	dst = AppendString(dst, s.RID)
	dst = append(dst, `,"_self":`...)
	dst = AppendString(dst, s.Self)
	dst = append(dst, `,"_etag":`...)
	dst = AppendString(dst, s.ETag)
	dst = append(dst, `,"_attachments":"attachments/","_ts":`...)
	dst = strconv.AppendInt(dst, s.TS, 10)
	if s.LSN > 0 {
		dst = append(dst, `,"_lsn":`...)
		dst = strconv.AppendUint(dst, s.LSN, 10)
	}
	return append(dst, '}')
}
