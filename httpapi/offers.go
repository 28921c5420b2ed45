package httpapi

import (
	"net/http"
	"strconv"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

func (s *Server) listOffers(c *call) error {
	return sendFeed(c, s.offerFeed())
}

// queryOffers is how clients find the throughput of a container or a database: by its rid or its self link.
func (s *Server) queryOffers(c *call) error {
	return queryFeed(c, s.offerFeed())
}

func (s *Server) offerFeed() feed[store.Offer] {
	return feed[store.Offer]{
		key:      "Offers",
		rows:     s.db.Offers(),
		position: func(o store.Offer) string { return ridPosition(o.ID) },
		render:   appendOffer,
	}
}

func (s *Server) readOffer(c *call) error {
	o, err := s.db.Offer(c.target.leaf())
	if err != nil {
		return err
	}
	return c.sendOffer(o)
}

// replaceOffer changes a throughput. The body is the whole offer, changed.
func (s *Server) replaceOffer(c *call) error {
	body, err := decodeObject(c.body)
	if err != nil {
		return err
	}
	id := c.target.leaf()
	old, err := s.db.Offer(id)
	if err != nil {
		return err
	}
	for _, name := range []string{"id", "_rid"} {
		if v := body.Member(name); v.Kind() != doc.Undefined && v.Str() != id {
			return badRequest("The '" + name + "' in the body is not that of the offer that is addressed.")
		}
	}
	t, err := decodeThroughput(body.Member("content"))
	if err != nil {
		return err
	}
	migrate := c.in.toAutoscale || c.in.toManual
	if migrate {
		t = migrated(old.Throughput, t, c.in.toAutoscale)
	}
	o, err := s.db.ReplaceOffer(c.ctx(), id, t, migrate, c.in.writeOptions())
	if err != nil {
		return err
	}
	return c.sendOffer(o)
}

// decodeThroughput reads an offer's content. An offer that is autoscaled tells its present throughput, too: that is
// not an input.
func decodeThroughput(content doc.Value) (t store.Throughput, err error) {
	if auto := content.Member("offerAutopilotSettings"); auto.Kind() != doc.Undefined && auto.Kind() != doc.Null {
		t.Autoscale, err = decodeRU(auto.Member("maxThroughput"), "content.offerAutopilotSettings.maxThroughput")
		return t, err
	}
	t.Manual, err = decodeRU(content.Member("offerThroughput"), "content.offerThroughput")
	return t, err
}

// decodeRU reads a number of RU/s. Whether there may be as many is the store's to say.
func decodeRU(v doc.Value, name string) (int, error) {
	ru := v.Num()
	if v.Kind() != doc.Number || ru != float64(int32(ru)) || ru <= 0 {
		return 0, badRequest("The offer's '" + name + "' must be a positive integer.")
	}
	return int(ru), nil
}

// migrated is the throughput after a migration between manual and autoscale. Clients either write the new kind
// into the body or leave the old one there and let the service derive it: the autoscale maximum is then the
// manual throughput, rounded up to a thousand, and the other way round.
func migrated(old, asked store.Throughput, toAutoscale bool) store.Throughput {
	switch {
	case toAutoscale && asked.Autoscale == 0:
		return store.Throughput{Autoscale: (max(old.Manual, old.Autoscale) + 999) / 1000 * 1000}
	case !toAutoscale && asked.Manual == 0:
		return store.Throughput{Manual: max(old.Manual, old.Autoscale)}
	}
	return asked
}

func (c *call) sendOffer(o store.Offer) error {
	c.setETag(o.ETag)
	c.set("x-ms-offer-replace-pending", strconv.FormatBool(o.Pending))
	least := "400"
	if o.Throughput.Autoscale > 0 {
		least = "1000"
	}
	c.set("x-ms-cosmos-min-throughput", least)
	return c.json(http.StatusOK, appendOffer(nil, o))
}

func appendOffer(dst []byte, o store.Offer) []byte {
	ru := int64(max(o.Throughput.Manual, o.Throughput.Autoscale))
	dst = doc.AppendString(append(dst, `{"id":`...), o.ID)
	dst = appendSystem(append(dst, ','), o.ID, "offers/"+o.ID+"/", o.ETag, o.Timestamp)
	dst = doc.AppendString(append(dst, `,"resource":`...), o.Resource)
	dst = doc.AppendString(append(dst, `,"offerResourceId":`...), o.ResourceRID)
	dst = append(dst, `,"offerVersion":"V2","offerType":"Invalid","content":{"offerThroughput":`...)
	dst = strconv.AppendInt(dst, ru, 10)
	dst = append(dst, `,"offerIsRUPerMinuteThroughputEnabled":false,"offerMinimumThroughputParameters":{"maxThroughputEverProvisioned":`...)
	dst = append(strconv.AppendInt(dst, ru, 10), `,"maxConsumedStorageEverInKB":0}`...)
	if o.Pending {
		dst = append(dst, `,"isOfferReplacePending":true`...)
	}
	if o.Throughput.Autoscale > 0 {
		dst = strconv.AppendInt(append(dst, `,"offerAutopilotSettings":{"maxThroughput":`...), ru, 10)
		dst = strconv.AppendInt(append(dst, `,"tier":0,"maximumTierThroughput":`...), ru, 10)
		dst = append(dst, `,"autoUpgrade":false}`...)
	}
	return append(dst, `}}`...)
}
