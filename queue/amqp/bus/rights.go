package bus

import (
	"errors"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/amqp"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/ttl"
)

// right is what a link needs.
type right struct {
	path string
	need access.Rights
}

// admit lets a link in, or fails with CodeUnauthorized.
func (c *conn) admit(l *amqp.Link, r right) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.allowed(r); err != nil {
		return err
	}
	c.links[l] = r
	return nil
}

// allows reports whether the connection may do something with an entity.
func (c *conn) allows(path string, need access.Rights) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allowed(right{path: path, need: need})
}

// allowed looks for a grant that is enough. The lock is held.
func (c *conn) allowed(r right) (err error) {
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

// forget notes that a link is gone.
func (c *conn) forget(l *amqp.Link) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.links, l)
	delete(c.sessions, l)
}

// grant adds what a token grants, in the place of what the last one for the same granted.
func (c *conn) grant(g access.Grant) {
	c.shown.Store(true)
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

// watch sets the timer for the grant that expires next. The lock is held.
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

// expire drops grants that are over, and detaches the links that nothing lets in any more.
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
		c.grants = []access.Grant{{}}
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
