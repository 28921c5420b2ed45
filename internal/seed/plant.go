package seed

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// ApplyTarget is the server to which a seed is applied, and the options for that.
type ApplyTarget struct {
	DB     *store.DB
	Queues *queue.Queues // required if the seed has queues or topics
	// CheckWebhook returns an error if a webhook must not use a URL. If it is nil, all URLs are allowed.
	CheckWebhook func(ctx context.Context, url string) error
	Log          *slog.Logger // nil: nothing is logged
	// Keep keeps existing definitions that differ from the seed: if there are any, nothing is written, and
	// Apply returns a *DifferencesError.
	Keep bool
	// Undo restores the previous state if the seed cannot be applied completely. There must be no other
	// writes while the seed is applied.
	Undo bool
	// Forward moves the server's virtual clock to the time of the newest document in the seed, if that is
	// later than the clock. Such a seed comes from a server whose clock was moved.
	Forward bool
}

// undoSnapshot is the name of the snapshot with the state before the seed.
const undoSnapshot = "before-seed"

// ErrNoQueues means that a seed has queues or topics, but its target does not support them.
var ErrNoQueues = errors.New("the seed has queues or topics, but queues are not enabled here")

// ApplyReport counts what a seed has changed.
type ApplyReport struct {
	Made      int // number of created databases, containers, scripts, users and permissions
	Changed   int // changed ones
	Documents int // created documents
}

// seedApplier applies one seed to its target: see Seed.Apply.
type seedApplier struct {
	ApplyTarget
	ApplyReport
	made        map[*desiredContainer]bool
	dryRun      bool // nothing is written: changes are only recorded
	differences []error
}

// change is called for a definition that differs from the seed. It returns true if the caller must change the
// definition. If nothing is to be written (dryRun), it records the difference, which format describes, and
// returns false.
func (p *seedApplier) change(at tree.FilePosition, format string, args ...any) bool {
	if p.dryRun {
		p.differences = append(p.differences, at.Fail(format, args...))
		return false
	}
	p.Changed++
	return true
}

// Apply brings the target to the state of the seed. An error in a file is a *tree.ErrorAtFilePosition.
func (s *Seed) Apply(ctx context.Context, to ApplyTarget) (ApplyReport, error) {
	if to.Log == nil {
		to.Log = slog.New(slog.DiscardHandler)
	}
	p := &seedApplier{ApplyTarget: to, made: make(map[*desiredContainer]bool)}
	if to.Queues == nil && s.HasEntities() {
		return p.ApplyReport, ErrNoQueues
	}
	if err := p.compare(ctx, s); err != nil {
		return p.ApplyReport, err
	}
	if to.Keep {
		if err := s.differences(ctx, to); err != nil {
			return p.ApplyReport, err
		}
	}
	had := to.DB.ContinuousBackup()
	if !to.Undo {
		err := p.applyAll(ctx, s)
		if err != nil {
			to.DB.SetContinuousBackup(had)
		}
		return p.ApplyReport, err
	}
	if err := p.forget(ctx); err != nil {
		return p.ApplyReport, err
	}
	if _, err := to.DB.Snapshot(ctx, undoSnapshot); err != nil {
		return p.ApplyReport, err
	}
	err := p.applyAll(ctx, s)
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		to.DB.SetContinuousBackup(had)
		err = errors.Join(err, to.DB.Restore(ctx, undoSnapshot))
	}
	return p.ApplyReport, errors.Join(err, p.forget(ctx))
}

// forget deletes the snapshot for undo if an earlier start of the server that was interrupted has left
// one.
func (p *seedApplier) forget(ctx context.Context) error {
	err := p.DB.DeleteSnapshot(ctx, undoSnapshot)
	if fault.ErrorCode(err) == fault.CodeNotFound {
		return nil
	}
	return err
}

