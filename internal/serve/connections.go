package serve

import "github.com/mayflydb/mayfly/engine/pebble"

// ownDescriptors is how many file descriptors are reserved for files other than data and clients'
// connections: ports, logs, certificates, webhooks.
const ownDescriptors = 32

// minConnections is how many clients are admitted even if there are hardly any descriptors.
const minConnections = 8

// maxServiceBusConnections is the most connections that a Service Bus namespace has.
const maxServiceBusConnections = 5000

// MaxConnections returns how many HTTP clients may be connected: the file descriptors that the engine leaves.
// An engine in memory needs none.
func MaxConnections(memory bool) int { return max(descriptorsLeft(memory), minConnections) }

// serviceBusConnections returns how many Service Bus connections are permitted: as many as in the service,
// but at most half of the remaining descriptors.
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
