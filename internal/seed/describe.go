package seed

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/queue"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// ServerDescription is the state of a server without its documents, in the form of the files of a seed.
type ServerDescription struct {
	Files   map[string]string // texts of the files, by their paths in the seed
	Folders []ContainerFolder // one for each container
	// Left lists the parts of the server's state that a seed, a set of files with a server's definitions and
	// documents, cannot express. Each element is one line of text.
	Left []string
}

// The files of a description, in addition to the folders of databases and containers.
const (
	accountFile  = "account.json"
	entitiesFile = "queues.json"
	nothingFile  = "databases.json"
	databaseFile = "db.json"
)

// ContainerFolder is the folder for the files of a container, including its documents.
type ContainerFolder struct {
	Database, Container string
	Path                string // path in the seed
}

// Describe returns the description of a server. If the description is applied to another server, that server
// has the same description, byte for byte, since lists are sorted by name. queues may be nil.
func Describe(ctx context.Context, db *store.DB, queues *queue.Queues) (*ServerDescription, error) {
	d := &serverDescriptionBuilder{ServerDescription: ServerDescription{Files: map[string]string{}}, db: db,
		offers: map[string]definition.Throughput{}}
	for _, o := range db.Offers() {
		d.offers[o.ResourceRID] = o.Throughput
	}
	names := namesBeside(UnfinishedMarker, accountFile, entitiesFile, nothingFile)
	for _, in := range byID(db.Databases(), (*store.Database).ID) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := d.database(in, names.of(in.ID())); err != nil {
			return nil, err
		}
	}
	if queues != nil {
		if err := d.entities(ctx, queues); err != nil {
			return nil, err
		}
	}
	if db.ContinuousBackup() {
		if err := d.file(accountFile, map[string]any{"continuousBackup": true}); err != nil {
			return nil, err
		}
	}
	if len(d.Files) == 0 { // an empty server has a description as well
		d.Files[nothingFile] = "{\"databases\": []}\n"
	}
	return &d.ServerDescription, d.notes(ctx)
}

// serverDescriptionBuilder makes the ServerDescription of a server.
type serverDescriptionBuilder struct {
	ServerDescription
	db     *store.DB
	offers map[string]definition.Throughput // by the rid of the resource
}

func byID[T any](list []T, id func(T) string) []T {
	slices.SortFunc(list, func(a, b T) int { return strings.Compare(id(a), id(b)) })
	return list
}

func (d *serverDescriptionBuilder) left(format string, args ...any) {
	d.Left = append(d.Left, fmt.Sprintf(format, args...))
}

// file adds a file with this content to the description.
func (d *serverDescriptionBuilder) file(path string, content map[string]any) error {
	text, err := jsondoc.Marshal(content)
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, text, "", "  "); err != nil {
		return err
	}
	d.Files[path] = indented.String() + "\n"
	return nil
}

// notes adds to ServerDescription.Left what concerns the whole server and cannot be expressed by a seed,
// such as snapshots.
func (d *serverDescriptionBuilder) notes(ctx context.Context) error {
	if d.db.VirtualClock() {
		d.left("the virtual clock, which is at %[1]s (set another one with `mayfly clock --set %[1]s`)",
			d.db.Now().UTC().Format("2006-01-02T15:04:05Z"))
	}
	if d.db.ReaperPaused() {
		d.left("the pause of all reapers")
	}
	list, err := d.db.Snapshots(ctx)
	for _, s := range list {
		d.left("the snapshot '%s'", s.Name)
	}
	return err
}

func (d *serverDescriptionBuilder) database(in *store.Database, folder string) error {
	content := map[string]any{}
	if folder != in.ID() {
		content["id"] = in.ID()
	}
	if t, own := d.offers[in.RID()]; own {
		content["throughput"] = form(t)
	}
	if _, own := in.Clock(); own {
		d.left("the clock of the database '%s', which is at %s", in.ID(),
			in.Now().UTC().Format("2006-01-02T15:04:05Z"))
	}
	where := " of the database '" + in.ID() + "'"
	if keys := d.resources(in.Resources(store.KindEncryptionKey), store.KindEncryptionKey,
		where); len(keys) > 0 {
		content["clientEncryptionKeys"] = keys
	}
	if users, err := d.users(in, where); err != nil {
		return err
	} else if len(users) > 0 {
		content["users"] = users
	}
	// A database without containers needs a file as well, since its folder would be empty otherwise.
	if err := d.file(folder+"/"+databaseFile, content); err != nil {
		return err
	}
	names := namesBeside(databaseFile)
	for _, c := range byID(in.Containers(), func(c *store.Container) string { return c.Info().Spec.ID }) {
		id := c.Info().Spec.ID
		path := folder + "/" + names.of(id)
		d.Folders = append(d.Folders, ContainerFolder{in.ID(), id, path})
		if err := d.container(in, c, path, path != folder+"/"+id); err != nil {
			return err
		}
	}
	return nil
}

