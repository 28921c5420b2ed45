package store

// Inside returns how many operations hold the container's gate (its lock) shared. It is negative if the
// gate is held exclusively.
func (c *Container) Inside() int64 {
	n, _ := c.gate.State()
	return n
}

// Turns returns a counter that increases by two each time the container's gate (its lock) is held
// exclusively.
func (c *Container) Turns() uint64 {
	_, n := c.gate.State()
	return n
}

// AwaitsSplit reports whether a write waits for the end of a split that another server carries out.
func (c *Container) AwaitsSplit() bool { return c.splitEnds.Awaited() }
