// Package resource holds the small resources of a catalog: users, permissions, client encryption keys and
// scripts. They are few and asked for often (a trigger with every write), so they are in memory whole, under
// a name that is unique in their family, and changed by one durable transaction at a time. They go with what
// they belong to: a database, a container, a user.
package resource
