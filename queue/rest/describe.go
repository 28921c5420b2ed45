package rest

import (
	"errors"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue/access"
	"github.com/mayflydb/mayfly/queue/entity"
)

// descriptionElement is an XML element of the description of an entity: it writes and reads one
// property.
type descriptionElement struct {
	name string
	// write returns the element's text; ok is false if the element is omitted.
	write func(d *entityXML) (text string, ok bool)
	// read sets the property from the text of the element; nil if clients cannot set it.
	read func(p *entity.Properties, text string) error
}

// entityXML is an entity that is to be written as XML, in the form of the management API.
type entityXML struct {
	entity.Entity
	host string // of the client's URLs
}

// xmlFieldError reports an element that cannot be parsed.
type xmlFieldError struct {
	name string
	err  error
}

func (e *xmlFieldError) Error() string {
	return "SubCode=40000. The value of the element '" + e.name + "' cannot be read: " + e.err.Error() + "."
}

var (
	errNoBool      = errors.New("it is neither true nor false")
	errNotPositive = errors.New("it is not above 0")
)

func duration(name string, at func(*entity.Properties) *time.Duration) descriptionElement {
	return descriptionElement{name,
		func(d *entityXML) (string, bool) { return entity.FormatDuration(*at(&d.Properties)), true },
		func(p *entity.Properties, text string) (err error) {
			if *at(p), err = entity.ParseDuration(text); err == nil && *at(p) <= 0 {
				err = errNotPositive // zero would stand for the default
			}
			return err
		}}
}

func boolean(name string, at func(*entity.Properties) *bool) descriptionElement {
	return descriptionElement{name,
		func(d *entityXML) (string, bool) { return strconv.FormatBool(*at(&d.Properties)), true },
		func(p *entity.Properties, text string) error {
			v, err := strconv.ParseBool(text)
			if err != nil {
				return errNoBool
			}
			*at(p) = v
			return nil
		}}
}

func number(name string, at func(*entity.Properties) *int32) descriptionElement {
	return descriptionElement{name,
		func(d *entityXML) (string, bool) { return strconv.Itoa(int(*at(&d.Properties))), true },
		func(p *entity.Properties, text string) error {
			v, err := strconv.ParseInt(text, 10, 32)
			if err == nil && v <= 0 {
				err = errNotPositive
			}
			*at(p) = int32(v)
			return err
		}}
}

// target returns the field of a forwarding target. at returns where the properties hold the target. As in
// Service Bus, a client reads an absolute address as it was sent, and a path as sb://HOST/PATH.
func target(name string, at func(*entity.Properties) *string) descriptionElement {
	return descriptionElement{name,
		func(d *entityXML) (string, bool) {
			written := *at(&d.Properties)
			if written == "" || strings.Contains(written, "://") {
				return written, written != ""
			}
			host := d.host // without the port of the management endpoint
			if name, _, err := net.SplitHostPort(host); err == nil {
				host = name
			}
			return "sb://" + host + "/" + written, true
		},
		func(p *entity.Properties, text string) error {
			*at(p) = text
			return nil
		}}
}

// fixed returns a field that clients cannot set. write returns its value.
func fixed(name string, write func(*entityXML) string) descriptionElement {
	return descriptionElement{name, func(d *entityXML) (string, bool) { return write(d), true }, nil}
}

func statusField() descriptionElement {
	return descriptionElement{"Status",
		func(d *entityXML) (string, bool) { return d.Properties.Status.String(), true },
		func(p *entity.Properties, text string) (err error) {
			p.Status, err = entity.ParseStatus(text)
			return err
		}}
}

func metadataField() descriptionElement {
	return descriptionElement{"UserMetadata",
		func(d *entityXML) (string, bool) {
			return d.Properties.UserMetadata,
				d.Properties.UserMetadata != ""
		},
		func(p *entity.Properties, text string) error {
			p.UserMetadata = text
			return nil
		}}
}

// messageCount returns the number of all messages of an entity, including those in its sub-queues.
func messageCount(d *entityXML) string {
	c := d.Counts
	return strconv.FormatInt(c.Active+c.Scheduled+c.DeadLetter+c.TransferDeadLetter, 10)
}

func accessed(d *entityXML) string {
	if d.Accessed.IsZero() {
		return "0001-01-01T00:00:00Z" // Service Bus's value for a queue or topic that was never accessed
	}
	return stamp(d.Accessed)
}

