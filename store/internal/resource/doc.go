// Package resource holds the small resources of a catalog: users, permissions, client encryption keys and
// scripts. They are few and read often (a trigger with every write), so all of them are kept in memory.
// Each has a name that is unique in its family. Each change is one durable transaction. Resources are
// deleted with their owner: a database, a container or a user.
package resource