// container adds to the description the file at path that defines the container c. named says that the
// name of the folder is not the container's id, so that the file must contain the id.
func (d *serverDescriptionBuilder) container(in *store.Database, c *store.Container, path string,
	named bool) error {
	spec := c.Info().Spec
	content := map[string]any{}
	jsondoc.Of(spec.AppendJSON(nil)).Each(func(name string, v jsondoc.Value) bool {
		if name != "id" || named {
			content[name] = json.RawMessage(v.Raw())
		}
		return true
	})
	throughput, own := d.offers[c.RID()]
	if own {
		content["throughput"] = form(throughput)
	}
	where := fmt.Sprintf(" of the container '%s/%s'", in.ID(), spec.ID)
	d.ranges(c, content, throughput, where)
	if s := c.Settings(); !s.IsZero() {
		content["settings"] = s
	}
	for member, kind := range map[string]store.ResourceKind{"storedProcedures": store.KindStoredProcedure,
		"triggers": store.KindTrigger, "userDefinedFunctions": store.KindFunction} {
		if list := d.resources(c.Resources(kind), kind, where); len(list) > 0 {
			content[member] = list
		}
	}
	return d.file(path+"/container.json", content)
}

// ranges adds the number of a container's partition ranges to its description, content, unless a new
// container with the throughput t would have the same number. The number matters because documents are listed
// range by range.
func (d *serverDescriptionBuilder) ranges(c *store.Container, content map[string]any, t definition.Throughput,
	where string) {
	there, spec := c.Ranges().Ranges, c.Info().Spec
	bounds := definition.SplitRanges(&spec.PartitionKey, len(there))
	for i, r := range there {
		if r.Min != bounds[i] {
			d.left("the bounds of the %d partition ranges%s, which has been split", len(there), where)
			break
		}
	}
	if len(there) != t.Ranges() {
		content["ranges"] = len(there)
	}
}

// resourceMembers returns the members of a kind of resource that a seed supports.
func resourceMembers(kind store.ResourceKind) []string {
	switch kind {
	case store.KindTrigger:
		return []string{"id", "body", "triggerType", "triggerOperation"}
	case store.KindPermission:
		return []string{"id", "permissionMode", "resource", "resourcePartitionKey"}
	case store.KindEncryptionKey:
		return []string{"id", "encryptionAlgorithm", "wrappedDataEncryptionKey", "keyWrapMetadata"}
	case store.KindUser:
		return []string{"id"}
	}
	return []string{"id", "body"}
}

// resources returns the resources of one kind, for example the triggers of a container, as objects in the
// form of a seed. where names their owner in error texts.
func (d *serverDescriptionBuilder) resources(in store.ChildResources, kind store.ResourceKind, where string) (
	list []map[string]any) {
	for _, r := range byID(in.List(), func(r store.UserOrScriptResource) string { return r.ID }) {
		list = append(list, d.resource(r, kind, where))
	}
	return list
}

func (d *serverDescriptionBuilder) resource(r store.UserOrScriptResource, kind store.ResourceKind,
	where string) map[string]any {
	out, beside := membersOf(r.Body, kind)
	for _, name := range beside {
		d.left("'%s' of the %s '%s'%s", name, words(kind), r.ID, where)
	}
	return out
}

// membersOf returns the members of a resource that a seed supports, and the names of all others.
func membersOf(body []byte, kind store.ResourceKind) (has map[string]any, beside []string) {
	has = map[string]any{}
	jsondoc.Of(body).Each(func(name string, v jsondoc.Value) bool {
		switch {
		case v.Kind() == jsondoc.Null: // an optional member that has no value
		case slices.Contains(resourceMembers(kind), name):
			has[name] = json.RawMessage(v.Raw())
		// names with _ are those that the server has added and clients send back
		case !strings.HasPrefix(name, "_"):
			beside = append(beside, name)
		}
		return true
	})
	return has, beside
}

func (d *serverDescriptionBuilder) users(in *store.Database,
	where string) (list []map[string]any, err error) {
	id := func(r store.UserOrScriptResource) string { return r.ID }
	for _, u := range byID(in.Resources(store.KindUser).List(), id) {
		out := d.resource(u, store.KindUser, where)
		permissions, err := in.Permissions(u.ID)
		if err != nil {
			return nil, err
		}
		var given []map[string]any
		for _, p := range byID(permissions.List(), id) {
			of := fmt.Sprintf(" of the user '%s'%s", u.ID, where)
			one := d.resource(p, store.KindPermission, of)
			link, ok := namedLink(d.db, jsondoc.Of(p.Body).Member("resource").Str())
			if !ok {
				d.left("the permission '%s'%s, which is for a resource id", p.ID, of)
				continue
			}
			one["resource"] = link
			given = append(given, one)
		}
		if len(given) > 0 {
			out["permissions"] = given
		}
		list = append(list, out)
	}
	return list, nil
}

// namedLink returns the target of a permission as a link by names, since resource ids differ on another
// server. ok is false if the target has no names.
func namedLink(in *store.DB, link string) (named string, ok bool) {
	parts := strings.SplitN(strings.Trim(link, "/"), "/", 6)
	if len(parts) != 4 && len(parts) != 6 {
		return link, false
	}
	db, err := in.DatabaseByRID(parts[1])
	if err != nil {
		_, err := in.Database(parts[1])
		return link, err == nil
	}
	c, err := db.ContainerByRID(parts[3])
	if err != nil {
		return link, false
	}
	parts[1], parts[3] = db.ID(), c.Info().Spec.ID
	if len(parts) == 4 {
		return strings.Join(parts, "/"), true
	}
	kind, script := map[string]store.ResourceKind{"sprocs": store.KindStoredProcedure,
		"triggers": store.KindTrigger, "udfs": store.KindFunction}[strings.ToLower(parts[4])]
	if !script { // a permission for an item contains only the resource id
		return link, false
	}
	r, err := c.Resources(kind).ReadByRID(parts[5])
	parts[5] = r.ID
	return strings.Join(parts, "/"), err == nil
}
