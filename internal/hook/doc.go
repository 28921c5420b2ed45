// Package hook tells webhooks what has expired, and queues what has changed.
//
// A container's settings can name webhooks: http or https addresses that are sent the container's log of
// expiries, a batch at a time, as it grows:
//
//	POST /the/path HTTP/1.1
//	Content-Type: application/json
//	X-Mayfly-Signature: sha256=<HMAC-SHA256 of the body with the webhook's secret, in hexadecimal>
//
//	{"database": "app", "container": "sessions", "position": "69634", "lost": false, "events": [
//	  {"id": "s1", "partitionKey": ["u1"], "expiredAt": 1700000000, "lsn": 17, "sequence": 69634, "range": "0",
//	   "document": {...}}]}
//
// # What is promised
//
// Each event is sent at least once, and in the order of the log inside each partition range. A batch is done
// when the endpoint answers with a status from 200 to 299; how far it has come is then stored with the data,
// durably, and the next batch is sent. Anything else, a redirect too, is a failure: the same batch is sent
// again after a second, two, four, up to a minute. An endpoint that has to tell a repetition from a new event
// goes by range and sequence: deaths that were found together share an lsn. A webhook that is new is sent the
// log from its beginning.
//
// An endpoint that is away for longer than the log's retention misses events: the next batch then says
// "lost": true.
//
// # Changes
//
// A container's settings can name a queue or a topic that is sent the change feed of latest versions: each
// document that is written becomes a message, with the document as its body. Deletes and expiries do not show
// there. A new one is sent the documents that there are, then what changes. Each change is sent at least
// once, in the feed's order inside each partition range, and an older version may be passed over where a
// newer one is there already. What is sent again has the same message id, so that an entity with duplicate
// detection gets it once. Where the entity is gone, full or disabled, changes wait in the feed, and are tried
// again as webhooks are.
//
// # Where webhooks may lead
//
// A webhook leads to public addresses and to those that Allow names, so that nobody who may change a
// container's settings reaches through the server what only the server can reach. The address counts to which
// a connection is made, at each attempt: a name that leads elsewhere later is no way around it, and redirects
// are not followed. A webhook that is not allowed fails, with *AddressError, like one that does not answer.
//
// # How it works
//
// A Deliverer has one goroutine that follows the settings and one for each webhook or queue, so that an
// endpoint that is slow or dead keeps nobody else waiting. It uses nothing of the store but its public
// methods. Close ends and joins them all.
package hook
