//go:build long

package endurance

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// changeFeedReader follows the change feed of the container c across splits of its partition key ranges and
// restarts of the server. It checks that the versions of each document arrive in the order in which they
// were written, each at most once.
type changeFeedReader struct {
	c      *client
	etags  map[string]string // position in the feed of each range, by the id of the range
	ranges []string          // ids
	next   int               // index in ranges of the range to read next
	empty  int               // number of successive responses without changes
	latest map[string]int    // value of the last version of each document, by partition key and id
	read   int               // number of versions
	wrong  deviations
}

func (r *changeFeedReader) fault(format string, args ...any) {
	r.wrong.add("feed", format, args...)
}

// step reads one page of one range. It returns an error if no response arrives.
func (r *changeFeedReader) step(ctx context.Context) error {
	if len(r.ranges) == 0 {
		return r.readRanges(ctx)
	}
	if r.empty >= len(r.ranges) {
		pause(ctx, 20*time.Millisecond)
	}
	id := r.ranges[r.next%len(r.ranges)]
	a, err := r.c.do(ctx, "GET", items, "", "A-IM", "Incremental feed", "x-ms-max-item-count", "100",
		"x-ms-documentdb-partitionkeyrangeid", id, "If-None-Match", r.etags[id])
	switch {
	case err != nil:
		return err
	case a.status == http.StatusGone: // split, or an injected fault
		return r.readRanges(ctx)
	case failed(a.status):
		return nil
	case a.status == http.StatusNotModified:
		r.empty++
		r.next++
	case a.status == http.StatusOK:
		r.empty = 0
		r.take(id, a.body)
	default:
		r.fault("range %s: %d %.300s", id, a.status, a.body)
		r.next++
		return nil
	}
	if etag := a.header.Get("ETag"); etag != "" {
		r.etags[id] = etag
	}
	return nil
}

// take records the versions of one page.
func (r *changeFeedReader) take(id string, page []byte) {
	var got struct {
		Documents []struct {
			ID    string `json:"id"`
			Key   string `json:"pk"`
			Value int    `json:"value"`
		}
	}
	if err := json.Unmarshal(page, &got); err != nil {
		r.fault("range %s: %v", id, err)
	}
	for _, d := range got.Documents {
		r.read++
		name := d.Key + "/" + d.ID
		if last := r.latest[name]; d.Value <= last {
			r.fault("range %s: value %d of %s after %d", id, d.Value, name, last)
		}
		r.latest[name] = d.Value
	}
}

// readRanges reads the list of ranges. A new range continues at the position of the range that it was split
// off from.
func (r *changeFeedReader) readRanges(ctx context.Context) error {
	a, err := r.c.do(ctx, "GET", "dbs/d/colls/c/pkranges", "")
	if err != nil || failed(a.status) {
		return err
	}
	var got struct {
		PartitionKeyRanges []struct {
			ID      string   `json:"id"`
			Parents []string `json:"parents"`
		}
	}
	if err := json.Unmarshal(a.body, &got); err != nil || len(got.PartitionKeyRanges) == 0 {
		r.fault("list of ranges: %d %.300s", a.status, a.body)
		return nil
	}
	first := len(r.ranges) == 0
	r.ranges, r.empty = nil, 0
	for _, p := range got.PartitionKeyRanges {
		r.ranges = append(r.ranges, p.ID)
		if _, known := r.etags[p.ID]; known || first {
			continue
		}
		for i := len(p.Parents) - 1; i >= 0; i-- {
			if etag, known := r.etags[p.Parents[i]]; known {
				r.etags[p.ID] = etag
				break
			}
		}
		if _, known := r.etags[p.ID]; !known {
			r.fault("range %s is new and has no known parent in %v", p.ID, p.Parents)
		}
	}
	return nil
}

// drain reads until no range has a change.
func (r *changeFeedReader) drain(ctx context.Context) error {
	r.empty = 0
	for len(r.ranges) == 0 || r.empty < len(r.ranges) {
		if err := r.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compare records an error for each document that exists, by the model of its writer, and whose last version
// in the feed is another.
func (r *changeFeedReader) compare(w *documentWriter) {
	for _, d := range w.docs {
		if present, absent := d.acked.may(now(), now()); !present || absent {
			continue
		}
		if last := r.latest[w.name+"/"+d.id]; last != d.acked.value {
			r.fault("the last version of %s/%s has value %d, but it is %+v", w.name, d.id, last, d.acked)
		}
	}
}
