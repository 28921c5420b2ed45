package laboratory

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

// DatabasePath is the part of a request that names a database in its path.
type DatabasePath struct {
	DatabaseID string `path:"db" description:"Id of the database."`
	database   *store.Database
}

// Find implements route.RequestPartDecoder: it looks up the database that the request's path names.
func (in *DatabasePath) Find(l *Laboratory, ec echo.Context) (err error) {
	if in.DatabaseID, err = route.PathParam(ec, "db"); err != nil {
		return err
	}
	if err = l.catchUp(ec); err != nil {
		return err
	}
	in.database, err = l.db.Database(in.DatabaseID)
	return err
}

// catchUp loads the definitions that other servers over the same data have changed.
func (l *Laboratory) catchUp(ec echo.Context) error {
	return l.db.CatchUp(ec.Request().Context())
}

// ContainerPath is the part of a request that names a container in its path.
type ContainerPath struct {
	DatabaseID  string `path:"db" description:"Id of the database."`
	ContainerID string `path:"coll" description:"Id of the container."`
	container   *store.Container
}

// Find implements route.RequestPartDecoder: it looks up the container that the request's path names.
func (in *ContainerPath) Find(l *Laboratory, ec echo.Context) (err error) {
	if in.DatabaseID, err = route.PathParam(ec, "db"); err != nil {
		return err
	}
	if in.ContainerID, err = route.PathParam(ec, "coll"); err != nil {
		return err
	}
	if err = l.catchUp(ec); err != nil {
		return err
	}
	d, err := l.db.Database(in.DatabaseID)
	if err != nil {
		return fault.Owner(err)
	}
	if in.container, err = d.Container(in.ContainerID); err != nil {
		return fault.Owner(err)
	}
	return l.opt.Wire.Enter(ec, d, in.container)
}

// ItemKeyFields is the part of a request body that names an item.
type ItemKeyFields struct {
	ID           string       `json:"id" missing:"The body must have an 'id'." description:"Id of the item."`
	PartitionKey partitionKey `json:"partitionKey,omitempty"`
}

// partitionKey is a partition key as a JSON array, one element for each path.
type partitionKey struct{ definition.PartitionKey }

// DecodeMember decodes the member of a request with a partition key: a JSON array of one value for each path.
// It fails if v is not a partition key.
func (k *partitionKey) DecodeMember(_ string, v jsondoc.Value) (err error) {
	k.PartitionKey, err = definition.ParsePartitionKey(v.Raw())
	return err
}

// JSONSchema implements jsonschema.Exposer.
func (partitionKey) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.Array)
	s.WithItems(*new(jsonschema.Items).WithSchemaOrBool(new(jsonschema.Schema).ToSchemaOrBool()))
	s.WithDescription("Partition key: a value for each path. Optional if the id is the partition key.")
	s.WithExamples([]any{"ada"})
	return s, nil
}

// trueOnlyBool is a boolean for which only true is valid.
type trueOnlyBool bool

// DecodeMember sets the flag from the JSON value v of the member name. It fails with status 400 unless v is
// true. It implements route.JSONMemberDecoder.
func (y *trueOnlyBool) DecodeMember(name string, v jsondoc.Value) error {
	if v.Kind() != jsondoc.Bool || !v.Bool() {
		return route.BadRequest("'" + name + "' must be true.")
	}
	*y = true
	return nil
}

// JSONSchema implements jsonschema.Exposer: it returns the schema of a boolean that must be true.
func (trueOnlyBool) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.Boolean)
	s.WithConst(true).WithDescription("Return to the system's time.")
	return s, nil
}

// settingEdit is a member that changes one setting. null clears the setting; if the member is missing, the
// setting does not change.
type settingEdit[T any] struct {
	given bool
	value T
}

// DecodeMember reads the new value of the setting from the JSON value v of the member name; null clears the
// setting. It fails with status 400 if v has the wrong type. It implements route.JSONMemberDecoder.
func (s *settingEdit[T]) DecodeMember(name string, v jsondoc.Value) error {
	s.given = true
	if v.Kind() == jsondoc.Null {
		return nil
	}
	if kind := s.kind(); v.Kind() != kind {
		return route.BadRequest("'" + name + "' must be " + kind.String() + " or null.")
	}
	d := json.NewDecoder(bytes.NewReader(v.Raw()))
	d.DisallowUnknownFields()
	err := d.Decode(&s.value)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		if wrong.Field != "" {
			name += "." + wrong.Field
		}
		return route.BadRequest("'" + name + "' must be " + jsonTypeName(wrong.Type) + ", not " + wrong.Value + ".")
	case err != nil:
		return route.BadRequest("'" + name + "' has an invalid value: " + err.Error())
	}
	return nil
}

// jsonTypeName returns the name, with its article, of the JSON type of the values of a Go type.
func jsonTypeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// kind returns the kind of JSON value that the setting must have. For a type that implements json.Unmarshaler
// this is a string.
func (s *settingEdit[T]) kind() jsondoc.Kind {
	if _, ok := any(&s.value).(json.Unmarshaler); ok {
		return jsondoc.String
	}
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Bool:
		return jsondoc.Bool
	case reflect.Int, reflect.Int32:
		return jsondoc.Number
	case reflect.String:
		return jsondoc.String
	}
	return jsondoc.Object
}

// apply sets *to if the request contains the setting.
func (s *settingEdit[T]) apply(to *T) {
	if s.given {
		*to = s.value
	}
}

func second(s int64) string { return time.Unix(s, 0).UTC().Format(time.RFC3339) }

// shortened returns the first most bytes of a text, followed by "...", or the whole text if it is not
// longer. Invalid UTF-8 is replaced by U+FFFD.
func shortened(text string, most int) string {
	if len(text) > most {
		text = text[:most] + "..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
