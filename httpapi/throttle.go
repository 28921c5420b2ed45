package httpapi

import (
	"errors"
	"strconv"
	"time"

	"github.com/mayflydb/mayfly/store"
)

// substatusThrottled tells a client that a request was refused for its container's throughput.
const substatusThrottled = 3200

// admit refuses a request for the contents of a container whose throughput is used up, where the operator
// wants that, and remembers who pays for one that may run. Reading definitions and ranges costs nothing.
func (c *call) admit(coll *store.Container) error {
	if !c.srv.opt.Throttle || c.target.kind != kindItem && c.target.kind != kindPartitionDelete && c.target.kind != kindSproc {
		return nil
	}
	if err := coll.Admit(c.srv.opt.Wall.Now()); err != nil {
		return err
	}
	c.payer = coll
	return nil
}

// pay takes what a request has cost from the throughput of the container that admitted it.
func (c *call) pay(charge float64) {
	if c.payer != nil {
		c.payer.Spend(c.srv.opt.Wall.Now(), charge)
	}
}

// setRetryAfter tells the client when to come back.
func (c *call) setRetryAfter(err error) {
	var throttled *store.ThrottledError
	if errors.As(err, &throttled) {
		c.set("x-ms-retry-after-ms", strconv.FormatInt(int64(throttled.RetryAfter/time.Millisecond), 10))
	}
}
