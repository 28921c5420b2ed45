package laboratory

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// Message is a message, with when and why it expires.
type Message struct {
	Number        int64     `json:"sequenceNumber"`
	State         string    `json:"state" enum:"active,deferred,scheduled"`
	DeliveryCount uint32    `json:"deliveryCount" description:"Number of failed deliveries."`
	Enqueued      time.Time `json:"enqueued"`

	EnqueuedNumber int64      `json:"enqueuedSequenceNumber,omitempty" description:"Sequence number in the first entity, if it was forwarded."`
	Scheduled      *time.Time `json:"scheduled,omitempty" description:"Time at which it is enqueued."`

	ID             string `json:"id"`
	Session        string `json:"session,omitempty"`
	Subject        string `json:"subject,omitempty"`
	CorrelationID  string `json:"correlationId,omitempty"`
	ContentType    string `json:"contentType,omitempty"`
	To             string `json:"to,omitempty"`
	ReplyTo        string `json:"replyTo,omitempty"`
	ReplyToSession string `json:"replyToSession,omitempty"`
	PartitionKey   string `json:"partitionKey,omitempty"`

	DeadLetterSource string `json:"deadLetterSource,omitempty" description:"Entity in whose dead-letter queue it was, if it was forwarded from there."`

	Properties map[string]json.RawMessage `json:"properties,omitempty"`

	PropertyTypes map[string]string `json:"propertyTypes,omitempty" description:"AMQP type of each property."`

	Annotations map[string]json.RawMessage `json:"annotations,omitempty" description:"AMQP message annotations that the sender set."`

	Text      string        `json:"text,omitempty"`
	Base64    string        `json:"base64,omitempty" description:"Body in base64, if it is not text."`
	LockToken string        `json:"lockToken,omitempty" description:"Token of the receiver's lock."`
	Life      MessageExpiry `json:"life"`
}

// Messages is a list of messages.
type Messages struct {
	Messages []Message `json:"messages" nullable:"false"`
}

// MessageStoreSelector is the part of a request body that selects one of the two message stores of an entity:
// that of its messages, or that of its dead-letter queue. The path of the request names the entity.
type MessageStoreSelector struct {
	DeadLetters bool `json:"deadLetters,omitempty" description:"Use the entity's dead-letter queue."`
}

func (in *MessageStoreSelector) address(path string) entity.Address {
	a := entity.Address{Entity: path}
	if in.DeadLetters {
		a.Sub = entity.DeadLetters
	}
	return a
}

type peekMessagesRequest struct {
	EntityPath
	MessageStoreSelector
	From    int64    `json:"from,omitempty" minimum:"0" description:"Lowest sequence number."`
	Count   int      `json:"count,omitempty" minimum:"1" maximum:"1000" default:"100"`
	Session *string  `json:"session,omitempty" description:"Only messages of this session."`
	_       struct{} `body:"optional" takes:"peek takes %" additionalProperties:"false"`
}

func (l *Laboratory) peekMessages(ctx context.Context, in *peekMessagesRequest) (Messages, error) {
	list, err := in.queues.Peek(ctx, in.address(in.Entity), queue.PeekOptions{From: in.From, Max: in.Count,
		Session: in.Session, Locks: true})
	if err != nil {
		return Messages{}, ofQueues(err)
	}
	return in.answer(list), nil
}

// answer converts received or peeked messages to the response.
func (in *peekMessagesRequest) answer(list []queue.Delivery) Messages {
	out := Messages{make([]Message, len(list))}
	for i := range list {
		out.Messages[i] = messageOf(&list[i], &in.entity, in.DeadLetters)
	}
	return out
}

type takeMessagesRequest struct {
	EntityPath
	MessageStoreSelector
	Session *string `json:"session,omitempty"`
	Count   int     `json:"count,omitempty" minimum:"1" maximum:"1000" default:"1"`
	Seconds float64 `json:"seconds,omitempty" minimum:"0" maximum:"600" description:"Seconds to wait for the first message."`
	WaitTimeLimiter
	_ struct{} `body:"optional" takes:"receive takes %" additionalProperties:"false"`
}

func (l *Laboratory) takeMessages(ctx context.Context, in *takeMessagesRequest) (Messages, error) {
	o := queue.ReceiverOptions{Mode: queue.ReceiveAndDelete, Name: "laboratory"}
	if in.Session != nil {
		o.Session = &queue.SessionRequest{ID: *in.Session}
	}
	r, err := in.queues.OpenReceiver(ctx, in.address(in.Entity), o)
	if err != nil {
		return Messages{}, ofQueues(err)
	}
	defer r.Close()
	take := r.TryReceive
	if in.Seconds > 0 {
		patient, end := in.WaitTimeLimiter.wait(ctx, time.Duration(min(in.Seconds, 600)*float64(time.Second)))
		defer end()
		ctx, take = patient, r.Receive
	}
	list, err := take(ctx, in.Count)
	if err != nil {
		return Messages{}, ofQueues(err)
	}
	peek := peekMessagesRequest{EntityPath: in.EntityPath, MessageStoreSelector: in.MessageStoreSelector}
	return peek.answer(list), nil
}

// messageOf converts a message of an entity to the form of the response. dead means that it is in the
// dead-letter queue.
func messageOf(d *queue.Delivery, e *entity.Entity, dead bool) Message {
	m, b := d.Message, &d.Broker
	out := Message{Number: b.SequenceNumber, State: stateOf(b.State), DeliveryCount: b.DeliveryCount,
		Enqueued: momentOf(b.EnqueuedTime), EnqueuedNumber: b.EnqueuedSequenceNumber,
		ID: m.Text(message.MessageID), Session: m.Text(message.GroupID), Subject: m.Text(message.Subject),
		CorrelationID: m.Text(message.CorrelationID), ContentType: m.Text(message.ContentType),
		To: m.Text(message.To), ReplyTo: m.Text(message.ReplyTo),
		ReplyToSession: m.Text(message.ReplyToGroupID), PartitionKey: m.PartitionKey(),
		DeadLetterSource: b.DeadLetterSource, Life: lifeOf(d, e, dead)}
	if at := m.Scheduled(); at != message.Absent {
		t := momentOf(at)
		out.Scheduled = &t
	}
	if b.LockToken != nil {
		out.LockToken = b.LockToken.String()
	}
	out.Properties, out.PropertyTypes = propertiesOf(m.Application)
	out.Annotations, _ = propertiesOf(m.Annotations)
	out.Text, out.Base64 = bodyOf(m)
	return out
}

// bodyOf returns a message's body as text, or in base64 if it is not text. AMQP values and sequences are
// returned in their encoded form.
func bodyOf(m *message.Message) (text, encoded string) {
	data, ok := m.Data()
	if !ok {
		data = m.Body
	}
	if ok && utf8.Valid(data) {
		return string(data), ""
	}
	return "", base64.StdEncoding.EncodeToString(data)
}

func stateOf(s message.State) string {
	switch s {
	case message.Deferred:
		return "deferred"
	case message.Scheduled:
		return "scheduled"
	}
	return "active"
}
