// Package requests keeps the latest requests of a server in memory: what each client sent, what came back,
// how long it took and what it cost.
//
//	entry.go    one request as the servers of the protocols describe it
//	encode.go   an entry -> bytes, with secrets masked; decode.go: bytes -> an entry
//	mask.go     which headers, parameters and members hold secrets
//	log.go      the ring of these bytes: written by many, read without holding a writer
//	fold.go     attempts of one operation -> one group
//	reader.go   entries in their order, as they come, with their groups
//	filter.go   which entries a reader wants
//
// # Memory
//
// A Log has a fixed number of blocks of blockSize bytes, and allocates each when it is first needed.
// Entries are copied into the blocks; where all blocks are full, the entries of the oldest block are
// overwritten. Bodies are copied up to MaxBody bytes, and headers up to maxHeaders bytes: an entry that
// kept a reference to a body would keep a document of 2 MB alive that the bound does not count. Nothing is
// written to disk.
//
// # Writers
//
// The blocks are divided among shards, as many as there are processors, which take turns. Each has its own
// lock, which is held for as long as an entry takes to copy. Within a shard the numbers of the entries
// rise, because a number is drawn while the lock is held. So a reader that has taken the highest number
// first and then looks into each shard once has seen all entries up to that number that are still kept.
//
// # Secrets
//
// Keys, tokens and signatures are masked when an entry is encoded, so that the memory of a Log does not hold
// any. What is masked is never shown anywhere, and cannot be recovered.
package requests
