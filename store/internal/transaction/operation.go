package transaction

import (
	"bytes"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// PreparedOperation is an operation that has passed every check which does not depend on stored data. It
// belongs to one caller. A repeated transaction applies it again.
type PreparedOperation struct {
	Kind value.ItemOperationKind
	EncodedItemKey
	options value.WriteOptions
	given   StoredItem // the item to write, as Prepare has built it
	Item    StoredItem // the item that is written: a copy of given, or the result of the patch, in each run
	renamed []byte     // point key of the new id, if a replace changes the id; else nil
	refused error      // why a replace's document was refused; Apply returns it if the item exists
	Patch   *PreparedPatch
}

// PointAfter returns the point key of the item after the operation, which differs from Point if a replace
// changes the id. A point key is the key that a point read looks up first.
func (p *PreparedOperation) PointAfter() []byte {
	if p.renamed != nil {
		return p.renamed
	}
	return p.Point
}

// Prepare checks an operation. pk is the partition key of operations that have none of their own.
func (c *ImmutableContainerProperties) Prepare(st *container.State, now int64, pk definition.PartitionKey,
	op value.ItemOperation) (*PreparedOperation, error) {
	if !op.Partition.IsZero() {
		pk = op.Partition
	}
	if op.Err != nil {
		return nil, classify.ToFault(op.Err)
	}
	var p *PreparedOperation
	var err error
	switch op.Kind {
	case value.OperationCreate, value.OperationUpsert:
		p, err = c.Draft(st, now, pk, op.Body)
	case value.OperationReplace:
		p, err = c.replacement(st, now, pk, op)
	case value.OperationRead, value.OperationDelete, value.OperationPatch:
		p, err = c.Address(st, pk, op)
	default:
		err = fault.New(fault.CodeBadRequest, "There is no such operation.")
	}
	if err != nil {
		return nil, err
	}
	p.Kind, p.options, p.given = op.Kind, op.WriteOptions, p.Item
	if op.Import == nil {
		return p, nil
	}
	if op.Kind != value.OperationCreate && op.Kind != value.OperationUpsert {
		return nil, fault.New(fault.CodeBadRequest,
			"A document can be imported by a create or an upsert alone.")
	}
	return p, op.Import.Check()
}

// Address prepares an operation that names its item by id: it computes the item's location.
func (c *ImmutableContainerProperties) Address(st *container.State, pk definition.PartitionKey,
	op value.ItemOperation) (*PreparedOperation, error) {
	pk, err := c.Keys.Def.FullKey(pk, op.ID)
	if err != nil {
		return nil, err
	}
	if op.ID == "" {
		return nil, ItemNotFound()
	}
	p := &PreparedOperation{EncodedItemKey: c.Locate(pk, op.ID)}
	if op.Kind != value.OperationPatch {
		return p, nil
	}
	if op.Patch == nil {
		return nil, fault.New(fault.CodeBadRequest, "A patch must have operations.")
	}
	p.Patch, err = c.preparePatch(st, pk, *op.Patch)
	return p, err
}

// replacement prepares a replace of the item op.ID. The document may give the item another id, but not
// another partition key. If the document is invalid, the error is kept for Tx.Apply, since the error for a
// missing item takes precedence. If there is no valid partition key, the item cannot be looked up, and
// replacement returns the error itself.
func (c *ImmutableContainerProperties) replacement(st *container.State, now int64, pk definition.PartitionKey,
	op value.ItemOperation) (*PreparedOperation, error) {
	if op.ID == "" {
		return nil, ItemNotFound()
	}
	pk = c.Keys.Def.KeyOfReplace(pk, op.ID)
	p, err := c.Draft(st, now, pk, op.Body)
	if err != nil {
		key, unknown := c.Keys.Def.FullKey(pk, op.ID)
		if unknown != nil {
			return nil, err
		}
		return &PreparedOperation{EncodedItemKey: c.Locate(key, op.ID), refused: err}, nil
	}
	if p.ID == op.ID {
		return p, nil
	}
	p.renamed = p.Point
	p.ID, p.Point = op.ID, layout.AppendPointKey(nil, c.Keys.CID, p.EPK, p.PK, op.ID)
	return p, nil
}

// Draft parses and checks a document that is to be written, and builds the item that will be stored.
func (c *ImmutableContainerProperties) Draft(st *container.State, now int64, given definition.PartitionKey,
	body []byte) (*PreparedOperation, error) {
	parsed, err := jsondoc.Parse(body, jsondoc.Limits{})
	if err != nil {
		return nil, definition.DocumentError(err)
	}
	id, err := definition.ValidateItemID(parsed.ID)
	if err != nil {
		return nil, err
	}
	own := ttl.Absent
	if parsed.TTL != nil {
		if own, err = ttl.ParseItem(parsed.TTL); err != nil {
			c.Host.Refused(id, parsed.Body, parsed.TTL)
			return nil, &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
		}
	}
	pk, err := c.Keys.Def.KeyOf(given, parsed.Body)
	if err != nil {
		return nil, err
	}
	p := &PreparedOperation{EncodedItemKey: c.Locate(pk, id)}
	p.Item = StoredItem{
		DecodedItem: view.DecodedItem{
			Head: layout.ItemHeader{EPK: p.EPK, Life: ttl.Lifetime{Own: own}},
			Body: parsed.Body,
			ID:   id,
			PK:   p.PK,
		},
		terms: makeTerms(st.Terms, now, st.RangeOf(p.EPK), parsed.Body),
	}
	return p, nil
}

// Apply carries out a prepared operation. It sees the earlier writes of its transaction. An operation that
// fails has no visible effect, so that other operations of the transaction may continue, unless the failure
// is fatal.
func (t *Tx) Apply(p *PreparedOperation) value.ItemOperationResult {
	var old *StoredItem
	var err error
	terms := t.terms
	p.Item = p.given // an earlier run of the transaction may have changed Item
	p.Item.Head.Plain = p.options.ExcludeSystemProperties
	if err := t.date(p); err != nil {
		return value.Failed(err)
	}
	switch p.Kind {
	case value.OperationCreate:
		err = t.Create(p.Point, &p.Item)
	case value.OperationUpsert:
		old, err = t.upsert(p)
	case value.OperationReplace:
		if old, err = t.target(p); err == nil {
			err = t.rename(p, old)
		}
	case value.OperationPatch:
		old, err = t.patch(p)
	case value.OperationRead:
		return t.read(p)
	default:
		return t.erase(p)
	}
	if err != nil {
		return value.Failed(err)
	}
	t.Written = append(t.Written, p)
	charge := value.ChargeVersion(len(p.Item.Body)) + value.ChargeTerms(t.terms-terms)
	if old != nil {
		charge += value.ChargeVersion(len(old.Body))
	}
	return value.ItemOperationResult{
		Item:     t.Container.Item(&p.Item),
		Inserted: p.Kind == value.OperationUpsert && old == nil,
		Charge:   value.RoundCharge(charge),
	}
}

// read returns a live item. The result stays valid after the transaction.
func (t *Tx) read(p *PreparedOperation) value.ItemOperationResult {
	found, err := t.MustFind(p.EncodedItemKey)
	if err != nil {
		return value.Failed(err)
	}
	head := found.Head
	head.EPK = p.EPK
	r := value.ItemOperationResult{
		Item:   value.NewItem(t.Container.Items, found.RID, head, bytes.Clone(found.Body), p.ID),
		Charge: value.ChargeRead(len(found.Body)),
	}
	r.Err = CheckIfNoneMatch(p.options.IfNoneMatch, r.Item)
	return r
}

// erase carries out a prepared deletion of a live item.
func (t *Tx) erase(p *PreparedOperation) value.ItemOperationResult {
	old, err := t.target(p)
	if err != nil {
		return value.Failed(err)
	}
	t.take()
	terms := t.terms
	charge := value.ChargeVersion(len(old.Body))
	if err := t.del(old); err != nil {
		return value.Failed(err)
	}
	return value.ItemOperationResult{Charge: value.RoundCharge(charge + value.ChargeTerms(t.terms-terms))}
}

// rename replaces a live item by a document that may have another id. The new id must be free, as for a
// create; the old one is free afterwards. The item keeps its rid and the lease by which a client may have
// suspended its expiry.
func (t *Tx) rename(p *PreparedOperation, old *StoredItem) error {
	p.Item.Head.Renamed = p.renamed != nil
	if p.renamed != nil {
		if err := t.ensureFree(p.renamed); err != nil {
			return err
		}
	}
	return t.replace(old, &p.Item)
}

// upsert creates the item of p, or replaces the live item with the same id and partition key, which it then
// returns as old.
func (t *Tx) upsert(p *PreparedOperation) (old *StoredItem, err error) {
	found, err := t.findLive(p.Point)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, t.createFree(&p.Item)
	}
	if p.options.IfNoneMatch == "*" {
		return nil, value.PreconditionFailed()
	}
	if err := value.CheckIfMatch(p.options.IfMatch, t.Container.Identity.ETag(&found.Head)); err != nil {
		return nil, err
	}
	return found, t.replace(found, &p.Item)
}

// target returns the live item that an operation changes, and checks the operation's document and If-Match.
func (t *Tx) target(p *PreparedOperation) (*StoredItem, error) {
	old, err := t.MustFind(p.EncodedItemKey)
	if err != nil {
		return nil, err
	}
	if p.refused != nil {
		return nil, p.refused
	}
	return old, value.CheckIfMatch(p.options.IfMatch, t.Container.Identity.ETag(&old.Head))
}
