package laboratory

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// Message is a message, with what is to become of it.
type Message struct {
	Number        int64                      `json:"sequenceNumber"`
	State         string                     `json:"state" enum:"active,deferred,scheduled"`
	DeliveryCount uint32                     `json:"deliveryCount" description:"Deliveries that have failed."`
	Enqueued      time.Time                  `json:"enqueued"`
	Scheduled     *time.Time                 `json:"scheduled,omitempty" description:"When it is to arrive."`
	ID            string                     `json:"id"`
	Session       string                     `json:"session,omitempty"`
	Subject       string                     `json:"subject,omitempty"`
	CorrelationID string                     `json:"correlationId,omitempty"`
	ContentType   string                     `json:"contentType,omitempty"`
	Properties    map[string]json.RawMessage `json:"properties,omitempty"`
	Text          string                     `json:"text,omitempty"`
	Base64        string                     `json:"base64,omitempty" description:"The body, where it is no text."`
	Life          Life                       `json:"life"`
}

// Messages is a list of them.
type Messages struct {
	Messages []Message `json:"messages" nullable:"false"`
}

// OfStore is the part of a body that chooses between an entity and its dead letters.
type OfStore struct {
	DeadLetters bool `json:"deadLetters,omitempty" description:"Those that have died there."`
}

func (in *OfStore) address(path string) entity.Address {
	a := entity.Address{Entity: path}
	if in.DeadLetters {
		a.Sub = entity.DeadLetters
	}
	return a
}

// object is a JSON object with strings, numbers and bools.
type object map[string]any

// DecodeMember implements route.Member.
func (o *object) DecodeMember(name string, v jsondoc.Value) error {
	if v.Kind() != jsondoc.Object {
		return route.BadRequest("'" + name + "' must be an object.")
	}
	*o = make(object)
	var err error
	v.Each(func(member string, v jsondoc.Value) bool {
		switch v.Kind() {
		case jsondoc.String:
			(*o)[member] = v.Str()
		case jsondoc.Bool:
			(*o)[member] = v.Bool()
		case jsondoc.Number:
			(*o)[member] = v.Num()
			if n := int64(v.Num()); float64(n) == v.Num() {
				(*o)[member] = n
			}
		default:
			err = route.BadRequest("'" + member + "' of '" + name + "' must be a string, a number or a bool.")
		}
		return err == nil
	})
	return err
}

// JSONSchema implements jsonschema.Exposer.
func (object) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.Object)
	s.WithDescription("Strings, numbers and bools by name.")
	return s, nil
}

type sendRequest struct {
	InEntity
	Text          string   `json:"text,omitempty"`
	ID            string   `json:"id,omitempty"`
	Session       string   `json:"session,omitempty"`
	Subject       string   `json:"subject,omitempty"`
	CorrelationID string   `json:"correlationId,omitempty"`
	ContentType   string   `json:"contentType,omitempty"`
	TTL           float64  `json:"ttl,omitempty" minimum:"0" description:"Seconds; left out: the entity's default."`
	Delay         float64  `json:"delay,omitempty" minimum:"0" description:"Seconds until it arrives."`
	Properties    object   `json:"properties,omitempty"`
	_             struct{} `takes:"a message has %" additionalProperties:"false"`
}

// Sent is what was sent.
type Sent struct {
	ID string `json:"id,omitempty" description:"As it was given; without one the server makes it."`
}

// longest is how many seconds a time to live or a delay can have.
const longest = 1e11

