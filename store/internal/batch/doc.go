// Package batch carries out the operations of one request on several items of a container. An atomic batch is
// one transaction. The operations of another batch succeed or fail each by itself, and those on items of one
// partition range share a transaction.
package batch
