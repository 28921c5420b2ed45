package seed

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

func (p *seedApplier) containers(ctx context.Context, d *desiredDatabase, in *store.Database) error {
	for _, c := range d.containers {
		there, err := in.Container(c.spec.ID)
		switch {
		case fault.ErrorCode(err) == fault.CodeNotFound && p.dryRun:
			continue
		case fault.ErrorCode(err) == fault.CodeNotFound:
			p.Made++
			p.made[c] = true
			there, err = in.CreateContainerWith(ctx, c.spec, store.ContainerOptions{
				Throughput: c.throughput.Throughput, Ranges: c.ranges})
		case err == nil:
			there, err = p.changeContainer(ctx, c, in, there)
		}
		if err != nil {
			return c.place.Wrap("", err)
		}
		if err := p.throughput(ctx, &c.throughput, there.RID(), c.label(d)); err != nil {
			return err
		}
	}
	return nil
}

// label returns the name of a container for error texts.
func (c *desiredContainer) label(d *desiredDatabase) string {
	return "the container '" + d.id + "/" + c.spec.ID + "'"
}

// changeContainer changes the definition of a container to that of the seed.
func (p *seedApplier) changeContainer(ctx context.Context, c *desiredContainer, in *store.Database,
	there *store.Container) (*store.Container, error) {
	next, err := c.merged(there)
	if err != nil {
		return there, err
	}
	before, after := there.Info().Spec.AppendJSON(nil), next.AppendJSON(nil)
	if bytes.Equal(before, after) || !p.change(c.place, "the container '%s/%s' exists with a different %s",
		in.ID(), c.spec.ID, differingMembers(before, after)) {
		return there, nil
	}
	return in.ReplaceContainer(ctx, c.spec.ID, next, store.WriteOptions{})
}

// differingMembers returns the names of the members in which two objects differ.
func differingMembers(a, b []byte) string {
	var names []string
	add := func(name string, _ jsondoc.Value) bool {
		if !jsondoc.Equal(jsondoc.Of(a).Member(name), jsondoc.Of(b).Member(name)) {
			names = append(names, name)
		}
		return true
	}
	jsondoc.Of(a).Each(add)
	jsondoc.Of(b).Each(add)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// settings changes Mayfly's own settings of the database's containers to those of the seed.
func (p *seedApplier) settings(ctx context.Context, d *desiredDatabase, in *store.Database) error {
	for _, c := range d.containers {
		if c.settings == nil {
			continue
		}
		there, err := in.Container(c.spec.ID)
		if fault.ErrorCode(err) == fault.CodeNotFound && p.dryRun {
			continue
		}
		if err != nil {
			return c.place.Wrap("", err)
		}
		have, want := there.Settings(), there.Settings()
		c.settings.overlay(&want)
		before, err1 := json.Marshal(have)
		after, err2 := json.Marshal(want)
		if err1 == nil && err2 == nil && bytes.Equal(before, after) ||
			!p.change(c.settings.Self.Place, "%s exists with different settings: %s", c.label(d),
				differingMembers(before, after)) {
			continue
		}
		_, err = there.ChangeSettings(ctx, func(s *store.ContainerSettings) error {
			c.settings.overlay(s)
			return nil
		})
		if err != nil {
			return c.settings.Self.Place.Wrap("settings", err)
		}
	}
	return nil
}

// overlay copies to the settings in to those settings that the seed contains, and leaves the others
// unchanged.
func (s *MayflyContainerSettings) overlay(to *store.ContainerSettings) {
	for _, m := range s.Self.Members {
		switch m.Name {
		case "onExpire":
			to.OnExpire = s.OnExpire
		case "ttlCeiling":
			to.TTLCeiling = s.TTLCeiling
		case "autoDeleteOnIdle":
			to.AutoDeleteOnIdle = s.AutoDeleteOnIdle
		case "expiryEvents":
			to.ExpiryEvents = s.ExpiryEvents
		case "reaper":
			to.Reaper = s.Reaper
		case "changesTo":
			to.ChangesTo = s.ChangesTo
		case "queries":
			s.overlayQueries(m.Value.Kind == tree.Null, to)
		}
	}
}

// keys creates the keys that the client encryption policies of containers need.
func (p *seedApplier) keys(ctx context.Context, d *desiredDatabase, in *store.Database) error {
	for i := range d.keys {
		if err := p.resource(ctx, in.Resources(store.KindEncryptionKey), &d.keys[i], d.id); err != nil {
			return err
		}
	}
	return nil
}

func (p *seedApplier) scripts(ctx context.Context, d *desiredDatabase, in *store.Database) error {
	for _, c := range d.containers {
		there, err := in.Container(c.spec.ID)
		if fault.ErrorCode(err) == fault.CodeNotFound && p.dryRun {
			continue
		}
		if err != nil {
			return c.place.Wrap("", err)
		}
		for i := range c.scripts {
			if err := p.resource(ctx, there.Resources(c.scripts[i].kind), &c.scripts[i],
				d.id+"/"+c.spec.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *seedApplier) users(ctx context.Context, d *desiredDatabase, in *store.Database) error {
	for i := range d.users {
		u := &d.users[i]
		if err := p.resource(ctx, in.Resources(store.KindUser), &u.desiredResource, d.id); err != nil {
			return err
		}
		permissions, err := in.Permissions(u.id)
		if fault.ErrorCode(err) == fault.CodeNotFound && p.dryRun {
			continue
		}
		if err != nil {
			return u.place.Wrap("", err)
		}
		for j := range u.permissions {
			if err := p.resource(ctx, permissions, &u.permissions[j], d.id+"/"+u.id); err != nil {
				return err
			}
		}
	}
	return nil
}

// resource creates a script, a user or a permission, or changes it if it differs. of names its owner in
// error texts.
func (p *seedApplier) resource(ctx context.Context, in store.ChildResources, r *desiredResource,
	of string) error {
	there, err := in.Read(r.id)
	switch {
	case fault.ErrorCode(err) == fault.CodeNotFound && p.dryRun:
		return nil
	case fault.ErrorCode(err) == fault.CodeNotFound:
		p.Made++
		_, err = in.Create(ctx, r.body)
	case err == nil:
		have, want := p.described(there.Body, r.kind), p.described(r.body, r.kind)
		if !jsondoc.Equal(jsondoc.Of(have), jsondoc.Of(want)) &&
			p.change(r.place, "the %s '%s' of '%s' exists with a different %s", words(r.kind), r.id, of,
				differingMembers(have, want)) {
			_, err = in.Replace(ctx, r.id, r.body, store.WriteOptions{})
		}
	}
	return r.place.Wrap("", err)
}

// described returns the body of a resource in the form that Describe writes: without members that seeds do
// not support, and with names instead of resource ids in links.
func (p *seedApplier) described(body []byte, kind store.ResourceKind) []byte {
	has, _ := membersOf(body, kind)
	if link := jsondoc.Of(body).Member("resource"); kind == store.KindPermission &&
		link.Kind() == jsondoc.String {
		has["resource"], _ = namedLink(p.DB, link.Str())
	}
	text, err := json.Marshal(has)
	if err != nil { // the text is valid JSON, so there is no error
		return body
	}
	return text
}