// The elements of an entity's description that contain other elements instead of text.
const (
	markCounts = "CountDetails"
	markRules  = "AuthorizationRules"
)

// largeMessages is the name of an element that Service Bus writes since the api-version largeMessagesVersion.
const (
	largeMessages        = "MaxMessageSizeInKilobytes"
	largeMessagesVersion = "2021-05"
)

// oldVersion reports whether the request has an api-version before largeMessagesVersion.
func (c *activeRequest) oldVersion() bool {
	v := c.query.Get("api-version")
	return v != "" && v < largeMessagesVersion
}

// fieldsOf returns the XML elements in the description of a kind of entity, in the order in which Service
// Bus writes them.
func fieldsOf(kind entity.Kind) []descriptionElement {
	created := fixed("CreatedAt", func(d *entityXML) string { return stamp(d.Created) })
	updated := fixed("UpdatedAt", func(d *entityXML) string { return stamp(d.Updated) })
	used := fixed("AccessedAt", accessed)
	size := fixed("SizeInBytes", func(d *entityXML) string { return strconv.FormatInt(d.Bytes, 10) })
	available := fixed("EntityAvailabilityStatus", func(*entityXML) string { return "Available" })
	counts, rules := descriptionElement{name: markCounts}, descriptionElement{name: markRules}
	lock := duration("LockDuration", func(p *entity.Properties) *time.Duration { return &p.LockDuration })
	timeToLive := duration("DefaultMessageTimeToLive",
		func(p *entity.Properties) *time.Duration { return &p.DefaultTTL })
	window := duration("DuplicateDetectionHistoryTimeWindow",
		func(p *entity.Properties) *time.Duration { return &p.DuplicateDetectionWindow })
	idle := duration("AutoDeleteOnIdle",
		func(p *entity.Properties) *time.Duration { return &p.AutoDeleteOnIdle })
	megabytes := number("MaxSizeInMegabytes", func(p *entity.Properties) *int32 { return &p.MaxSizeMB })
	kilobytes := number(largeMessages, func(p *entity.Properties) *int32 { return &p.MaxMessageKB })
	deliveries := number("MaxDeliveryCount", func(p *entity.Properties) *int32 { return &p.MaxDeliveryCount })
	duplicates := boolean("RequiresDuplicateDetection",
		func(p *entity.Properties) *bool { return &p.RequiresDuplicateDetection })
	sessions := boolean("RequiresSession", func(p *entity.Properties) *bool { return &p.RequiresSession })
	deadLetters := boolean("DeadLetteringOnMessageExpiration",
		func(p *entity.Properties) *bool { return &p.DeadLetterOnExpiration })
	batched := boolean("EnableBatchedOperations",
		func(p *entity.Properties) *bool { return &p.EnableBatchedOperations })
	anonymous := boolean("IsAnonymousAccessible",
		func(p *entity.Properties) *bool { return &p.AnonymousAccessible })
	ordering := boolean("SupportOrdering", func(p *entity.Properties) *bool { return &p.SupportOrdering })
	partitions := boolean("EnablePartitioning",
		func(p *entity.Properties) *bool { return &p.EnablePartitioning })
	express := boolean("EnableExpress", func(p *entity.Properties) *bool { return &p.EnableExpress })
	forward := target("ForwardTo", func(p *entity.Properties) *string { return &p.ForwardTo })
	forwardDead := target("ForwardDeadLetteredMessagesTo",
		func(p *entity.Properties) *string { return &p.ForwardDeadLettersTo })
	messages := fixed("MessageCount", messageCount)
	switch kind {
	case entity.Topic:
		return []descriptionElement{timeToLive, megabytes, duplicates, window, batched, size,
			boolean("FilteringMessagesBeforePublishing",
				func(p *entity.Properties) *bool { return &p.FilteringBeforePublishing }),
			anonymous, rules, statusField(), metadataField(), created, updated, used, ordering, counts,
			fixed("SubscriptionCount", func(d *entityXML) string { return strconv.Itoa(d.Subscriptions) }),
			idle, partitions, available,
			boolean("EnableSubscriptionPartitioning",
				func(p *entity.Properties) *bool { return &p.EnableSubscriptionPartitioning }), express,
			fixed("SqlFilterCount", func(d *entityXML) string { return strconv.Itoa(d.SQLFilters) }),
			fixed("CorrelationFilterCount",
				func(d *entityXML) string { return strconv.Itoa(d.CorrelationFilters) }),
			kilobytes}
	case entity.Subscription:
		return []descriptionElement{lock, sessions, timeToLive, deadLetters,
			boolean("DeadLetteringOnFilterEvaluationExceptions",
				func(p *entity.Properties) *bool { return &p.DeadLetterOnFilterErrors }),
			messages, deliveries, batched, statusField(), forward, created, updated, used,
			metadataField(), counts, forwardDead, idle, available}
	}
	return []descriptionElement{lock, megabytes, duplicates, sessions, timeToLive, deadLetters,
		window, deliveries, batched, size, messages, anonymous, rules, statusField(), forward,
		metadataField(), created, updated, used, ordering, counts, idle, partitions, available,
		forwardDead, express, kilobytes}
}

