package bus

import (
	"errors"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/ttl"
)

// requiredRight is the right on an entity that a link needs.
type requiredRight struct {
	path string
	need access.Rights
}

// admit registers a link with r, the right that it needs as long as it exists. It fails with CodeUnauthorized
// if the connection does not have that right.
func (c *conn) admit(l *amqp.Link, r requiredRight) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.allowed(r); err != nil {
		return err
	}
	c.links[l] = r
	return nil
}

// allows fails with CodeUnauthorized if no grant of the connection allows the operation.
func (c *conn) allows(path string, need access.Rights) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allowed(requiredRight{path: path, need: need})
}

// allowed fails if no grant of the connection includes a right. The caller holds the lock.
func (c *conn) allowed(r requiredRight) (err error) {
	for _, g := range c.grants {
		if err = c.bus.o.Guard.Allow(g, r.path, r.need); err == nil {
			return nil
		}
	}
	text := "Unauthorized access. " + err.Error()
	var denied *access.Error
	switch errors.As(err, &denied); {
	case denied == nil:
	case denied.Reason == access.Expired:
		text = denied.Detail
	case denied.Reason == access.Lacking:
		text += " Resource: 'sb://" + c.namespace + "/" + r.path + "'."
	}
	return &entity.Error{Code: entity.CodeUnauthorized, Entity: r.path, Err: err, Message: text}
}

// forget removes a link that has ended from the connection's lists of links.
func (c *conn) forget(l *amqp.Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.links, l)
	delete(c.sessions, l)
}

// grant adds a grant. It replaces an earlier grant for the same key and path.
func (c *conn) grant(g access.GrantedRights) {
	c.authenticated.Store(true)
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, old := range c.grants {
		if old.Key == g.Key && samePath(old.Path, g.Path) && old.Expires <= g.Expires && i > 0 {
			c.grants[i] = g
			c.watch()
			return
		}
	}
	c.grants = append(c.grants, g)
	c.watch()
}

func samePath(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// watch sets the timer for the next grant to expire. The caller holds the lock.
func (c *conn) watch() {
	if c.stopTimer != nil {
		c.stopTimer()
		c.stopTimer = nil
	}
	var first time.Time
	for _, g := range c.grants {
		if at := c.bus.o.Guard.Renews(g); !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() && c.ctx.Err() == nil {
		c.stopTimer = ttl.AfterFunc(c.bus.o.Wall, first.Sub(c.bus.o.Wall.Now()), c.expire)
	}
}

// expire removes expired grants, and detaches the links that the remaining grants do not allow.
func (c *conn) expire() {
	c.mu.Lock()
	now := c.bus.o.Wall.Now()
	kept := c.grants[:0]
	for _, g := range c.grants {
		if at := c.bus.o.Guard.Renews(g); at.IsZero() || at.After(now) {
			kept = append(kept, g)
		}
	}
	if c.grants = kept; len(kept) == 0 {
		c.grants = []access.GrantedRights{{}}
	}
	over := make(map[*amqp.Link]error)
	for l, r := range c.links {
		if err := c.allowed(r); err != nil {
			over[l] = err
		}
	}
	c.watch()
	c.mu.Unlock()
	for l, err := range over {
		l.Detach(c.asError(err, ""))
	}
}
