package seed

import (
	"encoding/json"
	"io/fs"
	"path"

	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// desiredDatabase is the state that a database should have according to a seed.
type desiredDatabase struct {
	place      tree.FilePosition
	id         string
	throughput Throughput
	containers []*desiredContainer
	users      []desiredUser
	keys       []desiredResource // keys for client-side encryption
}

// desiredUser is a user with its permissions, as a seed defines it.
type desiredUser struct {
	desiredResource
	permissions []desiredResource
}

// desiredResource is a script, a user or a permission, as a seed defines it.
type desiredResource struct {
	place tree.FilePosition
	kind  store.ResourceKind
	id    string
	body  []byte
}

// database adds a database to the seed, and returns it. dir is the folder of its file.
func (r *filesReader) database(dir string, in *Database) (*desiredDatabase, error) {
	d := &desiredDatabase{place: in.Self.Place, id: in.ID, throughput: in.Throughput}
	if err := definition.ValidateID("database", d.id); err != nil {
		return nil, d.place.Wrap("", err)
	}
	r.seed.databases = append(r.seed.databases, d)
	for i := range in.Containers {
		c := &in.Containers[i]
		if c.ID == "" {
			return nil, c.Self.Place.Fail("the container has no id")
		}
		if _, err := r.container(d, dir, c); err != nil {
			return nil, err
		}
	}
	for i := range in.Keys {
		k := &in.Keys[i]
		made, err := newResource(k.Self, store.KindEncryptionKey, k.ID, map[string]any{"id": k.ID,
			"encryptionAlgorithm": k.Algorithm, "wrappedDataEncryptionKey": k.Wrapped,
			"keyWrapMetadata": json.RawMessage(k.Metadata.value.AppendJSON(nil))})
		if err != nil {
			return nil, err
		}
		d.keys = append(d.keys, made)
	}
	for i := range in.Users {
		u, err := d.user(&in.Users[i])
		if err != nil {
			return nil, err
		}
		d.users = append(d.users, u)
	}
	return d, nil
}

func (d *desiredDatabase) user(in *User) (u desiredUser, err error) {
	u.desiredResource, err = newResource(in.Self, store.KindUser, in.ID, map[string]any{"id": in.ID})
	if err != nil {
		return u, err
	}
	for i := range in.Permissions {
		p := &in.Permissions[i]
		if (p.Container == "") == (p.Resource == "") {
			return u, p.Self.Place.Fail("a permission must have either a 'container' or a 'resource'")
		}
		to := p.Resource
		if to == "" {
			to = "dbs/" + d.id + "/colls/" + p.Container
		}
		body := map[string]any{"id": p.ID, "permissionMode": p.Mode, "resource": to}
		if p.Partition != nil {
			key := p.Self.Member("resourcePartitionKey")
			body["resourcePartitionKey"] = json.RawMessage(key.AppendJSON(nil))
		}
		made, err := newResource(p.Self, store.KindPermission, p.ID, body)
		if err != nil {
			return u, err
		}
		u.permissions = append(u.permissions, made)
	}
	return u, nil
}

// words returns the name of a kind of resource as it is used in error texts.
func words(kind store.ResourceKind) string {
	switch kind {
	case store.KindUser:
		return "user"
	case store.KindPermission:
		return "permission"
	case store.KindEncryptionKey:
		return "client encryption key"
	case store.KindStoredProcedure:
		return "stored procedure"
	case store.KindTrigger:
		return "trigger"
	}
	return "user defined function"
}

func newResource(self *tree.Value, kind store.ResourceKind, id string,
	body map[string]any) (r desiredResource,
	err error) {
	r = desiredResource{place: self.Place, kind: kind, id: id}
	if err := definition.ValidateID(words(kind), id); err != nil {
		return r, r.place.Wrap("", err)
	}
	r.body, err = json.Marshal(body)
	return r, r.place.Wrap("", err)
}

// scriptsOf returns the scripts of a container. dir is the folder of its file.
func (r *filesReader) scriptsOf(dir string, in *Container) (list []desiredResource, err error) {
	for kind, scripts := range [...][]Script{in.Procedures, in.Functions} {
		of := [...]store.ResourceKind{store.KindStoredProcedure, store.KindFunction}[kind]
		for i := range scripts {
			s := &scripts[i]
			made, err := r.script(dir, of, s.Self, s.ID, s.Body, s.File, nil)
			if err != nil {
				return nil, err
			}
			list = append(list, made)
		}
	}
	for i := range in.Triggers {
		t := &in.Triggers[i]
		made, err := r.script(dir, store.KindTrigger, t.Self, t.ID, t.Body, t.File,
			map[string]any{"triggerType": t.Type, "triggerOperation": t.On})
		if err != nil {
			return nil, err
		}
		list = append(list, made)
	}
	seen := map[string]bool{}
	for _, s := range list {
		name := words(s.kind) + " '" + s.id + "'"
		if seen[name] {
			return nil, s.place.Fail("the %s is defined a second time", name)
		}
		seen[name] = true
	}
	return list, nil
}

// script returns a script. Its text is in the definition or in a file.
func (r *filesReader) script(dir string, kind store.ResourceKind, self *tree.Value, id, text, file string,
	more map[string]any) (desiredResource, error) {
	if (text == "") == (file == "") {
		return desiredResource{}, self.Place.Fail("the %s '%s' must have either a 'body' or a 'file'",
			words(kind), id)
	}
	if file != "" {
		name := path.Join(dir, file)
		if !fs.ValidPath(name) {
			return desiredResource{}, self.Place.Fail("the file '%s' is outside of the seed", file)
		}
		data, err := r.definition(name)
		if err != nil {
			return desiredResource{}, err
		}
		text = string(data)
	}
	body := map[string]any{"id": id, "body": text}
	for name, value := range more {
		body[name] = value
	}
	return newResource(self, kind, id, body)
}
