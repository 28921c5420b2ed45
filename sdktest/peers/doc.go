// Package peers asks the same queries of the same documents side by side: of Mayfly in the program's own
// process and over HTTP, of SQLite (JSON text, indexes on expressions) and of PostgreSQL (jsonb, B-trees on
// expressions and GIN). All must give the same answers. The table has medians of turns that the contestants
// take one after the other, so that what disturbs one disturbs the others, and ratios; no time is asserted.
//
//	go test -tags long -v -timeout 1h . -docs 100000,1000000
//
// Mayfly over HTTP and PostgreSQL are asked over TCP on this machine, by clients that send and receive in the
// goroutine of their caller and do not decode the rows.
//
// It needs PostgreSQL (on Debian: apt-get install postgresql) and, for SQLite, a C compiler; where one is
// missing the test is skipped and says so. It is a module of its own because of the drivers.
//
// Each contestant has the indexes that a user with these queries would make, and the cache that it has by
// default, but for SQLite, whose 2 MB become the 64 MB of Mayfly. Mayfly indexes all paths but the text that
// pads the documents, and has two composite indexes, as the others have. PostgreSQL is vacuumed and analysed
// after the load.
package peers
