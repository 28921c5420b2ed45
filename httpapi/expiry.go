package httpapi

import (
	"time"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/inspect"
)

// setExpiry sets the headers for an item's TTL source and, if the item expires, its expiry time.
func (c *activeRequest) setExpiry(e inspect.ItemExpiryExplanation) {
	c.set("x-mayfly-ttl-source", e.Source.String())
	if e.Mortal {
		c.set("x-mayfly-expires-at", second(e.ExpiresAt))
	}
}

// setLint sets the header x-mayfly-lint to the names of the lint rules that a write violated. A lint rule
// reports a valid value, such as a very long time to live, that is probably a mistake. If found is empty,
// setLint does nothing.
func (c *activeRequest) setLint(found definition.BrokenLintRules) {
	if found != 0 {
		c.set("x-mayfly-lint", found.String())
	}
}

func second(s int64) string { return time.Unix(s, 0).UTC().Format(time.RFC3339) }
