package store

import (
	"bytes"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// An item operation has two halves. prepare does everything that does not depend on stored data: it parses,
// validates, hashes the partition key and makes index entries, before any lock is taken. apply does the
// rest inside a transaction. Every write, alone, in a batch, in bulk or in a script, uses these two, so
// that no rule is implemented twice.

// prepared is an operation that has passed every check which does not depend on stored data. It belongs to
// one caller. A repeated transaction applies it again.
type prepared struct {
	kind OperationKind
	itemLocation
	options WriteOptions
	given   stored // what is to be written, as prepare made it
	item    stored // what is written: copied from given, or made by a patch, each time it is applied
	renamed []byte // point key of the new id, if a replace changes the id; else nil
	refused error  // why a replace's document was refused; apply returns it if the item exists
	patch   *preparedPatch
}

// prepare checks an operation. pk is the partition key of operations that have none of their own.
func (c *Container) prepare(pk definition.PartitionKey, op Operation) (*prepared, error) {
	if !op.Partition.IsZero() {
		pk = op.Partition
	}
	if op.Err != nil {
		return nil, classify.ToFault(op.Err)
	}
	var p *prepared
	var err error
	switch op.Kind {
	case OperationCreate, OperationUpsert:
		p, err = c.draft(pk, op.Body)
	case OperationReplace:
		p, err = c.replacement(pk, op)
	case OperationRead, OperationDelete, OperationPatch:
		p, err = c.address(pk, op)
	default:
		err = fault.New(fault.CodeBadRequest, "There is no such operation.")
	}
	if err != nil {
		return nil, err
	}
	p.kind, p.options, p.given = op.Kind, op.WriteOptions, p.item
	if op.Import == nil {
		return p, nil
	}
	if op.Kind != OperationCreate && op.Kind != OperationUpsert {
		return nil, fault.New(fault.CodeBadRequest,
			"A document can be imported by a create or an upsert alone.")
	}
	return p, op.Import.Check()
}

// address prepares an operation that names its item by id.
func (c *Container) address(pk definition.PartitionKey, op Operation) (*prepared, error) {
	pk, err := c.def.FullKey(pk, op.ID)
	if err != nil {
		return nil, err
	}
	if op.ID == "" {
		return nil, itemNotFound()
	}
	p := &prepared{itemLocation: c.locate(pk, op.ID)}
	if op.Kind != OperationPatch {
		return p, nil
	}
	if op.Patch == nil {
		return nil, fault.New(fault.CodeBadRequest, "A patch must have operations.")
	}
	p.patch, err = c.preparePatch(pk, *op.Patch)
	return p, err
}

// replacement prepares a replace. Its document may give the item another id, but not another partition. A
// refused document is reported by apply, since an absent item must be reported first. Without a valid
// partition key the item cannot be looked up, so replacement reports the refused document itself.
func (c *Container) replacement(pk definition.PartitionKey, op Operation) (*prepared, error) {
	if op.ID == "" {
		return nil, itemNotFound()
	}
	pk = c.def.KeyOfReplace(pk, op.ID)
	p, err := c.draft(pk, op.Body)
	if err != nil {
		key, unknown := c.def.FullKey(pk, op.ID)
		if unknown != nil {
			return nil, err
		}
		return &prepared{itemLocation: c.locate(key, op.ID), refused: err}, nil
	}
	if p.ID == op.ID {
		return p, nil
	}
	p.renamed = p.Point
	p.ID, p.Point = op.ID, layout.AppendPointKey(nil, c.cid, p.EPK, p.PK, op.ID)
	return p, nil
}

// draft parses and checks a document that is to be written.
func (c *Container) draft(given definition.PartitionKey, body []byte) (*prepared, error) {
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
			c.lintRefused(id, parsed.Body, parsed.TTL)
			return nil, &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
		}
	}
	pk, err := c.def.KeyOf(given, parsed.Body)
	if err != nil {
		return nil, err
	}
	p := &prepared{itemLocation: c.locate(pk, id)}
	st := c.state.Load()
	p.item = stored{
		Item:  view.Item{Head: layout.Header{EPK: p.EPK, Life: ttl.Life{Own: own}}, Body: parsed.Body, ID: id, PK: p.PK},
		terms: makeTerms(st.Terms, c.moment(), st.RangeOf(p.EPK), parsed.Body),
	}
	return p, nil
}

