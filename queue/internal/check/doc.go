// Package check verifies that the stored keys of queues and topics agree with each other.
package check
