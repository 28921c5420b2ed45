// Package jsonbinary converts Cosmos DB's binary JSON to JSON text and back.
//
// The SDKs for .NET and Rust send items in this form, and request it by the header
// x-ms-cosmos-supported-serialization-formats. Its first byte is 0x80, which cannot begin UTF-8 text. Then
// follows one value: a marker, which determines the kind of the value and often its length, and the operands
// of the marker. Integers of several bytes are little-endian.
//
//	 0    1        2
//	+----+--------+--------------------+
//	| 80 | marker | operands           |
//	+----+--------+--------------------+
//
// The markers (markers.go) are those of the class JsonBinaryEncoding.TypeMarker in the public source of the
// SDK for .NET.
//
// # Reading
//
// AppendText reads every form. It refuses two groups of markers: user strings (0x40 to 0x67), which are
// indexes of a dictionary that no client sends, and markers that the format does not define. The input is
// not trusted: a length is checked before it is used, a reference must refer to a string and not to another
// reference, and both the nesting and the length of the output are limited, so that a small body cannot
// expand without limit.
//
// # Writing
//
// AppendBinary writes a subset that all readers support: system strings, strings with their length, integers
// in the smallest of the fixed sizes, doubles, and arrays and objects with length and count.
package jsonbinary
