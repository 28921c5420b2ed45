package httpapi

import (
	"time"

	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/inspect"
)

// setExpiry sets the headers for an item's TTL source and, if the item expires, its expiry time.
func (c *activeRequest) setExpiry(e inspect.Expiry) {
	c.set("x-mayfly-ttl-source", e.Source.String())
	if e.Mortal {
		c.set("x-mayfly-expires-at", second(e.ExpiresAt))
	}
}

// setLint names the lint rules that the written time to live violates.
func (c *activeRequest) setLint(found definition.LintViolations) {
	if found != 0 {
		c.set("x-mayfly-lint", found.String())
	}
}

func second(s int64) string { return time.Unix(s, 0).UTC().Format(time.RFC3339) }
