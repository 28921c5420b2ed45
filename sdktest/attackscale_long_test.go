//go:build long

package sdktest

import "time"

const (
	// attackScale is how many times as much an attack is as it needs to be.
	attackScale = 4
	// besideBound is the time below which an answer beside an attack is not judged.
	besideBound = 20 * time.Millisecond
	// quietTime is how long a neighbour works before the attack.
	quietTime = 5 * time.Second
)

// busKills is how often the server is killed under senders and receivers.
const busKills = 50
