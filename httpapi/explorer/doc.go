// Package explorer holds the web application for people at /_explorer/: what is in the store, when it dies,
// how a query is answered. It serves files and nothing else. All that the application shows comes from the
// REST API of Cosmos DB and from what /_mayfly/openapi.json describes; it signs its requests in the browser.
//
// The sources are in web: TypeScript, built by Vite into dist, which is in the repository, so that nobody
// needs Node to build the server. To change the application:
//
//	cd httpapi/explorer/web && npm install && npm run build
//
// The documentation at /_explorer/docs/ is made from the Markdown in the project's folder docs by Eleventy,
// as folder site says, into folder docs of this package. After a change there:
//
//	cd httpapi/explorer/site && npm install && npm run build
//
// Tests of module sdktest build both again and compare.
//
// Each file of both is there twice, compressed as gzip and as brotli, and is sent as it is. What has a hash
// in its name is kept by browsers for good; the rest is asked for each time and has an ETag.
//
// # Safety
//
// A document may hold anything, and the browser holds the master key. The content security policy allows
// scripts and styles from this server's files alone: none inline, none evaluated, none from elsewhere.
// Connections lead to this server alone, and no page can frame this one. A page elsewhere has nothing to send
// along: the key is no cookie, but signs each request, and package httpapi refuses what comes from other
// origins.
package explorer
