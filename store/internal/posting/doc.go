// Package posting reads the index entries of a partition range. The key of an entry ends with a rid, the
// number of a document in its container. A posting is the ascending list of the rids of all entries with one
// indexed value; its entries are the keys with one prefix.
//
//	prefix_walk.go     PrefixRIDIterator: the rids of the keys with one prefix. EntryIterator: index entries
//	posting_union.go   PostingUnion: the rids of many prefixes in one order, read ahead
//
// The types implement interfaces of package query. They read only the engine: they do not read documents and
// do not check which documents a reader may see.
package posting
