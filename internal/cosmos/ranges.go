package cosmos

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/fault"
)

// listRanges lists the partition key ranges of a container. A client may ask for the changes (A-IM) since
// the etag of the last response. If nothing has changed, the response is 304; some clients repeat the
// request until they get it. Otherwise the response contains the ranges created since then: the children of
// split ranges. If the container is addressed by rid and was deleted, the response contains the ranges of
// the container that now has its name: see store.DB.Successor.
func (s *Service) listRanges(c *requestInProgress) error {
	coll, set, err := s.ranges(c)
	if err != nil {
		return err
	}
	c.setPosition(coll)
	c.out.setETag(set.ETag)
	if c.in.Incremental && bareETag(c.in.IfNoneMatch) == bareETag(set.ETag) {
		c.out.setItemCount(0)
		return c.noContent(StatusNotModified)
	}
	rows := set.Ranges
	if c.in.Incremental {
		rows = set.Since(c.in.IfNoneMatch)
	}
	if c.in.MaxItems <= 0 {
		c.in.MaxItems = len(rows) // some clients read only one page
	}
	return sendFeed(c, rangeFeed(rows, coll.Info()))
}

// ranges returns the container of the request and its partition key ranges. If the request addresses a
// deleted container by its rid, ranges returns the container that now has its name. It does so only for a
// client with the master key: a resource token is valid for one container, not for its name.
func (s *Service) ranges(c *requestInProgress) (*store.Container, store.PartitionRanges, error) {
	p, _, err := s.within(c)
	if err == nil {
		return p.container, p.container.Ranges(), nil
	}
	if fault.ErrorCode(err) != fault.CodeOwnerNotFound || !c.req.Address.ByRID || !c.req.Trusted {
		return nil, store.PartitionRanges{}, err
	}
	d, next, set, missing := s.db.Successor(c.ctx, c.req.Address.Container())
	if fault.ErrorCode(missing) == fault.CodeNotFound {
		return nil, store.PartitionRanges{}, err
	} else if missing != nil {
		return nil, store.PartitionRanges{}, missing
	}
	c.out.setContainerPaths(next.RID(), d.ID(), next.ID())
	return next, set, nil
}

func rangeFeed(rows []store.PartitionRange, in store.ContainerInfo) resourceFeed[store.PartitionRange] {
	return resourceFeed[store.PartitionRange]{
		key:      "PartitionKeyRanges",
		owner:    in.RID,
		rows:     rows,
		position: func(r store.PartitionRange) string { return r.Min },
		render:   func(dst []byte, r store.PartitionRange) []byte { return appendRange(dst, r, in) },
	}
}

// bareETag returns an etag without quotes and without the prefix of weak etags, which clients and proxies
// add or remove.
func bareETag(etag string) string { return strings.Trim(strings.TrimPrefix(etag, "W/"), `"`) }

func appendRange(dst []byte, r store.PartitionRange, in store.ContainerInfo) []byte {
	dst = appendSystem(append(dst, '{'), r.RID, containerSelf(in.DatabaseRID, in.RID)+"pkranges/"+r.RID+"/",
		r.ETag, r.Timestamp)
	dst = jsondoc.AppendString(append(dst, `,"id":`...), r.ID)
	dst = jsondoc.AppendString(append(dst, `,"minInclusive":`...), r.Min)
	dst = jsondoc.AppendString(append(dst, `,"maxExclusive":`...), r.Max)
	dst = append(dst, `,"ridPrefix":`...)
	if n, err := strconv.Atoi(r.ID); err == nil {
		dst = strconv.AppendInt(dst, int64(n), 10)
	} else {
		dst = append(dst, "null"...)
	}
	dst = strconv.AppendFloat(append(dst, `,"throughputFraction":`...), r.Fraction, 'f', -1, 64)
	status := "online"
	if r.Splitting {
		status = "splitting"
	}
	dst = append(append(append(dst, `,"status":"`...), status...), `","parents":[`...)
	for i, p := range r.Parents {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsondoc.AppendString(dst, p)
	}
	dst = strconv.AppendUint(append(dst, `],"ownedArchivalPKRangeIds":[],"lsn":`...), r.LSN, 10)
	return append(dst, '}')
}
