//go:build !long

package store_test

// manyDocuments is how many documents TestQueriesOnManyDocuments asks: a fourth of them have a shape of their
// own, which is more than a range has records for. With -tags long they are also more than a query gathers.
const manyDocuments = 2700
