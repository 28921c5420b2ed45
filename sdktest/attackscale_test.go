//go:build !long

package sdktest

import "time"

const (
	// attackScale is how many times as much an attack is as it needs to be.
	attackScale = 1
	// besideBound is the time below which an answer beside an attack is not judged.
	besideBound = time.Second
	// quietTime is how long a neighbour works before the attack.
	quietTime = time.Second
)

// busKills is how often the server is killed under senders and receivers.
const busKills = 5
