package check

import (
	"encoding/binary"
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// checkSlots looks for keys in slots that no range has. What a split that is under way has copied is in two
// such.
func (k *checker) checkSlots() error {
	slots := layout.ContainerRange(k.state.Keys.CID)
	slots.End = layout.AppendCID(nil, k.state.Keys.CID)
	slots.End = binary.BigEndian.AppendUint16(slots.End, layout.MaxSlots)
	it := k.r.Scan(slots, false)
	for more := it.Next(); more && !k.stopped; {
		if len(it.Key()) < layout.ScopeLen {
			k.fault("a malformed key %x", it.Key())
			break
		}
		number := binary.BigEndian.Uint16(it.Key()[layout.CIDLen:])
		if !slices.ContainsFunc(k.state.Ranges, func(s view.Range) bool { return s.Number == number }) &&
			!slices.Contains(k.state.Copies, number) {
			k.fault("keys in slot %d, which no range has", number)
		}
		more = it.SeekGE(engine.PrefixEnd(layout.SlotScope(k.state.Keys.CID, number)))
	}
	return it.Close()
}
