package message

import (
	"encoding/json"
	"time"
)

type UUID [16]byte

type Property struct {
	Name  string
	Value any
}

type Broker struct {
	SequenceNumber, EnqueuedSequenceNumber int64
	EnqueuedTime, LockedUntil, ExpiresAt   time.Time
	DeliveryCount                          int32
	State                                  int32
	TTL                                    int64
	DeadLetterSource                       string
}

type Message struct {
	ID, Session, PartitionKey string
	TTL                       *int64
	Due                       int64
	Body                      []byte
	Properties                map[string]any
}

func (m *Message) Encode() []byte { b, _ := json.Marshal(m); return b }
func Decode(b []byte) (m *Message, err error) {
	m = &Message{}
	return m, json.Unmarshal(b, m)
}
