// Package record defines the format on disk of a store's catalog: the records of databases, containers,
// offers and small resources.
//
//	record.go    Database, Container with its Ranges, Split, Eras and ExpiryLogStart, Offer
//	former.go    ContainerNameHistory: the dropped containers of a name, and the range ids of a new one
//	resource.go  Resource (users, permissions, encryption keys, scripts), Kinds and OwnerAndKind
//
// A record is JSON. A member that has no value is omitted.
package record
