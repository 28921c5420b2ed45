// Package ttl decides when an item dies, tells the time, and paces the removal of the dead.
//
// It knows nothing of keys, documents or storage. Who stores items keeps for each the few numbers of a Life,
// keeps for each container a Policy, and asks.
//
// # The rule
//
// A container has a default: off (Absent), on without a default (Never), or n seconds. An item has a ttl of
// its own: none (Absent), Never, or k seconds. They decide as in Azure Cosmos DB, in whole seconds of the
// server's clock, and the second of the deadline itself is already expired:
//
//	                 default off    default -1        default n
//	no own ttl       never          never             _ts + n <= now
//	own ttl -1       never          never             never
//	own ttl k        never          _ts + k <= now    _ts + k <= now
//
// An item can count from another second than its _ts, which its container reads from a property: Life.Base
// stands for _ts then, everywhere. What a change of that property does to items is in era.go.
//
// Expiry is final: what has been expired once, under the policy in force at that second, stays expired,
// whatever the policy becomes later. Policy keeps this with two short lists of floors instead of a mark on
// each item, so that a change of the default is one small write at any size of container; see the essay in
// floors.go.
//
// # Expiry and purge are two things
//
// Every read asks Policy.Expired, so that an expired item is gone whether or not it has been purged. The
// Reaper only frees space. It owns the loop and its pacing and learns what there is to purge through a
// Sweeper.
//
// # Time
//
// Clock is the only source of time. Real is the system's; Virtual can be frozen, set, advanced and run at
// another speed, and its timers follow. NewManual makes the frozen one that tests use.
//
// Files: seconds.go (values and their validation), policy.go, floors.go and era.go (the rule, pure), clock.go
// and virtual.go (time), reaper.go, round.go and pace.go (the loop).
package ttl
