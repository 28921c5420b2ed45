package route

import (
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
)

// OpenAPIOptions is the part of an OpenAPI document that does not come from the routes.
type OpenAPIOptions struct {
	Title, Text string
	Types       []SchemaTypeMapping
	// Closed reports whether the schemas of the structs in a package forbid members that the structs do
	// not have.
	Closed func(pkgPath string) bool
	// Prefixes are removed from the names of Go types to get the names of their schemas in the document.
	Prefixes []string
}

// SchemaTypeMapping makes the OpenAPI document describe all values that have the type of Of by the schema for
// the type of As.
type SchemaTypeMapping struct{ Of, As any }

// OpenAPIDocument is the OpenAPI document of a table of routes. It is generated from the request and response
// structs, so it always agrees with the routes. It can be sent as a response.
type OpenAPIDocument struct{ spec *openapi31.Spec }

// MarshalJSON returns the document as JSON, in the form of OpenAPI 3.1. It implements json.Marshaler.
func (d *OpenAPIDocument) MarshalJSON() ([]byte, error) { return json.Marshal(d.spec) }

// ErrorBody is the body of an error response, in the form of Cosmos DB's errors.
type ErrorBody struct {
	Code    string `json:"code" example:"NotFound"`
	Message string `json:"message" description:"Text for people: a JSON object with the array Errors, then the activity id."`
	Info    string `json:"additionalErrorInfo,omitempty"`
}

// keyName is the name that the OpenAPI document gives to the security scheme for the master key.
const keyName = "masterKey"

// Describe generates the OpenAPI document of routes. a has the title and what else the routes do not
// contain.
func Describe[L HandlerMethodReceiver](routes []Route[L], a OpenAPIOptions) (OpenAPIDocument, error) {
	r := openapi31.NewReflector()
	r.DefaultOptions = append(r.DefaultOptions, jsonschema.InterceptDefName(a.plainName),
		jsonschema.InterceptProp(presence), jsonschema.InterceptSchema(a.closed))
	for _, m := range a.Types {
		r.AddTypeMapping(m.Of, m.As)
	}
	r.AddTypeMapping(OpenAPIDocument{}, map[string]any{})
	d := OpenAPIDocument{r.SpecEns()}
	d.spec.Info.WithTitle(a.Title).WithVersion("1").WithDescription(a.Text)
	d.spec.SetAPIKeySecurity(keyName, "Authorization", openapi.InHeader,
		"A signature made with the master key (type=master&ver=1.0&sig=...), or Bearer and the key itself.")
	for i := range routes {
		if err := routes[i].describe(r); err != nil {
			return d, err
		}
	}
	return d, describeFailures(r)
}

// plainName returns a type's name without the prefix of its package.
func (a *OpenAPIOptions) plainName(_ reflect.Type, name string) string {
	for _, prefix := range a.Prefixes {
		if plain := strings.TrimPrefix(name, prefix); plain != "" {
			name = plain
		}
	}
	return name
}

// presence marks a member as required, unless its tag has omitempty; an optional member may be missing but
// not null. The tag "is" gives the type of a member that contains JSON text.
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

// closed marks the schemas of the structs for which OpenAPIOptions.Closed returns true as schemas without
// additional members.
func (a *OpenAPIOptions) closed(p jsonschema.InterceptSchemaParams) (stop bool, err error) {
	t := p.Value.Type()
	if p.Processed && t.Kind() == reflect.Struct && a.Closed != nil && a.Closed(t.PkgPath()) {
		p.Schema.WithAdditionalProperties(*new(jsonschema.SchemaOrBool).WithTypeBoolean(false))
	}
	return false, nil
}

// describe adds the route to the OpenAPI document that to generates.
func (r *Route[L]) describe(to *openapi31.Reflector) error {
	oc, err := to.NewOperationContext(r.Method, r.Path)
	if err != nil {
		return err
	}
	oc.SetID(operationID(r.Method, r.Path))
	oc.SetSummary(r.Summary)
	if !r.public {
		oc.AddSecurity(keyName)
	}
	oc.AddReqStructure(reflect.New(r.Request).Interface())
	for _, status := range append([]int{r.status}, r.other...) {
		for _, m := range r.answers {
			oc.AddRespStructure(m.Answer, openapi.WithHTTPStatus(status), openapi.WithContentType(m.Kind))
		}
		if len(r.answers) == 0 {
			oc.AddRespStructure(nil, openapi.WithHTTPStatus(status))
		}
	}
	if err := to.AddOperation(oc); err != nil {
		return err
	}
	item := to.Spec.Paths.MapOfPathItemValues[r.Path]
	op, err := item.Operation(strings.ToLower(r.Method))
	if err != nil {
		return err
	}
	r.complete(op)
	return nil
}

