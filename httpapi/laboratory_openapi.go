package httpapi

import (
	"encoding/json"
	"html/template"
	"net/http"
	"regexp"
	"strings"
)

// The description of Mayfly's own surface is made of the table of its handlers, so that it cannot miss one.

// A take is one thing that a request takes: a member of its body, or a parameter in its query string.
type take struct {
	name     string
	kind     string // of JSON: string, integer, number, boolean, array, object; "any" is all of them
	optional bool
	query    bool
}

// parseTakes reads the notation of ownHandlers: words separated by blanks, each a name and its kind,
// "name:kind". A question mark behind the name says that it may be left out, one before it that it is a
// parameter of the query string.
func parseTakes(text string) (takes []take) {
	if text == noBody {
		return nil
	}
	for _, word := range strings.Fields(text) {
		name, kind, _ := strings.Cut(word, ":")
		name, query := strings.CutPrefix(name, "?")
		name, optional := strings.CutSuffix(name, "?")
		takes = append(takes, take{name, kind, optional || query, query})
	}
	return takes
}

type (
	apiDocument struct {
		OpenAPI string                             `json:"openapi"`
		Info    map[string]string                  `json:"info"`
		Paths   map[string]map[string]apiOperation `json:"paths"`
		Parts   apiComponents                      `json:"components"`
	}
	apiComponents struct {
		Security map[string]map[string]string `json:"securitySchemes"`
	}
	apiOperation struct {
		ID         string                 `json:"operationId"`
		Summary    string                 `json:"summary"`
		Parameters []apiParameter         `json:"parameters,omitempty"`
		Body       *apiBody               `json:"requestBody,omitempty"`
		Responses  map[string]apiResponse `json:"responses"`
		Security   []map[string][]string  `json:"security"`
	}
	apiParameter struct {
		Name     string    `json:"name"`
		In       string    `json:"in"`
		Required bool      `json:"required"`
		Schema   apiSchema `json:"schema"`
	}
	apiBody struct {
		Required bool                `json:"required"`
		Content  map[string]apiMedia `json:"content"`
	}
	apiMedia struct {
		Schema apiSchema `json:"schema"`
	}
	apiSchema struct {
		Type       string               `json:"type,omitempty"`
		Properties map[string]apiSchema `json:"properties,omitempty"`
		Required   []string             `json:"required,omitempty"`
		More       *bool                `json:"additionalProperties,omitempty"`
		Items      *apiSchema           `json:"items,omitempty"`
	}
	apiResponse struct {
		Description string `json:"description"`
	}
)

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// describe makes the OpenAPI document of handlers.
func describe(handlers []ownHandler) apiDocument {
	d := apiDocument{
		OpenAPI: "3.1.0",
		Info: map[string]string{"title": "Mayfly", "version": "1",
			"description": "What Mayfly has beside the protocol of Azure Cosmos DB. Requests are signed with the master key as that protocol " +
				"signs them, with an empty resource type and the path, without its first slash, for the resource link. Bodies have no other members than these."},
		Paths: make(map[string]map[string]apiOperation),
		Parts: apiComponents{map[string]map[string]string{"masterKey": {"type": "apiKey", "in": "header", "name": "Authorization"}}},
	}
	for _, own := range handlers {
		path := "/" + own.path
		if d.Paths[path] == nil {
			d.Paths[path] = make(map[string]apiOperation)
		}
		d.Paths[path][strings.ToLower(own.method)] = own.describe()
	}
	return d
}

func (own *ownHandler) describe() apiOperation {
	op := apiOperation{
		ID:      operationID(own.method, own.path),
		Summary: own.summary,
		Responses: map[string]apiResponse{
			"2XX":     {"It was done."},
			"default": {"It failed: an object with code and message, as Cosmos DB's errors have."},
		},
		Security: []map[string][]string{},
	}
	if !own.open {
		op.Security = append(op.Security, map[string][]string{"masterKey": {}})
	}
	for _, m := range pathParameter.FindAllStringSubmatch(own.path, -1) {
		op.Parameters = append(op.Parameters, apiParameter{m[1], "path", true, apiSchema{Type: "string"}})
	}
	no := false
	body := apiSchema{Type: "object", Properties: make(map[string]apiSchema), More: &no}
	for _, t := range parseTakes(own.takes) {
		switch {
		case t.query:
			op.Parameters = append(op.Parameters, apiParameter{t.name, "query", false, schemaOf(t.kind)})
			continue
		case !t.optional:
			body.Required = append(body.Required, t.name)
		}
		body.Properties[t.name] = schemaOf(t.kind)
	}
	if len(body.Properties) > 0 {
		op.Body = &apiBody{true, map[string]apiMedia{"application/json": {body}}}
	}
	return op
}

// schemaOf is the schema of a kind of JSON. Of what is in an array nothing is said but that there is
// something.
func schemaOf(kind string) apiSchema {
	switch kind {
	case "any":
		return apiSchema{}
	case "array":
		return apiSchema{Type: kind, Items: &apiSchema{}}
	}
	return apiSchema{Type: kind}
}

// operationID is a name that no other operation has: put_mayfly_dbs_db_clock.
func operationID(method, path string) string {
	word := strings.NewReplacer("/", "_", "{", "", "}", "", "-", "_", ".", "_").Replace(strings.TrimPrefix(path, "_"))
	return strings.ToLower(method) + "_" + word
}

// openAPI is GET /_mayfly/openapi.json.
func (s *Server) openAPI(c *call) error {
	body, err := json.Marshal(describe(s.own))
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, body)
}

// ownPage is what people see at /_mayfly/.
var ownPage = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Mayfly</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #ddd}
code{font-size:.9em}small{color:#666}</style></head><body>
<h1>Mayfly</h1>
<p>A document store whose documents can be mortal, on the wire of Azure Cosmos DB. This is what it has beside that protocol;
<a href="/_mayfly/openapi.json">openapi.json</a> says the same for programs. Paths marked &#8226; need the master key.</p>
<table><tr><th>Request</th><th>What it does</th></tr>
{{range .}}<tr><td><code>{{.Method}} {{.Path}}</code>{{if .Key}} &#8226;{{end}}</td><td>{{.Summary}}.{{range .Takes}}<br><small><code>{{.}}</code></small>{{end}}</td></tr>
{{end}}</table></body></html>
`))

type pageRow struct {
	Method, Path, Summary string
	Key                   bool
	Takes                 []string
}

// ownIndex is GET /_mayfly/: the same for people.
func (s *Server) ownIndex(c *call) error {
	var page pageWriter
	if err := ownPage.Execute(&page, ownRows(s.own)); err != nil {
		return err
	}
	c.w.Header()["Content-Type"] = []string{"text/html; charset=utf-8"}
	return c.json(http.StatusOK, page.body)
}

// ownRows are handlers as the page shows them.
func ownRows(handlers []ownHandler) (rows []pageRow) {
	for _, own := range handlers {
		row := pageRow{Method: own.method, Path: "/" + own.path, Summary: own.summary, Key: !own.open}
		for _, t := range parseTakes(own.takes) {
			row.Takes = append(row.Takes, t.String())
		}
		rows = append(rows, row)
	}
	return rows
}

// String shows a take for people.
func (t take) String() string {
	text := t.name + ": " + t.kind
	if t.query {
		text = "?" + t.name + "=" + t.kind
	} else if t.optional {
		text += ", optional"
	}
	return text
}
