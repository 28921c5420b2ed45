package check

import (
	"slices"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// checkRangeNumbers reports keys that begin with the number of a range which the container does not have.
// The numbers of the two ranges into which a running split copies are allowed.
func (k *checker) checkRangeNumbers() error {
	it := k.r.Scan(layout.AllScopes(k.state.Keys.CID), false)
	for more := it.Next(); more && !k.stopped; {
		number, ok := layout.KeyRangeNumber(it.Key())
		if !ok {
			k.fault("a malformed key %x", it.Key())
			break
		}
		if !slices.ContainsFunc(k.state.Ranges, func(s view.PartitionRange) bool { return s.Number == number }) &&
			!slices.Contains(k.state.Copies, number) {
			k.fault("keys in slot %d, which no range has", number)
		}
		more = it.SeekGE(engine.Prefix(layout.RangeScope(k.state.Keys.CID, number)).End)
	}
	return it.Close()
}
