package cosmos

import (
	"strconv"
	"sync"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// Bodies are made by appending text. Text that a client has written is copied byte for byte, without
// decoding it.

// buffers is the pool of buffers in which responses are made.
var buffers = sync.Pool{New: func() any { return new(bodyBuffer) }}

// bodyBuffer is a pooled buffer in which a body is made.
type bodyBuffer struct{ b []byte }

func borrow() *bodyBuffer {
	buf := buffers.Get().(*bodyBuffer)
	buf.b = buf.b[:0]
	return buf
}

// maxKept is the maximum capacity, in bytes, of a buffer that is returned to the pool, so that a few huge
// items do not occupy memory.
const maxKept = 64 << 10

func (buf *bodyBuffer) release() {
	if cap(buf.b) <= maxKept {
		buffers.Put(buf)
	}
}

// sendItem responds with an item of a container, or without a body if minimal is set.
func (c *activeOperation) sendItem(coll *store.Container, status int, it store.Item, minimal bool) error {
	c.setItemQuota(coll)
	c.out.setETag(it.ETag())
	if c.in.ExplainTTL {
		e := it.Expiry()
		c.out.Expiry = &e
	}
	if minimal {
		return c.noContent(status)
	}
	buf := borrow()
	if c.reply != nil {
		buf.b = append(buf.b, c.reply...)
	} else {
		buf.b = c.appendItem(buf.b, it)
	}
	return c.sendFormat(status, buf)
}

// appendItem appends an item with its system properties. They are omitted if the client that wrote the item
// and the client of this request have both asked for that.
func (c *activeOperation) appendItem(dst []byte, it store.Item) []byte {
	if c.in.Plain && it.Plain() {
		return append(dst, it.Body()...)
	}
	return it.AppendJSON(dst)
}

// appendSystem appends the system properties that all resources have. Self links end with a slash.
func appendSystem(dst []byte, rid, self, etag string, ts int64) []byte {
	dst = jsondoc.AppendString(append(dst, `"_rid":`...), rid)
	dst = jsondoc.AppendString(append(dst, `,"_self":`...), self)
	dst = jsondoc.AppendString(append(dst, `,"_etag":`...), etag)
	return strconv.AppendInt(append(dst, `,"_ts":`...), ts, 10)
}

func databaseSelf(rid string) string { return "dbs/" + rid + "/" }

func containerSelf(databaseRID, rid string) string {
	return databaseSelf(databaseRID) + "colls/" + rid + "/"
}

func appendDatabase(dst []byte, d *store.Database) []byte {
	dst = jsondoc.AppendString(append(dst, `{"id":`...), d.ID())
	dst = appendSystem(append(dst, ','), d.RID(), databaseSelf(d.RID()), d.ETag(), d.Timestamp())
	return append(dst, `,"_colls":"colls/","_users":"users/"}`...)
}

func (c *activeOperation) appendContainer(dst []byte, i store.ContainerInfo) []byte {
	if !c.in.LegacyIndexes {
		i.Spec.Indexing = i.Spec.Indexing.WithoutLegacy()
	}
	dst = i.Spec.AppendJSON(dst)
	dst[len(dst)-1] = ',' // replaces the closing brace
	dst = appendSystem(dst, i.RID, containerSelf(i.DatabaseRID, i.RID), i.ETag, i.Timestamp)
	return append(dst, `,"_docs":"docs/","_sprocs":"sprocs/","_triggers":"triggers/","_udfs":"udfs/",`+
		`"_conflicts":"conflicts/"}`...)
}
