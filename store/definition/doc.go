// Package definition is what a container is, as values: its spec as Cosmos DB knows it (partition key,
// policies of expiry, indexing, vectors, full text, conflicts and encryption), partition keys and how they
// are hashed, and throughput.
//
//	spec*.go          ContainerSpec: read from JSON, completed, validated, written
//	partitionkey.go   PartitionKeyDefinition and PartitionKey: of a document, of a request
//	epk.go            effective partition keys: the hashes that place a document in a range
//	throughput.go     RU/s, as they are asked for
//	lint.go           what is valid and probably not meant
//	computed.go       which computed properties an index can hold
//
// Nothing here knows a store, an engine or a clock. What is refused is a *fault.Error, in the service's words
// where clients look for them.
package definition
