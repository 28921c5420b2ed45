package rest

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/message"
)

// brokerProperties is the header with the message properties that Service Bus defines, in the spelling of
// its documentation.
const brokerProperties = "BrokerProperties"

// sentBrokerProperties holds the properties that a sender can set. Other properties are ignored, because
// clients send back properties that they have received.
type sentBrokerProperties struct {
	MessageId, CorrelationId, SessionId, ReplyToSessionId *string
	Label, To, ReplyTo, PartitionKey, ViaPartitionKey     *string

	TimeToLive              *json.Number // seconds
	TimeToLiveTimeSpan      *string      // days.hours:minutes:seconds
	ScheduledEnqueueTimeUtc *string
}

// set sets the properties of a message that was created at the millisecond now.
func (p *sentBrokerProperties) set(m *message.Message, now int64) error {
	for slot, text := range map[message.PropertiesSectionField]*string{message.MessageID: p.MessageId,
		message.CorrelationID: p.CorrelationId,
		message.GroupID:       p.SessionId, message.ReplyToGroupID: p.ReplyToSessionId, message.Subject: p.Label,
		message.To: p.To, message.ReplyTo: p.ReplyTo} {
		if text != nil {
			m.SetText(slot, *text)
		}
	}
	if p.PartitionKey != nil {
		m.SetPartitionKey(*p.PartitionKey)
	}
	if p.ViaPartitionKey != nil {
		m.SetViaPartitionKey(*p.ViaPartitionKey)
	}
	if p.ScheduledEnqueueTimeUtc != nil {
		at, err := readDate(*p.ScheduledEnqueueTimeUtc)
		if err != nil {
			return badRequest("ScheduledEnqueueTimeUtc is no date, such as Wed, 02 Jul 2025 01:32:27 GMT.")
		}
		m.SetScheduled(at.UnixMilli())
	}
	ttl, err := p.ttl()
	if err == nil && ttl != message.Absent {
		m.SetOwnTTL(ttl, now)
	}
	return err
}

// ttl returns the time to live in milliseconds, or message.Absent.
func (p *sentBrokerProperties) ttl() (int64, error) {
	if p.TimeToLive != nil {
		seconds, err := p.TimeToLive.Float64()
		if err != nil || !(seconds >= 0) {
			return 0, badRequest("TimeToLive is no number of seconds.")
		}
		if seconds >= math.MaxInt64/1000/2 {
			return message.Absent, nil
		}
		return int64(math.Round(seconds * 1000)), nil
	}
	if p.TimeToLiveTimeSpan != nil {
		ms, ok := readSpan(*p.TimeToLiveTimeSpan)
		if !ok {
			return 0, badRequest("TimeToLiveTimeSpan is not of the form d.hh:mm:ss.")
		}
		return ms, nil
	}
	return message.Absent, nil
}

// readSpan parses a .NET duration, [d.]hh:mm[:ss[.f]], and returns milliseconds. ok is false if text has
// another form.
func readSpan(text string) (ms int64, ok bool) {
	parts := strings.Split(strings.TrimSpace(text), ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, false
	}
	days, hours, dotted := strings.Cut(parts[0], ".")
	if !dotted {
		days, hours = "0", parts[0]
	}
	seconds := "0"
	if len(parts) == 3 {
		seconds = parts[2]
	}
	d, err1 := strconv.ParseUint(days, 10, 24)
	h, err2 := strconv.ParseUint(hours, 10, 8)
	m, err3 := strconv.ParseUint(parts[1], 10, 8)
	s, err4 := strconv.ParseFloat(seconds, 64)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil || h > 23 || m > 59 || !(s >= 0 && s < 60) {
		return 0, false
	}
	return int64(d*86_400_000+h*3_600_000+m*60_000) + int64(math.Round(s*1000)), true
}

// readDate parses an HTTP date. Some clients write it in the form of XML Schema.
func readDate(text string) (time.Time, error) {
	if t, err := http.ParseTime(text); err == nil {
		return t, nil
	}
	return parseMoment(text)
}

func date(t time.Time) string { return t.UTC().Format(http.TimeFormat) }

// receivedBrokerProperties holds the properties of a received message, by name.
type receivedBrokerProperties struct {
	CorrelationId           string      `json:",omitempty"`
	DeadLetterSource        string      `json:",omitempty"`
	DeliveryCount           uint32      // including this one
	EnqueuedSequenceNumber  int64       //
	EnqueuedTimeUtc         string      //
	Label                   string      `json:",omitempty"`
	LockToken               string      `json:",omitempty"`
	LockedUntilUtc          string      `json:",omitempty"`
	MessageId               string      //
	PartitionKey            string      `json:",omitempty"`
	ReplyTo                 string      `json:",omitempty"`
	ReplyToSessionId        string      `json:",omitempty"`
	ScheduledEnqueueTimeUtc string      `json:",omitempty"`
	SequenceNumber          int64       //
	SessionId               string      `json:",omitempty"`
	State                   string      //
	TimeToLive              json.Number `json:",omitempty"` // seconds; absent if the message never expires
	To                      string      `json:",omitempty"`
	ViaPartitionKey         string      `json:",omitempty"`
}

// brokerHeader returns the BrokerProperties header of a received message. token is its lock token, or "".
func brokerHeader(d *queue.Delivery, token string) string {
	m, b := d.Message, &d.Broker
	out := receivedBrokerProperties{CorrelationId: m.Text(message.CorrelationID),
		DeadLetterSource: b.DeadLetterSource,
		DeliveryCount:    b.DeliveryCount + 1, EnqueuedSequenceNumber: b.EnqueuedSequenceNumber,
		EnqueuedTimeUtc: date(time.UnixMilli(b.EnqueuedTime)), Label: m.Text(
			message.Subject), LockToken: token,
		MessageId: m.Text(message.MessageID), PartitionKey: m.PartitionKey(), ReplyTo: m.Text(
			message.ReplyTo),
		ReplyToSessionId: m.Text(message.ReplyToGroupID), SequenceNumber: b.SequenceNumber,
		SessionId: m.Text(message.GroupID), State: stateName(b.State), To: m.Text(message.To),
		ViaPartitionKey: m.ViaPartitionKey()}
	if token != "" && b.LockedUntil != message.Absent {
		out.LockedUntilUtc = date(time.UnixMilli(b.LockedUntil))
	}
	if at := m.Scheduled(); at != message.Absent {
		out.ScheduledEnqueueTimeUtc = date(time.UnixMilli(at))
	}
	if b.TTL != message.Absent {
		out.TimeToLive = json.Number(strconv.FormatFloat(float64(b.TTL)/1000, 'f', -1, 64))
	}
	text, err := jsondoc.Marshal(out)
	if err != nil { // Marshal does not fail for strings and numbers
		return ""
	}
	return plainJSON(string(text))
}

// plainJSON escapes non-ASCII characters, which a header cannot contain.
func plainJSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x7F:
			b.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			for _, half := range []rune{0xD800 + r>>10, 0xDC00 + r&0x3FF} {
				b.WriteString(`\u` + strconv.FormatInt(int64(half), 16))
			}
		default:
			b.WriteString(`\u` + strconv.FormatInt(0x10000+int64(r), 16)[1:])
		}
	}
	return b.String()
}

func stateName(s message.State) string {
	switch s {
	case message.Deferred:
		return "Deferred"
	case message.Scheduled:
		return "Scheduled"
	}
	return "Active"
}
