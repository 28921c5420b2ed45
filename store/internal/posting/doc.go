// Package posting walks index entries and the rids behind them.
//
//	walk.go   Walk, the rids behind one prefix, and Terms, index entries with their values
//	union.go  Union, the rids behind many prefixes in one order, read ahead so that hundreds cost no seek each
//
// All of them are what package query asks a source for. They read the engine, and know neither documents nor
// who may see them.
package posting
