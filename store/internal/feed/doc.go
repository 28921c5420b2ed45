// Package feed reads what a container keeps of its past, page by page, over one snapshot: its change feeds
// and its log of expiries. Its positions outlive splits of ranges.
package feed
