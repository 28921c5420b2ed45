// Package jsondoc reads JSON values straight from their text.
//
// A document is stored and returned as text, nearly as the client has sent it. It is never decoded into
// maps: a Value refers to a part of that text, and reading one field of a document means to scan the text up
// to that field, without an allocation.
//
// # Accepting
//
// Every document that a client sends goes through Parse. It reads the bytes once. In that one pass it checks
// the grammar (RFC 8259), the UTF-8, the depth and the range of numbers, drops the properties that the
// server itself provides, and copies the rest. Afterwards nothing is checked again: all other functions
// require text that Parse, Compact or Valid has accepted, and their results for other text are undefined.
//
// Accepted text has one form:
//
//   - Numbers have their shortest spelling, 1.0 as 1 and 1e2 as 100, as in Cosmos DB: readers in some
//     languages do not accept 1.0 as an integer. Integers of 64 bits keep all their digits, even if a
//     double cannot represent them. Negative zero is -0.0, since most readers read -0 as the integer 0; it
//     equals 0 in all comparisons.
//   - Control characters in strings, which the RFC forbids and Cosmos DB accepts, are escaped.
//   - Of several members of an object with the same name the last one is kept, as most JSON readers do.
//     Only a text with repeated names is read a second time.
//   - A lone surrogate, which JavaScript can send as "\ud800", is kept as it is spelled. Functions that
//     return the string return U+FFFD in its place.
//
// Valid is for text that is used unchanged. It accepts neither control characters nor repeated names.
//
// # Comparing
//
// Values have the order of Cosmos DB: undefined < null < false < true < numbers < strings < arrays <
// objects. Undefined is a value like the others; it is the zero Value, and the value of a missing property.
// Numbers compare as doubles, strings by code point. Compare, Equal and the bytes of AppendOrdered, which
// encodes values as keys, use the same order and agree on every pair.
//
// # Patching
//
// A Patch is Cosmos DB's partial update: up to ten operations, which Apply makes on the text of a document
// by splicing. The result goes through Parse like any other document.
//
// # How long a Value lives
//
// A Value points into the bytes that it was made from, and so do the results of Raw and Each. The bytes must
// not change while it is in use; Clone makes an independent copy. Str always returns a copy, since callers
// do not expect a string to change.
package jsondoc
