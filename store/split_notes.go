package store

import "sync"

// notes are the items that writers have written or removed while their range is copied.
type notes struct {
	mu   sync.Mutex
	rids map[uint64]struct{}
}

// add notes items. It is called when their transaction has committed, inside the gate: who shuts the gate
// finds all of them.
func (n *notes) add(rids []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, rid := range rids {
		n.rids[rid] = struct{}{}
	}
}

// take takes up to most of the notes away. What is committed later is noted again.
func (n *notes) take(most int) (rids []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for rid := range n.rids {
		if len(rids) == most {
			break
		}
		rids = append(rids, rid)
		delete(n.rids, rid)
	}
	return rids
}

func (n *notes) left() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.rids)
}

// touch remembers an item that has changed, where somebody wants to know: see notes.
func (t *tx) touch(item *stored) {
	if t.noted != nil {
		t.touched = append(t.touched, item.rid)
	}
}

// tellSplit notes what the transaction has touched. It is called after its commit, inside the gate.
func (t *tx) tellSplit() {
	if t.noted != nil {
		t.noted.add(t.touched)
	}
}
