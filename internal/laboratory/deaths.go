package laboratory

import (
	"context"
	"fmt"
	"time"

	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/queue/entity"
	"github.com/mayflydb/mayfly/queue/message"
	"github.com/mayflydb/mayfly/store/inspect"
	"github.com/mayflydb/mayfly/ttl"
)

// MessageExpiry describes when and why a message expires, and what happens to it then.
type MessageExpiry struct {
	OwnTTL    *float64   `json:"ownTtl" description:"Time to live from the sender, in seconds; null: none."`
	Effective *float64   `json:"effectiveTtl" description:"Applicable time to live in seconds; null: none."`
	Source    string     `json:"source" enum:"message,default,ceiling,none" description:"Origin of effectiveTtl. ceiling: the entity's default, which is shorter than ownTtl."`
	Expires   *time.Time `json:"expires" description:"Time of the expiry; null: none, or not enqueued yet."`
	Locked    *time.Time `json:"lockedUntil,omitempty"`

	Then string `json:"then" enum:"kept,deleted,dead-lettered" description:"What happens to it on expiry."`

	Why string `json:"why" description:"The reason, as an English sentence."`
}

// purgedAtOnce is the number of messages that one step of a purge deletes.
const purgedAtOnce = 1000

// The values of MessageExpiry.Then: what happens to a message when it expires.
const (
	thenKept         = "kept"
	thenGone         = "deleted"
	thenDeadLettered = "dead-lettered"
)

// lifeOf returns when and why a message of an entity expires. dead means that it is in the dead-letter queue.
func lifeOf(d *queue.Delivery, e *entity.Entity, dead bool) MessageExpiry {
	b, p := &d.Broker, e.Properties
	life := MessageExpiry{Source: "none", Then: thenKept}
	own := d.Message.OwnTTL()
	if own != message.Absent {
		life.OwnTTL = seconds(own)
	}
	if b.LockedUntil != message.Absent {
		t := momentOf(b.LockedUntil)
		life.Locked = &t
	}
	effective := own
	if def := p.DefaultTTL.Milliseconds(); p.DefaultTTL != entity.Forever {
		switch {
		case own == message.Absent:
			effective, life.Source = def, "default"
		case own > def:
			effective, life.Source = def, "ceiling"
		}
	}
	if life.Source == "none" && own != message.Absent {
		life.Source = "message"
	}
	switch {
	case dead:
		life.Source, life.Why = "none",
			"A dead letter does not expire: it stays until it is received or deleted."
		return life
	case effective == message.Absent:
		life.Why = "Neither the message nor the entity has a time to live."
		return life
	}
	life.Effective = seconds(effective)
	life.Then = thenGone
	if p.DeadLetterOnExpiration {
		life.Then = thenDeadLettered
	}
	because := map[string]string{"message": "set by its sender", "default": "the entity's default",
		"ceiling": "the entity's default, which is shorter than what its sender set"}[life.Source]
	why := fmt.Sprintf("Its time to live is %s, %s",
		ttl.FormatDuration(time.Duration(effective)*time.Millisecond), because)
	switch b.State {
	case message.Scheduled:
		life.Why = why + "; it begins when the message arrives."
		return life
	case message.Deferred:
		life.Then = thenKept
		life.Why = why + ", but a deferred message does not expire: it can be received by its sequence " +
			"number."
		return life
	}
	at := momentOf(b.EnqueuedTime + effective)
	life.Expires = &at
	life.Why = why + ", counted from its arrival; then it is " + life.Then + "."
	if life.Locked != nil && life.Locked.After(at) {
		life.Why += " Its lock ends later: it can be settled until then."
	}
	return life
}

func seconds(ms int64) *float64 {
	s := float64(ms) / 1000
	return &s
}

// MessageForecast counts the messages of an entity by the time of their expiry.
type MessageForecast struct {
	Now     time.Time `json:"now"`
	Overdue int64     `json:"overdue" description:"Expired messages that are not purged yet."`
	Coming  int64     `json:"coming" description:"Messages that will expire."`
	Never   int64     `json:"never" description:"Messages that do not expire in their present state."`
	NextIn  float64   `json:"nextIn,omitempty" description:"Seconds until the next expiry; absent: none."`
	// By contains the keys second, minute, hour, day and month. Each maps to the steps of that length in
	// which something expires.
	By map[string][]ForecastStep `json:"by" nullable:"false" description:"Counts in steps of a second, minute, hour, day and month."`
}

func (l *Laboratory) forecastMessages(ctx context.Context, in *EntityPath) (MessageForecast, error) {
	now := in.queues.Now()
	out := MessageForecast{Now: now.UTC(), By: map[string][]ForecastStep{}}
	counts := make([][]int64, len(inspect.ForecastScales))
	for i, s := range inspect.ForecastScales {
		counts[i] = make([]int64, s.Steps)
		out.By[s.Name] = []ForecastStep{}
	}
	next := time.Duration(-1)
	err := in.queues.Deadlines(ctx, entity.Address{Entity: in.entity.Path},
		func(at time.Time, mortal bool) bool {
			ahead := at.Sub(now)
			switch {
			case !mortal:
				out.Never++
				return true
			case ahead <= 0:
				out.Overdue++
				return true
			}
			out.Coming++
			if next < 0 || ahead < next {
				next = ahead
			}
			for i, s := range inspect.ForecastScales {
				if n := int64((ahead - 1) / (time.Duration(s.Step) * time.Second)); n < int64(s.Steps) {
					counts[i][n]++
				}
			}
			return true
		})
	if err != nil {
		return out, ofQueues(err)
	}
	if next > 0 {
		out.NextIn = next.Seconds()
	}
	for i, s := range inspect.ForecastScales {
		for n, count := range counts[i] {
			if from := int64(n) * s.Step; count > 0 {
				out.By[s.Name] = append(out.By[s.Name], ForecastStep{from, from + s.Step, count})
			}
		}
	}
	return out, nil
}

// momentOf converts milliseconds since 1970 to a time. Senders may set any time, but years in RFC 3339 have
// four digits: a time out of this range becomes the first or the last time that RFC 3339 can express.
func momentOf(ms int64) time.Time {
	return time.UnixMilli(min(max(ms, firstMoment), lastMoment)).UTC()
}

// The first and the last time, in milliseconds, that RFC 3339 can express.
var (
	firstMoment = time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()
	lastMoment  = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - 1
)
