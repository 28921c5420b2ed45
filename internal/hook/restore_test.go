package hook_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/mayflydb/mayfly/store"
)

// TestDeliveryAfterRestore checks that deliveries continue after a snapshot is restored, from the position
// that the restored data contain, and that the restore is not logged as a failure of the webhook.
func TestDeliveryAfterRestore(t *testing.T) {
	g := newDeliveryFixture(t)
	var log bytes.Buffer
	g.log = slog.New(slog.NewTextHandler(&log, nil))
	g.reopen()
	e := newEndpoint(t, "")
	g.webhooks(store.WebhookSettings{URL: e.URL})
	if _, err := g.db.Snapshot(g.ctx, "one"); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		g.die(2*i, 2)
		g.wantAll("before a restore", e.take(2), 2*i, 2)
		g.must(g.db.Restore(g.ctx, "one"))
		d, err := g.db.Database("db")
		g.must(err)
		g.c, err = d.Container("c")
		g.must(err)
	}
	g.d.Close()
	if log.Len() > 0 {
		t.Errorf("%s", &log)
	}
}
