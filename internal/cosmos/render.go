package cosmos

import (
	"slices"
	"strconv"
	"sync"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
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

// Buffers of more than smallBuffer bytes have one of few capacities: smallBuffer doubled several times, and
// room for the text around the rows of a full page. Each capacity has a pool of its own, so that a small
// response does not occupy a large buffer. A page of several megabytes in a new buffer would start the
// garbage collector, which stops all goroutines for a moment. A buffer that nobody uses is freed by the
// garbage collector like other memory.
const (
	smallBuffer  = 64 << 10 // bytes; the maximum capacity of a buffer in the pool buffers
	bufferRoom   = 64 << 10 // bytes
	bufferSizes  = 7
	largestBytes = smallBuffer<<bufferSizes + bufferRoom // larger buffers are not kept
)

// largeBuffers are pools of buffers, one pool for each capacity: smallBuffer doubled once, twice and so on,
// plus bufferRoom.
var largeBuffers [bufferSizes]sync.Pool

// largeClass returns the size class of a large buffer for n bytes: the index in largeBuffers of the pool with
// the smallest buffers that are large enough, and the capacity of these buffers in bytes.
func largeClass(n int) (class, capacity int) {
	for capacity = smallBuffer<<1 + bufferRoom; capacity < n; capacity = smallBuffer<<(class+1) + bufferRoom {
		class++
	}
	return class, capacity
}

// grow makes room for n more bytes. A buffer that becomes large is replaced by one of a pool.
func (buf *bodyBuffer) grow(n int) {
	n += len(buf.b)
	switch {
	case n <= cap(buf.b):
	case n <= smallBuffer || n > largestBytes:
		buf.b = slices.Grow(buf.b, n-len(buf.b))
	default:
		class, capacity := largeClass(n)
		next, _ := largeBuffers[class].Get().(*bodyBuffer)
		if next == nil {
			next = &bodyBuffer{make([]byte, 0, capacity)}
		}
		buf.b, next.b = append(next.b[:0], buf.b...), buf.b
		next.release()
	}
}

// release returns the buffer to its pool. The caller must not use it any more.
func (buf *bodyBuffer) release() {
	if cap(buf.b) <= smallBuffer {
		buffers.Put(buf)
		return
	}
	if class, capacity := largeClass(cap(buf.b)); cap(buf.b) == capacity && class < bufferSizes {
		largeBuffers[class].Put(buf)
	}
}

// sendItem responds with an item of a container, or without a body if minimal is set.
func (c *requestInProgress) sendItem(coll *store.Container, status int, it store.Item, minimal bool) error {
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
func (c *requestInProgress) appendItem(dst []byte, it store.Item) []byte {
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

func (c *requestInProgress) appendContainer(dst []byte, i store.ContainerInfo) []byte {
	if !c.in.LegacyIndexes {
		i.Spec.Indexing = i.Spec.Indexing.WithoutLegacy()
	}
	if c.in.BeforeSystemKey && i.Spec.PartitionKey.SystemKey {
		i.Spec.PartitionKey = definition.PartitionKeyDefinition{}
	}
	dst = i.Spec.AppendJSON(dst)
	dst[len(dst)-1] = ',' // replaces the closing brace
	dst = appendSystem(dst, i.RID, containerSelf(i.DatabaseRID, i.RID), i.ETag, i.Timestamp)
	return append(dst, `,"_docs":"docs/","_sprocs":"sprocs/","_triggers":"triggers/","_udfs":"udfs/",`+
		`"_conflicts":"conflicts/"}`...)
}
