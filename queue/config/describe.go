package config

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/queue/entity"
)

// namesOf returns the names that the properties of a kind of entity have in a Config.json of the Service Bus
// emulator.
func namesOf(kind entity.Kind) []string {
	names := []string{"AutoDeleteOnIdle", "DefaultMessageTimeToLive", "EnableBatchedOperations", "Status",
		"UserMetadata"}
	if kind != entity.Topic {
		names = append(names, "DeadLetteringOnMessageExpiration", forwardDead, forwardTo, "LockDuration",
			"MaxDeliveryCount", "RequiresSession")
	}
	if kind == entity.Subscription {
		return append(names, "DeadLetteringOnFilterEvaluationExceptions")
	}
	names = append(names, "DuplicateDetectionHistoryTimeWindow", "EnableExpress", "EnablePartitioning",
		"IsAnonymousAccessible", "MaxMessageSizeInKilobytes", "MaxSizeInMegabytes",
		"RequiresDuplicateDetection", "SupportOrdering")
	if kind == entity.Topic {
		names = append(names, "EnableSubscriptionPartitioning", "FilteringMessagesBeforePublishing")
	}
	return names
}

// Properties returns the properties of an entity as they would be written in a Config.json of the Service Bus
// emulator: strings, numbers and booleans, by name. Empty strings and missing authorization rules are
// omitted.
func Properties(kind entity.Kind, p entity.Properties) map[string]any {
	out := map[string]any{}
	for _, name := range namesOf(kind) {
		if at := durationOf(name); at != nil {
			out[name] = entity.FormatDuration(*at(&p))
		} else if at := boolOf(name); at != nil {
			out[name] = *at(&p)
		} else if at := numberOf(name); at != nil {
			out[name] = *at(&p)
		} else if at := textOf(name); at != nil && *at(&p) != "" {
			out[name] = *at(&p)
		}
	}
	out["Status"] = p.Status.String()
	if len(p.AuthorizationRules) > 0 && kind != entity.Subscription {
		out[authorization] = string(p.AuthorizationRules)
	}
	return out
}

// differing returns the names of the properties in which a and b differ.
func differing(kind entity.Kind, a, b entity.Properties) []string {
	before, after := Properties(kind, a), Properties(kind, b)
	var names []string
	for name, value := range before {
		if after[name] != value {
			names = append(names, name)
		}
		delete(after, name)
	}
	for name := range after {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.CompactFunc(names, strings.EqualFold)
}
