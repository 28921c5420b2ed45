package container

import (
	"sync/atomic"
	"time"

	"github.com/mayflydb/mayfly/internal/host"
)

// Raise sets *at to t if *at is lower.
func Raise(at *atomic.Int64, t int64) {
	for {
		last := at.Load()
		if t <= last || at.CompareAndSwap(last, t) {
			return
		}
	}
}

// ClockLimitingEventKind is a kind of event whose moment is stored. The clock cannot be set back behind such
// a moment.
type ClockLimitingEventKind uint8

// The kinds of events whose moments are stored.
const (
	MarkWrite    ClockLimitingEventKind = iota // the _ts of items, and the times of their changes in a feed
	MarkSettings                               // _ts of a container's settings, with the floors of its TTL policy
	MarkPurge                                  // purges
	MarkLease                                  // leases
	MarkCatalog                                // the _ts of everything else
	markCount
)

var markTexts = [markCount]string{
	"an item was written", "the settings of a container were changed", "expired items were " +
		"purged", "a lease was taken",
	"a database, a user, a permission, a script or a throughput was changed",
}

// LatestEventTimes holds, for each kind of event such as a write or a purge (ClockLimitingEventKind), the
// time of the latest stored event in seconds since 1970. The clock cannot be set back behind these times.
type LatestEventTimes [markCount]atomic.Int64

// Raise records that an event of the kind k, such as a write, was stored with the time t, in seconds since
// 1970. The clock must not be set back before the latest time of a kind. An earlier t than the one recorded
// changes nothing.
func (m *LatestEventTimes) Raise(k ClockLimitingEventKind, t int64) { Raise(&m[k], t) }

// Latest returns the latest of the moments, with a description of its event in words. where, a phrase that
// names the container, is appended to the description.
func (m *LatestEventTimes) Latest(where string) (last host.StoredEventTime) {
	for i := range m {
		if at := m[i].Load(); at > 0 && time.Unix(at, 0).After(last.At) {
			last = host.StoredEventTime{At: time.Unix(at, 0), What: markTexts[i] + where}
		}
	}
	return last
}
