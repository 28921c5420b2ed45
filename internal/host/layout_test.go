package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/ttl"
)

// TestLayout compares the keys that the host stores, and one record of them, with their fixed bytes, so that
// older and newer releases can read each other's data.
func TestLayout(t *testing.T) {
	for _, c := range []struct {
		key  []byte
		want string
	}{
		{headKey(), "\x00m\x00\x00\x00\x00store\x00\x01"},
		{clockKey(0), "\x00m\x00\x00\x00\x00clock\x00\x01"},
		{clockKey(0x01020304), "\x00m\x01\x02\x03\x04clock\x00\x01"},
		{CatalogScope(), "\x00"},
		{AppendEntry([]byte("p"), DeadlineIndexEntry{At: 1, ID: 2}),
			"p\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x02"},
	} {
		if string(c.key) != c.want {
			t.Errorf("%q, not %q", c.key, c.want)
		}
	}
	raw, err := json.Marshal(catalogHeader{Format: 1, Incarnation: 2, Next: 3})
	if want := `{"format":1,"incarnation":2,"next":3}`; err != nil || string(raw) != want {
		t.Errorf("%s, not %s", raw, want)
	}
}

// TestClassifyErrors checks that Classify returns the right class for each error of the engine, the reaper
// and contexts, wrapped or not.
func TestClassifyErrors(t *testing.T) {
	for err, want := range map[error]ErrorClass{
		nil: Unclassified, errors.New("other"): Unclassified, context.Canceled: Canceled,
		context.DeadlineExceeded: Deadline, engine.ErrClosed: Closed, ttl.ErrReaperClosed: Closed,
		engine.ErrTooLarge: TooLarge, engine.ErrDiskFull: DiskFull, engine.ErrRead: ReadFailed,
		engine.ErrFailed: WriteFailed, engine.ErrNoSnapshot: NoSnapshot, ErrNoSnapshots: NoSnapshots,
		engine.ErrSnapshotExists: SnapshotExists, engine.ErrSnapshotName: SnapshotName,
		engine.ErrNewerFormat: NewerFormat, engine.ErrCorrupt: Corrupt, engine.ErrDamagedLog: Corrupt,
	} {
		if got := Classify(err); got != want {
			t.Errorf("%v is of class %d, not %d", err, got, want)
		}
		if err == nil {
			continue
		}
		if got := Classify(fmt.Errorf("it failed: %w", err)); got != want {
			t.Errorf("%v, wrapped, is of class %d, not %d", err, got, want)
		}
	}
}
