package metamorphic

import (
	"fmt"

	"github.com/mayflydb/mayfly/store"
)

// issuedETagsRIDsAndLSNs records the etags, rids and LSNs that a store has issued, and the version of an item
// to which each etag belongs.
type issuedETagsRIDsAndLSNs struct {
	etags   map[string]*itemVersion
	rids    map[string]int    // in the order in which they appeared, from 1
	lsns    map[string]uint64 // the position of each range
	several bool              // several stores execute the steps in turn
	// exact is true for a range if the test has received the LSN of every write to the range since the
	// recorded position.
	exact map[string]bool
}

// itemVersion is one content of an item. An etag stands for one version for ever.
type itemVersion struct {
	n    int
	key  ItemKey
	rid  string
	ts   int64
	lsn  uint64
	body string
}

// record records the etag, the rid and the LSN that a write of item k has returned. It fails if the store has
// issued them before for something else.
func (w issuedETagsRIDsAndLSNs) record(k ItemKey, it store.Item, receipt store.OperationReceipt,
	body string) error {
	if old := w.etags[it.ETag()]; old != nil {
		return fmt.Errorf("the etag %s was given to %s already", it.ETag(), old.key)
	}
	if _, ok := w.rids[it.RID()]; !ok {
		w.rids[it.RID()] = len(w.rids) + 1
	}
	for _, old := range w.etags {
		if old.rid == it.RID() && (old.key.Partition != k.Partition || old.lsn > it.LSN()) {
			return fmt.Errorf("the rid %s is of %s, LSN %d; now of %s, LSN %d", it.RID(), old.key, old.lsn, k,
				it.LSN())
		}
	}
	w.etags[it.ETag()] = &itemVersion{len(w.etags) + 1, k, it.RID(), it.Timestamp(), it.LSN(), body}
	if receipt.LSN < it.LSN() {
		return fmt.Errorf("the receipt's LSN %d lies below the item's %d", receipt.LSN, it.LSN())
	}
	if _, err := w.lookUp(it); err != nil {
		return err
	}
	return w.checkPosition(receipt, true)
}

// lookUp returns the version that the etag of an item stands for, and fails if the item differs from it.
func (w issuedETagsRIDsAndLSNs) lookUp(it store.Item) (*itemVersion, error) {
	v := w.etags[it.ETag()]
	if v == nil {
		return nil, fmt.Errorf("the etag %s was never given out: %s", it.ETag(), it.Body())
	}
	now := itemVersion{v.n, v.key, it.RID(), it.Timestamp(), it.LSN(), string(it.Body())}
	if now != *v || it.ID() != v.key.ID {
		return nil, fmt.Errorf("the etag %s stood for %+v, now %s for %+v", it.ETag(), *v, it.ID(), now)
	}
	return v, rendered(it)
}

// together checks that everything a transaction has written has the same LSN, and returns it (0 if nothing
// was written).
func together(items []store.Item) (lsn uint64, err error) {
	for _, it := range items {
		if lsn != 0 && it.LSN() != lsn {
			return 0, fmt.Errorf("a transaction has written %s at LSN %d, and others at %d", it.ID(),
				it.LSN(), lsn)
		}
		lsn = it.LSN()
	}
	return lsn, nil
}

// checkPosition checks that the LSN of a partition key range never decreases, and that each transaction that
// writes increases it by one, however many writes it has. written says whether the transaction of the receipt
// has written something.
func (w issuedETagsRIDsAndLSNs) checkPosition(receipt store.OperationReceipt, written bool) error {
	at := receipt.Range
	if at == "" {
		return nil // several ranges, or none
	}
	step := uint64(0)
	if written {
		step = 1
	}
	last := w.lsns[at]
	if w.several && receipt.LSN < last && !written {
		return nil // a refusal has the position that this store knows; another store has written since
	}
	if receipt.LSN < last+step || w.exact[at] && receipt.LSN > last+step {
		return fmt.Errorf("range %s was at LSN %d, now it is at %d", at, last, receipt.LSN)
	}
	w.lsns[at] = receipt.LSN
	w.exact[at] = w.exact[at] || written
	if receipt.Charge <= 0 {
		return fmt.Errorf("an operation on range %s that is done cost %v RU", receipt.Range, receipt.Charge)
	}
	return nil
}
