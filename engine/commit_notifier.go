package engine

import (
	"context"
	"time"
)

// CommitNotifier is an optional interface of a shared engine that reports commits of other processes. A
// report may be lost, so a process that waits for a change must also read the data from time to time.
type CommitNotifier interface {
	// Await requests reports of commits in scopes, for AwaitTime from now on. A commit that began before
	// Await returned may not be reported, so the caller must read the data after Await.
	Await(ctx context.Context, scopes [][]byte) error
	// Listen calls fn with the scope of each report until ctx ends. A nil scope means that reports may have
	// been lost. fn must not block.
	Listen(ctx context.Context, fn func(scope []byte))
}

// AwaitTime is how long a call of CommitNotifier.Await keeps reports of commits coming. A caller that wants
// more reports must call it again.
const AwaitTime = 30 * time.Second
