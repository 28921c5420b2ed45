// Package pgschema makes schemas in a PostgreSQL database for tests. Each test has schemas of its own, which
// are dropped at its end.
//
// The variable MAYFLY_POSTGRES has the connection string of the database.
package pgschema
