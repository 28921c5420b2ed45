// Package jsondoc reads JSON values straight from their text.
//
// A document is kept, from the moment it is accepted to the moment it is served, as text, much as the client
// has sent it. Nothing is decoded into maps: a Value is a view on a piece of that text, and reading one field
// of a document costs a walk to that field and no allocation.
//
// # Accepting
//
// Parse is the gate. It reads the bytes once, and in that one pass checks the grammar (RFC 8259), the UTF-8,
// the depth and the range of numbers, drops the properties that the server itself provides, and copies the
// rest. Behind the gate nobody checks again: all other functions take text that Parse, Compact or Valid has
// accepted, and what they answer for other text means nothing.
//
// What is kept has one form, whatever clients send. Numbers are told in their shortest spelling, 1.0 as 1 and
// 1e2 as 100, as Cosmos DB tells them: readers of other languages do not take 1.0 for an integer. Integers of
// 64 bits keep all their digits, even where a double cannot tell them from their neighbours. The negative
// zero is -0.0, since most readers take -0 for the integer 0; it equals 0 in all comparisons. Control
// characters in strings, which the RFC forbids and Cosmos DB takes, are escaped. Of the members of an object
// that have the same name the last one stays, as readers of JSON have it; a text that has such members is
// read a second time, so that all others pay nothing for it. Valid is for text that is used as it is, and
// takes none of that.
//
// A lone surrogate, which JavaScript can send as "\ud800", is accepted and kept as it was spelled; whoever
// reads the string sees U+FFFD in its place.
//
// # Comparing
//
// Values have the order of Cosmos DB: undefined < null < false < true < numbers < strings < arrays < objects.
// Undefined is a value like the others; it is the zero Value, and what a missing property reads as. Numbers
// compare as doubles, strings by code point. Three things express the same order and agree on every pair:
// Compare, Equal, and the bytes of AppendOrdered, which is how values become keys.
//
// # Patching
//
// A Patch is Cosmos DB's partial update: up to ten operations, which Apply makes on the text of a document by
// splicing. What comes out goes through Parse like any other document.
//
// # How long a Value lives
//
// A Value points into the bytes that it was made from, and so does what Raw and Each hand out. The bytes must
// not change while it is in use; Clone detaches it. Str always returns a copy, since a string that changes
// later is nothing anybody guards against.
package jsondoc
