package rest

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/queue/wire"
)

// contentBatch is the content type of a batch of messages. If it is followed by a parameter, the body is a
// single message.
const contentBatch = "application/vnd.microsoft.servicebus.json"

// envelope is the factor by which the body of a batch may be larger than the size limit of its messages,
// because the JSON of a batch also contains names, and escapes characters of the messages.
const envelope = 2

// send stores the message or the batch of messages in the body of the request to the queue or topic of the
// path.
func (c *activeRequest) send(path string) error {
	if err := c.allow(path, access.Send); err != nil {
		return err
	}
	ctx := c.r.Context()
	e, err := c.o.Queues.Get(ctx, path)
	if err != nil {
		return &messageOperationError{err}
	}
	limit := int64(e.Properties.MaxMessageKB) << 10
	if limit == 0 {
		limit = maxEntry
	}
	contentType := c.r.Header.Get("Content-Type")
	if contentType == contentBatch {
		limit *= envelope
	}
	body, give, err := c.readBody(limit)
	if err != nil {
		return err
	}
	defer give()
	var list []*message.Message
	if contentType == contentBatch {
		list, err = c.readBatch(body, path)
	} else {
		list, err = c.readSingle(body, contentType)
	}
	if err != nil {
		return err
	}
	to, err := entity.ParseDestination(path)
	if err == nil {
		err = c.o.Queues.Send(ctx, to, list, nil)
	}
	if err != nil {
		return &messageOperationError{err}
	}
	if contentType == "" {
		contentType = "application/xml; charset=utf-8"
	}
	return c.answer(http.StatusCreated, contentType, nil)
}

// readSingle builds a message of the body and the headers.
func (c *activeRequest) readSingle(body []byte, contentType string) ([]*message.Message, error) {
	m := message.New(body)
	if contentType != "" {
		m.SetText(message.ContentType, contentType)
	}
	if err := setHeaders(m, c.r.Header); err != nil {
		return nil, err
	}
	if text := c.r.Header.Get(brokerProperties); text != "" {
		var p sentBrokerProperties
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			return nil, badRequest("The header BrokerProperties is malformed: " + err.Error() + ".")
		}
		if err := p.set(m, c.o.Queues.Now().UnixMilli()); err != nil {
			return nil, err
		}
	}
	return []*message.Message{m}, nil
}

// batchedMessage is one message of a batch.
type batchedMessage struct {
	Body             *string
	BrokerProperties *sentBrokerProperties
	UserProperties   map[string]json.RawMessage
	IsBodyBase64     bool
}

// readBatch parses a batch for an entity. All its messages must belong to one partition.
func (c *activeRequest) readBatch(body []byte, path string) ([]*message.Message, error) {
	list, err := parseBatch(body, c.o.Queues.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	at, _, err := entity.ParseAddress(path)
	if err == nil {
		_, err = c.o.Queues.PartitionOf(at, list)
	}
	if err != nil {
		return nil, &messageOperationError{err}
	}
	return list, nil
}

// parseBatch parses the body of a batch. now is the creation time of its messages, in milliseconds.
func parseBatch(body []byte, now int64) ([]*message.Message, error) {
	var all []batchedMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return nil, badRequest("The body is no array of messages: " + err.Error() + ".")
	}
	if len(all) == 0 {
		return nil, badRequest("The batch has no messages.")
	}
	list := make([]*message.Message, len(all))
	for i, one := range all {
		if one.Body == nil {
			return nil, badRequest("A message of the batch has no Body.")
		}
		data := []byte(*one.Body)
		if one.IsBodyBase64 {
			raw, err := base64.StdEncoding.DecodeString(*one.Body)
			if err != nil {
				return nil, badRequest("The Body of a message is not base64.")
			}
			data = raw
		}
		m := message.New(data)
		if one.BrokerProperties != nil {
			if err := one.BrokerProperties.set(m, now); err != nil {
				return nil, err
			}
		}
		for name, raw := range one.UserProperties {
			value, err := propertyOf(raw)
			if err != nil {
				return nil, badRequest("The property " + name + " is no string, bool or number.")
			}
			m.Set(name, value)
		}
		list[i] = m
	}
	return list, nil
}

// propertyOf converts a JSON value to an encoded AMQP value.
func propertyOf(raw json.RawMessage) ([]byte, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case nil:
		return wire.AppendNull(nil), nil
	case bool:
		return wire.AppendBool(nil, v), nil
	case string:
		return wire.AppendString(nil, v), nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return wire.AppendInt64(nil, n), nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, err
		}
		return wire.Append(nil, f)
	}
	return nil, badRequest("")
}

// store returns the address of the message store that a path names. It fails if the request does not have
// the right need on it.
func (c *activeRequest) store(path string, need access.Rights) (entity.Address, error) {
	a, management, err := entity.ParseAddress(path)
	if err == nil && management {
		err = badRequest("That is no store of messages.")
	}
	if err != nil {
		return a, err
	}
	return a, c.allow(a.Entity, need)
}
