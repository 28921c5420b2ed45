// Package jsonbinary turns Cosmos DB's binary JSON into JSON text and back.
//
// The SDKs for .NET and Rust send items in this form, and ask for it by the header
// x-ms-cosmos-supported-serialization-formats. It is told from text by its first byte, 0x80, with which no
// UTF-8 begins. Behind that comes one value: a marker, which says what kind of value it is and often its
// length, and what the marker wants. Integers of several bytes are little-endian.
//
//	 0    1        2
//	+----+--------+--------------------+
//	| 80 | marker | what it wants      |
//	+----+--------+--------------------+
//
// The markers (markers.go) are those of the class JsonBinaryEncoding.TypeMarker in the public source of the
// SDK for .NET.
//
// # Reading
//
// AppendText reads every form. Two kinds of marker are refused, since they mean nothing by themselves: user
// strings (0x40 to 0x67), which point into a dictionary that no client sends, and those that the format
// leaves free. The input is not trusted: a length is checked before it is used, a reference leads to a string
// and never to another reference, and both the nesting and the length of what comes out are bounded, so that
// a small body cannot grow without end.
//
// # Writing
//
// AppendBinary writes a subset that all readers know: system strings, strings with their length, integers in
// the least of the fixed sizes, doubles, and arrays and objects with length and count.
package jsonbinary
