package split

import "sync"

// ConcurrentlyWrittenRIDs holds the rids of the items that writers have written or removed while their range
// is copied.
type ConcurrentlyWrittenRIDs struct {
	mu   sync.Mutex
	rids map[uint64]struct{}
}

// Add records items. Writers call it after their transaction has committed, while they still hold the
// container's gate (its lock) shared. So the records are complete once the gate is held exclusively.
func (n *ConcurrentlyWrittenRIDs) Add(rids []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, rid := range rids {
		n.rids[rid] = struct{}{}
	}
}

// take removes and returns up to most of the recorded items. Items that are committed later are recorded
// again.
func (n *ConcurrentlyWrittenRIDs) take(most int) (rids []uint64) {
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

func (n *ConcurrentlyWrittenRIDs) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.rids)
}
