package laboratory

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/swaggest/jsonschema-go"
	"github.com/swaggest/openapi-go"
	"github.com/swaggest/openapi-go/openapi31"

	"github.com/mayflydb/mayfly/store"
)

// The description of Mayfly's own surface is made of its table, and of the structs that the requests are read
// into and the answers are written from, so that it can neither miss a route nor tell of another one.

// description is the OpenAPI document.
type description struct{ spec *openapi31.Spec }

// document is the description as an answer.
type document struct{ text []byte }

// MarshalJSON implements json.Marshaler.
func (d *document) MarshalJSON() ([]byte, error) { return d.text, nil }

func (l *Laboratory) openAPI(context.Context, *none) (document, error) {
	d, err := l.described()
	if err != nil {
		return document{}, err
	}
	text, err := json.Marshal(d.spec)
	return document{text}, err
}

// ErrorBody is the body of a failure, as Cosmos DB's have it.
type ErrorBody struct {
	Code    string `json:"code" example:"NotFound"`
	Message string `json:"message" description:"For people; it holds a second JSON object."`
	Info    string `json:"additionalErrorInfo,omitempty"`
}

const (
	keyName = "masterKey"
	title   = "Mayfly"
	about   = "What Mayfly has beside the protocol of Azure Cosmos DB. Requests are signed with the master key " +
		"as that protocol signs them, with an empty resource type and the path, without its first slash, for the " +
		"resource link. Bodies have no other members than these."
)

// described makes the document.
func (l *Laboratory) described() (description, error) {
	r := openapi31.NewReflector()
	r.DefaultOptions = append(r.DefaultOptions, jsonschema.InterceptDefName(plainName),
		jsonschema.InterceptProp(presence), jsonschema.InterceptSchema(closed))
	for _, m := range []struct{ of, is any }{
		{setting[bool]{}, false}, {setting[int]{}, 0}, {setting[int32]{}, int32(0)}, {setting[string]{}, ""},
		{setting[span]{}, span(0)}, {setting[status]{}, status(0)},
		{setting[*store.OnExpire]{}, store.OnExpire{}}, {setting[*store.ExpiryEvents]{},
			store.ExpiryEvents{}},
		{setting[*store.ReaperSettings]{}, store.ReaperSettings{}},
		{setting[*store.PurgeDelay]{}, store.PurgeDelay{}}, {setting[*store.Starvation]{},
			store.Starvation{}},
		{Imported{}, []ImportResult{}}, {document{}, map[string]any{}},
	} {
		r.AddTypeMapping(m.of, m.is)
	}
	d := description{r.SpecEns()}
	d.spec.Info.WithTitle(title).WithVersion("1").WithDescription(about)
	d.spec.SetAPIKeySecurity(keyName, "Authorization", openapi.InHeader,
		"A signature made with the master key (type=master&ver=1.0&sig=...), or Bearer and the key itself.")
	for i := range l.routes {
		if err := l.routes[i].describe(r); err != nil {
			return d, err
		}
	}
	return d, describeFailures(r)
}

// plainName is a type's name without its package.
func plainName(_ reflect.Type, name string) string {
	for _, prefix := range []string{"Laboratory", "Store"} {
		if plain := strings.TrimPrefix(name, prefix); plain != "" {
			name = plain
		}
	}
	return name
}

// presence says of a member that it is always there, unless its tag says omitempty; then it is not null when
// it is. The tag is names the kind of a member that is JSON text.
func presence(p jsonschema.InterceptPropParams) error {
	name, options, _ := strings.Cut(p.Field.Tag.Get("json"), ",")
	if !p.Processed || name != p.Name {
		return nil
	}
	s, optional := p.PropertySchema, options == "omitempty"
	if optional && p.Field.Tag.Get("nullable") == "" && s.HasType(jsonschema.Null) {
		s.RemoveType(jsonschema.Null)
	}
	if !optional && !slices.Contains(p.ParentSchema.Required, name) {
		p.ParentSchema.Required = append(p.ParentSchema.Required, name)
	}
	if kind := p.Field.Tag.Get("is"); kind != "" {
		p.PropertySchema.AddType(jsonschema.SimpleType(kind))
	}
	return nil
}

// closed says of the store's own structs that they take no other members.
func closed(p jsonschema.InterceptSchemaParams) (stop bool, err error) {
	t := p.Value.Type()
	if p.Processed && t.Kind() == reflect.Struct &&
		t.PkgPath() == reflect.TypeFor[store.OnExpire]().PkgPath() {
		p.Schema.WithAdditionalProperties(*new(jsonschema.SchemaOrBool).WithTypeBoolean(false))
	}
	return false, nil
}

// describe adds the route to the document.
func (r *route) describe(to *openapi31.Reflector) error {
	oc, err := to.NewOperationContext(r.method, r.path)
	if err != nil {
		return err
	}
	oc.SetID(operationID(r.method, r.path))
	oc.SetSummary(r.summary)
	if !r.open {
		oc.AddSecurity(keyName)
	}
	oc.AddReqStructure(reflect.New(r.request).Interface())
	for _, status := range append([]int{r.status}, r.other...) {
		for _, m := range r.answers {
			oc.AddRespStructure(m.answer, openapi.WithHTTPStatus(status), openapi.WithContentType(m.kind))
		}
		if len(r.answers) == 0 {
			oc.AddRespStructure(nil, openapi.WithHTTPStatus(status))
		}
	}
	if err := to.AddOperation(oc); err != nil {
		return err
	}
	item := to.Spec.Paths.MapOfPathItemValues[r.path]
	op, err := item.Operation(strings.ToLower(r.method))
	if err != nil {
		return err
	}
	r.complete(op)
	return nil
}

