package entity

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"time"
	"unicode/utf8"
)

// Limits and defaults of the properties of entities, as in Service Bus's Standard tier, except that sizes up
// to those of the Premium tier are allowed.
const (
	minLock, maxLock       = 5 * time.Second, 5 * time.Minute
	minIdle                = 5 * time.Minute
	minWindow, maxWindow   = 20 * time.Second, 7 * 24 * time.Hour
	basicTTL               = 14 * 24 * time.Hour
	minMessageKB           = 1024 // minimum in the Premium tier; the Standard tier allows only the default
	MaxMessageKB           = 102_400
	partitions             = 16
	maxPartitionMB         = 5120
	maxMetadata            = 1024 // characters
	maxAuthorizationRules  = 64 << 10
	defaultSizeMB          = 1024
	defaultMessageKB       = 256
	defaultDeliveries      = 10
	defaultLock            = time.Minute
	defaultDuplicateWindow = 10 * time.Minute
)

// sizesMB returns the valid values of MaxSizeMB.
func sizesMB() []int32 {
	return []int32{1024, 2048, 3072, 4096, 5120, 10_240, 20_480, 40_960, 81_920}
}

// Defaults returns the default properties of a kind of entity.
func Defaults(kind Kind) Properties {
	p := Properties{DefaultTTL: Forever, AutoDeleteOnIdle: Forever, EnableBatchedOperations: true}
	if kind != Topic {
		p.LockDuration, p.MaxDeliveryCount = defaultLock, defaultDeliveries
	}
	if kind != Subscription {
		p.DuplicateDetectionWindow = defaultDuplicateWindow
		p.MaxSizeMB, p.MaxMessageKB, p.SupportOrdering = defaultSizeMB, defaultMessageKB, true
	}
	p.DeadLetterOnFilterErrors = kind == Subscription
	return p
}

// orDefault sets v to the default if it is zero.
func orDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Complete returns the properties with defaults filled in and with the properties cleared that do not apply
// to the kind of entity. It fails if a property is out of bounds. basic selects the limits of the Basic
// tier.
func (p Properties) Complete(kind Kind, path string, basic bool) (Properties, error) {
	def := Defaults(kind)
	if basic {
		def.DefaultTTL = basicTTL
	}
	orDefault(&p.DefaultTTL, def.DefaultTTL)
	orDefault(&p.AutoDeleteOnIdle, def.AutoDeleteOnIdle)
	orDefault(&p.LockDuration, def.LockDuration)
	orDefault(&p.MaxDeliveryCount, def.MaxDeliveryCount)
	orDefault(&p.DuplicateDetectionWindow, def.DuplicateDetectionWindow)
	orDefault(&p.MaxSizeMB, def.MaxSizeMB)
	orDefault(&p.MaxMessageKB, def.MaxMessageKB)
	if basic && p.DefaultTTL == Forever {
		p.DefaultTTL = basicTTL
	}
	if kind == Topic {
		p.LockDuration, p.MaxDeliveryCount, p.RequiresSession = 0, 0, false
		p.ForwardTo, p.ForwardDeadLettersTo, p.DeadLetterOnExpiration = "", "", false
	}
	if kind == Subscription {
		p.RequiresDuplicateDetection, p.DuplicateDetectionWindow = false, 0
		p.MaxSizeMB, p.MaxMessageKB = 0, 0
	} else {
		p.DeadLetterOnFilterErrors = false
	}
	if p.ForwardTo != "" && kind == Subscription {
		p.AutoDeleteOnIdle = Forever // as in Service Bus; a queue keeps the value, but it has no effect
	}
	if p.EnablePartitioning && kind != Subscription && p.MaxSizeMB <= maxPartitionMB {
		p.MaxSizeMB *= partitions // a larger value already is the total of all partitions
	}
	return p, p.check(kind, path, basic)
}

// check validates the bounds of the properties of an entity. basic means that the namespace has the Basic
// tier, whose bounds are narrower.
func (p *Properties) check(kind Kind, path string, basic bool) error {
	for _, c := range []struct {
		ok   bool
		name string
		want string
	}{
		{kind == Topic || p.LockDuration >= minLock && p.LockDuration <= maxLock, "LockDuration",
			"from 5 seconds to 5 minutes"},
		{kind == Topic || p.MaxDeliveryCount >= 1, "MaxDeliveryCount", "at least 1"},
		{p.DefaultTTL > 0, "DefaultMessageTimeToLive", "longer than nothing"},
		{!basic || p.DefaultTTL <= basicTTL, "DefaultMessageTimeToLive", "at most 14 days in the Basic tier"},
		{p.AutoDeleteOnIdle >= minIdle, "AutoDeleteOnIdle", "at least 5 minutes"},
		{kind == Subscription || p.DuplicateDetectionWindow >= minWindow &&
			p.DuplicateDetectionWindow <= maxWindow,
			"DuplicateDetectionHistoryTimeWindow", "from 20 seconds to 7 days"},
		{kind == Subscription || slices.Contains(sizesMB(), p.MaxSizeMB) || p.EnablePartitioning &&
			p.MaxSizeMB%partitions == 0 && slices.Contains(sizesMB(), p.MaxSizeMB/partitions),
			"MaxSizeInMegabytes", fmt.Sprintf("one of %v", sizesMB())},
		{utf8.RuneCountInString(p.UserMetadata) <= maxMetadata, "UserMetadata", "at most 1024 characters"},
		{len(p.AuthorizationRules) <= maxAuthorizationRules, "AuthorizationRules", "at most 12 rules"},
		{p.Status <= ReceiveDisabled, "Status", "Active, Disabled, SendDisabled or ReceiveDisabled"},
	} {
		if !c.ok {
			return &Error{Code: CodeArgumentOutOfRange, Entity: path,
				Message: "SubCode=40000. The value of the property " +
					c.name + " is out of range: it must be " + c.want + "."}
		}
	}
	if kind != Subscription && p.MaxMessageKB != defaultMessageKB &&
		(p.MaxMessageKB < minMessageKB || p.MaxMessageKB > MaxMessageKB) {
		return &Error{Code: CodeArgumentOutOfRange, Entity: path,
			Message: fmt.Sprintf("SubCode=40000. The property value for 'MaxMessageSizeInKilobytes' must be "+
				"between %d and %d. %s", minMessageKB, MaxMessageKB, HelpLink)}
	}
	return nil
}

// CheckImmutable fails with CodeArgument if an immutable property of p differs from that in old, the
// properties before an update. The error text is that of Service Bus.
func (p *Properties) CheckImmutable(kind Kind, path string, old *Properties) error {
	text := "The value for the %s property of an existing " + kind.String() + " cannot be changed. "
	switch {
	case p.RequiresSession != old.RequiresSession:
		text = fmt.Sprintf(text, "RequiresSession")
	case p.RequiresDuplicateDetection != old.RequiresDuplicateDetection:
		text = fmt.Sprintf(text, "RequiresDuplicateDetection")
	case p.EnablePartitioning != old.EnablePartitioning:
		text = "Partitioning cannot be changed for " + kind.String() + ". "
	default:
		return nil
	}
	return &Error{Code: CodeArgument, Entity: path, Message: "SubCode=40000. " + text + HelpLink}
}

// Equal reports whether two sets of properties are equal.
func (p *Properties) Equal(other *Properties) bool {
	return reflect.DeepEqual(p.withoutRules(), other.withoutRules()) &&
		bytes.Equal(p.AuthorizationRules, other.AuthorizationRules)
}

func (p *Properties) withoutRules() Properties {
	out := *p
	out.AuthorizationRules = nil
	return out
}
