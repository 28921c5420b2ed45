package simulation

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// changeFeedReader reads the change feed of a container page by page, each page at another server, while the
// container is written and its ranges are split. It must receive the last version of each document that
// exists in the end, and the versions of a document in their order.
type changeFeedReader struct {
	name      string // of the client
	container string
	position  string         // after which the next page begins
	seen      map[docKey]int // the last version that it has received of each document
}

// followFeed reads the change feed of a container until ctx ends.
func (d *documentHistories) followFeed(ctx context.Context, c *client) {
	f := &changeFeedReader{name: c.name, container: containers[c.rng.IntN(len(containers))],
		seen: make(map[docKey]int)}
	d.mu.Lock()
	d.feeds = append(d.feeds, f)
	d.mu.Unlock()
	for c.think(ctx, 500*time.Millisecond) {
		d.readFeed(c, f)
	}
}

// readFeed reads one page. more reports whether there may be another one.
func (d *documentHistories) readFeed(c *client, f *changeFeedReader) (more bool) {
	var page store.ChangesPage
	req := store.ChangesRequest{MaxItems: 1 + c.rng.IntN(10), Start: store.ChangesStart{After: f.position}}
	err, lost := c.call("feed of "+f.container, func(ctx context.Context, s *simulatedMayflyServer) error {
		con, err := s.container(ctx, f.container)
		if err == nil {
			page, _, err = con.Changes(ctx, req)
		}
		return err
	})
	switch code := fault.ErrorCode(err); {
	case lost:
		return true
	case err != nil:
		refused := code == fault.CodeBadRequest || code == fault.CodeRangeGone
		if refused || code == fault.CodeInternal && !unknown(err) {
			d.w.violate("the feed of %s after %s fails with %v", f.container, f.position, err)
		}
		return !refused
	}
	f.position = page.Position
	for i := range page.Changes {
		d.receiveChange(f, page.Changes[i].Item)
	}
	return len(page.Changes) > 0 || page.More
}

// receiveChange checks a document that the reader f has got from a change feed, and records its version. It
// reports a violation if the version was never written, or if f has already received it or a later one.
func (d *documentHistories) receiveChange(f *changeFeedReader, item store.Item) {
	var one storedDocument
	if err := json.Unmarshal(item.Body(), &one); err != nil {
		d.w.violate("the feed of %s contains %s", f.container, item.Body())
		return
	}
	key := docKey{f.container, one.PK, one.ID}
	if last := f.seen[key]; one.N <= last {
		d.w.violate("%s has received version %d of %v after version %d", f.name, one.N, key, last)
	}
	f.seen[key] = one.N
	d.mu.Lock()
	defer d.mu.Unlock()
	if doc := d.of[key]; doc == nil || one.N > doc.last {
		d.w.violate("the feed of %s contains version %d of %v, which nobody has written", f.container, one.N,
			key)
	}
}

// finishFeeds reads the feeds of a container to their ends.
func (d *documentHistories) finishFeeds(c *client, container string) {
	for _, f := range d.feeds {
		for pages := 0; f.container == container && d.readFeed(c, f); pages++ {
			if pages == 10_000 {
				d.w.violate("the feed of %s does not end", container)
				return
			}
		}
	}
}

// checkFeeds checks that the feeds of a container have contained the last versions of all documents, which
// are given.
func (d *documentHistories) checkFeeds(container string, last map[docKey]int) {
	for _, f := range d.feeds {
		if f.container != container {
			continue
		}
		for n := range partitions {
			for _, key := range d.keysOf(container, partitionName(n)) {
				if want, exists := last[key]; exists && f.seen[key] != want {
					d.w.violate("%s has received version %d of %v, but not the last version %d", f.name,
						f.seen[key], key, want)
				}
			}
		}
	}
}
