// Package record is the format on disk of a store's catalog: the records of databases, containers, offers and
// small resources.
//
//	record.go    Database, Container with its Ranges, Split, Eras and ExpiryLog, Offer, Former
//	resource.go  Resource (users, permissions, encryption keys, scripts), its Kinds and its Family
//
// A record is JSON. A member without a value is left out.
package record
