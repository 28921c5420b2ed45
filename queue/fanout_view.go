package queue

import (
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/rule"
)

// view is a message as rules see it: what its sender wrote, and what the topic knows of it.
type view struct {
	m *message.Message
	h *header
}

func (v *view) matches(f rule.Filter) (bool, error) { return f.Kind() == rule.KindTrue, nil }

func (v *view) apply(rule.Action) error { return nil }

func (v *view) values(names []string) (string, bool) { return "", false }

func wanted(f rule.Filter) (names []string, values string) { return nil, "" }

func acts(rule.Action) bool { return false }
