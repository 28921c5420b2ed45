// Package peers runs the same queries over the same documents on several databases: on Mayfly in the test's
// own process and over HTTP, on SQLite (JSON text, indexes on expressions) and on PostgreSQL (jsonb, B-trees
// on expressions and GIN). All must return the same rows. The databases take turns, so that a disturbance of
// the machine affects all of them. The table shows the median time of each, and the ratios; the test does not
// require any time.
//
//	go test -tags long -v -timeout 1h . -docs 100000,1000000
//
// The test needs PostgreSQL (on Debian: apt-get install postgresql) and, for SQLite, a C compiler; if one of
// them is missing, it is skipped. The package is a separate module because of the drivers of the databases.
//
// Each database has the indexes that a user with these queries would create, and a cache of its default size.
// Only the cache of SQLite is raised from 2 MB to 64 MB, the default of Mayfly. Mayfly indexes all paths
// except the text that pads the documents, and has the same two composite indexes as the others. PostgreSQL
// is vacuumed and analysed after the load.
package peers
