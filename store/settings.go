package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// ContainerSettings are Mayfly's own settings of a container, beside the ContainerSpec that Cosmos DB knows.
// They live in the container's record and go with it; replacing the container leaves them alone. The zero
// value is what a container begins with. A value that a Container returns must not be changed.
type ContainerSettings struct {
	OnExpire *OnExpire `json:"onExpire,omitempty"`
	// TTLCeiling makes the container's default the upper bound of its items' own ttl as well: a write lowers
	// what is longer, -1 included, silently. It means nothing while the default is off or -1.
	TTLCeiling bool `json:"ttlCeiling,omitempty"`
	// AutoDeleteOnIdle is after how many seconds of the data clock without use the container is deleted; 0:
	// never. Reads, writes, queries and feeds are use, and so is a change of the container; expiry is none.
	// At least MinIdle.
	AutoDeleteOnIdle int           `json:"autoDeleteOnIdle,omitempty"`
	ExpiryEvents     *ExpiryEvents `json:"expiryEvents,omitempty"`
	// Reaper holds purges back; nil: nothing does.
	Reaper *ReaperSettings `json:"reaper,omitempty"`
	// ChangesTo is the path of a queue or a topic, which is sent the change feed of latest versions: see
	// package hook.
	ChangesTo string `json:"changesTo,omitempty"`
}

// OnExpire says what becomes of documents that expire, beyond that they are gone. It has one of its members.
type OnExpire struct {
	// MoveTo is the id of another container of the same database, the archive, where they are created anew:
	// see the essay in archive.go.
	MoveTo string `json:"moveTo,omitempty"`
	// ForwardTo is the path of a queue or a topic, where each becomes a message. Where that is deleted, or
	// full, or refuses senders, documents that have expired wait for it: nobody sees them any more.
	ForwardTo string `json:"forwardTo,omitempty"`

	other heirName // an heir of another tenant of the host that no setting can name
}

// MinIdle is the shortest AutoDeleteOnIdle in seconds, which is Azure Service Bus's.
const MinIdle = 300

// MaxMoves is how many times in a row a document can be moved by expiring: archives may have archives.
const MaxMoves = 4

// IsZero tells whether all settings are as in a new container.
func (s ContainerSettings) IsZero() bool {
	return s.OnExpire == nil && !s.TTLCeiling && s.AutoDeleteOnIdle == 0 && s.ExpiryEvents == nil &&
		s.Reaper == nil && s.ChangesTo == ""
}

// moveTo is the id of the archive; empty where there is none.
func (s *ContainerSettings) moveTo() string {
	if s.OnExpire == nil {
		return ""
	}
	return s.OnExpire.MoveTo
}

// Settings are the container's present settings.
func (c *Container) Settings() ContainerSettings { return c.state.Load().rec.Settings }

// ChangeSettings replaces the container's settings by what fn makes of them, durably, and returns them. fn
// gets a copy, may run under locks of the store and must not call it; with its error nothing changes.
// CodeBadRequest: the settings are wrong, or name an archive that cannot be one; CodeOwnerNotFound: the
// container has been dropped.
func (c *Container) ChangeSettings(ctx context.Context, fn func(*ContainerSettings) error) (ContainerSettings,
	error) {
	db := c.db
	if err := db.lockCatalog(ctx); err != nil {
		return ContainerSettings{}, err
	}
	defer db.in.Catalog().Unlock()
	var next ContainerSettings
	err := c.againLocked(ctx, func() (err error) {
		next, err = c.changeSettings(ctx, fn)
		return err
	})
	if err != nil {
		return ContainerSettings{}, wrap(err)
	}
	db.in.WakeReaper()
	db.door.subscribers.Notify()
	return next, nil
}

// changeSettings is the part of ChangeSettings that goes by one state of the container. The caller holds the
// catalog's lock.
func (c *Container) changeSettings(ctx context.Context,
	fn func(*ContainerSettings) error) (ContainerSettings, error) {
	next := c.Settings().clone()
	if err := fn(&next); err != nil {
		return ContainerSettings{}, wrap(err)
	}
	if err := c.checkSettings(&next); err != nil {
		return ContainerSettings{}, err
	}
	return next, c.change(ctx, func(st containerState, now int64) (containerState, error) {
		switch none := (heirName{}); {
		case next.heir() == none:
			st.rec.MovesSince = 0
		case st.rec.Settings.heir() == none:
			st.rec.MovesSince = now
		}
		old := st
		st.rec.Settings = next
		err := c.storeSettings(ctx, &old, &st, now)
		if err == nil {
			raise(&c.used, now)
			c.note(markSettings, st.rec.MovesSince)
		}
		return st, err
	})
}

// clone is a copy that shares nothing.
func (s ContainerSettings) clone() ContainerSettings {
	if s.OnExpire != nil {
		on := *s.OnExpire
		s.OnExpire = &on
	}
	s.ExpiryEvents = s.ExpiryEvents.clone()
	s.Reaper = s.Reaper.clone()
	return s
}

