// Package value holds what a store takes and gives as plain values: items, keys, scopes, options, receipts.
package value
