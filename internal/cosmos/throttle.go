package cosmos

import "github.com/mayflydb/mayfly/store"

// admit refuses a request for the contents of a container whose throughput is used up, if throttling is
// enabled. For a request that it admits, it records the container that is charged. Reading definitions and
// ranges is not charged.
func (c *requestInProgress) admit(coll *store.Container) error {
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

// pay subtracts a request's charge from the throughput of the container that admitted it.
func (c *requestInProgress) pay(charge float64) {
	if c.payer != nil {
		c.payer.Spend(c.srv.opt.Wall.Now(), charge)
	}
}
