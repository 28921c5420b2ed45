package cosmos

import (
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

func (s *Service) listOffers(c *requestInProgress) error {
	return sendFeed(c, s.offerFeed())
}

// queryOffers responds to queries over offers. Clients use them to find the throughput of a container or a
// database, by its rid or its self link.
func (s *Service) queryOffers(c *requestInProgress) error {
	return queryFeed(c, s.offerFeed())
}

func (s *Service) offerFeed() resourceFeed[store.Offer] {
	return resourceFeed[store.Offer]{
		key:      "Offers",
		rows:     s.db.Offers(),
		position: func(o store.Offer) string { return ridPosition(o.ID) },
		render:   appendOffer,
	}
}

func (s *Service) readOffer(c *requestInProgress) error {
	o, err := s.db.Offer(c.req.Address.Leaf())
	if err != nil {
		return err
	}
	return c.sendOffer(o)
}

// replaceOffer changes the throughput of a container or database. The body of the request is the complete
// modified offer; its id or _rid must be that of the offer in the path.
func (s *Service) replaceOffer(c *requestInProgress) error {
	body, err := decodeObject(c.req.Body)
	if err != nil {
		return err
	}
	id := c.req.Address.Leaf()
	if err := checkOfferID(body, id); err != nil {
		return err
	}
	old, err := s.db.Offer(id)
	if err != nil {
		return err
	}
	t, level := definition.PerformanceLevel(body.Member("offerType").Str())
	switch {
	case level:
	case c.in.ToAutoscale || c.in.ToManual:
		t, err = migrated(old.Throughput, body.Member("content"), c.in.ToAutoscale)
	default:
		t, err = decodeThroughput(body.Member("content"))
	}
	if err != nil {
		return err
	}
	o, err := s.db.ReplaceOffer(c.ctx, id, t, c.in.ToAutoscale || c.in.ToManual, c.in.writeOptions())
	if err != nil {
		return err
	}
	return c.sendOffer(o)
}

// checkOfferID checks that the offer in the body is the addressed one. The body must contain id or _rid.
func checkOfferID(body jsondoc.Value, id string) error {
	named := false
	for _, name := range []string{"id", "_rid"} {
		switch v := body.Member(name); {
		case v.Kind() == jsondoc.Undefined || v.Kind() == jsondoc.Null:
		case v.Str() != id:
			return BadRequest("The '" + name + "' in the body is not that of the offer that is addressed.")
		default:
			named = true
		}
	}
	if !named {
		return BadRequest("The input content is invalid because the required properties - 'id; _rid; ' - are " +
			"missing")
	}
	return nil
}

// decodeThroughput parses an offer's content. For an autoscale offer, the current throughput in it is
// ignored.
func decodeThroughput(content jsondoc.Value) (t definition.Throughput, err error) {
	if auto := content.Member("offerAutopilotSettings"); auto.Kind() != jsondoc.Undefined &&
		auto.Kind() != jsondoc.Null {
		return decodeAutoscale(auto)
	}
	t.Manual, err = decodeRU(content.Member("offerThroughput"), "content.offerThroughput")
	return t, err
}

// decodeAutoscale parses the autoscale settings of an offer's content.
func decodeAutoscale(auto jsondoc.Value) (t definition.Throughput, err error) {
	if t.Autoscale, err = decodeRU(auto.Member("maxThroughput"),
		"content.offerAutopilotSettings.maxThroughput"); err != nil {
		return t, err
	}
	v := auto.Member("autoUpgradePolicy").Member("throughputPolicy").Member("incrementPercent")
	if v.Kind() == jsondoc.Undefined || v.Kind() == jsondoc.Null {
		return t, nil
	}
	percent := int(v.Num())
	if v.Kind() != jsondoc.Number || v.Num() != float64(int32(v.Num())) {
		return t, BadRequest("The offer's 'incrementPercent' must be an integer.")
	}
	t.Increment = &percent
	return t, nil
}

// decodeRU parses a number of RU/s. The store checks the limits.
func decodeRU(v jsondoc.Value, name string) (int, error) {
	ru := v.Num()
	if v.Kind() != jsondoc.Number || ru != float64(int32(ru)) || ru == 0 {
		return 0, BadRequest("The offer's '" + name + "' must be a positive integer.")
	}
	return int(ru), nil
}

// migrated returns the throughput after a migration between manual and autoscale. The content may contain a
// value of the new kind. If it has a value of the old kind instead, or a number that is not positive, the
// server derives the new value: the autoscale maximum is the manual throughput, rounded up to a multiple of
// 1000, and the manual throughput is the autoscale maximum.
func migrated(old definition.Throughput, content jsondoc.Value,
	toAutoscale bool) (definition.Throughput, error) {
	most := max(old.Manual, old.Autoscale)
	auto := content.Member("offerAutopilotSettings")
	manual := content.Member("offerThroughput")
	scaled := auto.Kind() == jsondoc.Object && auto.Member("maxThroughput").Num() > 0
	switch {
	case content.Kind() != jsondoc.Object:
		return definition.Throughput{}, BadRequest("The offer's 'content' must be an object.")
	case toAutoscale && auto.Kind() == jsondoc.Object:
		return decodeAutoscale(auto)
	case toAutoscale:
		return definition.Throughput{Autoscale: (most + 999) / 1000 * 1000}, nil
	case scaled || manual.Kind() == jsondoc.Undefined || manual.Kind() == jsondoc.Number && manual.Num() <= 0:
		return definition.Throughput{Manual: most}, nil
	}
	ru, err := decodeRU(manual, "content.offerThroughput")
	return definition.Throughput{Manual: ru}, err
}

func (c *requestInProgress) sendOffer(o store.Offer) error {
	c.out.setETag(o.ETag)
	c.out.ReplacePending, c.out.MinThroughput = o.Pending, 400
	if o.Throughput.Autoscale > 0 {
		c.out.MinThroughput = 1000
	}
	return c.json(StatusOK, appendOffer(nil, o))
}

func appendOffer(dst []byte, o store.Offer) []byte {
	most := int64(max(o.Throughput.Manual, o.Throughput.Autoscale))
	ru := most
	if o.Throughput.Autoscale > 0 {
		ru = most / 10 // the minimum to which autoscale scales down
	}
	version, level := "V2", "Invalid"
	if o.Throughput.Level != "" {
		version, level = "V1", o.Throughput.Level
	}
	dst = jsondoc.AppendString(append(dst, `{"id":`...), o.ID)
	dst = appendSystem(append(dst, ','), o.ID, "offers/"+o.ID+"/", o.ETag, o.Timestamp)
	dst = jsondoc.AppendString(append(dst, `,"resource":`...), o.Resource)
	dst = jsondoc.AppendString(append(dst, `,"offerResourceId":`...), o.ResourceRID)
	dst = append(append(dst, `,"offerVersion":"`...), version...)
	dst = append(append(dst, `","offerType":"`...), level...)
	dst = append(dst, `","content":{"offerThroughput":`...)
	dst = strconv.AppendInt(dst, ru, 10)
	dst = append(dst, `,"offerIsRUPerMinuteThroughputEnabled":false,`+
		`"offerMinimumThroughputParameters":{"maxThroughputEverProvisioned":`...)
	dst = append(strconv.AppendInt(dst, most, 10), `,"maxConsumedStorageEverInKB":0}`...)
	if o.Pending {
		dst = append(dst, `,"isOfferReplacePending":true`...)
	}
	if o.Throughput.Autoscale > 0 {
		dst = strconv.AppendInt(append(dst, `,"offerAutopilotSettings":{"maxThroughput":`...), most, 10)
		dst = strconv.AppendInt(append(dst, `,"tier":0,"maximumTierThroughput":`...), most, 10)
		dst = append(dst, `,"autoUpgrade":false`...)
		if by := o.Throughput.Increment; by != nil {
			dst = strconv.AppendInt(append(dst,
				`,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":`...),
				int64(*by), 10)
			dst = append(dst, `}}`...)
		}
		dst = append(dst, '}')
	}
	return append(dst, `}}`...)
}
