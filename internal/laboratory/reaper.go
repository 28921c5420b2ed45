package laboratory

import (
	"context"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
)

// ReaperState is the state of a container's reaper, including settings for tests: Delay postpones purges and
// Starved slows them down. Both are null if they are not set.
type ReaperState struct {
	Paused    bool                  `json:"paused" description:"Whether the container's reaper is paused."`
	AllPaused bool                  `json:"allPaused" description:"Whether all reapers are paused."`
	Delay     *store.PurgeDelay     `json:"delay" description:"Delay of purges; null: none."`
	Starved   *store.PurgeRateLimit `json:"starved" description:"Limit of the purge rate; null: none."`
	Purged    uint64                `json:"purged" description:"Items purged since the start."`
	Backlog   int64                 `json:"backlog" description:"Expired items that are not purged yet."`
	Oldest    int64                 `json:"oldest" description:"Seconds since the oldest of them expired."`
}

// PurgeItemsResult is the response to a request that runs a reaper: the number of items that were purged.
type PurgeItemsResult struct {
	Purged int `json:"purged" description:"Number of items that were purged."`
}

// ReapersState is the state of the reapers of all containers.
type ReapersState struct {
	Paused bool `json:"paused"`
}

func (l *Laboratory) getReaper(ctx context.Context, in *ContainerPath) (ReaperState, error) {
	r, err := in.container.Reaper(ctx)
	if err != nil {
		return ReaperState{}, err
	}
	return ReaperState{Paused: r.Paused, AllPaused: r.AllPaused, Delay: r.Settings.Delay,
		Starved: r.Settings.Starved, Purged: r.Purged, Backlog: r.Backlog.Items,
		Oldest: r.Backlog.Oldest}, nil
}

// setReaperRequest changes only the members that it contains.
type setReaperRequest struct {
	ContainerPath

	Paused settingEdit[bool] `json:"paused,omitempty" nullable:"true" description:"false or null: resume."`

	Delay   settingEdit[*store.PurgeDelay]     `json:"delay,omitempty" nullable:"true"`
	Starved settingEdit[*store.PurgeRateLimit] `json:"starved,omitempty" nullable:"true"`
	_       struct{}                           `takes:"a reaper takes %"`
	_       struct{}                           `additionalProperties:"false"`
}

func (l *Laboratory) setReaper(ctx context.Context, in *setReaperRequest) (ReaperState, error) {
	if in.Delay.given || in.Starved.given {
		if _, err := in.container.ChangeSettings(ctx, in.apply); err != nil {
			return ReaperState{}, err
		}
	}
	if in.Paused.given {
		if err := in.container.PauseReaper(ctx, in.Paused.value); err != nil {
			return ReaperState{}, err
		}
	}
	return l.getReaper(ctx, &in.ContainerPath)
}

func (r *setReaperRequest) apply(s *store.ContainerSettings) error {
	next := store.ReaperSettings{}
	if s.Reaper != nil {
		next = *s.Reaper
	}
	r.Delay.apply(&next.Delay)
	r.Starved.apply(&next.Starved)
	if s.Reaper = &next; next == (store.ReaperSettings{}) {
		s.Reaper = nil
	}
	return nil
}

// runReaper purges all expired items of the container, even if its reaper is paused or its settings delay
// purges or limit their rate.
func (l *Laboratory) runReaper(ctx context.Context, in *ContainerPath) (PurgeItemsResult, error) {
	return purged(in.container.Reap(ctx, 0))
}

type stepReaperRequest struct {
	ContainerPath
	Items int      `json:"items,omitempty" minimum:"1" maximum:"2147483647" default:"1" description:"Maximum number of items to purge."`
	_     struct{} `takes:"a step takes %" body:"optional"`
	_     struct{} `additionalProperties:"false"`
}

func (l *Laboratory) stepReaper(ctx context.Context, in *stepReaperRequest) (PurgeItemsResult, error) {
	return purged(in.container.Reap(ctx, in.Items))
}

func purged(n int, err error) (PurgeItemsResult, error) { return PurgeItemsResult{n}, err }

func (l *Laboratory) getReapers(context.Context, *route.NoBody) (ReapersState, error) {
	return ReapersState{l.db.ReaperPaused()}, nil
}

const pauseText = "The body must be {\"paused\": true} or {\"paused\": false}."

// reapersPausedFlag is the member of a request that says whether the reapers are to be paused.
type reapersPausedFlag bool

// DecodeMember decodes the flag from a JSON boolean. It fails with status 400 for any other value.
func (p *reapersPausedFlag) DecodeMember(_ string, v jsondoc.Value) error {
	if v.Kind() != jsondoc.Bool {
		return route.BadRequest(pauseText)
	}
	*p = reapersPausedFlag(v.Bool())
	return nil
}

// JSONSchema returns the JSON schema of the flag, a boolean. It implements jsonschema.Exposer.
func (reapersPausedFlag) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.Boolean)
	return s, nil
}

type pauseReaperRequest struct {
	Paused reapersPausedFlag `json:"paused" missing:"The body must have 'paused'."`
	_      struct{}          `refusal:"The body must be {\"paused\": true} or {\"paused\": false}."`
	_      struct{}          `additionalProperties:"false"`
}

func (l *Laboratory) setReapers(ctx context.Context, in *pauseReaperRequest) (ReapersState, error) {
	if err := l.db.PauseReaper(ctx, bool(in.Paused)); err != nil {
		return ReapersState{}, err
	}
	return l.getReapers(ctx, nil)
}

// runReapers purges all expired items of all containers, and ends the expired messages of all queues and
// subscriptions.
func (l *Laboratory) runReapers(ctx context.Context, _ *route.NoBody) (PurgeItemsResult, error) {
	return purged(l.db.Reap(ctx))
}
