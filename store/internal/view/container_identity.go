package view

import (
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// ContainerIdentity is the part of the system properties that is common to all items of a container. It never
// changes.
type ContainerIdentity struct {
	Database uint32 // the number of the container's database
	CID      uint32
	// Incarnation makes the etags of the container differ from those of all other containers, also in other
	// stores.
	Incarnation uint32
}

// AppendSelf appends the _self link of the container, which consists of rids and ends with a slash.
func (id *ContainerIdentity) AppendSelf(dst []byte) []byte {
	dst = layout.AppendRID(append(dst, "dbs/"...), layout.DatabaseRIDBytes(id.Database))
	dst = layout.AppendRID(append(dst, "/colls/"...), layout.ContainerRIDBytes(id.Database, id.CID))
	return append(dst, '/')
}

// RID returns the resource id of an item.
func (id *ContainerIdentity) RID(rid uint64) string {
	return layout.RIDText(layout.ChildRIDBytes(id.Database, id.CID, rid))
}

// ETag returns the etag of a version of an item, with its literal quotes.
func (id *ContainerIdentity) ETag(h *layout.ItemHeader) string {
	return layout.ETagText(id.Incarnation, h.Range, uint64(h.Sequence))
}

// System returns the system properties of an item. RID, Self and ETag are slices of one string, which
// saves allocations: System is called for every item that is sent.
func (id *ContainerIdentity) System(rid uint64, h *layout.ItemHeader) jsondoc.SystemProperties {
	var buf [128]byte
	b, from, end := id.appendSystem(buf[:0], rid, h)
	text := string(b)
	return jsondoc.SystemProperties{RID: text[from:end], Self: text[:end+1], ETag: text[end+1:],
		TS: h.Life.TS}
}

// AppendItem appends the text of an item with its system properties.
func (id *ContainerIdentity) AppendItem(dst, body []byte, rid uint64, h *layout.ItemHeader) []byte {
	var buf [128]byte
	b, from, end := id.appendSystem(buf[:0], rid, h)
	return jsondoc.AppendSystem(dst, body, b[from:end], b[:end+1], b[end+1:], h.Life.TS, 0)
}

// appendSystem appends the _self link of an item and then its _etag to dst. b[from:end] is the item's _rid,
// which is a part of the link.
func (id *ContainerIdentity) appendSystem(dst []byte, rid uint64, h *layout.ItemHeader) (b []byte, from,
	end int) {
	b = append(id.AppendSelf(dst), "docs/"...)
	from = len(b)
	b = layout.AppendRID(b, layout.ChildRIDBytes(id.Database, id.CID, rid))
	end = len(b)
	b = append(b, '/')
	etag := layout.ETagBytes(id.Incarnation, h.Range, uint64(h.Sequence))
	return append(b, etag[:]...), from, end
}
