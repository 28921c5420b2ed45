// Package ttl decides when an item expires, provides clocks, and paces the removal of expired items.
//
// It does not depend on keys, documents or storage. A store keeps a small Lifetime per item and a Policy per
// container, and passes them to this package.
//
// # The rule
//
// A container has a default: off (Absent), on without a default (Never), or n seconds. An item has a ttl of
// its own: none (Absent), Never, or k seconds. The rule is that of Azure Cosmos DB, in whole seconds of the
// server's clock. In the second of the deadline the item is already expired:
//
//	                 default off    default -1        default n
//	no own ttl       never          never             _ts + n <= now
//	own ttl -1       never          never             never
//	own ttl k        never          _ts + k <= now    _ts + k <= now
//
// An item may count from another second than its _ts, which its container reads from a property of the
// document. Lifetime.Base then replaces _ts everywhere. policy_property_periods.go explains how a change of
// that property affects items.
//
// Expiry is final: an item that has expired once, under the policy in force at that second, stays expired,
// whatever the policy becomes later. Policy ensures this without a mark on each item. A change of the default
// adds at most a floor to a short list: a second such that all older items written at or before it (or due at
// or before it, if they have a ttl of their own) had expired before the change. So a change of the default is
// one small write, however large the container is; see the essay in expiry_floors.go.
//
// # Expiry and purge are two things
//
// Every read calls Policy.Expired, so an expired item is not visible, whether it has been purged or not. The
// Reaper only frees space. It owns the loop and its pacing, and purges through a Sweeper.
//
// # Time
//
// Clock is the only source of time. SystemClock is the system's clock. VirtualClock can be frozen, set,
// advanced and run at another speed, and its timers follow. NewManual returns a frozen VirtualClock for
// tests.
//
// Files: seconds.go (values and their validation), policy.go, expiry_floors.go and policy_property_periods.go
// (the rule, pure), clock.go and virtual_clock.go (time), reaper.go, round.go and pace.go (the loop).
package ttl
