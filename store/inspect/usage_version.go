package inspect

import (
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Version returns a text that differs whenever the set of stored items differs, or "" if no such text can
// be given at the moment. It consists of the LSNs of the ranges, which change with every write, and of a
// number that changes with every purge, since a purge may leave all LSNs as they are. A server that has
// the data alone passes the number of its purges as purged. In data shared by several servers, a purge
// stores its time in whole seconds instead. Until that second is over, another purge could store the same
// time, so Version returns "".
func Version(state *view.ContainerAtTime, r engine.Reader, shared bool, purged uint64) (version string,
	err error) {
	scopes, swept := make([][]byte, len(state.Ranges)), make([][]byte, len(state.Ranges))
	for i := range state.Ranges {
		scopes[i] = state.Ranges[i].Scope
		swept[i] = layout.SweptKey(scopes[i])
	}
	at, err := r.Positions(scopes)
	if err != nil {
		return "", err
	}
	for i, p := range at {
		if !p.Settled {
			return "", nil
		}
		version += fmt.Sprint(state.Ranges[i].ID, " ", p.LSN, " ", p.Mark, " ")
	}
	if !shared {
		return version + fmt.Sprint(purged), nil
	}
	err = engine.GetEach(r, swept, func(_ int, value []byte) (bool, error) {
		second, _ := layout.NumberOf(value)
		if version += fmt.Sprint(second, " "); int64(second) >= state.Now {
			version = ""
		}
		return version != "", nil
	})
	return version, err
}
