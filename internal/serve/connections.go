package serve

import "github.com/mayflydb/mayfly/engine/pebble"

// ownDescriptors is the number of file descriptors reserved for files other than data and connections of
// clients: ports, logs, certificates, webhooks.
const ownDescriptors = 32

// minConnections is the minimum number of client connections, even if there are hardly any file descriptors.
const minConnections = 8

// maxServiceBusConnections is the maximum number of connections to a Service Bus namespace.
const maxServiceBusConnections = 5000

// MaxConnections returns the maximum number of HTTP connections: the file descriptors that the engine does
// not need. With memory set, the data are in memory, and the engine needs none.
func MaxConnections(memory bool) int { return max(descriptorsLeft(memory), minConnections) }

// serviceBusConnections returns the maximum number of Service Bus connections: as many as in Azure, but at
// most half of the remaining file descriptors.
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
