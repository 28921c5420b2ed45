package queue

import (
	"context"

	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// PartitionOf returns the key that determines the partition of messages that are sent together. It returns ""
// if there is none, or the entity is not partitioned. It fails with CodeNotAllowed if the messages have
// different keys, and with CodeEntityNotFound if the entity does not exist.
func (q *Queues) PartitionOf(a entity.Address, list []*message.Message) (key string, err error) {
	m, err := q.dataset()
	if err != nil {
		return "", err
	}
	e, err := m.find(a)
	if err != nil {
		return "", err
	}
	e = e.top()
	if !e.properties.Load().EnablePartitioning || len(list) == 0 {
		return "", nil
	}
	key = e.partitionKey(list[0])
	for _, m := range list[1:] {
		if e.partitionKey(m) != key {
			return "", e.distinctPartitions()
		}
	}
	return key, nil
}

// LockedPartition returns the key that determines the partition of a locked message. It returns "" if the
// message has none or the lock is lost.
func (q *Queues) LockedPartition(ctx context.Context, a entity.Address,
	token message.UUID) (key string, err error) {
	s, err := q.store(ctx, a)
	if err != nil || !s.e.top().properties.Load().EnablePartitioning {
		return "", err
	}
	_, m, err := s.locked(ctx, token)
	if m == nil || err != nil {
		return "", err
	}
	return s.e.top().partitionKey(m), nil
}

// top returns the entity itself or, for a subscription, its topic.
func (e *entityState) top() *entityState {
	if e.topic != nil {
		return e.topic
	}
	return e
}

// partitionKey returns the key that determines a message's partition, or "" if its sender has set none.
func (e *entityState) partitionKey(m *message.Message) string {
	if id, ok := m.SessionID(); ok {
		return id
	}
	if key := m.PartitionKey(); key != "" {
		return key
	}
	if e.properties.Load().RequiresDuplicateDetection {
		return m.Text(message.MessageID)
	}
	return ""
}

func (e *entityState) distinctPartitions() *entity.Error {
	text := "Batching brokered messages with distinct SessionId or PartitionKey is not supported for an " +
		"entity with partitioning enabled."
	if e.properties.Load().RequiresDuplicateDetection {
		text = "Batching brokered messages with distinct SessionId, PartitionKey, or MessageId is not " +
			"supported for an entity with partitioning and duplicate detection enabled."
	}
	return &entity.Error{Code: entity.CodeNotAllowed, Entity: e.path, Message: text}
}
