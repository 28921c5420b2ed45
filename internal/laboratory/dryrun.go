package laboratory

import (
	"context"
	"encoding/json"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/ttl"
)

// ItemKey identifies an item in a response.
type ItemKey struct {
	ID           string          `json:"id"`
	PartitionKey json.RawMessage `json:"partitionKey" is:"array" description:"Value for each partition path."`
}

func keyOf(k store.ItemKey) ItemKey { return ItemKey{k.ID, json.RawMessage(k.Partition.String())} }

// DryRunAnswer says what a change of a container's defaultTtl would do if it were made now.
type DryRunAnswer struct {
	From     *int64 `json:"from" description:"Current defaultTtl; null: off."`
	To       *int64 `json:"to" description:"Proposed defaultTtl; null: off."`
	FromPath string `json:"fromPath,omitempty" description:"Current ttlPropertyPath."`
	ToPath   string `json:"toPath,omitempty" description:"Proposed ttlPropertyPath."`
	Now      string `json:"now" format:"date-time"`
	Method   string `json:"method" enum:"exact,estimated" description:"estimated: most leases are ignored."`
	Complete bool   `json:"complete" description:"false: it ran out of time; counts are lower bounds."`
	Expired  int64  `json:"expiredAlready" description:"Items that have expired already."`
	// Effects maps the name of each effect to the live items that it concerns. Each live item is counted
	// in exactly one effect.
	Effects map[string]TTLChangeEffectSummary `json:"effects" nullable:"false" description:"Live items by the effect of the change on them."`

	After []DryRunExpiringItemCount `json:"deadlines" nullable:"false" description:"Live items by the time until their expiry, after the change."`
}

// TTLChangeEffectSummary counts the items on which a proposed change of a container's defaultTtl has the same
// effect, such as a later expiry, and has examples of them.
type TTLChangeEffectSummary struct {
	Count    int64                  `json:"count"`
	Examples []TTLChangeExampleItem `json:"examples,omitempty"`
}

// TTLChangeExampleItem is an item that a proposed change of a container's defaultTtl concerns, with the times
// of its expiry before and after the change. If a time is omitted, the item never expires.
type TTLChangeExampleItem struct {
	ItemKey
	Before string `json:"expiredAtBefore,omitempty" format:"date-time"`
	After  string `json:"expiresAtAfter,omitempty" format:"date-time"`
}

// DryRunExpiringItemCount is the number of live items of a container that would expire within a period from
// now if a proposed change of its defaultTtl were made.
type DryRunExpiringItemCount struct {
	Within string `json:"within" enum:"atOnce,minute,hour,day,week,month,later,never"`
	Count  int64  `json:"count"`
}

// deadlineNames are the names of the periods for which inspect.TTLChangeDryRunResult.After counts the
// expiring items, in its order.
var deadlineNames = [...]string{"atOnce", "minute", "hour", "day", "week", "month", "later", "never"}

// proposedDefaultTTL is the proposed defaultTtl of a container.
type proposedDefaultTTL struct{ ttl.Seconds }

// DecodeMember implements route.JSONMemberDecoder: it decodes the value v of the member defaultTtl. An
// invalid value is a bad request (400).
func (d *proposedDefaultTTL) DecodeMember(_ string, v jsondoc.Value) (err error) {
	if d.Seconds, err = ttl.ParseDefault(v.Raw()); err != nil {
		return route.BadRequest(err.Error())
	}
	return nil
}

// JSONSchema implements jsonschema.Exposer.
func (proposedDefaultTTL) JSONSchema() (s jsonschema.Schema, err error) {
	s.WithType(route.OneOf(jsonschema.Integer, jsonschema.Null))
	s.WithDescription("Proposed defaultTtl: seconds; -1: on, without a default; null: TTL is " +
		"off.").WithMinimum(-1).WithMaximum(
		float64(ttl.Max))
	s.WithExamples(3600)
	return s, nil
}

type ttlChangeDryRunRequest struct {
	ContainerPath
	Default *proposedDefaultTTL `json:"defaultTtl"`

	Path *string `json:"ttlPropertyPath,omitempty" description:"Path; empty: none; absent: unchanged."`

	Examples *int     `json:"examples,omitempty" minimum:"0" maximum:"1000" description:"Maximum number of examples per effect. Default: 5."`
	_        struct{} `additionalProperties:"false"`
}

func (l *Laboratory) dryRun(ctx context.Context, in *ttlChangeDryRunRequest) (DryRunAnswer, error) {
	if in.Default == nil {
		return DryRunAnswer{},
			route.BadRequest("The body must have a 'defaultTtl': a number of seconds, -1, or null for off.")
	}
	o := inspect.TTLChangeDryRunOptions{Path: in.Path}
	if in.Examples != nil {
		if o.Examples = *in.Examples; o.Examples == 0 {
			o.Examples = -1
		}
	}
	d, err := in.container.DryRunTTL(ctx, in.Default.Seconds, o)
	if err != nil {
		return DryRunAnswer{}, err
	}
	return dryRunAnswer(d), nil
}

func dryRunAnswer(d inspect.TTLChangeDryRunResult) DryRunAnswer {
	out := DryRunAnswer{From: defaultTTL(d.From), To: defaultTTL(d.To),
		FromPath: d.FromPath, ToPath: d.ToPath,
		Now:    second(d.Now),
		Method: method(d.Exact), Complete: d.Complete, Expired: d.Expired,
		Effects: make(map[string]TTLChangeEffectSummary, len(d.Effects))}
	for i, e := range d.Effects {
		effect := TTLChangeEffectSummary{Count: e.Count}
		for _, x := range e.Examples {
			effect.Examples = append(effect.Examples,
				TTLChangeExampleItem{keyOf(store.ItemKey{Partition: x.Partition, ID: x.ID}),
					secondOrNever(x.Before),
					secondOrNever(x.After)})
		}
		out.Effects[inspect.TTLChangeEffectOnItem(i).String()] = effect
	}
	for i, n := range d.After {
		out.After = append(out.After, DryRunExpiringItemCount{deadlineNames[i], n})
	}
	return out
}

func secondOrNever(s int64) string {
	if s == 0 {
		return ""
	}
	return second(s)
}
