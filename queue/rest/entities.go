package rest

import (
	"errors"
	"net/http"
	"strings"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
)

// manage handles requests for entities and rules.
func (c *activeRequest) manage() error {
	n := len(c.path)
	whole := c.pathWithoutLast(0)
	if err := c.allow(whole, access.Manage); err != nil {
		return c.refused(err)
	}
	switch {
	case n == 1 && c.segmentIs(0, "$namespaceinfo"):
		return c.namespaceInfo()
	case n == 2 && c.segmentIs(0, "$Resources"):
		return c.listEntities()
	case n > 4 && c.segmentIs(-2, "Rules") && c.segmentIs(-4, "Subscriptions"):
		return c.rule(c.pathWithoutLast(2), c.path[n-1])
	case n > 3 && c.segmentIs(-1, "Rules") && c.segmentIs(-3, "Subscriptions"):
		if c.r.Method == http.MethodPut { // the client sends the name only in the entry
			return c.rule(c.pathWithoutLast(1), "")
		}
		return c.listRules(c.pathWithoutLast(1))
	case n > 1 && c.segmentIs(-1, "Subscriptions") && !(n > 2 && c.segmentIs(-2, "Subscriptions")): // else a name
		return c.listSubscriptions(c.pathWithoutLast(1))
	}
	return c.entity(whole)
}

// entity handles a request for one entity.
func (c *activeRequest) entity(path string) error {
	ctx := c.r.Context()
	switch c.r.Method {
	case http.MethodGet:
		e, err := c.o.Queues.Get(ctx, path)
		if err == nil {
			return c.answerEntry(http.StatusOK, c.itemOf(e))
		}
		if c.isAbsent(topOf(path)) {
			return c.answerNothing()
		}
		return err
	case http.MethodDelete:
		if err := c.o.Queues.Delete(ctx, path); err != nil {
			return err
		}
		return c.answer(http.StatusOK, "", nil)
	case http.MethodPut:
		if c.r.Header.Get("If-Match") != "" {
			return c.update(path)
		}
		return c.create(path)
	}
	return c.notAllowed(http.MethodGet, http.MethodPut, http.MethodDelete)
}

// topOf returns the path of the queue or topic that a path belongs to: the topic of a subscription.
func topOf(path string) string {
	if a, _, err := entity.ParseAddress(path); err == nil {
		if topic, _, ok := a.Subscription(); ok {
			return topic
		}
	}
	return path
}

// isAbsent reports whether there is no entity with the path.
func (c *activeRequest) isAbsent(path string) bool {
	_, err := c.o.Queues.Get(c.r.Context(), path)
	return err != nil && entity.ErrorCodeOf(err) == entity.CodeEntityNotFound
}

// describedKind parses a description and returns the kind of entity that it describes.
func (c *activeRequest) describedKind(path string) (entity.Kind, *xmlNode, error) {
	if kindOfPath(path) == entity.Subscription {
		n, err := c.entry(rootOf(entity.Subscription))
		return entity.Subscription, n, err
	}
	content, err := c.content()
	if err != nil {
		return 0, nil, err
	}
	for _, kind := range []entity.Kind{entity.Queue, entity.Topic} {
		if n := content.child(rootOf(kind)); n != nil {
			return kind, n, nil
		}
	}
	return 0, nil, badRequest("The body describes neither a queue nor a topic.")
}

func (c *activeRequest) create(path string) error {
	kind, n, err := c.describedKind(path)
	if err != nil {
		return err
	}
	p, err := c.readProperties(kind, n, entity.Defaults(kind))
	if err != nil {
		return err
	}
	if p.EnablePartitioning && n.child("SupportOrdering") == nil {
		p.SupportOrdering = false // the service's default
	}
	if err := c.allowTargets(&p); err != nil {
		return err
	}
	var rules []entity.Rule
	if first := n.child("DefaultRuleDescription"); first != nil && !first.isNil() {
		r, err := readRule(first)
		if err != nil {
			return err
		}
		if r.Name == "" {
			r.Name = queue.DefaultRule
		}
		rules = append(rules, r)
	}
	e, err := c.o.Queues.Create(c.r.Context(), kind, path, p, rules...)
	if err != nil {
		return err
	}
	return c.answerEntry(http.StatusCreated, c.itemOf(e))
}

func (c *activeRequest) update(path string) error {
	kind, n, err := c.describedKind(path)
	if err != nil {
		return err
	}
	old, err := c.o.Queues.Get(c.r.Context(), path)
	if err == nil && old.Kind != kind {
		err = &statusError{http.StatusNotFound, "The messaging entity '" + path + "' is no " +
			strings.ToLower(kind.String()) + "."}
	}
	if err != nil {
		return err
	}
	p, err := c.readProperties(kind, n, old.Properties)
	if err != nil {
		return err
	}
	if err := c.allowTargets(&p); err != nil {
		return err
	}
	e, err := c.o.Queues.Update(c.r.Context(), path, p)
	if err != nil {
		return err
	}
	return c.answerEntry(http.StatusOK, c.itemOf(e))
}

// allowTargets fails unless the request may send messages to the forwarding targets in p: by its own token,
// or by the additional token that clients send for that purpose.
func (c *activeRequest) allowTargets(p *entity.Properties) error {
	for header, to := range map[string]string{
		"ServiceBusSupplementaryAuthorization":    p.ForwardTo,
		"ServiceBusDlqSupplementaryAuthorization": p.ForwardDeadLettersTo,
	} {
		if to == "" {
			continue
		}
		a, _, err := entity.ParseAddress(to)
		if err != nil {
			return err
		}
		err = c.allow(a.Entity, access.Send)
		text := c.r.Header.Get(header)
		if err == nil || text == "" {
			if err != nil {
				return err
			}
			continue
		}
		grant, tokenErr := c.o.Guard.Token(text)
		if tokenErr != nil {
			return errors.Join(tokenErr, err)
		}
		if err := c.o.Guard.Allow(grant, a.Entity, access.Send); err != nil {
			return err
		}
	}
	return nil
}
