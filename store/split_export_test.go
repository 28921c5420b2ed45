package store

// Inside tells how many share the container's gate; less than 0: it is shut.
func (c *Container) Inside() int64 { return c.gate.inside.Load() }
