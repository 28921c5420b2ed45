package exec

import (
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// liveRIDSet is the set of live documents in a source's scope, as rids. Text scores are computed over this
// set, whatever the conditions of the query are.
type liveRIDSet struct {
	documents int64
	dead      []uint64 // rids that have index entries but are not in the set
	limited   bool     // the set consists of the listed members only
	members   []uint64
}

// FewMembers is the maximum number of documents in a logical partition for which the texts are read from the
// documents. For larger partitions the index is used, which covers all partitions.
const FewMembers = 1000

// rankDead is the maximum number of dead rids (those of documents that have expired or were deleted with
// their partition key, but are still in the index) that a liveRIDSet lists. If there are more, it lists the
// live rids instead.
const rankDead = 10_000

// liveSets returns, for each source, the set of its live documents, over which text scores are computed. If
// few is true, it returns no sets: one of the sources is limited to so few documents that it is cheaper to
// read these documents than the text index.
func (x *Execution) liveSets() (sets []*liveRIDSet, few bool, err error) {
	sets = make([]*liveRIDSet, len(x.sources))
	for i, src := range x.sources {
		if sets[i], few, err = x.liveDocuments(src); err != nil || few {
			return nil, few, err
		}
	}
	return sets, false, nil
}

// liveDocuments returns the set of the live documents of a source, over which text scores are computed.
// few reports whether they are a small part of the documents in the index, so that it is cheaper to read
// the documents.
func (x *Execution) liveDocuments(src source.DocumentSource) (p *liveRIDSet, few bool, err error) {
	p = &liveRIDSet{}
	scoped := isScoped(src)
	if p.limited = scoped; !scoped {
		if c, ok := src.(source.DeadDocumentLister); ok {
			p.dead, ok, err = c.Dead(rankDead)
			if p.limited = !ok; err != nil {
				return nil, false, err
			}
		}
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

// liveRIDFilter reports whether rids, which are passed in ascending order, are those of live documents.
type liveRIDFilter struct {
	p            *liveRIDSet
	member, dead int // indexes of the first rids not less than the last one tested
}

func (s *liveRIDFilter) accepts(rid uint64) bool {
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

// countDocuments returns the number of live documents of a source. It reads all of them if the source does
// not keep this number.
func (x *Execution) countDocuments(src source.DocumentSource) (n int64, err error) {
	if c, ok := src.(source.DocumentCounter); ok {
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