// checkSettings refuses what the container cannot be set to. The caller holds the catalog's lock.
func (c *Container) checkSettings(s *ContainerSettings) error {
	if s.AutoDeleteOnIdle != 0 && (s.AutoDeleteOnIdle < MinIdle || s.AutoDeleteOnIdle > int(ttl.Max)) {
		return fail(fault.CodeBadRequest,
			fmt.Sprintf("'autoDeleteOnIdle' must be 0 or between %d and %d seconds, not %d.", MinIdle,
				ttl.Max, s.AutoDeleteOnIdle))
	}
	if s.TTLCeiling && slices.ContainsFunc(c.def.ParsedPaths(),
		func(p doc.Path) bool { return p.String() == "/ttl" }) {
		return fail(fault.CodeBadRequest,
			"'ttlCeiling' cannot be set where the ttl is in the partition key: lowering it would move the item.")
	}
	if err := s.ExpiryEvents.check(); err != nil {
		return err
	}
	if err := s.Reaper.check(); err != nil {
		return err
	}
	if s.ChangesTo != "" {
		if err := c.checkHeir("changesTo", heirName{heirQueue, s.ChangesTo}); err != nil {
			return err
		}
	}
	if s.OnExpire == nil {
		return nil
	}
	if s.OnExpire.MoveTo != "" && s.OnExpire.ForwardTo != "" {
		return fail(fault.CodeBadRequest, "'onExpire' has either 'moveTo' or 'forwardTo'.")
	}
	if to := s.heir(); to.kind != heirArchive && to.kind != "" {
		return c.checkHeir("onExpire", to)
	}
	return c.checkArchive(s.OnExpire.MoveTo)
}

// checkHeir refuses that a setting leads to what another tenant does not have, or what takes nothing.
func (c *Container) checkHeir(setting string, to heirName) error {
	_, err := c.db.in.Sink(tenantName, to.kind, to.name)
	if err == nil {
		return nil
	}
	if host.Classify(err) != host.Unclassified {
		return wrap(err)
	}
	return &fault.Error{Code: fault.CodeBadRequest, Message: "The " + to.kind + " '" + to.name +
		"', to which '" + setting + "' leads, cannot take what comes from here: " + err.Error(), Err: err}
}

// checkArchive refuses an archive that cannot take what expires here. An archive has no unique keys, so that
// it can take whatever comes. Chains may not close, nor be longer than MaxMoves, counted over what leads
// here, too.
func (c *Container) checkArchive(name string) error {
	if name == "" {
		return fail(fault.CodeBadRequest,
			"'onExpire' needs 'moveTo', the id of a container of the same database, or 'forwardTo', "+
				"the path of a queue or topic.")
	}
	if name == c.name {
		return fail(fault.CodeBadRequest, "The container '"+name+"' cannot be its own archive.")
	}
	moves := c.movesInto()
	for at := name; at != ""; moves++ {
		a, err := c.d.Container(at)
		if err != nil {
			return &fault.Error{Code: fault.CodeBadRequest, Message: "The archive '" + at +
				"' does not exist in the database '" + c.d.ID() + "'.", Err: err}
		}
		if a == c {
			return fail(fault.CodeBadRequest, "The archives go round in a circle: what expires in '"+c.name+
				"' would come back to it from '"+name+"'.")
		}
		if a.keys.Unique.Len() > 0 {
			return fail(fault.CodeBadRequest,
				"The container '"+at+"' cannot be an archive: its unique keys could refuse a document.")
		}
		at = a.state.Load().rec.Settings.moveTo()
	}
	if moves > MaxMoves {
		return fail(fault.CodeBadRequest,
			fmt.Sprintf("A document would be moved %d times in a row, which is more than %d.", moves,
				MaxMoves))
	}
	return nil
}

// movesInto is how often a document can have been moved when it comes to be here. There are no circles.
func (c *Container) movesInto() (n int) {
	for _, from := range c.archiveOf() {
		n = max(n, from.movesInto()+1)
	}
	return n
}

// archiveOf are the containers whose archive this one is.
func (c *Container) archiveOf() []*Container {
	return slices.DeleteFunc(c.d.Containers(), func(from *Container) bool {
		return from.state.Load().rec.Settings.moveTo() != c.name
	})
}

// checkDrop refuses to delete an archive: what others were asked to keep would be lost with nobody told. The
// caller holds the catalog's lock.
func (c *Container) checkDrop() error {
	if from := c.archiveOf(); len(from) > 0 {
		return &fault.Error{
			Code:    fault.CodeConflict,
			Message: "The container '" + c.name + "' is where '" + from[0].name + "' moves what expires.",
			Hint:    "clear onExpire in the settings of that container first",
		}
	}
	return nil
}

// lowerTTL makes the ttl of an item that is about to be written no longer than the container's default, where
// the settings make that the ceiling. What is stored says so, in the document as in its header.
func (t *tx) lowerTTL(item *stored) {
	limit, own := t.st.policy().Default, item.head.Life.Own
	if !t.st.rec.Settings.TTLCeiling || limit <= 0 || own == ttl.Absent || own > 0 && own <= limit {
		return
	}
	b := make([]byte, 0, len(item.body)+8)
	doc.Of(item.body).Each(func(name string, v doc.Value) bool {
		b = append(doc.AppendString(append(b, ','), name), ':')
		if name == "ttl" {
			b = strconv.AppendInt(b, int64(limit), 10)
		} else {
			b = append(b, v.Raw()...)
		}
		return true
	})
	b[0] = '{'
	item.body = append(b, '}')
	item.head.Life.Own = limit
	item.terms = nil
}
