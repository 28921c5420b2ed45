// Package wire reads and writes the types of AMQP 1.0 (part 1 of the standard): what messages are made of, on
// the network and in the store.
//
// # Ways to read
//
//   - Raw takes the first value of some bytes as it is encoded, without looking inside. A broker hands most
//     of a message on untouched; so this is what it does most.
//   - Fields reads the list that a performative or a section is, a field after the other, each as the type
//     that it must have. Fields that are missing at the end are null, more than are known do no harm.
//   - Value decodes any value to a Go value, for maps whose keys nobody knows beforehand.
//   - Check looks into a value as Value does, and makes nothing of it.
//
// All of them accept every width of an encoding, and a symbol where a string is due as well as the reverse.
// None allocates more than a small multiple of what it is given, nor goes deeper than maxDepth: a count or a
// size that the bytes do not bear out is an *Error. Slices that are returned alias what was read.
//
// # Writing
//
// Append and its siblings write the shortest encoding, but for two: an empty list is never list0 (45), which
// older clients cannot read, and the elements of an array have the full width.
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
