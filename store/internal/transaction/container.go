package transaction

import (
	"context"
	"time"

	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/scan"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// ImmutableContainerProperties has those properties of a container that never change, as the transactions on
// its items need them: how keys are built, its identity, and its options. The properties that change are in a
// container.State.
type ImmutableContainerProperties struct {
	Keys     view.ItemKeyBuilder
	Identity view.ContainerIdentity
	Items    value.ContainerStateProvider // of the items in results
	Host     StoreCallbacks

	PreviousImage bool // the feed of all versions has the version before an expiry
	Lenient       bool // queries and conditions may use more than Cosmos DB's language
}

// StoreCallbacks has the methods of the store that a transaction calls for its container.
type StoreCallbacks interface {
	// Note records that an event of kind k is stored with second t, so that the container's clock never goes
	// behind it.
	Note(k container.ClockLimitingEventKind, t int64)
	// Refused is called for a document that is refused because of its ttl. token is the value of the ttl.
	Refused(id string, body, token []byte)
	// Evaluate fails with CodePreconditionFailed if a condition does not hold for an item. It returns the
	// duration of the evaluation.
	Evaluate(ctx context.Context, condition *query.PatchCondition, on *scan.StoredDocument,
		now int64) (time.Duration,
		error)
	// Purge moves an expired item to the expiry sink, in a transaction of its own.
	Purge(ctx context.Context, s *container.Partition, rid uint64) error
}

// BlockingExpiredItem is an expired item that must be moved to an expiry sink before a transaction can
// continue. The transaction cannot move it itself, because it cannot write where the sink stores it.
type BlockingExpiredItem struct {
	host StoreCallbacks
	s    *container.Partition
	rid  uint64
}

// Clear moves the expired item to the expiry sink.
func (b *BlockingExpiredItem) Clear(ctx context.Context) error { return b.host.Purge(ctx, b.s, b.rid) }

// Decode decodes the stored value of the item with this rid: its header and its body.
func (c *ImmutableContainerProperties) Decode(rid uint64, value []byte) (*StoredItem, error) {
	item, err := c.Keys.Decode(rid, value)
	if err != nil {
		return nil, err
	}
	return &StoredItem{DecodedItem: item}, nil
}

// Item returns a stored item in the form for responses.
func (c *ImmutableContainerProperties) Item(of *StoredItem) value.Item {
	return value.NewItem(c.Items, of.RID, of.Head, of.Body, of.ID)
}

// QueryInfo returns the properties of the container, in a state, on which the plan of a query depends.
func (c *ImmutableContainerProperties) QueryInfo(st *container.State) query.ContainerInfo {
	info := query.ContainerInfo{
		Index: st.Terms, PartitionPaths: c.Keys.Def.ParsedPaths(), Lenient: c.Lenient,
		Geometry: st.Spec.Geospatial == definition.Geometry, Superset: c.Lenient,
	}
	for _, p := range st.Spec.ComputedProperties {
		info.Computed = append(info.Computed, query.ComputedProperty{Name: p.Name, Query: p.Query})
	}
	if st.Spec.VectorEmbedding != nil {
		info.Vectors = make(map[string]string)
		for _, e := range st.Spec.VectorEmbedding.Embeddings {
			info.Vectors[e.Path] = e.DistanceFunction
		}
	}
	return info
}

// EncodedItemKey is the key of an item, with the encodings from which its storage keys are built.
type EncodedItemKey struct {
	ID    string
	EPK   []byte
	PK    []byte // ordered encoding of the full partition key
	Point []byte // its point key

	Others [][]byte // point keys of items that the same transaction looks up
}

// Locate returns the location of an item. pk is its full partition key.
func (c *ImmutableContainerProperties) Locate(pk definition.PartitionKey, id string) EncodedItemKey {
	buf := make([]byte, 0, 192+2*len(id))
	buf = definition.AppendEPK(buf, &c.Keys.Def, pk)
	e := len(buf)
	buf = pk.AppendOrdered(buf)
	p := len(buf)
	buf = layout.AppendPointKey(buf, c.Keys.CID, buf[:e], buf[e:p], id)
	return EncodedItemKey{ID: id, EPK: buf[:e:e], PK: buf[e:p:p], Point: buf[p:]}
}
