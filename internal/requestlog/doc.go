// Package requestlog keeps the latest requests of a server in memory: what each client sent, the response,
// its duration and its cost.
//
//	entry.go    an entry: a request as the server of its protocol describes it
//	encode.go   an entry -> bytes, with secrets masked; decode.go: bytes -> an entry
//	mask.go     which headers and parameters contain secrets; mask_body.go: which parts of bodies
//	log.go      the ring of encoded entries, with concurrent writers and readers
//	attempts.go groups the attempts of one operation (a request and its retries)
//	reader.go   reads entries in order, with their groups
//	filter.go   selects the entries that a reader returns
//
// # Memory
//
// A Log has a fixed number of blocks of blockSize bytes. It allocates each block at its first use. Entries
// are copied into the blocks. If all blocks are full, the entries of the oldest block are overwritten.
// Bodies are copied up to MaxBody bytes, and headers up to maxHeaders bytes. The log holds no references to
// bodies, because a reference would keep a document of up to 2 MB in memory in addition to the limit.
// Nothing is written to disk.
//
// # Writers
//
// An entry is first encoded in a writer's buffer and then copied into the ring as a whole, because the
// memory of the ring is not in the processor's caches. The blocks are divided among shards, one per
// processor, and each writer belongs to a shard. A shard has a lock, which is held while an entry is copied.
// The numbers of entries ascend within a shard, because a number is assigned while the lock is held. A
// reader first reads the highest number and then each shard once. It has then read all entries up to that
// number that have not been overwritten.
//
// # Secrets
//
// Keys, tokens and signatures are masked when an entry is encoded, so that the memory of a Log contains
// none. Masked values cannot be recovered.
package requestlog
