package cosmos

import (
	"context"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// need is what a request asks of a resource token. The zero value is out of any token's reach: it wants the
// master key.
type need uint8

const (
	needMaster need = iota
	needToken       // any token that is valid
	// one for the container, or for anything in it: clients read its settings before all else
	needNear
	needRead     // mode Read or All, for the container or for the very thing
	needWrite    // mode All, for the same
	needReadAll  // mode Read or All, for the container
	needWriteAll // mode All, for the container
)

// needs is the one place that says what a resource token can do: its shape is that of handlers. What is not
// here, a replace of the container and its offer among it, is denied, with either mode.
var needs = [kindCount]struct{ feed, single [opCount]need }{
	KindAccount:   {single: [opCount]need{OpRead: needToken}},
	KindContainer: {single: [opCount]need{OpRead: needNear}},
	KindRange:     {feed: [opCount]need{OpRead: needNear}},
	KindAddresses: {feed: [opCount]need{OpRead: needNear}},
	KindItem: {
		feed: [opCount]need{OpRead: needReadAll, OpQuery: needReadAll, OpQueryPlan: needReadAll,
			OpChangeFeed: needReadAll, OpQueryChanges: needReadAll,
			OpCreate: needWriteAll, OpUpsert: needWriteAll, OpBatch: needWriteAll},
		single: [opCount]need{OpRead: needRead, OpReplace: needWrite, OpPatch: needWrite,
			OpDelete: needWrite},
	},
	KindAttachment: {
		feed:   [opCount]need{OpRead: needRead, OpQuery: needRead},
		single: [opCount]need{OpRead: needRead},
	},
	KindPartitionDelete: {single: [opCount]need{OpCreate: needWriteAll}},
	KindConflict: {
		feed:   [opCount]need{OpRead: needReadAll, OpQuery: needReadAll},
		single: [opCount]need{OpRead: needReadAll, OpDelete: needWriteAll},
	},
	KindSproc: {
		feed: scriptFeedNeeds,
		// POST executes.
		single: [opCount]need{OpRead: needRead, OpReplace: needWrite, OpDelete: needWrite,
			OpCreate: needWrite},
	},
	KindTrigger: {feed: scriptFeedNeeds, single: scriptNeeds},
	KindUDF:     {feed: scriptFeedNeeds, single: scriptNeeds},
}

var (
	scriptFeedNeeds = [opCount]need{OpRead: needReadAll, OpQuery: needReadAll, OpCreate: needWriteAll,
		OpUpsert: needWriteAll}
	scriptNeeds = [opCount]need{OpRead: needRead, OpReplace: needWrite, OpDelete: needWrite}
)

// forbidden is the answer to a valid token that does not reach as far as the request.
func forbidden() error {
	return Failure(StatusForbidden, 0,
		"Insufficient permissions provided in the authorization header for the corresponding request. Please "+
			"retry with another authorization header.")
}

// Permit checks a request against what its client may do, which needs no body: a wire that asks before it
// reads one spares the client sending it. Serve asks where nobody has.
func (s *Service) Permit(ctx context.Context, req *Request) error {
	if req.permitted {
		return nil
	}
	if req.Headers.Imported != nil && !req.Trusted {
		return Failure(StatusForbidden, 0, "An import needs the master key.")
	}
	if req.Grant != nil {
		c := s.begin(ctx, req, nil) // there is no answer yet
		defer c.end()
		if err := s.permit(c, req.Grant); err != nil {
			return err
		}
	}
	req.permitted = true
	return nil
}

// permit checks a request against what its resource token grants.
func (s *Service) permit(c *call, g *Grant) error {
	if err := g.checkLife(s.db.Now()); err != nil {
		return err
	}
	want := needs[c.req.Kind].single[c.req.Operation]
	if c.req.Feed {
		want = needs[c.req.Kind].feed[c.req.Operation]
	}
	switch {
	case want == needMaster || (want == needWrite || want == needWriteAll) && !g.Write:
		return forbidden()
	case want == needToken:
		return nil
	}
	p, err := s.locate(c)
	if err != nil {
		return fault.Owner(err)
	}
	if g.Container == "" || p.container.Info().RID != g.Container {
		return forbidden()
	}
	// What runs later looks the container up anew: it must find this one.
	c.in.IntendedRID = g.Container
	if want == needNear {
		return nil
	}
	return s.permitInside(c, p, g, want)
}

// permitInside is permit for a request inside the container that the token is about.
func (s *Service) permitInside(c *call, p place, g *Grant, want need) error {
	if g.Type != "" && (want == needReadAll || want == needWriteAll || g.Type != c.childType()) {
		return forbidden()
	}
	switch c.req.Kind {
	case KindItem, KindAttachment, KindPartitionDelete, KindConflict:
		return s.permitItems(c, p, g)
	}
	// A script is one for all partition keys: under a token for one key it can be read, and run in that key.
	running := c.req.Kind == KindSproc && !c.req.Feed && c.req.Operation == OpCreate
	if running && !g.covers(c.in.PartitionKey) || !running && !g.partition.IsZero() && (want == needWrite ||
		want == needWriteAll) {
		return forbidden()
	}
	if g.Type == "" {
		return nil
	}
	scripts := p.container.Resources(smallKinds[c.req.Kind].kind)
	script, err := smallPlace{Resources: scripts, byRID: p.byRID}.named(c.req.Address.Leaf())
	if err != nil || script.RID != g.RID {
		return forbidden()
	}
	return nil
}

// childType is the keyword of what the request addresses in a container; an attachment is a part of its item.
func (c *call) childType() string {
	if c.req.Kind == KindAttachment {
		return "docs"
	}
	return c.req.Kind.keyword()
}

// permitItems checks partition key and item. A request by rid is checked by the key of the item that it
// names.
func (s *Service) permitItems(c *call, p place, g *Grant) error {
	single := c.req.Address.N > 2 && c.req.Kind != KindConflict // it names an item
	if !single || g.Type == "" && !p.byRID {
		// The operations of a batch that is no transaction have partition keys of their own.
		bulk := c.req.Operation == OpBatch && !c.in.Atomic
		if !g.covers(c.in.PartitionKey) || bulk && !g.partition.IsZero() {
			return forbidden()
		}
		return nil
	}
	asked := store.Key{Partition: c.in.PartitionKey, ID: c.req.Address.ID(2)}
	if p.byRID {
		if g.RID != "" && g.RID != asked.ID {
			return forbidden()
		}
		key, err := p.container.ResolveRID(c.ctx, asked.ID)
		if err != nil {
			return err
		}
		asked = key
	} else if g.RID != "" {
		// The token knows the item by its rid, the request by its id.
		key, err := p.container.ResolveRID(c.ctx, g.RID)
		if err != nil || key.ID != asked.ID || !asked.Partition.IsZero() &&
			key.Partition.String() != asked.Partition.String() {
			return forbidden()
		}
	}
	if g.ID != "" && g.ID != asked.ID || !g.covers(asked.Partition) {
		return forbidden()
	}
	return nil
}

// covers reports whether a request for a partition key stays inside the token's. A token for a prefix of a
// hierarchical key covers all keys below it.
func (g *Grant) covers(pk definition.PartitionKey) bool {
	if g.partition.IsZero() {
		return true
	}
	if pk.IsZero() || pk.Len() < g.partition.Len() {
		return false
	}
	return definition.NewPartitionKey(pk.Values()[:g.partition.Len()]...).String() == g.partition.String()
}
