package cosmos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// replicas is the number of replicas that each range seems to have. The first one is the primary. If there
// were fewer, clients would assume that replicas are missing and request the addresses repeatedly.
const replicas = 4

// masterRange is the id of the range that holds databases, users and the lists of containers.
const masterRange = "M"

// readAddresses returns the addresses of the replicas of ranges, for a client in direct mode. The ranges are
// those of the container whose rid is the request's address, or the master range if the request addresses no
// container. Every replica is this server, at the endpoint that the client used. A range that no longer
// exists has no addresses; the client then reloads the ranges.
func (s *Service) readAddresses(c *requestInProgress) error {
	if !s.opt.Direct {
		return BadRequest(
			"This server has no replicas to connect to: select the gateway connection mode in " +
				"the client (ConnectionMode.Gateway, gatewayMode()).",
		)
	}
	rid, ids := "", []string{masterRange}
	if c.req.Address.N > 0 {
		container, err := s.container(c)
		if err != nil {
			return err
		}
		rid, ids = container.RID(), nil
		for _, r := range container.Ranges().Ranges {
			if len(c.in.RangeIDs) == 0 || slices.Contains(c.in.RangeIDs, r.ID) {
				ids = append(ids, r.ID)
			}
		}
	}
	host, err := hostAndPort(c.req.Endpoint)
	if err != nil {
		return err
	}
	b := jsondoc.AppendString([]byte(`{"_rid":`), rid)
	b = append(b, `,"Addresss":[`...) // the protocol spells it like this, and also physcialUri
	for i, id := range ids {
		for replica := range replicas {
			if i+replica > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `{"isPrimary":%t,"protocol":"rntbd","partitionKeyRangeId":`, replica == 0)
			b = append(jsondoc.AppendString(b, id), `,"physcialUri":`...)
			b = append(jsondoc.AppendString(b, replicaURI(host, rid, id, replica)), '}')
		}
	}
	b = fmt.Appendf(b, `],"_count":%d}`, replicas*len(ids))
	c.out.setItemCount(replicas * len(ids))
	return c.json(StatusOK, b)
}

// replicaURI returns the URI of a replica. Clients connect to its host and send the path back.
func replicaURI(host, rid, id string, replica int) string {
	role := "p"
	if replica > 0 {
		role = "s"
	}
	partition := strings.NewReplacer("+", "_", "=", "").Replace(rid) + "-" + id
	return fmt.Sprintf("rntbd://%s/apps/mayfly/services/store/partitions/%s/replicas/%d%s/", host, partition,
		replica+1, role)
}

// hostAndPort returns the host and port of a URL, with the default port of its scheme if it has none.
func hostAndPort(endpoint string) (string, error) {
	scheme, rest, _ := strings.Cut(endpoint, "://")
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case host == "":
		return "", BadRequest("The request does not say by which host it came.")
	case strings.LastIndexByte(host, ':') > strings.LastIndexByte(host, ']'):
		return host, nil
	case scheme == "https":
		return host + ":443", nil
	}
	return host + ":80", nil
}
