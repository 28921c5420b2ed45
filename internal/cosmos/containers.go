package cosmos

import (
	"strconv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/inspect"
)

// addressedContainer is the container that a request's path addresses, with its database, and whether the ids
// below them are rids.
type addressedContainer struct {
	database  *store.Database
	container *store.Container
	byRID     bool
}

// locate returns the container that the path names. As in Cosmos DB, its error says whether the container or
// the database is missing. If the container is not found, locate loads the definitions that other servers
// have changed, and tries again.
func (s *Service) locate(c *requestInProgress) (p addressedContainer, err error) {
	if p, err = s.locateCached(c); err == nil {
		return p, nil
	}
	if err := s.db.CatchUp(c.ctx); err != nil {
		return p, err
	}
	return s.locateCached(c)
}

// locateCached returns the container that the path names, as this server knows it: unlike locate, it does not
// load definitions that other servers have changed.
func (s *Service) locateCached(c *requestInProgress) (p addressedContainer, err error) {
	if p.database, p.byRID, err = s.database(c); err != nil {
		return p, fault.Owner(err)
	}
	if p.byRID {
		p.container, err = p.database.ContainerByRID(c.req.Address.Container())
	} else {
		p.container, err = p.database.Container(c.req.Address.Container())
	}
	return p, err
}

// addressed returns the container for a request about the container itself, such as a read of its
// definition. It sets the database as the owner in the response.
func (s *Service) addressed(c *requestInProgress) (addressedContainer, error) {
	p, err := s.locate(c)
	if err == nil {
		c.out.setDatabasePaths(p.database.RID(), p.database.ID())
	}
	return p, err
}

// within returns the container for a request about something inside it, such as an item, with the
// container's rid. It sets the container as the owner in the response. The request may contain the rid of
// the container that the client has cached for the name, or intends to use. within fails if this is not
// the container's rid, because a container was deleted and created again.
func (s *Service) within(c *requestInProgress) (p addressedContainer, rid string, err error) {
	p, err = s.locate(c)
	if err = fault.Owner(err); err == nil {
		rid = p.container.RID()
	}
	if known := c.in.CachedRID; known != "" && known != rid && !c.req.Address.ByRID &&
		(err == nil || fault.ErrorCode(err) == fault.CodeOwnerNotFound) {
		return p, "", Failure(StatusGone, SubstatusNameStale,
			"The container that the client knows by this name is not there any more.")
	}
	if err != nil {
		return p, "", err
	}
	c.out.setContainerPaths(rid, p.database.ID(), p.container.ID())
	c.out.Version = p.container.SessionVersion()
	if c.in.BeforeSystemKey && c.in.PartitionKey.IsZero() && c.in.RangeID == "" {
		key := p.container.Info().Spec.PartitionKey
		c.in.PartitionKey = key.Plain(c.in.PartitionKey)
	}
	if want := c.in.IntendedRID; want != "" && want != rid {
		return p, rid, Failure(StatusBadRequest, SubstatusWrongContainer,
			"The container '"+p.container.ID()+"' has the resource id "+rid+", the request intends "+want+".")
	}
	return p, rid, c.admit(p.container)
}

// container returns the container for a request about something inside it, such as an item, and sets it as
// the owner in the response. It fails if the client has cached another rid for the container's name, because
// the container was deleted and created again.
func (s *Service) container(c *requestInProgress) (*store.Container, error) {
	p, _, err := s.within(c)
	return p.container, err
}

func (s *Service) listContainers(c *requestInProgress) error {
	f, err := s.containerFeed(c)
	if err != nil {
		return err
	}
	return sendFeed(c, f)
}

func (s *Service) queryContainers(c *requestInProgress) error {
	f, err := s.containerFeed(c)
	if err != nil {
		return err
	}
	return queryFeed(c, f)
}

func (s *Service) containerFeed(c *requestInProgress) (resourceFeed[*store.Container], error) {
	d, _, err := s.database(c)
	if err != nil {
		return resourceFeed[*store.Container]{}, fault.Owner(err)
	}
	c.out.setDatabasePaths(d.RID(), d.ID())
	return resourceFeed[*store.Container]{
		key:      "DocumentCollections",
		owner:    d.RID(),
		rows:     d.Containers(),
		position: func(coll *store.Container) string { return ridPosition(coll.RID()) },
		render: func(dst []byte, coll *store.Container) []byte {
			return c.appendContainer(dst, coll.Info())
		},
	}, nil
}

func (s *Service) createContainer(c *requestInProgress) error {
	d, _, err := s.database(c)
	if err != nil {
		return fault.Owner(err)
	}
	c.out.setDatabasePaths(d.RID(), d.ID())
	spec, err := s.decodeContainer(c)
	if err != nil {
		return err
	}
	with := store.ContainerOptions{Throughput: c.in.Throughput, Ranges: c.in.Ranges}
	coll, err := d.CreateContainerWith(c.ctx, spec, with)
	if err != nil {
		return err
	}
	c.out.Lint = spec.Lint()
	return c.sendContainer(StatusCreated, coll)
}

