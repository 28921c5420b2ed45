package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/classify"
	"github.com/mayflydb/mayfly/store/internal/container"
	"github.com/mayflydb/mayfly/ttl"
)

// Settings returns the container's current settings.
func (c *Container) Settings() definition.ContainerSettings { return c.state.Load().Rec.Settings }

// ChangeSettings durably replaces the container's settings by the result of fn, and returns them. fn
// changes a copy. It may run under locks of the store, so it must not call the store. If fn fails, nothing
// changes. CodeBadRequest: the settings are invalid, or name an archive that cannot be one.
// CodeOwnerNotFound: the container has been dropped.
func (c *Container) ChangeSettings(ctx context.Context,
	fn func(*definition.ContainerSettings) error) (definition.ContainerSettings, error) {
	db := c.ds
	var next definition.ContainerSettings
	err := c.retryAfterSplit(ctx, func() error {
		if err := db.lockCatalog(ctx); err != nil {
			return err
		}
		defer db.in.Catalog().Unlock()
		return c.againLocked(ctx, func() (err error) {
			next, err = c.changeSettings(ctx, fn)
			return err
		})
	})
	if err != nil {
		return definition.ContainerSettings{}, classify.ToFault(err)
	}
	db.in.WakeReaper()
	db.db.catalogWatch.Notify()
	return next, nil
}

// changeSettings is the part of ChangeSettings that depends on the state of the container: fn changes a copy
// of its settings. The caller repeats it if the state has changed. The caller holds the catalog's lock.
func (c *Container) changeSettings(ctx context.Context,
	fn func(*definition.ContainerSettings) error) (definition.ContainerSettings, error) {
	next := c.Settings().Clone()
	if err := fn(&next); err != nil {
		return definition.ContainerSettings{}, classify.ToFault(err)
	}
	if err := c.checkSettings(&next); err != nil {
		return definition.ContainerSettings{}, err
	}
	return next, c.change(ctx, func(st container.State, now int64) (container.State, error) {
		switch none := (definition.ExpiredItemSinkReference{}); {
		case next.ExpirySink() == none:
			st.Rec.MovesSince = 0
		case st.Rec.Settings.ExpirySink() == none:
			st.Rec.MovesSince = now
		}
		old := st
		st.Rec.Settings = next
		err := c.storeSettings(ctx, &old, &st, now)
		if err == nil {
			container.Raise(&c.used, now)
			c.recordTime(container.MarkSettings, st.Rec.MovesSince)
		}
		return st, err
	})
}

// checkSettings fails for settings that the container cannot have. The caller holds the catalog's lock.
func (c *Container) checkSettings(s *definition.ContainerSettings) error {
	if s.AutoDeleteOnIdle != 0 && (s.AutoDeleteOnIdle < MinIdle || s.AutoDeleteOnIdle > int(ttl.Max)) {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("'autoDeleteOnIdle' must be 0 or between %d and %d seconds, not %d.", MinIdle,
				ttl.Max, s.AutoDeleteOnIdle))
	}
	if s.TTLCeiling && slices.ContainsFunc(c.def.ParsedPaths(),
		func(p jsondoc.Path) bool { return p.String() == "/ttl" }) {
		return fault.New(fault.CodeBadRequest,
			"'ttlCeiling' cannot be set where the ttl is in the partition key: lowering it would move the item.")
	}
	if err := s.ExpiryEvents.Validate(); err != nil {
		return err
	}
	if err := s.Reaper.Validate(); err != nil {
		return err
	}
	if err := s.ValidateQueries(); err != nil {
		return err
	}
	if s.ChangesTo != "" {
		to := definition.ExpiredItemSinkReference{Kind: definition.SinkQueue, Name: s.ChangesTo}
		if err := c.checkSink("changesTo", to); err != nil {
			return err
		}
	}
	if s.OnExpire == nil {
		return nil
	}
	if s.OnExpire.MoveTo != "" && s.OnExpire.ForwardTo != "" {
		return fault.New(fault.CodeBadRequest, "'onExpire' has either 'moveTo' or 'forwardTo'.")
	}
	if to := s.ExpirySink(); to.Kind != definition.SinkArchive && to.Kind != "" {
		return c.checkSink("onExpire", to)
	}
	return c.checkArchive(s.OnExpire.MoveTo)
}

// checkSink fails if the queue or topic to which the container shall move its expired items does not exist,
// or cannot take them. setting is the name of the setting, for the error.
func (c *Container) checkSink(setting string, to definition.ExpiredItemSinkReference) error {
	_, err := c.ds.in.Sink(tenantName, to.Kind, to.Name)
	if err == nil {
		return nil
	}
	if host.Classify(err) != host.Unclassified {
		return classify.ToFault(err)
	}
	return &fault.Error{Code: fault.CodeBadRequest, Message: "The " + to.Kind + " '" + to.Name +
		"', to which '" + setting + "' leads, cannot take what comes from here: " + err.Error(), Err: err}
}

// checkArchive fails if the container called name cannot be the archive of c. An archive has no unique
// keys, so that it can store every document. Chains of archives must not form a cycle, nor be longer than
// MaxMoves, including the moves that lead to c.
func (c *Container) checkArchive(name string) error {
	if name == "" {
		return fault.New(fault.CodeBadRequest,
			"'onExpire' needs 'moveTo', the id of a container of the same database, or 'forwardTo', "+
				"the path of a queue or topic.")
	}
	if name == c.name {
		return fault.New(fault.CodeBadRequest, "The container '"+name+"' cannot be its own archive.")
	}
	moves := c.movesInto()
	for at := name; at != ""; moves++ {
		a, err := c.d.Container(at)
		if err != nil {
			return &fault.Error{Code: fault.CodeBadRequest, Message: "The archive '" + at +
				"' does not exist in the database '" + c.d.ID() + "'.", Err: err}
		}
		if a == c {
			return fault.New(fault.CodeBadRequest,
				"The archives go round in a circle: what expires in '"+c.name+
					"' would come back to it from '"+name+"'.")
		}
		if a.items.Keys.Unique.Len() > 0 {
			return fault.New(fault.CodeBadRequest,
				"The container '"+at+"' cannot be an archive: its unique keys could refuse a document.")
		}
		at = a.state.Load().Rec.Settings.MoveTo()
	}
	if moves > MaxMoves {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("A document would be moved %d times in a row, which is more than %d.", moves,
				MaxMoves))
	}
	return nil
}

// movesInto returns the maximum number of times that a document in this container can have been moved: the
// length of the longest chain of archives that leads here. Chains have no cycles.
func (c *Container) movesInto() (n int) {
	for _, from := range c.archiveOf() {
		n = max(n, from.movesInto()+1)
	}
	return n
}

// archiveOf returns the containers whose archive is this one.
func (c *Container) archiveOf() []*Container {
	return slices.DeleteFunc(c.d.Containers(), func(from *Container) bool {
		return from.state.Load().Rec.Settings.MoveTo() != c.name
	})
}

// checkDrop fails if the container is the archive to which other containers move their expired documents,
// because these would be lost unnoticed. The caller holds the catalog's lock.
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
