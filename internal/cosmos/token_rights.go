package cosmos

import (
	"context"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// requiredRight is the right that a resource token must have for a request. A request with the zero value
// needs the master key.
type requiredRight uint8

const (
	needMaster requiredRight = iota
	needToken                // any valid token
	// needNear needs a token for the container or for anything in it, since clients read the container's
	// settings before anything else
	needNear
	needRead     // mode Read or All, for the container or the resource itself
	needWrite    // mode All, for the container or the resource itself
	needReadAll  // mode Read or All, for the container
	needWriteAll // mode All, for the container
)

// needs maps each kind of resource and each operation, on a feed or on a single resource, to the right that a
// resource token must have. Operations that are not listed, such as replacing the container or its offer,
// need the master key: every resource token is refused.
var needs = [kindCount]struct{ feed, single [opCount]requiredRight }{
	KindAccount:   {single: [opCount]requiredRight{OpRead: needToken}},
	KindContainer: {single: [opCount]requiredRight{OpRead: needNear}},
	KindRange:     {feed: [opCount]requiredRight{OpRead: needNear}},
	KindAddresses: {feed: [opCount]requiredRight{OpRead: needNear}},
	KindItem: {
		feed: [opCount]requiredRight{OpRead: needReadAll, OpQuery: needReadAll, OpQueryPlan: needReadAll,
			OpChangeFeed: needReadAll, OpQueryChanges: needReadAll,
			OpCreate: needWriteAll, OpUpsert: needWriteAll, OpBatch: needWriteAll},
		single: [opCount]requiredRight{OpRead: needRead, OpReplace: needWrite, OpPatch: needWrite,
			OpDelete: needWrite},
	},
	KindAttachment: {
		feed:   [opCount]requiredRight{OpRead: needRead, OpQuery: needRead},
		single: [opCount]requiredRight{OpRead: needRead},
	},
	KindPartitionDelete: {single: [opCount]requiredRight{OpCreate: needWriteAll}},
	KindConflict: {
		feed:   [opCount]requiredRight{OpRead: needReadAll, OpQuery: needReadAll},
		single: [opCount]requiredRight{OpRead: needReadAll, OpDelete: needWriteAll},
	},
	KindSproc: {
		feed: scriptFeedNeeds,
		// OpCreate executes the procedure.
		single: [opCount]requiredRight{OpRead: needRead, OpReplace: needWrite, OpDelete: needWrite,
			OpCreate: needWrite},
	},
	KindTrigger: {feed: scriptFeedNeeds, single: scriptNeeds},
	KindUDF:     {feed: scriptFeedNeeds, single: scriptNeeds},
}

var (
	scriptFeedNeeds = [opCount]requiredRight{OpRead: needReadAll, OpQuery: needReadAll, OpCreate: needWriteAll,
		OpUpsert: needWriteAll}
	scriptNeeds = [opCount]requiredRight{OpRead: needRead, OpReplace: needWrite, OpDelete: needWrite}
)

// forbidden returns the error for a valid token whose rights do not suffice.
func forbidden() error {
	return Failure(StatusForbidden, 0,
		"Insufficient permissions provided in the authorization header for the corresponding request. Please "+
			"retry with another authorization header.")
}

// Permit checks whether the client may make a request. It does not need the body, so a protocol's server
// (HTTP or direct mode) can call it before it reads the body, which the client then need not send. If it was
// not called, Serve does the same check.
func (s *Service) Permit(ctx context.Context, req *Request) error {
	if req.permitted {
		return nil
	}
	if req.Headers.Imported != nil && !req.Trusted {
		return Failure(StatusForbidden, 0, "An import needs the master key.")
	}
	if req.Grant != nil {
		c := s.begin(ctx, req, nil) // no answer yet
		defer c.end()
		if err := s.permit(c, req.Grant); err != nil {
			return err
		}
	}
	req.permitted = true
	return nil
}

// permit checks a request against its resource token's grant.
func (s *Service) permit(c *requestInProgress, g *ResourceTokenPayload) error {
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
	// The handler locates the container again, and must find the same one.
	c.in.IntendedRID = g.Container
	if want == needNear {
		return nil
	}
	return s.permitInside(c, p, g, want)
}

// permitInside checks a request inside the token's container, such as one for an item or a script, against
// the grant. want is the right that the request requires.
func (s *Service) permitInside(c *requestInProgress, p addressedContainer, g *ResourceTokenPayload,
	want requiredRight) error {
	if g.Type != "" && (want == needReadAll || want == needWriteAll || g.Type != c.childType()) {
		return forbidden()
	}
	switch c.req.Kind {
	case KindItem, KindAttachment, KindPartitionDelete, KindConflict:
		return s.permitItems(c, p, g)
	}
	// A script is not limited to a partition key. A token for one partition key may read it, and may run it
	// in that partition key.
	running := c.req.Kind == KindSproc && !c.req.Feed && c.req.Operation == OpCreate
	if running && !g.covers(c.in.PartitionKey) || !running && !g.partition.IsZero() && (want == needWrite ||
		want == needWriteAll) {
		return forbidden()
	}
	if g.Type == "" {
		return nil
	}
	scripts := p.container.Resources(smallKinds[c.req.Kind].kind)
	script, err := resourceParent{ChildResources: scripts, byRID: p.byRID}.named(c.req.Address.Leaf())
	if err != nil || script.RID != g.RID {
		return forbidden()
	}
	return nil
}

// childType returns the path segment, such as "docs", that stands for the kind of the resource in a container
// that the request addresses. For an attachment it is that of the item.
func (c *requestInProgress) childType() string {
	if c.req.Kind == KindAttachment {
		return "docs"
	}
	return c.req.Kind.keyword()
}

// permitItems checks that the grant covers the partition key and the item of a request. For a request by
// rid it checks the partition key of the item with that rid.
func (s *Service) permitItems(c *requestInProgress, p addressedContainer, g *ResourceTokenPayload) error {
	single := c.req.Address.N > 2 && c.req.Kind != KindConflict // the address contains the id of an item
	if !single || g.Type == "" && !p.byRID {
		// If a batch is not a transaction, its operations may have different partition keys.
		bulk := c.req.Operation == OpBatch && !c.in.Atomic
		if !g.covers(c.in.PartitionKey) || bulk && !g.partition.IsZero() {
			return forbidden()
		}
		return nil
	}
	asked := store.ItemKey{Partition: c.in.PartitionKey, ID: c.req.Address.ID(2)}
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
		// The token contains the item's rid, and the request its id.
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

// covers reports whether the token is valid for a partition key. A token for a prefix of a hierarchical key
// covers all keys with that prefix.
func (g *ResourceTokenPayload) covers(pk definition.PartitionKey) bool {
	if g.partition.IsZero() {
		return true
	}
	if pk.IsZero() || pk.Len() < g.partition.Len() {
		return false
	}
	return definition.NewPartitionKey(pk.Values()[:g.partition.Len()]...).String() == g.partition.String()
}
