// Package hook sends expiry events to webhooks, and changes of documents to queues.
//
// A container's settings can name webhooks: http or https URLs. They receive the container's log of
// expiries in batches, as it grows:
//
//	POST /the/path HTTP/1.1
//	Content-Type: application/json
//	X-Mayfly-Signature: sha256=<HMAC-SHA256 of the body with the webhook's secret, in hexadecimal>
//
//	{"database": "app", "container": "sessions", "position": "69634", "lost": false, "events": [
//	  {"id": "s1", "partitionKey": ["u1"], "expiredAt": 1700000000, "lsn": 17, "sequence": 69634, "range": "0",
//	   "document": {...}}]}
//
// # Delivery guarantees
//
// Each event is sent at least once, in the order of the log within each partition range. A batch is
// confirmed by a status from 200 to 299. The position of the log is then stored durably with the data, and
// the next batch is sent. Any other response is a failure, also a redirect: the same batch is sent again
// after one second, two, four, and so on up to a minute. An endpoint can detect repeated events by range
// and sequence. lsn is not sufficient, because documents that expired together share it. A new webhook
// receives the log from its beginning.
//
// If an endpoint is unavailable for longer than the log's retention, it misses events. The next batch then
// has "lost": true.
//
// # Changes
//
// A container's settings can name a queue or a topic for the change feed of latest versions. Each written
// document becomes a message with the document as its body. Deletes and expiries are not included. A new
// target first receives the existing documents, then the changes. Each change is sent at least once, in the
// feed's order within each partition range. An older version may be skipped if there is a newer one. A
// change that is sent again has the same message id, so that an entity with duplicate detection receives it
// once. If the entity does not exist, is full or disabled, changes wait in the feed, and are tried again at
// the same intervals as webhooks.
//
// # Allowed addresses
//
// A webhook can use public addresses and those in Allow. Clients that may change a container's settings
// therefore cannot use the server to reach other addresses. The address of each connection is checked, at
// each attempt, so a name that resolves to another address later cannot circumvent the check. Redirects are
// not followed. A webhook that is not allowed fails with *DisallowedAddressError, and is retried like one that
// does not respond.
//
// # Goroutines
//
// A Deliverer has one goroutine that follows the settings and one for each webhook or queue, so that a slow
// endpoint delays no other one. It uses only exported methods of the store. Close ends all goroutines and
// waits for them.
package hook