// compare returns an error if the seed conflicts with existing definitions. It writes nothing.
func (p *seedApplier) compare(ctx context.Context, s *Seed) error {
	for _, d := range s.databases {
		in, err := p.DB.Database(d.id)
		for _, c := range d.containers {
			if err == nil {
				if there, err := in.Container(c.spec.ID); err == nil {
					if _, err := c.merged(there); err != nil {
						return err
					}
				}
			}
			if err := p.checkWebhooks(ctx, c.settings); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *seedApplier) checkWebhooks(ctx context.Context, s *MayflyContainerSettings) error {
	if s == nil || s.ExpiryEvents == nil || p.CheckWebhook == nil {
		return nil
	}
	for _, w := range s.ExpiryEvents.Webhooks {
		if err := p.CheckWebhook(ctx, w.URL); err != nil {
			return s.Self.Place.Wrap("the webhook '"+w.URL+"' cannot be set", err)
		}
	}
	return nil
}

// merged returns the definition of an existing container with the members that the seed sets.
func (c *desiredContainer) merged(there *store.Container) (definition.ContainerSpec, error) {
	old := there.Info().Spec
	if !old.PartitionKey.Equal(&c.spec.PartitionKey) {
		return old, c.place.Fail("the container exists with another partition key")
	}
	merge := func(given *tree.Value) (definition.ContainerSpec, error) {
		members := map[string]json.RawMessage{}
		if err := json.Unmarshal(old.AppendJSON(nil), &members); err != nil {
			return old, err
		}
		for _, m := range given.Members {
			if m.Name != "partitionKey" {
				members[m.Name] = m.Value.AppendJSON(nil)
			}
		}
		raw, err := json.Marshal(members)
		if err != nil {
			return old, err
		}
		next, _, err := definition.ParseContainerSpec(raw, true)
		if err == nil {
			next.EnsureDefaults()
			err = errors.Join(next.Validate(), next.CheckReplace(old))
		}
		return next, err
	}
	next, err := merge(c.definition)
	if err != nil {
		place, member := c.definition.Locate(func(v *tree.Value) error {
			_, err := merge(v)
			return err
		})
		return next, place.Wrap(member, err)
	}
	return next, nil
}

// applyAll writes the seed. Containers come before settings, which may refer to other containers. Settings
// come before documents, which may expire as soon as they are stored.
func (p *seedApplier) applyAll(ctx context.Context, s *Seed) error {
	if err := p.forward(ctx, s); err != nil {
		return err
	}
	p.backup(s)
	for _, entities := range s.entities {
		if err := entities.Apply(ctx, p.Queues); err != nil {
			return err
		}
	}
	steps := p.steps()
	if !s.definitionsOnly {
		steps = append(steps, p.documents)
	}
	for _, step := range steps {
		for _, d := range s.databases {
			in, err := p.database(ctx, d)
			if err == nil {
				err = step(ctx, d, in)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// backup sets continuous backup as in the seed. It is called first, since a container takes the setting over
// when it is created.
func (p *seedApplier) backup(s *Seed) {
	b := s.backup
	if b == nil || b.on == p.DB.ContinuousBackup() ||
		!p.change(b.place, "the account has continuous backup %s", onOff(!b.on)) {
		return
	}
	p.DB.SetContinuousBackup(b.on)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// maxForward is the maximum by which a server's clock is moved forward to the time of the newest document of
// a seed. A document with a later time is refused, with an error that names its position in the file.
const maxForward = 50 * 365 * 24 * time.Hour

func (p *seedApplier) forward(ctx context.Context, s *Seed) error {
	if !p.Forward || !p.DB.VirtualClock() {
		return nil
	}
	newest := time.Unix(s.newest(), 0)
	if ahead := newest.Sub(p.DB.Now()); ahead <= 0 || ahead > maxForward {
		return nil
	}
	p.Log.Info("the clock is set to the time of the newest document of the seed", "time", newest.UTC())
	_, err := p.DB.SetClock(ctx, store.ClockChangeRequest{Set: &newest})
	return err
}

// newest returns the latest _ts of the documents in the seed, in seconds since 1970, or 0 if none has one.
func (s *Seed) newest() (ts int64) {
	for _, d := range s.databases {
		for _, c := range d.containers {
			for i := range c.documents {
				ts = max(ts, c.documents[i].operation.Import.Timestamp)
			}
		}
	}
	return ts
}

// steps returns the functions that write definitions, in their order.
func (p *seedApplier) steps() []func(context.Context, *desiredDatabase, *store.Database) error {
	return []func(context.Context, *desiredDatabase, *store.Database) error{p.keys, p.containers, p.settings,
		p.scripts, p.users}
}

func (p *seedApplier) database(ctx context.Context, d *desiredDatabase) (*store.Database, error) {
	in, err := p.DB.Database(d.id)
	if fault.ErrorCode(err) == fault.CodeNotFound {
		p.Made++
		in, err = p.DB.CreateDatabase(ctx, d.id, d.throughput.Throughput)
	}
	if err != nil {
		return nil, d.place.Wrap("", err)
	}
	return in, p.throughput(ctx, &d.throughput, in.RID(), "the database '"+d.id+"'")
}

// throughput changes a throughput if it differs from that of the seed.
func (p *seedApplier) throughput(ctx context.Context, t *Throughput, rid, of string) error {
	if t.IsZero() {
		return nil
	}
	for _, o := range p.DB.Offers() {
		if o.ResourceRID != rid {
			continue
		}
		if t.same(o.Throughput) || !p.change(t.place, "%s exists with a different throughput", of) {
			return nil
		}
		_, err := p.DB.ReplaceOffer(ctx, o.ID, t.Throughput, true, store.WriteOptions{})
		return t.place.Wrap("", err)
	}
	return t.place.Fail("the existing resource has no throughput of its own, and cannot be given one")
}
