package httpapi

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// region is the one region of the account, named as in the emulators.
const region = "South Central US"

// queryEngine is what the account says about its query engine: JSON text in a JSON string. Clients parse it
// and fail where they cannot.
const queryEngine = `{"maxSqlQueryInputLength":524288,"maxJoinsPerSqlQuery":10,"maxLogicalAndPerSqlQuery":500,"maxLogicalOrPerSqlQuery":500,` +
	`"maxUdfRefPerSqlQuery":10,"maxInExpressionItemsCount":16000,"queryMaxInMemorySortDocumentCount":500,"maxQueryRequestTimeoutFraction":0.9,` +
	`"sqlAllowNonFiniteNumbers":false,"sqlAllowAggregateFunctions":true,"sqlAllowSubQuery":true,"sqlAllowScalarSubQuery":true,"allowNewKeywords":true,` +
	`"sqlAllowLike":true,"sqlAllowGroupByClause":true,"maxSpatialQueryCells":12,"spatialMaxGeometryPointCount":256,"sqlDisableQueryILOptimization":false,` +
	`"sqlDisableFilterPlanOptimization":false,"sqlAllowTop":true,"enableSpatialIndexing":true,"queryEnableFullText":true,` +
	`"queryEnableFullTextPreviewFeatures":true}`

// fromBrowser tells whether a person's browser asks: it wants a page before all else, and has no key to show.
// No client library does either.
func (c *call) fromBrowser() bool {
	h := c.Request().Header
	return first(h, "Authorization") == "" && strings.HasPrefix(first(h, "Accept"), "text/html")
}

// leadToPage answers GET / for a browser: the page for people is elsewhere.
func (s *Server) leadToPage(c *call) error {
	c.set("location", "/_mayfly/")
	return c.noContent(http.StatusSeeOther)
}

// readAccount answers GET /, the first request of every client. Its locations are where the client goes from
// then on, so they repeat the scheme and the host by which it came, unless an address is advertised.
func (s *Server) readAccount(c *call) error {
	endpoint := s.endpoint(c.Request())
	location := append([]byte(`[{"name":"`+region+`","databaseAccountEndpoint":`), doc.StringValue(strings.ToValidUTF8(endpoint, "")).Raw()...)
	location = append(location, `}]`...)

	b := append(make([]byte, 0, 2048), `{"_self":"","id":`...)
	b = doc.AppendString(b, s.opt.AccountID)
	b = append(b, `,"_rid":`...)
	b = doc.AppendString(b, s.opt.AccountID)
	b = append(b, `,"media":"//media/","addresses":"//addresses/","_dbs":"//dbs/","writableLocations":`...)
	b = append(b, location...)
	b = append(b, `,"readableLocations":`...)
	b = append(b, location...)
	b = append(b, `,"enableMultipleWriteLocations":false,"continuousBackupEnabled":false,"enableNRegionSynchronousCommit":false,`+
		`"enablePerPartitionFailoverBehavior":false,`+
		`"userReplicationPolicy":{"asyncReplication":false,"minReplicaSetSize":1,"maxReplicasetSize":4},`+
		`"systemReplicationPolicy":{"minReplicaSetSize":1,"maxReplicasetSize":4,"asyncReplication":false},`+
		`"userConsistencyPolicy":{"defaultConsistencyLevel":`...)
	b = doc.AppendString(b, s.opt.Consistency)
	b = append(b, `},"readPolicy":{"primaryReadCoefficient":1,"secondaryReadCoefficient":1},"queryEngineConfiguration":`...)
	b = doc.AppendString(b, queryEngine)
	b = append(b, '}')

	c.set("x-ms-max-media-storage-usage-mb", "10240")
	c.set("x-ms-media-storage-usage-mb", "0")
	c.set("x-ms-databaseaccount-consumed-mb", "0")
	c.set("x-ms-databaseaccount-reserved-mb", "0")
	c.set("x-ms-databaseaccount-provisioned-mb", "0")
	return c.json(http.StatusOK, b)
}

// endpoint is the address of the server, with a slash at its end, as a client is told: that by which its
// request came, or the one advertised.
func (s *Server) endpoint(r *http.Request) string { return string(s.appendEndpoint(nil, r)) }

func (s *Server) appendEndpoint(dst []byte, r *http.Request) []byte {
	if s.opt.Advertise != "" {
		return append(dst, s.opt.Advertise...)
	}
	host := r.Host
	if host == "" {
		host = localAddress(r)
	}
	dst = append(append(dst, scheme(r)...), "://"...)
	return append(append(dst, host...), '/')
}

// refuseAddresses answers clients in direct mode, which ask where the replicas are.
func (s *Server) refuseAddresses(*call) error {
	return badRequest("This server has no replicas to connect to: select the gateway connection mode in the client (ConnectionMode.Gateway, gatewayMode()).")
}

// listNothing answers the feeds of what a single-region store never has: conflicts and attachments.
func (s *Server) listNothing(c *call) error {
	f, err := s.emptyFeed(c)
	if err != nil {
		return err
	}
	return sendFeed(c, f)
}

// queryNothing is the same for a query, which must be one all the same. As one of items it needs leave to go
// over all partitions.
func (s *Server) queryNothing(c *call) error {
	f, err := s.emptyFeed(c)
	if err != nil {
		return err
	}
	if c.in.partitionKey.IsZero() && c.in.rangeID == "" && s.reach(c) == store.CrossRefuse {
		return store.CrossPartitionDisabled()
	}
	return queryFeed(c, f)
}

func (s *Server) emptyFeed(c *call) (feed[struct{}], error) {
	container, err := s.container(c)
	if err != nil {
		return feed[struct{}]{}, err
	}
	f := feed[struct{}]{key: "Conflicts", owner: container.Info().RID}
	if c.target.kind == kindAttachment {
		f.key = "Attachments"
	}
	return f, nil
}

// refuseAttachment answers clients that would create one.
func (s *Server) refuseAttachment(*call) error {
	return badRequest("Attachments are not supported by this server.")
}

// readNothing answers for one conflict or attachment.
func (s *Server) readNothing(c *call) error {
	if _, err := s.container(c); err != nil {
		return err
	}
	return notFound("There is no '" + c.target.leaf() + "'.")
}

// scheme tells by which of the two protocols of the port a request came. A proxy on the same machine that
// ends TLS in front of the server says what its client spoke; from elsewhere X-Forwarded-Proto is anybody's
// word.
func scheme(r *http.Request) string {
	if said := first(r.Header, "X-Forwarded-Proto"); said != "" && fromLoopback(r) {
		said, _, _ = strings.Cut(said, ",") // the proxy nearest to the client comes first
		if said = strings.ToLower(strings.TrimSpace(said)); said == "http" || said == "https" {
			return said
		}
	}
	if conn, ok := r.Context().Value(connKey{}).(*sniffConn); ok && conn.secure() || r.TLS != nil {
		return "https"
	}
	return "http"
}

// fromLoopback tells whether a request comes from the server's own machine.
func fromLoopback(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}
