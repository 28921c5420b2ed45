package value

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Owner is the container of an item.
type Owner interface {
	Identity() *view.Identity
	Present() *view.State // the state of the container at this moment
}

// Item is one version of a stored document.
type Item struct {
	of   Owner
	rid  uint64
	head layout.Header
	body []byte
	id   string // empty until asked for where it came from a scan
}

// NewItem returns an item of a container. The body is kept, not copied; an empty id is read from it.
func NewItem(of Owner, rid uint64, head layout.Header, body []byte, id string) Item {
	return Item{of: of, rid: rid, head: head, body: body, id: id}
}

// IsZero reports whether there is no item.
func (it Item) IsZero() bool { return it.of == nil }

// WithoutBody is the item without its document.
func (it Item) WithoutBody() Item {
	it.body = nil
	return it
}

// Stored is the item as it lies in the store, without its partition key.
func Stored(it Item) view.Item {
	return view.Item{RID: it.rid, Head: it.head, Body: it.body, ID: it.id}
}

// ID is the document's id.
func (it Item) ID() string {
	if it.id != "" {
		return it.id
	}
	return jsondoc.Get(it.body, layout.IDPath).Str()
}

// RID is the resource id. It stays the same through every replace.
func (it Item) RID() string { return it.of.Identity().RID(it.rid) }

// ETag names this version, with its literal quotes.
func (it Item) ETag() string { return it.of.Identity().ETag(&it.head) }

// Timestamp is the second of the write, since 1970: _ts.
func (it Item) Timestamp() int64 { return it.head.Life.TS }

// LSN is the log sequence number of the write's transaction in its partition range. (That of a transaction of
// more than 256 writes counts on inside of it; the change feed reports the last of them.)
func (it Item) LSN() uint64 { return it.head.Sequence.LSN() }

// Body is the document as compact JSON, without system properties. It must not be changed.
func (it Item) Body() []byte { return it.body }

// Plain reports whether the item was written with WriteOptions.ExcludeSystemProperties.
func (it Item) Plain() bool { return it.head.Plain }

// AppendJSON appends the document with its system properties.
func (it Item) AppendJSON(dst []byte) []byte {
	sys := it.of.Identity().System(it.rid, &it.head)
	return sys.Append(dst, it.body)
}

// AppendChanged is AppendJSON with the system property _lsn, as change feeds show it.
func (it Item) AppendChanged(dst []byte, lsn uint64) []byte {
	sys := it.of.Identity().System(it.rid, &it.head)
	sys.LSN = lsn
	return sys.Append(dst, it.body)
}

// Expiry reports when the item expires if nothing changes, and what decides that, at the present moment.
func (it Item) Expiry() inspect.Expiry {
	return inspect.ExplainLife(it.of.Present(), &it.head, it.body)
}