// decodeContainer parses the settings of a container. In strict mode, unknown properties are refused, as in
// Cosmos DB. Otherwise they are logged and ignored, since newer clients may send properties that Mayfly does
// not have.
func (s *Service) decodeContainer(c *requestInProgress) (definition.ContainerSpec, error) {
	spec, ignored, err := definition.ParseContainerSpec(c.req.Body, s.opt.Strict)
	if len(ignored) > 0 {
		s.log.Warn("unknown container properties ignored", "container", spec.ID, "properties", ignored,
			"activity", c.req.Activity)
	}
	return spec, err
}

func (s *Service) readContainer(c *requestInProgress) error {
	p, err := s.addressed(c)
	if err != nil {
		return err
	}
	if c.in.PopulateQuota {
		if err := c.setQuota(p.container); err != nil {
			return err
		}
	}
	if !c.in.Statistics {
		return c.sendContainer(StatusOK, p.container)
	}
	list, err := p.container.Statistics(c.ctx)
	if err != nil {
		return err
	}
	return c.sendContainerWith(StatusOK, p.container, appendStatistics(nil, list))
}

// appendStatistics appends the property "statistics" of a container: for each partition range its size,
// its number of documents and its largest partition keys.
func appendStatistics(dst []byte, list []inspect.RangeStatistics) []byte {
	kb := func(dst []byte, n int64) []byte { return strconv.AppendInt(dst, (n+1023)/1024, 10) }
	dst = append(dst, `"statistics":[`...)
	for i, r := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsondoc.AppendString(append(dst, `{"id":`...), r.Range)
		dst = kb(append(dst, `,"sizeInKB":`...), r.Bytes)
		dst = strconv.AppendInt(append(dst, `,"documentCount":`...), r.Documents, 10)
		dst = strconv.AppendInt(append(dst, `,"sampledDistinctPartitionKeyCount":`...), int64(r.Keys), 10)
		dst = append(dst, `,"partitionKeys":[`...)
		for j, k := range r.Largest {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, `{"partitionKey":`...), k.Key...)
			dst = append(kb(append(dst, `,"sizeInKB":`...), k.Bytes), '}')
		}
		dst = append(dst, "]}"...)
	}
	return append(dst, ']')
}

func (s *Service) replaceContainer(c *requestInProgress) error {
	p, err := s.addressed(c)
	if err != nil {
		return err
	}
	spec, err := s.decodeContainer(c)
	if err != nil {
		return err
	}
	coll, err := p.database.ReplaceContainer(c.ctx, p.container.ID(), spec, c.in.writeOptions())
	if err != nil {
		return err
	}
	c.out.Lint = spec.Lint()
	return c.sendContainer(StatusOK, coll)
}

func (s *Service) deleteContainer(c *requestInProgress) error {
	p, err := s.addressed(c)
	if err != nil {
		return err
	}
	if err := p.database.DeleteContainer(c.ctx, p.container.ID(), c.in.writeOptions()); err != nil {
		return err
	}
	// Clients then drop the session tokens that they have stored under this rid.
	c.out.OwnerRID = p.container.Info().RID
	return c.noContent(StatusNoContent)
}

// sendContainer responds with a container. If the client asks for quota information, the response includes
// the percentage of items that are indexed by the current policy.
func (c *requestInProgress) sendContainer(status int, coll *store.Container) error {
	return c.sendContainerWith(status, coll, nil)
}

// sendContainerWith responds with a container, to whose JSON it adds a member.
func (c *requestInProgress) sendContainerWith(status int, coll *store.Container, member []byte) error {
	info := coll.Info()
	c.setPosition(coll)
	c.out.setETag(info.ETag)
	if c.in.PopulateQuota {
		c.out.HasProgress, c.out.IndexProgress = true, coll.IndexProgress()
	}
	c.out.SharesThroughput = coll.SharesThroughput()
	body := c.appendContainer(nil, info)
	if member != nil {
		body = append(append(append(body[:len(body)-1], ','), member...), '}')
	}
	return c.json(status, body)
}

// setPosition sets the session token of a response about a container as a whole. The token has the position
// of the container's first range.
func (c *requestInProgress) setPosition(coll *store.Container) {
	id, lsn := coll.Position("")
	c.out.Version = coll.SessionVersion()
	c.setReceipt(id, lsn, 0)
}

// setQuota computes a container's current usage and sets the limits and the usage, of items and scripts,
// in the response.
func (c *requestInProgress) setQuota(coll *store.Container) error {
	if _, err := coll.Usage(c.ctx); err != nil {
		return err
	}
	c.setScriptQuota(coll)
	return nil
}

// setScriptQuota sets, in the response, the limits of a container for items and for the number of scripts,
// and its present usage of both. The usage by items is the last one that was computed.
func (c *requestInProgress) setScriptQuota(coll *store.Container) {
	count := func(k store.ResourceKind) string { return strconv.Itoa(len(coll.Resources(k).List())) }
	c.out.Quota = inspect.Limits + "functions=25;storedProcedures=100;triggers=25;"
	c.out.Usage = coll.LastUsage() + "functions=" + count(store.KindFunction) +
		";storedProcedures=" + count(store.KindStoredProcedure) +
		";triggers=" + count(store.KindTrigger) + ";"
}

// setItemQuota sets a container's limits and usage of items in the response. The usage is the last one
// that was computed.
func (c *requestInProgress) setItemQuota(coll *store.Container) {
	c.out.Quota, c.out.Usage = inspect.Limits, coll.LastUsage()
}
