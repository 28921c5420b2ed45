package metamorphic

import (
	"math/rand/v2"
	"strconv"
)

// Generate draws a history of n steps. All values come from small sets, so that the steps affect each other.
// One history in sixteen begins with more items than one sweep purges or one page holds.
func Generate(r *rand.Rand, n int) History {
	g := historyGenerator{r: r, config: TestedContainerConfig{Ranges: 1,
		Kind:    pick(r, V2, V2, V1, Hierarchical),
		Unique:  r.IntN(3) == 0,
		Default: pick(r, "off", "-1", "2", "5", "10"),
		Lenient: r.IntN(2) == 0,
	}}
	g.partitions = []string{"x", "x", "y", "none"}
	if g.config.Kind == Hierarchical {
		g.partitions = []string{"x/1", "x/1", "x/2", "y"}
	}
	h := History{Config: g.config}
	if g.chance(16) {
		for i := range 120 {
			s := HistoryStep{At: g.at, Verb: Create, V: strconv.Itoa(-i), U: strconv.Itoa(100 + i),
				Args: []string{"n" + strconv.Itoa(i) + "@" + pick(r, g.partitions...)}, Fields: RandomFields(
					r), TTL: pick(r, "", "", "-1", "3", "4", "9", "20")}
			g.at += 100 * int64(r.IntN(2))
			h.Steps = append(h.Steps, s)
		}
	}
	for i := range n {
		s := g.step(i)
		h.Steps = append(h.Steps, s)
		if s.Verb == Reindex { // reindexing may not be complete
			h.Steps = append(h.Steps, g.query(), g.query())
		} else if g.chance(4) {
			h.Steps = append(h.Steps, g.query())
		}
	}
	return h
}

