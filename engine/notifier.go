package engine

import (
	"context"
	"time"
)

// Notifier is an optional interface of a shared engine that reports commits of other processes. A report may
// be lost, so a process that waits for a change also looks from time to time.
type Notifier interface {
	// Await asks for reports of commits in scopes, for AwaitTime from now on. A commit that began before
	// Await returns may not be reported: look at the data after Await.
	Await(ctx context.Context, scopes [][]byte) error
	// Listen calls fn with the scope of each report until ctx ends. A nil scope means that reports may have
	// been lost. fn must not block.
	Listen(ctx context.Context, fn func(scope []byte))
}

// AwaitTime is how long an Await is in force.
const AwaitTime = 30 * time.Second
