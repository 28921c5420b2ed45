// Package feed reads the history of a container page by page over one snapshot: its change feeds and its
// log of expiries. Its positions stay valid when ranges are split.
package feed
