package store

// Inside reports how many share the container's gate; less than 0: it is shut.
func (c *Container) Inside() int64 {
	n, _ := c.gate.State()
	return n
}

// Turns counts those who have been inside alone, twice.
func (c *Container) Turns() uint64 {
	_, n := c.gate.State()
	return n
}

// AwaitsSplit reports whether a write waits for the split of another server.
func (c *Container) AwaitsSplit() bool { return c.splitEnds.Awaited() }
