package cosmos

import (
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// item returns the container and the key of the item that the path names by id or by rid. The partition key
// is in a header and must be that of the item. A replace may omit the header: the partition key is then
// taken from the stored item if the path has a rid, or from the document if the path has an id.
func (s *Service) item(c *requestInProgress) (*store.Container, store.ItemKey, error) {
	p, _, err := s.within(c)
	if err != nil {
		return nil, store.ItemKey{}, err
	}
	if p.byRID {
		if c.in.PartitionKey.IsZero() && c.req.Operation == OpReplace {
			key, err := p.container.ResolveRID(c.ctx, c.req.Address.Leaf())
			return p.container, key, err
		}
		key, r, err := p.container.ResolveRIDIn(c.ctx, c.in.PartitionKey, c.req.Address.Leaf(),
			store.ReadOptions{Session: c.session()})
		if err != nil {
			c.setReceiptOf(r)
		}
		return p.container, key, err
	}
	return p.container, store.ItemKey{Partition: c.in.PartitionKey, ID: c.req.Address.Leaf()}, nil
}

// session returns the positions in the request's session token: the LSNs, by partition range, that a read
// must have reached. It returns none for a write, which need not wait for them.
func (c *requestInProgress) session() []store.SessionTokenEntry {
	if c.req.Operation != OpRead {
		return nil
	}
	return c.in.Session
}

// setReceiptOf copies the partition range, the LSN and the charge of a store operation to the response. It
// must be called before the error of the operation is checked, because a failed operation has a receipt as
// well.
func (c *requestInProgress) setReceiptOf(r store.OperationReceipt) {
	c.setReceipt(r.Range, r.LSN, r.Charge)
	c.out.Lint = r.Lint
	c.reply = r.Reply
}

func (s *Service) createItem(c *requestInProgress) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	it, r, err := coll.Create(c.ctx, c.in.PartitionKey, c.req.Body, c.in.writeOptions())
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	return c.sendItem(coll, StatusCreated, it, c.in.Minimal)
}

func (s *Service) upsertItem(c *requestInProgress) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	it, r, err := coll.Upsert(c.ctx, c.in.PartitionKey, c.req.Body, c.in.writeOptions())
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	status := StatusOK
	if r.Inserted {
		status = StatusCreated
	}
	return c.sendItem(coll, status, it, c.in.Minimal)
}

func (s *Service) readItem(c *requestInProgress) error {
	coll, key, err := s.item(c)
	if err != nil {
		return err
	}
	it, r, err := coll.Read(c.ctx, key.Partition, key.ID, c.in.readOptions())
	c.setReceiptOf(r)
	if err != nil {
		if fault.ErrorCode(err) == fault.CodeNotModified {
			c.out.setETag(it.ETag())
		}
		return err
	}
	c.out.ItemLSN = it.LSN()
	return c.sendItem(coll, StatusOK, it, false)
}

func (s *Service) replaceItem(c *requestInProgress) error {
	coll, key, err := s.item(c)
	if err != nil {
		return err
	}
	it, r, err := coll.Replace(c.ctx, key.Partition, key.ID, c.req.Body, c.in.writeOptions())
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	return c.sendItem(coll, StatusOK, it, c.in.Minimal)
}

func (s *Service) deleteItem(c *requestInProgress) error {
	coll, key, err := s.item(c)
	if err != nil {
		return err
	}
	r, err := coll.Delete(c.ctx, key.Partition, key.ID, c.in.writeOptions())
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	c.setItemQuota(coll)
	return c.noContent(StatusNoContent)
}

// deletePartition deletes all items of a partition key.
func (s *Service) deletePartition(c *requestInProgress) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	r, err := coll.DeletePartition(c.ctx, c.in.PartitionKey)
	c.setReceiptOf(r)
	if err != nil {
		return err
	}
	return c.noContent(StatusOK)
}

func (s *Service) listItems(c *requestInProgress) error {
	p, rid, err := s.within(c)
	if err != nil {
		return err
	}
	out := itemsPageBody{listBody: c.startPage(rid, "Documents"), call: c}
	out.empty = len(out.b)
	page, r, err := p.container.ListTo(c.ctx, c.in.listOptions(), &out)
	c.setReceiptOf(r)
	if err != nil {
		out.release()
		return err
	}
	c.setItemQuota(p.container)
	c.out.Continuation = page.Continuation
	return c.sendPage(out.listBody)
}

// itemsPageBody is the body of a page of items, which the store fills.
type itemsPageBody struct {
	*listBody
	call  *requestInProgress
	empty int // length of the buffer without items
}

// Reset removes all items from the page, which can then be filled again.
func (p *itemsPageBody) Reset() { p.b, p.n = p.b[:p.empty], 0 }

// Add appends an item to the page. Unlike listBody.row it never pauses to let other requests use the
// processor: package store, which calls Add, does that.
func (p *itemsPageBody) Add(it store.Item) {
	p.grow(len(it.Body()) + systemRoom)
	p.comma()
	p.b = p.call.appendItem(p.b, it)
}
