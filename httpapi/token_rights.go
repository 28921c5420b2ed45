package httpapi

import (
	"net/http"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// need is what a request asks of a resource token. The zero value is out of any token's reach: it wants the
// master key.
type need uint8

const (
	needMaster   need = iota
	needToken         // any token that is valid
	needNear          // one for the container, or for anything in it: clients read its settings before all else
	needRead          // mode Read or All, for the container or for the very thing
	needWrite         // mode All, for the same
	needReadAll       // mode Read or All, for the container
	needWriteAll      // mode All, for the container
)

// needs is the one place that says what a resource token can do: its shape is that of handlers. What is not
// here, a replace of the container and its offer among it, is denied, with either mode.
var needs = [kindCount]struct{ feed, single [opCount]need }{
	kindAccount:   {single: [opCount]need{opRead: needToken}},
	kindContainer: {single: [opCount]need{opRead: needNear}},
	kindRange:     {feed: [opCount]need{opRead: needNear}},
	kindItem: {
		feed: [opCount]need{opRead: needReadAll, opQuery: needReadAll, opQueryPlan: needReadAll, opChangeFeed: needReadAll,
			opCreate: needWriteAll, opUpsert: needWriteAll, opBatch: needWriteAll},
		single: [opCount]need{opRead: needRead, opReplace: needWrite, opPatch: needWrite, opDelete: needWrite},
	},
	kindAttachment: {
		feed:   [opCount]need{opRead: needRead, opQuery: needRead},
		single: [opCount]need{opRead: needRead},
	},
	kindPartitionDelete: {single: [opCount]need{opCreate: needWriteAll}},
	kindConflict: {
		feed:   [opCount]need{opRead: needReadAll, opQuery: needReadAll},
		single: [opCount]need{opRead: needReadAll, opDelete: needWriteAll},
	},
	kindSproc: {
		feed: scriptFeedNeeds,
		// POST executes.
		single: [opCount]need{opRead: needRead, opReplace: needWrite, opDelete: needWrite, opCreate: needWrite},
	},
	kindTrigger: {feed: scriptFeedNeeds, single: scriptNeeds},
	kindUDF:     {feed: scriptFeedNeeds, single: scriptNeeds},
}

var (
	scriptFeedNeeds = [opCount]need{opRead: needReadAll, opQuery: needReadAll, opCreate: needWriteAll, opUpsert: needWriteAll}
	scriptNeeds     = [opCount]need{opRead: needRead, opReplace: needWrite, opDelete: needWrite}
)

// forbidden is the answer to a valid token that does not reach as far as the request.
func forbidden() error {
	return wireErr(http.StatusForbidden, 0,
		"Insufficient permissions provided in the authorization header for the corresponding request. Please retry with another authorization header.")
}

// permit checks a request against what its resource token grants.
func (s *Server) permit(c *call, g *grant) error {
	if err := g.checkLife(s.db.Now()); err != nil {
		return err
	}
	table := &needs[c.target.kind]
	want := table.single[c.operation()]
	if c.target.feed {
		want = table.feed[c.operation()]
	}
	switch {
	case want == needMaster || (want == needWrite || want == needWriteAll) && !g.Write:
		return forbidden()
	case want == needToken:
		return nil
	}
	p, err := s.locate(c)
	if err != nil {
		return owner(err)
	}
	if g.Container == "" || p.container.Info().RID != g.Container {
		return forbidden()
	}
	// What runs later looks the container up anew: it must find this one.
	c.in.intendedRID = g.Container
	if want == needNear {
		return nil
	}
	return s.permitInside(c, p, g, want)
}

// permitInside is permit for a request inside the container that the token is about.
func (s *Server) permitInside(c *call, p place, g *grant, want need) error {
	if g.Type != "" && (want == needReadAll || want == needWriteAll || g.Type != c.childType()) {
		return forbidden()
	}
	switch c.target.kind {
	case kindItem, kindAttachment, kindPartitionDelete, kindConflict:
		return s.permitItems(c, p, g)
	}
	// A script is one for all partition keys: under a token for one key it can be read, and run in that key.
	running := c.target.kind == kindSproc && !c.target.feed && c.operation() == opCreate
	if running && !g.covers(c.in.partitionKey) || !running && !g.partition.IsZero() && (want == needWrite || want == needWriteAll) {
		return forbidden()
	}
	if g.Type == "" {
		return nil
	}
	scripts := p.container.Resources(smallKinds[c.target.kind].kind)
	script, err := smallPlace{Resources: scripts, byRID: p.byRID}.named(c.target.leaf())
	if err != nil || script.RID != g.RID {
		return forbidden()
	}
	return nil
}

// childType is the keyword of what the request addresses in a container; an attachment is a part of its item.
func (c *call) childType() string {
	if c.target.kind == kindAttachment {
		return "docs"
	}
	return c.target.resourceType
}

// permitItems checks partition key and item. A request by rid is checked by the key of the item that it
// names.
func (s *Server) permitItems(c *call, p place, g *grant) error {
	single := c.target.n > 2 && c.target.kind != kindConflict // it names an item
	if !single || g.Type == "" && !p.byRID {
		// The operations of a batch that is no transaction have partition keys of their own.
		bulk := c.operation() == opBatch && !c.in.atomic
		if !g.covers(c.in.partitionKey) || bulk && !g.partition.IsZero() {
			return forbidden()
		}
		return nil
	}
	asked := store.Key{Partition: c.in.partitionKey, ID: c.target.id(2)}
	if p.byRID {
		if g.RID != "" && g.RID != asked.ID {
			return forbidden()
		}
		key, err := p.container.ResolveRID(c.ctx(), asked.ID)
		if err != nil {
			return err
		}
		asked = key
	} else if g.RID != "" {
		// The token knows the item by its rid, the request by its id.
		key, err := p.container.ResolveRID(c.ctx(), g.RID)
		if err != nil || key.ID != asked.ID || !asked.Partition.IsZero() && key.Partition.String() != asked.Partition.String() {
			return forbidden()
		}
	}
	if g.ID != "" && g.ID != asked.ID || !g.covers(asked.Partition) {
		return forbidden()
	}
	return nil
}

// covers tells whether a request for a partition key stays inside the token's. A token for a prefix of a
// hierarchical key covers all keys below it.
func (g *grant) covers(pk definition.PartitionKey) bool {
	if g.partition.IsZero() {
		return true
	}
	if pk.IsZero() || pk.Len() < g.partition.Len() {
		return false
	}
	return definition.NewPartitionKey(pk.Values()[:g.partition.Len()]...).String() == g.partition.String()
}
