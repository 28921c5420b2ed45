package laboratory

import (
	"context"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store/fault"
)

// SeededSnapshot is the name of the snapshot that a reset restores. The program that starts the server
// creates that snapshot after it has loaded the initial data.
const SeededSnapshot = "seeded"

const unseededText = "There is no snapshot '" + SeededSnapshot +
	"' to restore: a start with a seed creates " +
	"it, and so does `mayfly snapshot create " + SeededSnapshot + "` (POST /_mayfly/snapshots)."

// reset restores the snapshot SeededSnapshot: data, entities, messages and virtual clocks. It also removes
// the fault injection rules and ends a pause of the reaper, but only after the restore has succeeded, so that
// a failed reset changes nothing.
func (l *Laboratory) reset(ctx context.Context, _ *route.NoBody) (RestoreSnapshotResult, error) {
	err := l.db.Restore(ctx, SeededSnapshot)
	if fault.ErrorCode(err) == fault.CodeNotFound {
		return RestoreSnapshotResult{}, route.NotFound(unseededText)
	}
	if err != nil {
		return RestoreSnapshotResult{}, err
	}
	l.opt.Faults.Clear()
	return l.restored(), l.db.PauseReaper(ctx, false)
}
