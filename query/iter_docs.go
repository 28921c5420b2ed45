package query

// fetched iterates over the documents of rids. It is a Documents.
type fetched struct {
	x     *execution
	src   Source
	rids  Postings
	after uint64 // only what is behind it, unless begun is set
	begun bool
	ahead []uint64 // read from rids and not fetched yet
	room  int      // how many are read ahead at a time; 0: nothing is
	// is told of each rid that is no live document; where it is false Next is, too
	skip func(rid uint64) bool
	doc  Document
	err  error
}

// next is the rid after the last one; false where there is none.
func (d *fetched) next() (rid uint64, ok bool) {
	if len(d.ahead) > 0 {
		rid, d.ahead = d.ahead[0], d.ahead[1:]
		return rid, true
	}
	if begun := d.begun; begun && !d.rids.Next() || !begun && !d.rids.SeekGE(d.after+1) {
		return 0, false
	}
	rid = d.rids.RID()
	if p, ok := d.src.(Prefetcher); ok && d.room == 0 && !d.begun {
		d.room = min(firstAhead, p.Prefetches())
	}
	d.begun = true
	if d.room > 0 {
		d.look(rid)
	}
	return rid, true
}

// firstAhead is how many documents are brought first: about a page of a client that reads by pages. It
// doubles then.
const firstAhead = 32

// look reads rids ahead of their documents.
func (d *fetched) look(rid uint64) {
	p := d.src.(Prefetcher)
	list := append(make([]uint64, 0, d.room), rid)
	for len(list) < d.room && d.rids.Next() {
		list = append(list, d.rids.RID())
	}
	p.Prefetch(list)
	d.ahead, d.room = list[1:], min(2*d.room, p.Prefetches())
}

func (d *fetched) Next() bool {
	for d.err == nil {
		if d.err = d.x.passEntry(); d.err != nil {
			return false
		}
		rid, ok := d.next()
		if !ok {
			return false
		}
		var live bool
		if d.doc, live, d.err = d.src.Fetch(rid); live && d.err == nil {
			return true
		}
		if d.err == nil && !d.skip(rid) {
			d.err = d.x.run.err
			return false
		}
	}
	return false
}

func (d *fetched) Document() Document { return d.doc }
func (d *fetched) Err() error         { return d.err }

func (d *fetched) Close() error {
	if err := d.rids.Close(); d.err == nil {
		d.err = err
	}
	return d.err
}

// candidates opens the documents of a source that may fulfil the conditions, in the order of their rids,
// behind one.
func (x *execution) candidates(src Source, after uint64) (Documents, error) {
	p, ok, err := x.proposed(src)
	if err != nil {
		return nil, err
	}
	if !ok {
		return x.scan(src, after), nil
	}
	return &fetched{x: x, src: src, rids: p, after: after, skip: x.skip}, nil
}

// proposed opens the rids that the plan's access proposes inside the source's scope. It is false where
// looking at all documents of the scope is the better way.
func (x *execution) proposed(src Source) (Postings, bool, error) {
	if x.plan.access == nil {
		return nil, false, nil
	}
	partition, scoped := src.Partition()
	// a partition is seldom larger than a range of keys in all partitions
	if scoped && !x.plan.access.sorted() {
		return nil, false, partition.Close()
	}
	p, ok, err := x.rids(src, x.plan.access)
	if !scoped {
		return p, ok, err
	}
	if err != nil || !ok {
		if e := partition.Close(); err == nil {
			err = e
		}
		return nil, false, err
	}
	return x.intersect([]Postings{partition, p}), true, nil
}

// termDocuments are the documents of a range of keys.
type termDocuments struct {
	x     *execution
	src   Source
	terms Terms
	doc   Document
	err   error
}

func (d *termDocuments) Next() bool {
	for d.err == nil && d.terms.Next() {
		if d.err = d.x.passEntry(); d.err != nil {
			return false
		}
		var live bool
		if d.doc, live, d.err = d.src.Fetch(d.terms.RID()); live && d.err == nil {
			return true
		}
	}
	return false
}

func (d *termDocuments) Document() Document { return d.doc }
func (d *termDocuments) Err() error         { return d.err }

func (d *termDocuments) Close() error {
	if err := d.terms.Close(); d.err == nil {
		d.err = err
	}
	return d.err
}
