// Package check verifies that the stored keys of queues and topics are consistent.
package check
