// Package posting scans index entries and the rids in their keys. A posting is the list of the rids of all
// entries with one value, in ascending order; its entries are the keys with one prefix.
//
//	prefix_walk.go     PrefixRIDIterator: the rids of the keys with one prefix. Terms: index entries
//	posting_union.go   PostingUnion: the rids of many prefixes in one order, read ahead
//
// The types implement interfaces of package query. They read only the engine: they do not read documents
// and do not check which documents a reader may see.
package posting