// rootOf returns the name of the element that describes a kind of entity.
func rootOf(kind entity.Kind) string {
	switch kind {
	case entity.Topic:
		return "TopicDescription"
	case entity.Subscription:
		return "SubscriptionDescription"
	}
	return "QueueDescription"
}

// itemOf returns the ATOM entry item that describes an entity.
func (c *activeRequest) itemOf(e entity.Entity) atomEntry {
	title := e.Path
	if _, name, ok := (entity.Address{Entity: e.Path}).Subscription(); ok {
		title = name
	}
	return atomEntry{path: e.Path, title: title, created: e.Created, updated: e.Updated,
		describe: func(b []byte) []byte {
			d := &entityXML{e, c.r.Host}
			b = append(b, "<"+rootOf(e.Kind)+` xmlns="`+nsBus+`" xmlns:i="`+nsInstance+`">`...)
			for _, f := range fieldsOf(e.Kind) {
				switch {
				case f.name == largeMessages && c.oldVersion():
					continue
				case f.name == markCounts:
					b = appendCounts(b, e.Counts)
					continue
				case f.name == markRules:
					b = append(append(b, "<AuthorizationRules>"...), e.Properties.AuthorizationRules...)
					b = append(b, "</AuthorizationRules>"...)
					continue
				}
				if text, ok := f.write(d); ok {
					b = appendElement(b, f.name, text)
				}
			}
			return append(b, "</"+rootOf(e.Kind)+">"...)
		}}
}

// appendCounts appends the element CountDetails. xmlns:d2p1 must be its only attribute, because clients take
// the prefix of the elements in it from there.
func appendCounts(b []byte, n entity.MessageCounts) []byte {
	b = append(b, `<CountDetails xmlns:d2p1="`+nsCounts+`">`...)
	for _, one := range []struct {
		name string
		n    int64
	}{{"ActiveMessageCount", n.Active}, {"DeadLetterMessageCount", n.DeadLetter},
		{"ScheduledMessageCount", n.Scheduled}, {"TransferMessageCount", 0},
		{"TransferDeadLetterMessageCount", n.TransferDeadLetter}} {
		b = appendElement(b, "d2p1:"+one.name, strconv.FormatInt(one.n, 10))
	}
	return append(b, "</CountDetails>"...)
}

// readProperties returns p with the properties that a description contains. Read-only elements are ignored,
// because clients send back what they have received. A property without an element is not changed, unless it
// is a text: it becomes empty, because clients omit empty texts.
func (c *activeRequest) readProperties(kind entity.Kind, n *xmlNode, p entity.Properties) (entity.Properties,
	error) {
	p.ForwardTo, p.ForwardDeadLettersTo, p.UserMetadata = "", "", ""
	for _, f := range fieldsOf(kind) {
		at := n.child(f.name)
		if at == nil || at.isNil() {
			continue
		}
		if f.name == largeMessages && c.oldVersion() {
			return p, badRequest("SubCode=40000. Bad Request. " + largeMessages + " came with api-version " +
				largeMessagesVersion + ".")
		}
		if f.name == markRules {
			p.AuthorizationRules = slices.Clip(appendNodes(nil, at.Nodes))
			if _, err := access.ParseRules(p.AuthorizationRules); err != nil {
				return p, badRequest((&xmlFieldError{f.name, err}).Error())
			}
			continue
		}
		text := strings.TrimSpace(at.Text)
		if f.name == "UserMetadata" {
			text = at.Text
		}
		if f.read == nil || text == "" {
			continue
		}
		if err := f.read(&p, text); err != nil {
			return p, badRequest((&xmlFieldError{f.name, err}).Error())
		}
	}
	return p, nil
}
