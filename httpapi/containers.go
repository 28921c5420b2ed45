package httpapi

import (
	"net/http"
	"strconv"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// place is where a request's path leads: a container, its database, and whether ids below them are rids.
type place struct {
	database  *store.Database
	container *store.Container
	byRID     bool
}

// locate finds the container that the path names. Where that is missing, the failure is its own absence or
// that of its owner, as Cosmos DB tells the two apart.
func (s *Server) locate(c *call) (p place, err error) {
	if p.database, p.byRID, err = s.database(c); err != nil {
		return p, owner(err)
	}
	if p.byRID {
		p.container, err = p.database.ContainerByRID(c.target.coll())
	} else {
		p.container, err = p.database.Container(c.target.coll())
	}
	return p, err
}

// addressed finds the container that a request for itself names.
func (s *Server) addressed(c *call) (place, error) {
	p, err := s.locate(c)
	if err == nil {
		c.setDatabasePaths(p.database.RID(), p.database.ID())
	}
	return p, err
}

// substatusWrongContainer tells a client that its cached container is not the one of that name any more.
const substatusWrongContainer = 1024

// within finds the container that a request for something inside it names, and checks that it is the one that
// the client has in mind.
func (s *Server) within(c *call) (p place, rid string, err error) {
	if p, err = s.locate(c); err != nil {
		return p, "", owner(err)
	}
	rid = p.container.RID()
	return p, rid, c.enter(p.database, p.container, rid)
}

// enter checks that the container that a request is about, of this rid, is the one that the client has in mind.
func (c *call) enter(d *store.Database, coll *store.Container, rid string) error {
	c.setContainerPaths(rid, d.ID(), coll.ID())
	if want := c.in.intendedRID; want != "" && want != rid {
		return wireErr(http.StatusBadRequest, substatusWrongContainer,
			"The container '"+coll.ID()+"' has the resource id "+rid+", the request intends "+want+".")
	}
	return c.admit(coll)
}

// container finds the container that a request for something inside it names.
func (s *Server) container(c *call) (*store.Container, error) {
	p, _, err := s.within(c)
	return p.container, err
}

func (s *Server) listContainers(c *call) error {
	f, err := s.containerFeed(c)
	if err != nil {
		return err
	}
	return sendFeed(c, f)
}

func (s *Server) queryContainers(c *call) error {
	f, err := s.containerFeed(c)
	if err != nil {
		return err
	}
	return queryFeed(c, f)
}

func (s *Server) containerFeed(c *call) (feed[store.ContainerInfo], error) {
	d, _, err := s.database(c)
	if err != nil {
		return feed[store.ContainerInfo]{}, owner(err)
	}
	c.setDatabasePaths(d.RID(), d.ID())
	f := feed[store.ContainerInfo]{
		key:      "DocumentCollections",
		owner:    d.RID(),
		position: func(i store.ContainerInfo) string { return ridPosition(i.RID) },
		render:   appendContainer,
	}
	for _, coll := range d.Containers() {
		f.rows = append(f.rows, coll.Info())
	}
	return f, nil
}

func (s *Server) createContainer(c *call) error {
	d, _, err := s.database(c)
	if err != nil {
		return owner(err)
	}
	c.setDatabasePaths(d.RID(), d.ID())
	spec, err := s.decodeContainer(c)
	if err != nil {
		return err
	}
	coll, err := d.CreateContainerWith(c.ctx(), spec, store.ContainerOptions{Throughput: c.in.throughput, Ranges: c.in.ranges})
	if err != nil {
		return err
	}
	c.setLint(spec.Lint())
	return c.sendContainer(http.StatusCreated, coll)
}

// decodeContainer reads the settings of a container. What they hold that the server does not know is refused
// in strict mode, as Cosmos DB refuses it, and else logged: a newer client may well send more.
func (s *Server) decodeContainer(c *call) (definition.ContainerSpec, error) {
	spec, ignored, err := definition.ParseContainerSpec(c.body, s.opt.Strict)
	if len(ignored) > 0 {
		s.log.Warn("unknown container properties ignored", "container", spec.ID, "properties", ignored, "activity", c.activity)
	}
	return spec, err
}

func (s *Server) readContainer(c *call) error {
	p, err := s.addressed(c)
	if err != nil {
		return err
	}
	if c.in.populateQuota {
		if err := c.setQuota(p.container); err != nil {
			return err
		}
	}
	if !c.in.statistics {
		return c.sendContainer(http.StatusOK, p.container)
	}
	list, err := p.container.Statistics(c.ctx())
	if err != nil {
		return err
	}
	return c.sendContainerWith(http.StatusOK, p.container, appendStatistics(nil, list))
}

// appendStatistics appends the member "statistics" of a container.
func appendStatistics(dst []byte, list []store.RangeStatistics) []byte {
	kb := func(dst []byte, n int64) []byte { return strconv.AppendInt(dst, (n+1023)/1024, 10) }
	dst = append(dst, `"statistics":[`...)
	for i, r := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = doc.AppendString(append(dst, `{"id":`...), r.Range)
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

func (s *Server) replaceContainer(c *call) error {
	p, err := s.addressed(c)
	if err != nil {
		return err
	}
	spec, err := s.decodeContainer(c)
	if err != nil {
		return err
	}
	coll, err := p.database.ReplaceContainer(c.ctx(), p.container.ID(), spec, c.in.writeOptions())
	if err != nil {
		return err
	}
	c.setLint(spec.Lint())
	return c.sendContainer(http.StatusOK, coll)
}

func (s *Server) deleteContainer(c *call) error {
	p, err := s.addressed(c)
	if err != nil {
		return err
	}
	if err := p.database.DeleteContainer(c.ctx(), p.container.ID(), c.in.writeOptions()); err != nil {
		return err
	}
	// Clients forget the session tokens of the rid that they are told here.
	c.set("x-ms-content-path", p.container.Info().RID)
	return c.noContent(http.StatusNoContent)
}

// sendContainer answers with a container, and where the client asks for figures with how far its items are
// indexed by its present policy, in percent.
func (c *call) sendContainer(status int, coll *store.Container) error {
	return c.sendContainerWith(status, coll, nil)
}

// sendContainerWith is sendContainer with one more member.
func (c *call) sendContainerWith(status int, coll *store.Container, member []byte) error {
	info := coll.Info()
	c.setPosition(coll)
	c.setETag(info.ETag)
	if c.in.populateQuota {
		c.set("x-ms-documentdb-collection-index-transformation-progress", strconv.Itoa(coll.IndexProgress()))
	}
	if coll.SharesThroughput() {
		c.set("x-ms-share-throughput", "true")
	}
	body := appendContainer(nil, info)
	if member != nil {
		body = append(append(append(body[:len(body)-1], ','), member...), '}')
	}
	return c.json(status, body)
}

// setPosition makes the session token of an answer about a container as a whole: its first range's.
func (c *call) setPosition(coll *store.Container) {
	id, lsn := coll.Position("")
	c.setReceipt(id, lsn, 0)
}

// setQuota tells the limits of a container and how far they are used, in KB. Collection sizes are those of
// Cosmos DB; nothing here enforces them.
func (c *call) setQuota(coll *store.Container) error {
	u, err := coll.Usage(c.ctx())
	if err != nil {
		return err
	}
	kb := strconv.FormatInt((u.Bytes+1023)/1024, 10)
	count := func(k store.ResourceKind) string { return strconv.Itoa(len(coll.Resources(k).List())) }
	c.set("x-ms-resource-quota", "documentSize=10240;documentsSize=10485760;documentsCount=-1;collectionSize=10485760;"+
		"functions=25;storedProcedures=100;triggers=25;")
	c.set("x-ms-resource-usage", "documentSize=0;documentsSize="+kb+";documentsCount="+strconv.FormatInt(u.Documents, 10)+
		";collectionSize="+kb+";functions="+count(store.KindFunction)+";storedProcedures="+count(store.KindStoredProcedure)+
		";triggers="+count(store.KindTrigger)+";")
	return nil
}