// historyGenerator draws the steps of a history.
type historyGenerator struct {
	r          *rand.Rand
	config     TestedContainerConfig
	partitions []string
	at         int64 // milliseconds
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// chance returns true in one of n cases.
func (g *historyGenerator) chance(n int) bool { return g.r.IntN(n) == 0 }

func (g *historyGenerator) step(i int) HistoryStep {
	g.at += 1000 * int64(pick(g.r, 0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 3, g.r.IntN(13)))
	if g.chance(8) {
		g.at += 500 // half a second
	}
	s := HistoryStep{At: g.at, Verb: pick(g.r, Create, Create, Create, Create, Upsert, Upsert, Upsert,
		Replace,
		Replace, Replace, Delete, Delete, Patch, Patch, Batch, Batch,
		Read, Read, Read, Read, ReadMany, List, List, Open, Next, Next, Clear, Default, Default, Path,
		Reindex)}
	switch s.Verb {
	case Create, Upsert, Replace:
		g.document(&s, i)
	case Delete:
		s.Args = []string{g.key()}
		g.preconditions(&s)
	case Patch:
		s.Args = []string{g.key()}
		g.values(&s, i)
		g.preconditions(&s)
	case Batch:
		g.batch(&s, i)
	case Read:
		s.Args = []string{g.key()}
		if g.chance(3) {
			s.IfNoneMatch = pick(g.r, "cur", "cur-bare", "cur-weak", "old", "bogus", "*")
		}
	case ReadMany:
		for _, p := range g.partitions[1:] {
			s.Args = append(s.Args, "a@"+p, "b@"+p)
		}
	case List:
		g.scope(&s)
		if s.In == "" && g.chance(3) {
			s.Range = pick(g.r, g.partitions...)
		} else if s.In == "" && g.chance(3) {
			s.EPK = pick(g.r, "05C1D7", "1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF", "20", "3C")
		}
	case Open:
		s.Args = []string{pick(g.r, "one", "two")}
		g.scope(&s)
		s.Page = 1 + g.r.IntN(3)
	case Next:
		s.Args = []string{pick(g.r, "one", "two")}
	case Clear:
		s.Args = []string{pick(g.r, g.partitions...)}
	case Path:
		s.Args = []string{pick(g.r, "none", "/base", "/base", "/o/y")}
	case Reindex:
		s.Args = []string{pick(g.r, PolicyNames()...)}
	case Default:
		s.Args = []string{pick(g.r, "off", "null", "-1", "-1", strconv.Itoa(1+g.r.IntN(10)),
			strconv.Itoa(1+g.r.IntN(10)), "0", "-2")}
	}
	return s
}

// query draws a step of a history that runs a random query, at the time of the last step.
func (g *historyGenerator) query() HistoryStep {
	s := HistoryStep{At: g.at, Verb: Ask, Query: RandomQuery(g.r)}
	g.scope(&s)
	if s.U = ""; s.In == "" && g.chance(4) {
		s.Range = pick(g.r, g.partitions...)
	}
	return s
}

func (g *historyGenerator) key() string {
	return pick(g.r, "a", "a", "b", "c") + "@" + pick(g.r, g.partitions...)
}

// batch makes s a batch of one to five random operations, mostly on items of one partition. i is the value
// of the property v in its documents.
func (g *historyGenerator) batch(s *HistoryStep, i int) {
	g.values(s, i)
	s.Args = []string{pick(g.r, Atomic, Atomic, Bulk, Bulk, Stop)}
	partition := pick(g.r, g.partitions...)
	for range 1 + g.r.IntN(5) {
		if s.Args[0] != Atomic || g.chance(12) {
			partition = pick(g.r, g.partitions...)
		}
		verb := pick(g.r, Create, Upsert, Upsert, Upsert, Replace, Delete, Patch, Patch, Read)
		op := verb + ":" + pick(g.r, "a", "b", "c", "d", "e") + "@" + partition
		if verb == Replace && g.chance(2) {
			op += ":" + pick(g.r, "a", "b", "c", "d", "e")
		}
		s.Args = append(s.Args, op)
	}
}

func (g *historyGenerator) document(s *HistoryStep, i int) {
	s.Args = []string{g.key()}
	g.values(s, i)
	s.Sys, s.NoKey = g.chance(10), g.chance(6)
	if !g.chance(4) {
		s.Fields = RandomFields(g.r)
	}
	if s.Verb != Create {
		g.preconditions(s)
	}
	if s.Verb == Replace && g.chance(3) {
		s.As = pick(g.r, "a", "b", "c", "d")
	}
	if s.Verb == Upsert && g.chance(8) {
		s.IfNoneMatch = "*"
	}
}

// values sets the values of the document that the step s writes: a random ttl, a random value of the property
// from which the ttl counts, and a random u. The property v gets the number i, which differs in each step, so
// that no two writes have the same content.
func (g *historyGenerator) values(s *HistoryStep, i int) {
	s.V = strconv.Itoa(i) // no two writes have the same content
	switch g.r.IntN(20) {
	case 0, 1, 2:
		s.TTL = "-1"
	case 3, 4, 5, 6, 7, 8, 9, 10, 11:
		s.TTL = strconv.Itoa(1 + g.r.IntN(10))
	case 12:
		s.TTL = pick(g.r, "5.0", "5e0", "2147483647")
	case 13:
		s.TTL = pick(g.r, "0", "-2", "null", `"5"`, "1.5", "true", "[]", "{}", "2147483648")
	}
	if g.chance(3) {
		near := "+" + strconv.FormatInt(g.at/1000+int64(g.r.IntN(16)-8), 10)
		s.Base = pick(g.r, near, near, near+".5", "+0", "0", "-1", "1e300", "-1e300", `"1700000000"`, "null",
			"[]", "{}")
	}
	s.U = pick(g.r, "", "null", "1", "1", "2", `"1"`)
}

func (g *historyGenerator) preconditions(s *HistoryStep) {
	if g.chance(3) {
		s.IfMatch = pick(g.r, "cur", "cur", "cur-bare", "cur-weak", "old", "bogus", "*")
	}
}

func (g *historyGenerator) scope(s *HistoryStep) {
	s.Page = g.r.IntN(4)
	if g.chance(4) {
		s.U = pick(g.r, "null", "1", "2", `"1"`)
	}
	switch g.r.IntN(3) {
	case 0:
		s.In = pick(g.r, g.partitions...)
	case 1:
		if g.config.Kind == Hierarchical {
			s.In = pick(g.r, "x/*", "y/*")
		}
	}
}
