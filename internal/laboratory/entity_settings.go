package laboratory

import (
	"context"
	"errors"
	"time"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/queue/entity"
)

// jsonDuration is a duration such as 90s or 30d, or one in the format of XML Schema.
type jsonDuration time.Duration

// DecodeMember implements route.JSONMemberDecoder.
func (s *jsonDuration) DecodeMember(name string, v jsondoc.Value) error {
	d, err := entity.ParseAnyDuration(v.Str())
	if v.Kind() != jsondoc.String || err != nil || d <= 0 {
		return route.BadRequest("'" + name + "' must be a duration such as 90s, 30d, PT1M or P14D.")
	}
	*s = jsonDuration(d)
	return nil
}

// UnmarshalJSON implements json.Unmarshaler: it parses a string such as "90s", "30d" or "PT1M". The duration
// must be positive.
func (s *jsonDuration) UnmarshalJSON(text []byte) error {
	d, err := entity.ParseAnyDuration(jsondoc.Of(text).Str())
	if err == nil && d <= 0 {
		err = errNotPositive
	}
	*s = jsonDuration(d)
	return err
}

var errNotPositive = errors.New("a duration must be positive")

// JSONSchema implements jsonschema.Exposer.
func (jsonDuration) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.String)
	s.WithExamples("PT1M", "P14D", "90s", "30d")
	return s, nil
}

type createEntityRequest struct {
	QueuesRequiredRequestPart
	Path                   string       `json:"path" missing:"The body must have a 'path'." description:"Path of the entity; of a subscription: topic/Subscriptions/name."`
	Topic                  bool         `json:"topic,omitempty" description:"Create a topic, not a queue."`
	LockDuration           jsonDuration `json:"lockDuration,omitempty"`
	MaxDeliveryCount       int32        `json:"maxDeliveryCount,omitempty" minimum:"1" maximum:"2147483647"`
	DefaultTimeToLive      jsonDuration `json:"defaultTimeToLive,omitempty"`
	DeadLetterOnExpiration bool         `json:"deadLetterOnExpiration,omitempty"`
	RequiresSession        bool         `json:"requiresSession,omitempty"`
	DetectsDuplicates      bool         `json:"detectsDuplicates,omitempty"`
	ForwardTo              string       `json:"forwardTo,omitempty"`
	ForwardDeadLettersTo   string       `json:"forwardDeadLettersTo,omitempty"`
	AutoDeleteOnIdle       jsonDuration `json:"autoDeleteOnIdle,omitempty"`

	_ struct{} `takes:"an entity has %"`
	_ struct{} `additionalProperties:"false"`
}

func (l *Laboratory) createEntity(ctx context.Context, in *createEntityRequest) (MessagingEntity, error) {
	kind := entity.Queue
	a, _, err := entity.ParseAddress(in.Path)
	if err != nil {
		return MessagingEntity{}, ofQueues(err)
	}
	if _, _, ok := a.Subscription(); ok {
		kind = entity.Subscription
	} else if in.Topic {
		kind = entity.Topic
	}
	p := entity.Defaults(kind)
	for to, given := range map[*time.Duration]jsonDuration{&p.LockDuration: in.LockDuration,
		&p.DefaultTTL:       in.DefaultTimeToLive,
		&p.AutoDeleteOnIdle: in.AutoDeleteOnIdle} {
		if given > 0 {
			*to = time.Duration(given)
		}
	}
	if in.MaxDeliveryCount > 0 {
		p.MaxDeliveryCount = in.MaxDeliveryCount
	}
	p.DeadLetterOnExpiration, p.RequiresSession = in.DeadLetterOnExpiration, in.RequiresSession
	p.RequiresDuplicateDetection = in.DetectsDuplicates
	p.ForwardTo, p.ForwardDeadLettersTo = in.ForwardTo, in.ForwardDeadLettersTo
	e, err := in.queues.Create(ctx, kind, in.Path, p)
	return entityOf(e), ofQueues(err)
}

// patchEntityRequest changes only the members that it contains. null resets a setting to its default.
type patchEntityRequest struct {
	EntityPath
	Status                 settingEdit[entityStatus] `json:"status,omitempty" nullable:"true"`
	LockDuration           settingEdit[jsonDuration] `json:"lockDuration,omitempty" nullable:"true"`
	MaxDeliveryCount       settingEdit[int32]        `json:"maxDeliveryCount,omitempty" nullable:"true"`
	DefaultTimeToLive      settingEdit[jsonDuration] `json:"defaultTimeToLive,omitempty" nullable:"true"`
	DeadLetterOnExpiration settingEdit[bool]         `json:"deadLetterOnExpiration,omitempty" nullable:"true"`
	DuplicatesWithin       settingEdit[jsonDuration] `json:"duplicatesWithin,omitempty" nullable:"true"`
	MaxSizeMegabytes       settingEdit[int32]        `json:"maxSizeMegabytes,omitempty" nullable:"true"`
	ForwardTo              settingEdit[string]       `json:"forwardTo,omitempty" nullable:"true"`
	ForwardDeadLettersTo   settingEdit[string]       `json:"forwardDeadLettersTo,omitempty" nullable:"true"`
	AutoDeleteOnIdle       settingEdit[jsonDuration] `json:"autoDeleteOnIdle,omitempty" nullable:"true"`

	_ struct{} `takes:"the settings of an entity are %"`
	_ struct{} `additionalProperties:"false"`
}

func (l *Laboratory) patchEntity(ctx context.Context, in *patchEntityRequest) (MessagingEntity, error) {
	e, err := in.queues.Change(ctx, in.Entity, func(p *entity.Properties) error {
		in.Status.apply((*entityStatus)(&p.Status))
		in.LockDuration.apply((*jsonDuration)(&p.LockDuration))
		in.MaxDeliveryCount.apply(&p.MaxDeliveryCount)
		in.DefaultTimeToLive.apply((*jsonDuration)(&p.DefaultTTL))
		in.DeadLetterOnExpiration.apply(&p.DeadLetterOnExpiration)
		in.DuplicatesWithin.apply((*jsonDuration)(&p.DuplicateDetectionWindow))
		in.MaxSizeMegabytes.apply(&p.MaxSizeMB)
		in.ForwardTo.apply(&p.ForwardTo)
		in.ForwardDeadLettersTo.apply(&p.ForwardDeadLettersTo)
		in.AutoDeleteOnIdle.apply((*jsonDuration)(&p.AutoDeleteOnIdle))
		return nil
	})
	return entityOf(e), ofQueues(err)
}

// entityStatus is an entity's status: which operations it refuses.
type entityStatus entity.Status

// UnmarshalJSON implements json.Unmarshaler: it parses the name of a status, such as "Disabled".
func (s *entityStatus) UnmarshalJSON(text []byte) error {
	is, err := entity.ParseStatus(jsondoc.Of(text).Str())
	*s = entityStatus(is)
	return err
}

// JSONSchema implements jsonschema.Exposer: it returns the schema of a string that is a status of an entity.
func (entityStatus) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.String)
	s.WithEnum(entity.Active.String(), entity.Disabled.String(), entity.SendDisabled.String(),
		entity.ReceiveDisabled.String())
	return s, nil
}
