package rest

import (
	"net/http"

	"github.com/mayflydb/mayfly/queue/entity"
)

// listEntities lists the queues or the topics.
func (c *activeRequest) listEntities() error {
	switch {
	case c.segmentIs(1, "Queues"):
		return c.list(entity.Queue, "", "Queues")
	case c.segmentIs(1, "Topics"):
		return c.list(entity.Topic, "", "Topics")
	}
	return c.unknown()
}

func (c *activeRequest) listSubscriptions(topic string) error {
	return c.list(entity.Subscription, topic, "Subscriptions")
}

func (c *activeRequest) list(kind entity.Kind, topic, title string) error {
	skip, top, err := c.listed()
	if err != nil {
		return err
	}
	found, err := c.o.Queues.List(c.r.Context(), kind, topic, skip, top+1)
	if err != nil {
		return err
	}
	items := make([]atomEntry, len(found))
	for i, e := range found {
		items[i] = c.itemOf(e)
	}
	return c.answerFeed(title, items, skip, top)
}

// listed checks the method of a list request, and returns its paging parameters $skip and $top.
func (c *activeRequest) listed() (skip, top int, err error) {
	if c.r.Method != http.MethodGet {
		return 0, 0, c.notAllowed(http.MethodGet)
	}
	return c.page()
}

func (c *activeRequest) listRules(subscription string) error {
	skip, top, err := c.listed()
	if err != nil {
		return err
	}
	found, err := c.o.Queues.Rules(c.r.Context(), subscription, skip, top+1)
	if err != nil {
		return err
	}
	items := make([]atomEntry, len(found))
	for i, r := range found {
		items[i] = ruleItem(subscription, r)
	}
	return c.answerFeed("Rules", items, skip, top)
}
