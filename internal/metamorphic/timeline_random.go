package metamorphic

import (
	"math/rand/v2"
	"strconv"
)

// RandomWorld draws a random ContainerTimeline: the events of a container with Partitions partition keys, in
// the given number of rounds. In a round each partition has at most one event, the container may change its
// default time to live or whether the default limits the items' own ttl, and then some seconds pass. Mostly
// one second passes, so that many items expire just before, in or just after the second of a change.
func RandomWorld(r *rand.Rand, rounds int) ContainerTimeline {
	w := ContainerTimeline{Default: anyDefault(r)}
	v, now := 0, int64(0)
	for range rounds {
		changes := -1
		if r.IntN(3) == 0 {
			changes = r.IntN(Partitions) // the partition after whose event the default or the ceiling changes
		}
		for p := range Partitions {
			if r.IntN(2) == 0 {
				v += 10
				e := randomEvent(r, "t"+strconv.Itoa(p), v)
				randomBase(r, &e, now)
				w.Events = append(w.Events, e)
			}
			if p == changes {
				w.Events = append(w.Events, randomChange(r))
			}
		}
		pass := pick[int64](r, 1, 1, 1, 1, 0, 2, 3, 7, 1, 15)
		w.Events = append(w.Events, TimelineOperation{Verb: Pass, Seconds: pass})
		now += pass
	}
	return w
}

func anyDefault(r *rand.Rand) int64 {
	return pick[int64](r, 0, -1, 1, 2, 3, 5, 8, 30, 2147483647)
}

// anyLife draws a ttl in seconds: 0 (none), -1 (never), a few seconds, or the largest valid ttl.
func anyLife(r *rand.Rand) int64 {
	return pick[int64](r, 0, 0, 0, 0, -1, 1, 2, 3, 4, 6, 9, 2147483647)
}

func randomChange(r *rand.Rand) TimelineOperation {
	if r.IntN(5) == 0 {
		return TimelineOperation{Verb: Ceiling, Seconds: r.Int64N(2)}
	}
	switch r.IntN(8) {
	case 0:
		return TimelineOperation{Verb: Default}
	case 1, 2:
		return TimelineOperation{Verb: Hurry}
	case 3, 4, 5:
		return TimelineOperation{Verb: Count, TTL: pick[int64](r, -1, 1, 2, 3, 5, 8, 30, 2147483647),
			Path: pick(r, "", BasePath, BasePath, OtherPath)}
	}
	return TimelineOperation{Verb: Default, TTL: anyDefault(r)}
}

// randomBase sets e.Base and e.Other, the values of the two properties from which an item's time to live may
// count, in each operation that writes an item. About half of the values are times in seconds near now; the
// others are missing or invalid.
func randomBase(r *rand.Rand, e *TimelineOperation, now int64) {
	for i := range e.Batch {
		randomBase(r, &e.Batch[i], now)
	}
	switch e.Verb {
	case Create, Upsert, Replace, Patch, Import:
	default:
		return
	}
	draw := func() string {
		second := "+" + strconv.FormatInt(now+pick[int64](r, 0, 1, -1, 2, -2, 3, 5, -5, 9, -9, 20, -40), 10)
		return pick(r, "", "", "", "", second, second, second, second+".5", "1e300", "-1e300", "-1", "0",
			"9007199254740993", `"1700000000"`, "null", "true", "[1]", "{}")
	}
	e.Base, e.Other = draw(), draw()
}

func randomEvent(r *rand.Rand, partition string, v int) TimelineOperation {
	e := TimelineOperation{Partition: partition, ID: pick(r, "a", "a", "b"), V: v,
		Verb: pick(r, Create, Create, Create, Upsert, Upsert, Replace, Patch, Import, Delete, Hold, Hold,
			Release, Batch)}
	switch e.Verb {
	case Create, Upsert, Replace, Patch, Import:
		e.TTL = anyLife(r)
	case Hold:
		e.Seconds = 1 + r.Int64N(9)
	case Batch:
		e.ID = ""
		for i := range 1 + r.IntN(3) {
			b := TimelineOperation{Partition: partition, ID: pick(r, "a", "b"), V: v + i,
				Verb: pick(r, Create, Upsert, Replace, Patch, Delete, Read)}
			if b.Verb != Delete && b.Verb != Read {
				b.TTL = anyLife(r)
			}
			e.Batch = append(e.Batch, b)
		}
	}
	if e.Verb == Import {
		e.Seconds = pick[int64](r, 0, 1, 2, 4, 9, 40)
	}
	return e
}
