package split

import "sync"

// Notes are the items that writers have written or removed while their range is copied.
type Notes struct {
	mu   sync.Mutex
	rids map[uint64]struct{}
}

// Add notes items. It is called when their transaction has committed, inside the gate: who shuts the gate
// finds all of them.
func (n *Notes) Add(rids []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, rid := range rids {
		n.rids[rid] = struct{}{}
	}
}

// take takes up to most of the notes away. What is committed later is noted again.
func (n *Notes) take(most int) (rids []uint64) {
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

func (n *Notes) left() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.rids)
}
