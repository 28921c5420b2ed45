// Package explorer holds the web application at /_explorer/, which shows the contents of the store, when
// items expire, and how queries are executed. The package only serves files. The application reads all its
// data from Cosmos DB's REST API and from the API described by /_mayfly/openapi.json, and signs its requests
// in the browser.
//
// The sources are in folder web: TypeScript, built by Vite into dist. The build is in the repository, so
// that building the server does not need Node. To change the application:
//
//	cd httpapi/explorer/web && npm install && npm run build
//
// The documentation at /_explorer/docs/ is built by Eleventy from the Markdown in the project's folder docs
// into folder docs of this package; folder site holds the configuration. After a change there:
//
//	cd httpapi/explorer/site && npm install && npm run build
//
// Tests of module sdktest run both builds and compare the results with the repository.
//
// Each file is stored twice, compressed as gzip and as brotli, and is sent as stored. Browsers cache files
// with a hash in their name permanently; they revalidate the others by ETag on each use.
//
// # Safety
//
// A document may contain anything, and the browser holds the master key. The content security policy allows
// scripts and styles from this server's files only: none inline, none evaluated, none from other hosts. The
// pages connect to this server only, and no page can frame them. A page of another origin cannot send the
// key, because the key is not a cookie but signs each request. Package httpapi also refuses requests from
// other origins.
package explorer
