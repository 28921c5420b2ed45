package laboratory

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
)

// MessageToSend is the part of a request body that describes a message.
type MessageToSend struct {
	Text           string `json:"text,omitempty"`
	Base64         string `json:"base64,omitempty" description:"Body in base64, instead of 'text'."`
	ID             string `json:"id,omitempty"`
	Session        string `json:"session,omitempty"`
	Subject        string `json:"subject,omitempty"`
	CorrelationID  string `json:"correlationId,omitempty"`
	ContentType    string `json:"contentType,omitempty"`
	To             string `json:"to,omitempty"`
	ReplyTo        string `json:"replyTo,omitempty"`
	ReplyToSession string `json:"replyToSession,omitempty"`
	PartitionKey   string `json:"partitionKey,omitempty"`

	TTL float64 `json:"ttl,omitempty" minimum:"0" description:"Time to live in seconds; 0: none of its own."`

	Delay float64 `json:"delay,omitempty" minimum:"0" description:"Seconds until the message is enqueued."`

	Scheduled *route.JSONTimestamp `json:"scheduled,omitempty" description:"Time of enqueueing: RFC 3339, or seconds since 1970. Excludes 'delay'."`
	ApplicationPropertyFields
}

// longest is the maximum of a time to live or a delay, in seconds.
const longest = 1e11

// build returns the message. now is the time of the data's clock.
func (in *MessageToSend) build(now time.Time) (*message.Message, error) {
	if in.TTL < 0 || in.TTL > longest || in.Delay < 0 || in.Delay > longest {
		return nil, route.BadRequest("'ttl' and 'delay' must be numbers of seconds from 0 to 1e11.")
	}
	body := []byte(in.Text)
	if in.Base64 != "" {
		raw, err := base64.StdEncoding.DecodeString(in.Base64)
		switch {
		case in.Text != "":
			return nil, route.BadRequest("A message has 'text' or 'base64', not both.")
		case err != nil:
			return nil, route.BadRequest("'base64' is not base64.")
		}
		body = raw
	}
	m := message.New(body)
	for slot, text := range map[message.PropertiesSectionField]string{message.MessageID: in.ID,
		message.GroupID: in.Session,
		message.Subject: in.Subject, message.CorrelationID: in.CorrelationID, message.To: in.To,
		message.ContentType: in.ContentType, message.ReplyTo: in.ReplyTo,
		message.ReplyToGroupID: in.ReplyToSession} {
		if text != "" {
			m.SetText(slot, text)
		}
	}
	m.SetPartitionKey(in.PartitionKey)
	if in.TTL > 0 {
		m.SetOwnTTL(int64(in.TTL*1000), now.UnixMilli())
	}
	switch {
	case in.Delay > 0 && in.Scheduled != nil:
		return nil, route.BadRequest("A message has 'delay' or 'scheduled', not both.")
	case in.Delay > 0:
		m.SetScheduled(now.UnixMilli() + int64(in.Delay*1000))
	case in.Scheduled != nil:
		m.SetScheduled(in.Scheduled.UnixMilli())
	}
	properties, err := in.encoded()
	if err != nil {
		return nil, err
	}
	for _, p := range properties {
		m.Set(p.Name, p.Value)
	}
	return m, nil
}

type sendMessagesRequest struct {
	EntityPath
	MessageToSend
	Repeat int      `json:"repeat,omitempty" minimum:"1" maximum:"10000" description:"Number of messages to send; {i} in 'id' and 'text' becomes 1, 2, ..."`
	_      struct{} `takes:"a message has %" additionalProperties:"false"`
}

// SendMessagesResult is the response to a request that sends messages.
type SendMessagesResult struct {
	ID            string   `json:"id,omitempty" description:"Message id, as in the request."`
	Messages      int      `json:"messages,omitempty" description:"Number sent, if repeated."`
	Subscriptions []string `json:"subscriptions,omitempty" description:"Subscriptions that receive the message."`
}

// sentTogether is the maximum number of messages that one transaction sends. sentBytes is the maximum of
// their total size in bytes.
const (
	sentTogether = 100
	sentBytes    = 64 << 10
)

func (l *Laboratory) sendMessage(ctx context.Context, in *sendMessagesRequest) (SendMessagesResult, error) {
	to, err := entity.ParseDestination(in.Entity)
	if err != nil {
		return SendMessagesResult{}, ofQueues(err)
	}
	out := SendMessagesResult{ID: in.ID}
	var group []*message.Message
	size := 0
	for i := 1; i <= max(in.Repeat, 1); i++ {
		one := in.MessageToSend
		if in.Repeat > 0 {
			one.ID = strings.ReplaceAll(in.ID, "{i}", strconv.Itoa(i))
			one.Text = strings.ReplaceAll(in.Text, "{i}", strconv.Itoa(i))
		}
		m, err := one.build(in.queues.Now())
		if err != nil {
			return SendMessagesResult{}, err
		}
		if i == 1 {
			if out.Subscriptions, err = in.queues.Recipients(ctx, to, m); err != nil {
				return SendMessagesResult{}, ofQueues(err)
			}
		}
		group, size = append(group, m), size+m.Size()
		if i < in.Repeat && len(group) < sentTogether && size < sentBytes {
			continue
		}
		if err := in.queues.Send(ctx, to, group, nil); err != nil {
			return SendMessagesResult{}, ofQueues(err)
		}
		if in.Repeat > 0 {
			out.Messages = i
		}
		group, size = nil, 0
	}
	return out, nil
}
