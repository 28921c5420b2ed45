package value

import (
	"bytes"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// ContainerStateProvider gives an item the properties of its container: the identity, which never changes,
// and the current state.
type ContainerStateProvider interface {
	Identity() *view.ContainerIdentity
	Present() *view.ContainerAtTime // the state of the container at this moment
}

// Item is one version of a stored document.
type Item struct {
	of   ContainerStateProvider
	rid  uint64
	head layout.ItemHeader
	body []byte
	id   string // empty for an item from a scan: ID then reads it from the body
}

// NewItem returns an item of a container. It keeps body without copying it. If id is empty, ID reads it
// from the body.
func NewItem(of ContainerStateProvider, rid uint64, head layout.ItemHeader, body []byte, id string) Item {
	return Item{of: of, rid: rid, head: head, body: body, id: id}
}

// IsZero reports whether the item is the zero Item.
func (it Item) IsZero() bool { return it.of == nil }

// Clone returns a copy of the item that shares no memory with the original.
func (it Item) Clone() Item {
	it.head.EPK, it.body = bytes.Clone(it.head.EPK), bytes.Clone(it.body)
	return it
}

// WithoutBody returns the item without its document.
func (it Item) WithoutBody() Item {
	it.body = nil
	return it
}

// Stored returns the stored form of the item, without its partition key.
func Stored(it Item) view.DecodedItem {
	return view.DecodedItem{RID: it.rid, Head: it.head, Body: it.body, ID: it.id}
}

// ID returns the document's id.
func (it Item) ID() string {
	if it.id != "" {
		return it.id
	}
	return jsondoc.Get(it.body, layout.IDPath).Str()
}

// RID returns the resource id. A replace does not change it.
func (it Item) RID() string { return it.of.Identity().RID(it.rid) }

// ETag returns the etag of this version, with its literal quotes.
func (it Item) ETag() string { return it.of.Identity().ETag(&it.head) }

// Timestamp returns the second of the write since 1970: the _ts.
func (it Item) Timestamp() int64 { return it.head.Life.TS }

// LSN returns the log sequence number of the write's transaction in its partition range. A transaction of
// more than 256 writes uses several LSNs; the change feed reports the last of them.
func (it Item) LSN() uint64 { return it.head.Sequence.LSN() }

// Body returns the document as compact JSON, without system properties. It must not be modified.
func (it Item) Body() []byte { return it.body }

// Plain reports whether the item was written with WriteOptions.ExcludeSystemProperties.
func (it Item) Plain() bool { return it.head.Plain }

// AppendJSON appends the document with its system properties.
func (it Item) AppendJSON(dst []byte) []byte {
	sys := it.of.Identity().System(it.rid, &it.head)
	return sys.Append(dst, it.body)
}

// AppendChanged appends the document with its system properties and with _lsn, as in change feeds.
func (it Item) AppendChanged(dst []byte, lsn uint64) []byte {
	sys := it.of.Identity().System(it.rid, &it.head)
	sys.LSN = lsn
	return sys.Append(dst, it.body)
}

// Expiry reports when the item expires if nothing changes, and which setting decides that, as of now.
func (it Item) Expiry() inspect.ItemExpiryExplanation {
	return inspect.ExplainLife(it.of.Present(), &it.head, it.body)
}