// complete says what the structs do not.
func (r *route) complete(op *openapi31.Operation) {
	slices.SortStableFunc(op.Parameters, func(a, b openapi31.ParameterOrReference) int {
		return slices.Index(places, a.Parameter.In) - slices.Index(places, b.Parameter.In)
	})
	if op.RequestBody != nil {
		p := planOf(r.request)
		op.RequestBody.RequestBody.WithRequired(!p.optional || slices.ContainsFunc(p.body, field.required))
	}
	all := op.ResponsesEns()
	for status, answer := range all.MapOfResponseOrReferenceValues {
		answer.Response.Description = successes[status]
		for _, m := range r.answers {
			if m.answer == nil {
				kind, _, _ := strings.Cut(m.kind, ";")
				answer.Response.Content[kind] = openapi31.MediaType{
					Schema: map[string]any{"type": "string", "description": m.explain}}
			}
		}
	}
	for _, status := range r.failures() {
		all.WithMapOfResponseOrReferenceValuesItem(strconv.Itoa(status), failureRef(status))
	}
	all.WithDefault(failureRef(0))
}

var (
	// places are where parameters are, in the order in which they are told of.
	places = []openapi31.ParameterIn{openapi31.ParameterInPath, openapi31.ParameterInQuery,
		openapi31.ParameterInHeader}
	// successes are the statuses of success.
	successes = map[string]string{"200": "It was done.", "201": "It was made.", "204": "It was done.",
		"207": "It was done, but for those whose statusCode tells of a failure."}
	// failureTexts are those of failure; 0 is any.
	failureTexts = map[int]string{
		0:   "It failed in another way.",
		400: "The request is malformed, or asks for what cannot be.",
		401: "The request shows no key, or another one.",
		403: "A token, a page of another origin, the system's clock or a webhook's address forbids it.",
		404: "What the path or the body names does not exist.",
		408: "It has not come about in the time that it was given.",
		409: "There is one of that name already.",
		410: "It is gone: the partition key range, or the lock.",
		503: "The server shuts down, or the store does not work now.",
	}
)

// failureName is a failure's name among the document's responses: NotFound.
func failureName(status int) string {
	if status == 0 {
		return "Failure"
	}
	return strings.ReplaceAll(http.StatusText(status), " ", "")
}

func failureRef(status int) openapi31.ResponseOrReference {
	return openapi31.ResponseOrReference{
		Reference: &openapi31.Reference{Ref: "#/components/responses/" + failureName(status)}}
}

// describeFailures adds the failures to the document.
func describeFailures(to *openapi31.Reflector) error {
	schema, err := to.Reflect(ErrorBody{})
	if err != nil {
		return err
	}
	simple, err := schema.ToSchemaOrBool().ToSimpleMap()
	if err != nil {
		return err
	}
	parts := to.Spec.ComponentsEns()
	parts.WithSchemasItem("ErrorBody", simple)
	body := openapi31.MediaType{Schema: map[string]any{"$ref": "#/components/schemas/ErrorBody"}}
	content := map[string]openapi31.MediaType{jsonKind: body}
	for status, text := range failureTexts {
		parts.WithResponsesItem(failureName(status), openapi31.ResponseOrReference{
			Response: &openapi31.Response{Description: text, Content: content}})
	}
	return nil
}

// failures are the statuses that the route fails with, in order.
func (r *route) failures() []int {
	all := slices.Clone(r.fails)
	if !r.open {
		all = append(all, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden)
	}
	if strings.Contains(r.path, "{") {
		all = append(all, http.StatusNotFound)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// operationID is a name that no other operation has: put_mayfly_dbs_db_clock.
func operationID(method, path string) string {
	plain := strings.NewReplacer("/", "_", "{", "", "}", "", "-", "_", ".", "_")
	return strings.ToLower(method) + "_" + plain.Replace(strings.TrimPrefix(path, "/_"))
}

// takes are what a route takes, as the page shows it: the parameters of its query string, and the members of
// its body.
func (d *description) takes(r *route) (list []string) {
	item := d.spec.Paths.MapOfPathItemValues[r.path]
	op, err := item.Operation(strings.ToLower(r.method))
	if err != nil || op == nil {
		return nil // there is no method that the document does not have
	}
	for _, p := range op.Parameters {
		if p.Parameter.In == openapi31.ParameterInQuery {
			list = append(list, "?"+p.Parameter.Name+"="+d.kindOf(p.Parameter.Schema))
		}
	}
	if op.RequestBody == nil {
		return list
	}
	body := d.resolve(op.RequestBody.RequestBody.Content[jsonKind].Schema)
	members, _ := body["properties"].(map[string]any)
	required, _ := body["required"].([]any)
	for _, f := range planOf(r.request).body {
		member, _ := members[f.name].(map[string]any)
		text := f.name + ": " + d.kindOf(member)
		if !slices.Contains(required, any(f.name)) {
			text += ", optional"
		}
		list = append(list, text)
	}
	return list
}

// resolve follows a reference to the schema that it means.
func (d *description) resolve(schema map[string]any) map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		return d.spec.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	return schema
}

// kindOf is the kind of JSON that a schema lets in, "string or null" where there are several.
func (d *description) kindOf(schema map[string]any) string {
	switch kind := d.resolve(schema)["type"].(type) {
	case string:
		return kind
	case []any:
		var kinds []string
		for _, k := range kind {
			kinds = append(kinds, fmt.Sprint(k))
		}
		return strings.Join(kinds, " or ")
	}
	return "any"
}
