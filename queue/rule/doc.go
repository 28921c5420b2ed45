// Package rule is the filters and actions of a subscription's rules.
package rule
