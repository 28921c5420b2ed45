package value

import (
	"strconv"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/view"
)

const (
	// archiveBytes and archiveDepth are added to the limits of a document (its size in bytes and its
	// nesting depth) for each time that it is moved to an archive, because the archive wraps it.
	archiveBytes = 16 << 10
	archiveDepth = 2
)

// StoredLimits are the limits of a stored document, which include what archiving adds.
var StoredLimits = jsondoc.Limits{MaxBytes: jsondoc.DefaultMaxBytes + definition.MaxMoves*archiveBytes,
	MaxDepth: jsondoc.DefaultMaxDepth + definition.MaxMoves*archiveDepth}

// ArchiveID returns the n-th id to try for the archived document of an expired item: for n = 0 the item's
// own id, then the id with a suffix made of the item's LSN and n, for the case that the archive already
// has a document with the id tried before.
func ArchiveID(ghost *view.DecodedItem, n int) string {
	if n == 0 {
		return ghost.ID
	}
	suffix := "~" + strconv.FormatUint(ghost.Head.Sequence.LSN(), 10)
	if n > 1 {
		suffix += "~" + strconv.Itoa(n)
	}
	end := min(len(ghost.ID), definition.MaxItemIDBytes-len(suffix))
	for end > 0 && end < len(ghost.ID) && !utf8.RuneStart(ghost.ID[end]) {
		end--
	}
	return ghost.ID[:end] + suffix
}

// ItemBeingArchived is an expired item that is being moved to an archive container, with its origin.
type ItemBeingArchived struct {
	*view.DecodedItem
	Identity  *view.ContainerIdentity // of the container in which it has expired
	Container string                  // id of the container in which it has expired
	ExpiredAt int64                   // seconds since 1970
}

// ArchiveBody returns the archive document of an expired item. If wrapped is true, the whole original
// document becomes one property.
func ArchiveBody(from ItemBeingArchived, id string, wrapped bool) []byte {
	ghost := from.DecodedItem
	b := make([]byte, 0, len(ghost.Body)+len(id)+1024)
	b = jsondoc.AppendString(append(b, `{"id":`...), id)
	var own, previous jsondoc.Value
	jsondoc.Of(ghost.Body).Each(func(name string, v jsondoc.Value) bool {
		switch name {
		case "id":
		case "ttl":
			own = v
		case ArchiveMember:
			previous = v
		default:
			if !wrapped {
				b = append(jsondoc.AppendString(append(b, ','), name), ':')
				b = append(b, v.Raw()...)
			}
		}
		return true
	})
	text := func(name, value string) {
		b = jsondoc.AppendString(append(append(append(b, `,"`...), name...), `":`...), value)
	}
	b = append(b, `,"_mayfly":{"deadLetterReason":"TTLExpiredException"`...)
	text("deadLetterErrorDescription", "The document expired and was moved here.")
	text("source", from.Container)
	b = strconv.AppendInt(append(b, `,"expiredAt":`...), from.ExpiredAt, 10)
	text("id", ghost.ID)
	text("_rid", from.Identity.RID(ghost.RID))
	text("_etag", from.Identity.ETag(&ghost.Head))
	b = strconv.AppendInt(append(b, `,"_ts":`...), ghost.Head.Life.TS, 10)
	for _, more := range []struct {
		name  string
		value []byte
		here  bool
	}{
		{"ttl", own.Raw(), own.Kind() != jsondoc.Undefined},
		{"previous", previous.Raw(), previous.Kind() != jsondoc.Undefined && !wrapped},
		{"document", ghost.Body, wrapped},
	} {
		if more.here {
			b = append(append(append(b, `,"`...), more.name...), `":`...)
			b = append(b, more.value...)
		}
	}
	return append(b, "}}"...)
}