func (l *Laboratory) sendMessage(ctx context.Context, in *sendRequest) (Sent, error) {
	if in.TTL < 0 || in.TTL > longest || in.Delay < 0 || in.Delay > longest {
		return Sent{}, route.BadRequest("'ttl' and 'delay' must be numbers of seconds from 0 to 1e11.")
	}
	m := message.New([]byte(in.Text))
	for slot, text := range map[message.Slot]string{message.MessageID: in.ID, message.GroupID: in.Session,
		message.Subject: in.Subject, message.CorrelationID: in.CorrelationID, message.ContentType: in.ContentType} {
		if text != "" {
			m.SetText(slot, text)
		}
	}
	now := in.queues.Now()
	if in.TTL > 0 {
		m.SetOwnTTL(int64(in.TTL*1000), now.UnixMilli())
	}
	if in.Delay > 0 {
		m.SetScheduled(now.UnixMilli() + int64(in.Delay*1000))
	}
	for name, v := range in.Properties {
		raw, err := wire.Append(nil, v)
		if err != nil {
			return Sent{}, err
		}
		m.Set(name, raw)
	}
	to, err := entity.ParseDestination(in.Entity)
	if err == nil {
		err = in.queues.Send(ctx, to, []*message.Message{m}, nil)
	}
	if err != nil {
		return Sent{}, ofQueues(err)
	}
	return Sent{in.ID}, nil
}

type peekRequest struct {
	InEntity
	OfStore
	From    int64    `json:"from,omitempty" minimum:"0" description:"The first sequence number."`
	Count   int      `json:"count,omitempty" minimum:"1" maximum:"1000" default:"100"`
	Session *string  `json:"session,omitempty" description:"Messages of this session alone."`
	_       struct{} `body:"optional" takes:"peek takes %" additionalProperties:"false"`
}

func (l *Laboratory) peekMessages(ctx context.Context, in *peekRequest) (Messages, error) {
	list, err := in.queues.Peek(ctx, in.address(in.Entity), queue.PeekOptions{From: in.From, Max: in.Count,
		Session: in.Session})
	if err != nil {
		return Messages{}, ofQueues(err)
	}
	return in.tell(list), nil
}

// tell is a list of messages as people read it.
func (in *peekRequest) tell(list []queue.Delivery) Messages {
	out := Messages{make([]Message, len(list))}
	for i := range list {
		out.Messages[i] = messageOf(&list[i], &in.entity, in.DeadLetters)
	}
	return out
}

type takeRequest struct {
	InEntity
	OfStore
	Session *string `json:"session,omitempty"`
	Count   int     `json:"count,omitempty" minimum:"1" maximum:"1000" default:"1"`
	Seconds float64 `json:"seconds,omitempty" minimum:"0" maximum:"600" description:"How long to wait for the first one."`
	Patience
	_ struct{} `body:"optional" takes:"receive takes %" additionalProperties:"false"`
}

func (l *Laboratory) takeMessages(ctx context.Context, in *takeRequest) (Messages, error) {
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
		patient, end := in.Patience.wait(ctx, time.Duration(min(in.Seconds, 600)*float64(time.Second)))
		defer end()
		ctx, take = patient, r.Receive
	}
	list, err := take(ctx, in.Count)
	if err != nil {
		return Messages{}, ofQueues(err)
	}
	peek := peekRequest{InEntity: in.InEntity, OfStore: in.OfStore}
	return peek.tell(list), nil
}

// Moved is how many messages something was done with.
type Moved struct {
	Messages int `json:"messages"`
}

type resubmitRequest struct {
	InEntity
	Count  int      `json:"count,omitempty" minimum:"1" maximum:"1000000" default:"1000000" description:"At most so many."`
	Number int64    `json:"sequenceNumber,omitempty" minimum:"1" description:"This one alone."`
	_      struct{} `body:"optional" takes:"resubmit takes %" additionalProperties:"false"`
}

