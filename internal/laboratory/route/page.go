package route

import (
	"bytes"
	"html/template"
)

// pageText is the template of the HTML page.
var pageText = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Mayfly</title>
<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:64rem;padding:0 1rem}
table{border-collapse:collapse;width:100%}
td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;border-bottom:1px solid #ddd}
code{font-size:.9em}small{color:#666}</style></head><body>
<h1>Mayfly</h1>
<p>A document store whose documents can expire, with the wire protocol of Azure Cosmos DB. This page lists
the routes of Mayfly's own API; <a href="/_mayfly/openapi.json">openapi.json</a> describes them for programs.
Paths marked &#8226; need the master key.</p>
<table><tr><th>Request</th><th>Effect</th></tr>
{{range .}}<tr><td><code>{{.Method}} {{.Path}}</code>{{if .Key}} &#8226;{{end}}</td>
<td>{{.Summary}}.{{range .Takes}}<br><small><code>{{.}}</code></small>{{end}}</td></tr>
{{end}}</table></body></html>
`))

// routeDocumentationRow is a row of the HTML page, which describes one route.
type routeDocumentationRow struct {
	Method, Path, Summary string
	Key                   bool
	Takes                 []string
}

// PageKind is the content type of Page.
const PageKind = "text/html; charset=utf-8"

// Page returns the HTML page with a row for each route. The routes must be those of d.
func Page[L HandlerMethodReceiver](routes []Route[L], d *OpenAPIDocument) (TextResponse, error) {
	var rows []routeDocumentationRow
	for i := range routes {
		r := &routes[i]
		rows = append(rows, routeDocumentationRow{r.Method, r.Path, r.Summary, !r.public, takes(d, r)})
	}
	var page bytes.Buffer
	if err := pageText.Execute(&page, rows); err != nil {
		return TextResponse{}, err
	}
	return TextResponse{PageKind, page.Bytes()}, nil
}
