package cosmos

import (
	"strconv"
	"sync"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// Bodies are made by appending: what a client wrote is passed on byte for byte, and nothing is reflected
// upon.

// buffers lends the memory that items are rendered in. It holds no state: only garbage is saved.
var buffers = sync.Pool{New: func() any { return new(buffer) }}

type buffer struct{ b []byte }

func borrow() *buffer {
	buf := buffers.Get().(*buffer)
	buf.b = buf.b[:0]
	return buf
}

// maxKept is the largest buffer that is lent again, in bytes: a few huge items shall not pin memory for good.
const maxKept = 64 << 10

func (buf *buffer) release() {
	if cap(buf.b) <= maxKept {
		buffers.Put(buf)
	}
}

// sendItem answers with an item of a container as it is now, or without the body where the client asked for
// none.
func (c *call) sendItem(coll *store.Container, status int, it store.Item, minimal bool) error {
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

// appendItem renders an item with its system properties, unless both its writer and this client want none.
func (c *call) appendItem(dst []byte, it store.Item) []byte {
	if c.in.Plain && it.Plain() {
		return append(dst, it.Body()...)
	}
	return it.AppendJSON(dst)
}

// appendSystem appends the system properties that all resources have in common. A self link ends in a slash.
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

func (c *call) appendContainer(dst []byte, i store.ContainerInfo) []byte {
	if !c.in.LegacyIndexes {
		i.Spec.Indexing = i.Spec.Indexing.WithoutLegacy()
	}
	dst = i.Spec.AppendJSON(dst)
	dst[len(dst)-1] = ',' // in place of the closing brace
	dst = appendSystem(dst, i.RID, containerSelf(i.DatabaseRID, i.RID), i.ETag, i.Timestamp)
	return append(dst, `,"_docs":"docs/","_sprocs":"sprocs/","_triggers":"triggers/","_udfs":"udfs/",`+
		`"_conflicts":"conflicts/"}`...)
}
