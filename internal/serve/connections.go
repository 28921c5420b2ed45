package serve

import "github.com/mayflydb/mayfly/engine/pebble"

// ownDescriptors is how many file descriptors are kept for what is neither data nor a client's connection:
// ports, logs, certificates, webhooks.
const ownDescriptors = 32

// minConnections is how many clients are let in where there are hardly any descriptors.
const minConnections = 8

// maxServiceBusConnections is how many connections a namespace of Service Bus may have.
const maxServiceBusConnections = 5000

// MaxConnections returns how many clients of HTTP may be connected: the file descriptors that the engine
// leaves. An engine in memory needs none.
func MaxConnections(memory bool) int { return max(descriptorsLeft(memory), minConnections) }

// serviceBusConnections returns how many connections Service Bus may have: as many as the service, and no
// more than half of the descriptors that are left.
func serviceBusConnections(memory bool) int {
	return min(maxServiceBusConnections, max(descriptorsLeft(memory)/2, minConnections))
}

func descriptorsLeft(memory bool) int {
	left := pebble.DescriptorLimit() - ownDescriptors
	if !memory {
		left -= pebble.DescriptorShare()
	}
	return left
}
