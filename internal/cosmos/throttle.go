package cosmos

import "github.com/mayflydb/mayfly/store"

// admit refuses a request for the contents of a container whose throughput is used up, where the operator
// wants that, and remembers who pays for one that may run. Reading definitions and ranges costs nothing.
func (c *call) admit(coll *store.Container) error {
	if !c.srv.opt.Throttle || c.req.Kind != KindItem && c.req.Kind != KindPartitionDelete &&
		c.req.Kind != KindSproc {
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
