// Package value defines the plain values in the store's API: items, keys, scopes, options, receipts.
package value
