package seed

import (
	"bytes"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// desiredContainer is the state that a container should have according to a seed.
type desiredContainer struct {
	place      tree.FilePosition
	spec       definition.ContainerSpec
	definition *tree.Value // the members of the container's definition that the seed sets
	throughput Throughput
	ranges     int // number of ranges of a new container; 0: it depends on the throughput
	settings   *MayflyContainerSettings
	scripts    []desiredResource
	documents  []desiredDocument
	lists      []string                     // files with one document per line, if documents are not read
	seen       map[string]tree.FilePosition // positions of documents, by partition key and id
}

// desiredDocument is a document of a seed: where it stands in the files, its text, and the operation that
// stores it.
type desiredDocument struct {
	place     tree.FilePosition
	operation store.ItemOperation
	text      []byte // JSON text as in the file
}

// decodeContainer decodes a container. It ignores the members that Cosmos DB adds to a definition.
func decodeContainer(v *tree.Value, in *Container) error {
	if v.Kind == tree.Object {
		v = v.Filter(func(name string) bool { return !strings.HasPrefix(name, "_") })
	}
	type plain Container
	return v.Decode((*plain)(in))
}

// DecodeTree sets c from v, the value of a file with a container's definition. It implements
// tree.Unmarshaler.
func (c *Container) DecodeTree(v *tree.Value) error { return decodeContainer(v, c) }

// container adds a container to the database d, and returns it. in is the container as the file defines
// it; dir is the folder of that file.
func (r *filesReader) container(d *desiredDatabase, dir string, in *Container) (c *desiredContainer,
	err error) {
	c = &desiredContainer{place: in.Self.Place, throughput: in.Throughput, ranges: in.Ranges,
		settings: in.Settings,
		seen:     map[string]tree.FilePosition{}}
	if in.Ranges < 0 {
		return nil, in.Self.Member("ranges").Place.Fail("the number of partition key ranges must be positive")
	}
	if err = in.Settings.takeQueries(); err != nil {
		return nil, err
	}
	given := newObjectBuilder(c.place)
	given.set("id", &tree.Value{Kind: tree.String, Text: in.ID, Place: c.place}, c.place)
	c.definition = given.Value
	for _, m := range in.Self.Members {
		if m.Name == "partitionKey" {
			m.Value = in.PartitionKey.value
		}
		if m.Name != "id" && !own(m.Name) {
			c.definition.Members = append(c.definition.Members, m)
		}
	}
	if c.spec, err = parseSpec(c.definition); err != nil {
		place, member := c.definition.Locate(func(v *tree.Value) error {
			_, err := parseSpec(v)
			return err
		})
		return nil, place.Wrap(member, err)
	}
	if err := r.again(d, c); err != nil {
		return nil, err
	}
	if c.scripts, err = r.scriptsOf(dir, in); err != nil {
		return nil, err
	}
	for i := range in.Documents {
		if err := c.document(in.Documents[i].value); err != nil {
			return nil, err
		}
	}
	d.containers = append(d.containers, c)
	return c, nil
}

// parseSpec parses a definition, sets its defaults and checks it.
func parseSpec(v *tree.Value) (definition.ContainerSpec, error) {
	spec, _, err := definition.ParseContainerSpec(v.AppendJSON(nil), true)
	if err == nil {
		spec.EnsureDefaults()
		err = spec.Validate()
	}
	return spec, err
}

// again merges a container that is defined in several files. It fails if the partition key is not the same
// in all of them.
func (r *filesReader) again(d *desiredDatabase, c *desiredContainer) error {
	name := d.id + "/" + c.spec.ID
	first := r.seed.known[name]
	if first == nil {
		r.seed.known[name] = c
		return nil
	}
	c.seen = first.seen
	if !c.spec.PartitionKey.Equal(&first.spec.PartitionKey) {
		return c.place.Fail("the container is already defined with another partition key: %s", first.place)
	}
	return nil
}

// lines adds documents, one per line. There may be many, so positions are determined only for an invalid
// line.
func (c *desiredContainer) lines(file string, data []byte) error {
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		body, o, err := store.ParseImport(line)
		if err == nil {
			if err := c.add(tree.FilePosition{File: file, Line: n, Column: 1}, nil, body, o); err != nil {
				return err
			}
			continue
		}
		v, err := tree.ParseLine(file, n, line)
		if err == nil {
			err = c.document(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// document adds the document v to the container.
func (c *desiredContainer) document(v *tree.Value) error {
	text := v.AppendJSON(nil)
	body, o, err := store.ParseImport(text)
	if err != nil {
		place, member := v.Locate(func(v *tree.Value) error {
			_, _, err := store.ParseImport(v.AppendJSON(nil))
			return err
		})
		return place.Wrap(member, err)
	}
	return c.add(v.Place, text, body, o)
}

// add adds a document to the seed. text is the JSON in the file, and place its position. body is the
// document without the members that only an import has, such as the age of the document; o contains the
// values of these members. add fails if the seed already has a document with the same partition key and
// id.
func (c *desiredContainer) add(place tree.FilePosition, text, body []byte,
	o store.ImportTimestampOptions) error {
	id, err := definition.ValidateItemID(jsondoc.Of(body).Member("id"))
	if err != nil {
		return place.Wrap("", err)
	}
	key := string(c.spec.PartitionKey.Extract(body).AppendOrdered(nil)) + "\x00" + id
	if first, there := c.seen[key]; there {
		return place.Fail("the document '%s' is defined a second time: %s", id, first)
	}
	c.seen[key] = place
	d := desiredDocument{place, store.ItemOperation{Kind: store.OperationCreate, Body: body, NoContent: true},
		text}
	d.operation.Import = &o
	c.documents = append(c.documents, d)
	return nil
}
