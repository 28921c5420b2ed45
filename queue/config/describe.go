package config

import (
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/queue/entity"
)

// namesOf are the properties that an entity of a kind has, by their names in the file.
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

// Properties are all properties of an entity of a kind as the file has them: texts, numbers and truth values
// by their names. Texts that are empty, and what a client has not written, are left out.
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

// differing are the names of the properties that differ, of those that entities of the kind have.
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
