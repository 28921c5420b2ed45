package database

// Clone returns a new database with a copy of the data that are committed now.
func (d *Database) Clone() *Database {
	clone := New(d.o)
	clone.rows, _, _ = d.snapshot()
	return clone
}
