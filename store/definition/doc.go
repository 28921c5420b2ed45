// Package definition defines containers as values: the spec of Cosmos DB (partition key, policies for
// expiry, indexing, vectors, full text, conflicts and encryption), partition keys and their hashes, and
// throughput.
//
//	spec*.go             ContainerSpec: parse JSON, fill in defaults, validate, write JSON
//	partitionkey.go      PartitionKeyDefinition and PartitionKey: of a document, of a request
//	epk.go               effective partition keys: the hashes that assign a document to a range
//	throughput.go        throughput in RU/s
//	lint_violations.go   values that are valid but probably not meant
//	computed.go          which computed properties an index can hold
//
// The package does not depend on a store, an engine or a clock. Its errors are *fault.Error. They have
// Cosmos DB's own text if clients look for it.
package definition
