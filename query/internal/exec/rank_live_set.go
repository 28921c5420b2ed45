package exec

import (
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// liveSet are the live documents of a source's scope, as rids: those that the scores of texts are about,
// whatever the conditions of the query are.
type liveSet struct {
	documents int64
	dead      []uint64 // not of them, though entries of the index name them
	limited   bool     // they are members, and nobody else
	members   []uint64
}

// FewMembers is how many documents a logical partition has at most whose texts are rather read than looked up
// in an index, which has those of all partitions.
const FewMembers = 1000

// rankDead is how many of the dead are told from the living by their rids; where there are more, the living
// are.
const rankDead = 10_000

// populations are those of all sources. few reports that of one the documents are better read.
func (x *Execution) liveSets() (people []*liveSet, few bool, err error) {
	people = make([]*liveSet, len(x.sources))
	for i, src := range x.sources {
		if people[i], few, err = x.liveDocuments(src); err != nil || few {
			return nil, few, err
		}
	}
	return people, false, nil
}

// liveDocuments finds out whom an index may name; few reports that the documents are a small part of those,
// so that it is better to read them.
func (x *Execution) liveDocuments(src source.Source) (p *liveSet, few bool, err error) {
	p = &liveSet{}
	if c, ok := src.(source.Census); ok {
		p.dead, ok, err = c.Dead(rankDead)
		if p.limited = !ok; err != nil {
			return nil, false, err
		}
	}
	partition, scoped := src.Partition()
	if scoped {
		if err := partition.Close(); err != nil {
			return nil, false, err
		}
		p.limited = true
	}
	if !p.limited {
		p.documents, err = x.countDocuments(src)
		return p, false, err
	}
	p.dead = nil
	docs := x.scan(src, 0)
	for err == nil && docs.Next() {
		p.members = append(p.members, docs.Document().RID())
		_, err = x.stop()
	}
	if e := docs.Close(); err == nil {
		err = e
	}
	p.documents = int64(len(p.members))
	x.Run.Use(8*len(p.members), "ORDER BY RANK")
	return p, scoped && len(p.members) <= FewMembers, err
}

// ridFilter tells of ascending rids whether they are of the population.
type ridFilter struct {
	p            *liveSet
	member, dead int // the first ones that are not less than the last rid
}

func (s *ridFilter) keeps(rid uint64) bool {
	for s.dead < len(s.p.dead) && s.p.dead[s.dead] < rid {
		s.dead++
	}
	if s.dead < len(s.p.dead) && s.p.dead[s.dead] == rid {
		return false
	}
	if !s.p.limited {
		return true
	}
	for s.member < len(s.p.members) && s.p.members[s.member] < rid {
		s.member++
	}
	return s.member < len(s.p.members) && s.p.members[s.member] == rid
}

// CountDocuments counts the documents of a source.
func (x *Execution) countDocuments(src source.Source) (n int64, err error) {
	if c, ok := src.(source.Counter); ok {
		if n, ok := c.Count(); ok {
			return n, nil
		}
	}
	docs := x.scan(src, 0)
	for err == nil && docs.Next() {
		n++
		err = x.pass(lang.RowWork)
	}
	if e := docs.Close(); err == nil {
		err = e
	}
	return n, err
}
