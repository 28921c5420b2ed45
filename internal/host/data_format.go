package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/engine"
)

// The format is the layout of the keys and values of all tenants together. It is stored in the first record
// of the catalog.
//
//	format  what is new in it                                              step to it
//	1       the first one                                                  -
//	2       a sequence is the LSN of its transaction and a position        documents: store/tx_upgrade.go
//	3       vector indexes of the kinds quantizedFlat and diskANN hold     documents: store/upgrade.go
//	        codes of their vectors
//
// Open upgrades data of an older format. It takes a snapshot of them, runs the steps of the tenants one
// format after the other, and then stores the new format. The older program can read the snapshot as a data
// folder. For data of a newer format, Open fails.
//
// A value with its own version (an item, a change, a message) may get a new version only if the old one stays
// readable; such a change needs no new format. engine/pebble upgrades the format of its files independently.

const (
	// formatVersion is the number of the format of stored data that this program reads and writes.
	formatVersion = 3
	// oldestFormat is the number of the oldest format of stored data that can be upgraded.
	oldestFormat = 1
)

// FormatUpgrade is a step that converts the stored data of one tenant (the documents, or the queues and
// topics) from one format to the next.
type FormatUpgrade struct {
	From int
	What string // for the log: "vector indexes get codes"
	// Run changes the stored data. No tenant (the document store or the message store) has them open. A
	// crash may interrupt it after any of its transactions; then Run is called again.
	Run func(ctx context.Context, e engine.Engine) error
}

// FormatUpgrader is a Tenant (the document store or the message store) with steps that convert its stored
// keys or values from one format of the data to the next.
type FormatUpgrader interface {
	Tenant
	// Upgrades returns the steps that convert this tenant's data, at most one for each format.
	Upgrades() []FormatUpgrade
}

// DataFormatVersions describes the format of data that a host has opened.
type DataFormatVersions struct {
	Found   int // the format that the data had before they were opened; Current for fresh data
	Current int // the format that the data have now
}

// Format returns the format of the data.
func (h *Host) Format() DataFormatVersions {
	return DataFormatVersions{h.Instance().found, formatVersion}
}

// upgrade upgrades the data of an engine and returns the format that they had, or formatVersion if there
// are none. If keep is true, it takes a snapshot before the first change. It fails with
// engine.ErrNewerFormat, with engine.ErrOlderFormat, or if the snapshot cannot be taken.
func upgrade(ctx context.Context, e engine.Engine, o Options, tenants []Tenant, keep bool) (int, error) {
	var h catalogHeader
	err := e.View(ctx, func(r engine.Reader) (err error) {
		if h, _, err = readHead(r); err != nil {
			return err
		}
		if err = h.upgradable(); err == nil && h.Format < formatVersion {
			err = claimed(r, tenants)
		}
		return err
	})
	if errors.Is(err, engine.ErrNotFound) {
		return formatVersion, nil
	}
	if err != nil || h.Format == formatVersion {
		return h.Format, err
	}
	copied := ""
	if keep {
		if copied, err = keepFormat(ctx, e, o.Wall.Now()); err != nil {
			return h.Format, fmt.Errorf("keeping the data of format %d: %w", h.Format, err)
		}
	}
	var what []string
	for format := h.Format; format < formatVersion; format++ {
		done, err := upgradeFrom(ctx, e, tenants, format)
		if err != nil {
			return h.Format, fmt.Errorf("bringing data of format %d up to date: %w", format, err)
		}
		what = append(what, done...)
	}
	o.Logger.Info("the data were upgraded to the current format", "from", h.Format, "to", formatVersion,
		"changes", strings.Join(what, "; "), "snapshot", copied)
	return h.Format, nil
}

// upgradable returns nil if the data have an older format that can be upgraded. Otherwise it returns the
// result of readable: an error for data that this program cannot open.
func (h *catalogHeader) upgradable() error {
	if h.Format >= oldestFormat && h.Format < formatVersion && h.Incoming == "" && h.Moved == "" {
		return nil
	}
	return h.readable()
}

// claimed checks that every record of the catalog belongs to the host or to one of the given tenants (the
// document store, the message store). If not, it fails with engine.ErrOlderFormat, because an upgrade
// would not convert the data of the missing tenant.
func claimed(r engine.Reader, tenants []Tenant) (err error) {
	kinds := string([]byte{kindHost, kindLease, kindCeiling, kindMark})
	for _, t := range tenants {
		kinds += t.KeySpace().Kinds
	}
	it := r.Scan(engine.Prefix(CatalogScope()), false)
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
	}()
	for it.Next() {
		if key := it.Key(); len(key) > 1 && strings.IndexByte(kinds, key[1]) < 0 {
			return fmt.Errorf("%w: it has records of the kind %q, which this program does not read",
				engine.ErrOlderFormat, key[1])
		}
	}
	return nil
}

// keepFormat takes a snapshot of the data before an upgrade and returns its name, or "" if the engine has
// no snapshots. If a crash has interrupted an earlier upgrade, the snapshot exists already.
func keepFormat(ctx context.Context, e engine.Engine, now time.Time) (string, error) {
	keeper, ok := e.(engine.Snapshotter)
	if !ok {
		return "", nil
	}
	note, err := json.Marshal(map[string]time.Time{noteTime: now.UTC()})
	if err != nil {
		return "", err
	}
	name := fmt.Sprintf("before-format-%d", formatVersion)
	err = keeper.Snapshot(ctx, name, note)
	if errors.Is(err, engine.ErrSnapshotExists) {
		err = nil
	}
	return name, err
}

// upgradeFrom runs the upgrade steps of all tenants (documents, messages) that convert data of the format
// from to the next format, and stores the number of the new format. It returns the descriptions of the
// steps, for the log.
func upgradeFrom(ctx context.Context, e engine.Engine, tenants []Tenant, from int) (
	what []string, err error) {
	for _, t := range tenants {
		u, ok := t.(FormatUpgrader)
		if !ok {
			continue
		}
		steps := u.Upgrades()
		i := slices.IndexFunc(steps, func(s FormatUpgrade) bool { return s.From == from })
		if i < 0 {
			continue
		}
		if err := steps[i].Run(ctx, e); err != nil {
			return nil, fmt.Errorf("%s: %w", t.KeySpace().Name, err)
		}
		what = append(what, steps[i].What)
	}
	_, err = e.Update(ctx, [][]byte{CatalogScope()}, func(t engine.Txn) error {
		h, _, err := readHead(t)
		if err != nil {
			return err
		}
		h.Format = from + 1
		t.SetMark(CatalogScope(), t.Mark(CatalogScope())+1)
		return SetRecord(t, headKey(), h)
	})
	return what, err
}
