// Package route turns functions over Go structs into HTTP routes, and describes these routes as an OpenAPI
// document and as a page for people.
//
//	route.go     a Route: its method, path, summary, request, answers and handler, and the way of a request
//	decode.go    path, query string and body -> the request struct, or 400
//	members.go   kinds of members that request structs have
//	openapi.go   routes -> the OpenAPI document; page.go: routes -> the page
//	server.go    what the package needs of the server around it
//
// # Request structs
//
// A request struct declares what a route takes: its tags json, query, path and header name the members and
// parameters, and minimum, maximum, default and description describe them. The decoder refuses by the same
// tags that the OpenAPI document is made of, so neither can differ from the other. A member whose json tag
// has omitempty may be left out; any other is required. An answer struct is what is marshalled and what the
// document describes.
//
// The parts of a request struct are read in the order in which they stand there, so the first part that is
// wrong decides the refusal. A part that implements Finder reads itself from the request; a field that
// implements Member reads its JSON value itself.
//
// # Libraries
//
// Libraries that make routes and an OpenAPI document of structs were passed over because of the answers that
// they make by themselves: a refusal here has the body of the protocol's own errors, names the members that a
// route takes, and comes in the order of the struct; failures report the charge of their request as well. The
// schemas are made by swaggest's library.
//
// The package knows neither the routes nor what they do; it must not import the package that declares them.
package route