// complete adds to the operation in the OpenAPI document what does not follow from the structs of the
// route, such as its texts and its error statuses.
func (r *Route[L]) complete(op *openapi31.Operation) {
	slices.SortStableFunc(op.Parameters, func(a, b openapi31.ParameterOrReference) int {
		return slices.Index(places, a.Parameter.In) - slices.Index(places, b.Parameter.In)
	})
	if op.RequestBody != nil {
		p := r.decoder
		op.RequestBody.RequestBody.WithRequired(!p.optional || slices.ContainsFunc(p.body,
			bodyMemberOrQueryParameterSpec.required))
	}
	all := op.ResponsesEns()
	for status, answer := range all.MapOfResponseOrReferenceValues {
		answer.Response.Description = successes[status]
		for _, m := range r.answers {
			if m.Answer == nil {
				kind, _, _ := strings.Cut(m.Kind, ";")
				answer.Response.Content[kind] = openapi31.MediaType{
					Schema: map[string]any{"type": "string", "description": m.Description}}
			}
		}
	}
	for _, status := range r.failures() {
		all.WithMapOfResponseOrReferenceValuesItem(strconv.Itoa(status), failureRef(status))
	}
	all.WithDefault(failureRef(0))
}

var (
	// places are the kinds of parameters (path, query, header) in the order in which the OpenAPI document
	// lists them.
	places = []openapi31.ParameterIn{openapi31.ParameterInPath, openapi31.ParameterInQuery,
		openapi31.ParameterInHeader}
	// successes maps HTTP success statuses to their descriptions in the OpenAPI document.
	successes = map[string]string{"200": "Success.", "201": "Created.", "204": "Success.",
		"207": "Partial success: the statusCode of each result says whether it failed."}
	// failureTexts maps HTTP error statuses to their descriptions in the OpenAPI document; 0 stands for
	// all other statuses.
	failureTexts = map[int]string{
		0:   "Any other error.",
		400: "The request is malformed, or asks for something impossible.",
		401: "The signature or key is missing or wrong.",
		403: "Forbidden: for this token, from this origin, with this clock, or to this webhook address.",
		404: "The path or the body names something that does not exist.",
		408: "The condition was not met within the time limit.",
		409: "The name is in use, or existing data conflicts with the request.",
		410: "The partition key range or the lock no longer exists.",
		503: "The server is shutting down, or the store is unavailable.",
	}
)

// failureName returns the name of the response for an HTTP error status in the OpenAPI document, such as
// NotFound.
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

// describeFailures adds the error responses, to which all routes refer, to the OpenAPI document.
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
	content := map[string]openapi31.MediaType{JSONKind: body}
	for status, text := range failureTexts {
		parts.WithResponsesItem(failureName(status), openapi31.ResponseOrReference{
			Response: &openapi31.Response{Description: text, Content: content}})
	}
	return nil
}

// failures returns the HTTP error statuses of the route in ascending order.
func (r *Route[L]) failures() []int {
	all := slices.Clone(r.fails)
	if !r.public {
		all = append(all, http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden)
	}
	if strings.Contains(r.Path, "{") {
		all = append(all, http.StatusNotFound)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// operationID returns the unique id of an operation, such as put_mayfly_dbs_db_clock.
func operationID(method, path string) string {
	plain := strings.NewReplacer("/", "_", "{", "", "}", "", "-", "_", ".", "_")
	return strings.ToLower(method) + "_" + plain.Replace(strings.TrimPrefix(path, "/_"))
}

// takes lists the input of a route for the HTML page: the parameters of its query string and the members of
// its body.
func takes[L HandlerMethodReceiver](d *OpenAPIDocument, r *Route[L]) (list []string) {
	item := d.spec.Paths.MapOfPathItemValues[r.Path]
	op, err := item.Operation(strings.ToLower(r.Method))
	if err != nil || op == nil {
		return nil // cannot happen, since the document contains all routes
	}
	for _, p := range op.Parameters {
		if p.Parameter.In == openapi31.ParameterInQuery {
			list = append(list, "?"+p.Parameter.Name+"="+d.kindOf(p.Parameter.Schema))
		}
	}
	if op.RequestBody == nil {
		return list
	}
	body := d.resolve(op.RequestBody.RequestBody.Content[JSONKind].Schema)
	members, _ := body["properties"].(map[string]any)
	required, _ := body["required"].([]any)
	for _, f := range r.decoder.body {
		member, _ := members[f.name].(map[string]any)
		text := f.name + ": " + d.kindOf(member)
		if !slices.Contains(required, any(f.name)) {
			text += ", optional"
		}
		list = append(list, text)
	}
	return list
}

// resolve returns the schema that a reference refers to, or the schema itself.
func (d *OpenAPIDocument) resolve(schema map[string]any) map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		return d.spec.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	return schema
}

// kindOf returns the JSON type that a schema allows. If there are several, it joins them, as in "string or
// null".
func (d *OpenAPIDocument) kindOf(schema map[string]any) string {
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
