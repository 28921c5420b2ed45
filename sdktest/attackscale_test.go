//go:build !long

package sdktest

import "time"

const (
	// attackScale is the factor by which the tests repeat or enlarge their attacks.
	attackScale = 1
	// besideBound is the latency up to which an innocent client's requests are accepted during an attack,
	// however short they were before it.
	besideBound = time.Second
	// quietTime is how long an innocent client's latencies are measured before an attack.
	quietTime = time.Second
)

// busKills is how often TestServiceBusKill9 kills the server.
const busKills = 5
