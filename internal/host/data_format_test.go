package host_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/testdisk"
)

// upgradingTenant is a tenant with one upgrade step, from format 2 to 3, which writes a key and counts its
// runs.
type upgradingTenant struct {
	host.Tenant
	runs int
	err  error // of the step, after it has written
}

var stepKey = []byte{1, 's'}

func (u *upgradingTenant) Upgrades() []host.FormatUpgrade {
	return []host.FormatUpgrade{{From: 2, What: "a key is written", Run: u.run}}
}

func (u *upgradingTenant) run(ctx context.Context, e engine.Engine) error {
	u.runs++
	_, err := e.Update(ctx, [][]byte{{1}}, func(t engine.Txn) error {
		t.Set(stepKey, []byte("done"))
		return nil
	})
	return errors.Join(err, u.err)
}

// setFormat changes the stored number of the data format, while no host has the data open. If kind is not
// 0, it also writes a catalog record of this kind.
func (w *hostOnTestDisk) setFormat(format int, kind byte) {
	w.t.Helper()
	e, err := w.fs.Open(w.t.Context())
	w.must(err)
	_, err = e.Update(w.t.Context(), [][]byte{host.CatalogScope()}, func(t engine.Txn) error {
		key := append(host.AppendCatalogHead(nil, 'm', 0), "store\x00\x01"...)
		raw, err := t.Get(key)
		if err != nil {
			return err
		}
		var head map[string]any
		if err := host.DecodeRecord(raw, &head); err != nil {
			return err
		}
		head["format"] = format
		if kind != 0 {
			t.Set(append(host.AppendCatalogHead(nil, kind, 0), "x\x00\x01"...), []byte("{}"))
		}
		return host.SetRecord(t, key, head)
	})
	w.must(errors.Join(err, e.Close()))
}

func (w *hostOnTestDisk) snapshotNames() (names []string) {
	w.t.Helper()
	list, err := w.h.Snapshots(w.t.Context())
	w.must(err)
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// TestUpgrade opens data of an older format: they are copied to a snapshot and upgraded once. The snapshot
// is upgraded when it is restored or opened.
func TestUpgrade(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	step := &upgradingTenant{Tenant: with(host.OpenedTenant{})}
	w := newTestHost(t, host.Options{ManualReaper: true}, step)
	w.add("one", 1<<40)
	if got := w.h.Format(); got != (host.DataFormatVersions{Found: 3, Current: 3}) || step.runs != 0 {
		t.Fatalf("fresh data: %v, %d steps", got, step.runs)
	}
	w.must(w.h.Close())
	w.setFormat(2, 0)
	w.reopenClosed()
	const kept = "before-format-3"
	check := func(what string, runs, found int) {
		t.Helper()
		if got := w.h.Format(); got != (host.DataFormatVersions{Found: found,
			Current: 3}) || step.runs != runs {
			t.Errorf("%s: %v, %d steps, want %d", what, got, step.runs, runs)
		}
		err := w.h.Instance().Engine().View(t.Context(), func(r engine.Reader) error {
			_, err := r.Get(stepKey)
			return err
		})
		if err != nil {
			t.Errorf("%s: the step has left nothing: %v", what, err)
		}
		if names := w.snapshotNames(); !slices.Equal(names, []string{kept}) {
			t.Errorf("%s: snapshots %v", what, names)
		}
		w.expect([]string{"one"}, []string{"one"})
	}
	check("opened", 1, 2)
	w.reopen()
	check("opened again", 1, 3)
	w.must(w.h.Restore(t.Context(), kept))
	check("restored", 2, 2)
	w.must(w.h.WithSnapshot(t.Context(), kept, nil, func(_ context.Context, then *host.EngineInstance) error {
		return then.Engine().View(t.Context(), func(r engine.Reader) error {
			_, err := r.Get(stepKey)
			return err
		})
	}))
	check("looked at", 3, 2)
}

// TestUpgradeFails makes an upgrade step fail, and checks that the next Open runs it again and that the
// snapshot still has the data from before the first attempt.
func TestUpgradeFails(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	step := &upgradingTenant{Tenant: with(host.OpenedTenant{}), err: errBroken}
	w := newTestHost(t, host.Options{ManualReaper: true}, step)
	w.must(w.h.Close())
	w.setFormat(2, 0)
	if _, err := w.tryOpen(); !errors.Is(err, errBroken) {
		t.Errorf("opening: %v", err)
	}
	step.err = nil
	w.reopenClosed()
	if step.runs != 2 || w.h.Format().Found != 2 {
		t.Errorf("%d runs, format %v", step.runs, w.h.Format())
	}
	w.must(w.h.Restore(t.Context(), "before-format-3"))
	if step.runs != 3 {
		t.Errorf("%d runs after the restore", step.runs)
	}
}

// TestUpgradeRefused checks that Open refuses data that it cannot upgrade, and leaves them unchanged: data
// of a format that is too old or too new, or with records of an unknown tenant.
func TestUpgradeRefused(t *testing.T) {
	testdisk.Pebble(t, "snapshots")
	for _, c := range []struct {
		format int
		kind   byte
		want   error
	}{
		{0, 0, engine.ErrOlderFormat},
		{4, 0, engine.ErrNewerFormat},
		{2, 'z', engine.ErrOlderFormat}, // nobody knows whether these records have a step
	} {
		step := &upgradingTenant{Tenant: with(host.OpenedTenant{})}
		w := newTestHost(t, host.Options{ManualReaper: true}, step)
		w.must(w.h.Close())
		w.setFormat(c.format, c.kind)
		for range 2 {
			if _, err := w.tryOpen(); !errors.Is(err, c.want) {
				t.Errorf("format %d: %v, want %v", c.format, err, c.want)
			}
		}
		if step.runs != 0 {
			t.Errorf("format %d: %d steps", c.format, step.runs)
		}
		w.setFormat(3, 0)
		w.reopenClosed()
		if names := w.snapshotNames(); len(names) > 0 {
			t.Errorf("format %d: snapshots %v", c.format, names)
		}
	}
}
