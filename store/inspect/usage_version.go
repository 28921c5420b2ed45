package inspect

import (
	"fmt"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/view"
)

// Version returns a text that differs whenever the set of stored items differs, or "" if no such text
// can be given at the moment. It consists of the LSNs of the ranges, which every write changes, and of the
// purges, which may change no LSN. purged is the number of purges that this server has made, which is enough
// if it is alone. If the data is shared with other servers, each purge stores its second; while that second
// lasts, another purge may follow, and Version returns "".
func Version(state *view.ContainerState, r engine.Reader, shared bool, purged uint64) (version string,
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
