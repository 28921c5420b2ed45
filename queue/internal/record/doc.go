// Package record defines the records of queues, topics, subscriptions and rules in the catalog.
package record