// apply carries out a prepared operation. It sees the earlier writes of its transaction. An operation that
// fails has no visible effect, so that other operations of the transaction may go on, unless the failure is
// fatal.
func (t *tx) apply(p *prepared) OperationResult {
	var old *stored
	var err error
	terms := t.terms
	p.item = p.given // an abandoned run of the transaction may have changed item
	p.item.Head.Plain = p.options.ExcludeSystemProperties
	if err := t.date(p); err != nil {
		return value.Failed(err)
	}
	switch p.kind {
	case OperationCreate:
		err = t.create(p.Point, &p.item)
	case OperationUpsert:
		old, err = t.upsert(p)
	case OperationReplace:
		if old, err = t.target(p); err == nil {
			err = t.rename(p, old)
		}
	case OperationPatch:
		old, err = t.patch(p)
	case OperationRead:
		return t.read(p)
	default:
		return t.erase(p)
	}
	if err != nil {
		return value.Failed(err)
	}
	t.written = append(t.written, p)
	charge := value.ChargeVersion(len(p.item.Body)) + value.ChargeTerms(t.terms-terms)
	if old != nil {
		charge += value.ChargeVersion(len(old.Body))
	}
	return OperationResult{
		Item:     t.Container.item(&p.item),
		Inserted: p.kind == OperationUpsert && old == nil,
		Charge:   value.RoundCharge(charge),
	}
}

// read returns a live item. The result stays valid after the transaction.
func (t *tx) read(p *prepared) OperationResult {
	found, err := t.mustFind(p.itemLocation)
	if err != nil {
		return value.Failed(err)
	}
	head := found.Head
	head.EPK = p.EPK
	r := OperationResult{
		Item:   value.NewItem((*itemOwner)(t.Container), found.RID, head, bytes.Clone(found.Body), p.ID),
		Charge: value.ChargeRead(len(found.Body)),
	}
	r.Err = checkIfNoneMatch(p.options.IfNoneMatch, r.Item)
	return r
}

// erase deletes a live item.
func (t *tx) erase(p *prepared) OperationResult {
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
	return OperationResult{Charge: value.RoundCharge(charge + value.ChargeTerms(t.terms-terms))}
}

// rename replaces a live item by a document that may have another id. The new id must be free, as for a
// create; the old one is free afterwards. The item keeps its rid and its lease.
func (t *tx) rename(p *prepared, old *stored) error {
	p.item.Head.Renamed = p.renamed != nil
	if p.renamed != nil {
		if err := t.vacate(p.renamed); err != nil {
			return err
		}
	}
	return t.replace(old, &p.item)
}

// upsert replaces a live item, which it returns as old, or creates it.
func (t *tx) upsert(p *prepared) (old *stored, err error) {
	found, ghost, err := t.find(p.Point)
	if err != nil {
		return nil, err
	}
	if found == nil || ghost {
		return nil, t.create(p.Point, &p.item)
	}
	if p.options.IfNoneMatch == "*" {
		return nil, value.PreconditionFailed()
	}
	if err := value.CheckIfMatch(p.options.IfMatch, t.Container.identity.ETag(&found.Head)); err != nil {
		return nil, err
	}
	return found, t.replace(found, &p.item)
}

// target returns the live item that an operation changes, and checks the operation's document and If-Match.
func (t *tx) target(p *prepared) (*stored, error) {
	old, err := t.mustFind(p.itemLocation)
	if err != nil {
		return nil, err
	}
	if p.refused != nil {
		return nil, p.refused
	}
	return old, value.CheckIfMatch(p.options.IfMatch, t.Container.identity.ETag(&old.Head))
}
