//go:build !long

package store_test

// manyDocuments is the number of documents in TestQueriesOnManyDocuments. A fourth of them have a set of
// property paths of their own, more than a range can record. With -tags long there are also more than a
// query collects at a time.
const manyDocuments = 2700