// resubmit sends dead letters again, to the queue in which they died or, of a subscription, to its topic.
// Each is in one place at any moment.
func (l *Laboratory) resubmit(ctx context.Context, in *resubmitRequest) (out Moved, err error) {
	to := entity.Address{Entity: in.entity.Path}
	if topic, _, ok := to.Subscription(); ok {
		to.Entity = topic
	}
	from := entity.Address{Entity: in.entity.Path, Sub: entity.DeadLetters}
	if in.Number > 0 {
		d, err := in.queues.ReceiveNumber(ctx, from, in.Number)
		if err == nil {
			err = in.sendAgain(ctx, from, to, []queue.Delivery{d})
		}
		if err == nil {
			out.Messages = 1
		}
		return out, ofQueues(err)
	}
	r, err := in.queues.OpenReceiver(ctx, from, queue.ReceiverOptions{Name: "laboratory"})
	if err != nil {
		return out, ofQueues(err)
	}
	defer r.Close()
	for out.Messages < in.Count {
		list, err := r.TryReceive(ctx, min(in.Count-out.Messages, resubmitted))
		if err != nil || len(list) == 0 {
			return out, ofQueues(err)
		}
		if err := in.sendAgain(ctx, from, to, list); err != nil {
			return out, ofQueues(err)
		}
		out.Messages += len(list)
	}
	return out, nil
}

// resubmitted is how many dead letters one transaction sends again.
const resubmitted = 20

func (in *resubmitRequest) sendAgain(ctx context.Context, from, to entity.Address,
	list []queue.Delivery) error {
	tx, err := in.queues.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback() // does nothing where it has been committed
	for _, d := range list {
		m := d.Message.Clone()
		for _, name := range []string{"DeadLetterReason", "DeadLetterErrorDescription"} {
			m.Set(name, wire.AppendNull(nil))
		}
		if err := in.queues.Send(ctx, to, []*message.Message{m}, tx); err != nil {
			return err
		}
		if err := in.queues.Settle(ctx, from, d.Token, queue.Settlement{Outcome: queue.Complete},
			tx); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

type purgeRequest struct {
	InEntity
	OfStore
	_ struct{} `body:"optional" takes:"purge takes %" additionalProperties:"false"`
}

func (l *Laboratory) purgeMessages(ctx context.Context, in *purgeRequest) (out Moved, err error) {
	before := in.queues.Now().Add(time.Millisecond)
	for {
		n, err := in.queues.DeleteMessages(ctx, in.address(in.Entity), before, purgedAtOnce, nil)
		out.Messages += n
		if err != nil || n == 0 {
			return out, ofQueues(err)
		}
	}
}

// messageOf is a message as people read it.
func messageOf(d *queue.Delivery, e *entity.Entity, dead bool) Message {
	m, b := d.Message, &d.Broker
	out := Message{Number: b.SequenceNumber, State: stateOf(b.State), DeliveryCount: b.DeliveryCount,
		Enqueued: momentOf(b.EnqueuedTime), ID: m.Text(message.MessageID), Session: m.Text(
			message.GroupID),
		Subject: m.Text(message.Subject), CorrelationID: m.Text(message.CorrelationID),
		ContentType: m.Text(message.ContentType), Life: lifeOf(d, e, dead)}
	if at := m.Scheduled(); at != message.Absent {
		t := momentOf(at)
		out.Scheduled = &t
	}
	out.Properties = propertiesOf(m)
	out.Text, out.Base64 = bodyOf(m)
	return out
}

// propertiesOf are the application properties of a message; nil where it has none.
func propertiesOf(m *message.Message) map[string]json.RawMessage {
	if len(m.Application) == 0 {
		return nil
	}
	out := make(map[string]json.RawMessage, len(m.Application))
	for _, p := range m.Application {
		v, _, err := wire.Value(p.Value)
		if err == nil {
			out[p.Name] = jsonOf(v)
		}
	}
	return out
}

// bodyOf is the body of a message as text, or in base64 where it is no text. A value or a sequence of AMQP is as
// it is encoded.
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

// jsonOf is a value of a property as JSON; of a type that JSON has nothing for, as a text.
func jsonOf(v any) json.RawMessage {
	if t, ok := v.(wire.Timestamp); ok {
		v = momentOf(int64(t))
	}
	if id, ok := v.(wire.UUID); ok {
		v = id.String()
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
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
