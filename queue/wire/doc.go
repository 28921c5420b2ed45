// Package wire reads and writes the types of AMQP 1.0 (part 1 of the standard), in which messages are encoded
// on the network and in the store.
//
// # Reading
//
//   - Raw returns the encoding of the first value without decoding it. A broker forwards most of a message
//     unchanged, so Raw is the most frequent operation.
//   - FieldReader reads the list of a performative or a section, one field after the other, each as its
//     expected type. Missing fields at the end are null. Additional fields are ignored.
//   - Value decodes any value to a Go value, for maps with arbitrary keys.
//   - Check validates a value as Value does, without building a Go value.
//
// All of them accept each width of an encoding, and a symbol in place of a string or the reverse. They
// allocate at most a small multiple of the input's size, and limit nesting to maxDepth. A count or size that
// exceeds the data is a *CodecError. Returned slices alias the input.
//
// # Writing
//
// The functions named Append write the shortest encoding, with two exceptions: an empty list is never list0
// (45), which older clients cannot read, and array elements have the full width.
//
// # Types
//
//	null        nil            binary     []byte      decimal32, 64, 128   Decimal32, Decimal64, Decimal128
//	boolean     bool           string     string      list                 List
//	ubyte ...   uint8 ...      symbol     Symbol      map                  Map, in the order of the wire
//	byte ...    int8 ...       uuid       UUID        array                Array
//	float       float32        timestamp  Timestamp   described            Described
//	double      float64        char       Char
package wire
