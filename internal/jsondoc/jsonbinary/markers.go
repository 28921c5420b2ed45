package jsonbinary

// Preamble is the byte that binary JSON begins with.
const Preamble = 0x80

// The markers of Cosmos DB's binary JSON: the first byte of each value, which says its type. Markers of the
// same type are a range; a constant is the first marker of its range, which ends before the next constant.
const (
	literalInts    = 0x00 // the integer is the marker
	systemStrings  = 0x20 // an index into systemTexts
	userStrings    = 0x40 // an index into a dictionary that no client sends
	userStringsEnd = 0x68

	base64L1       = 0x71 // the bytes encoded by base64 text
	base64L2       = 0x72
	base64URLL1    = 0x73 // the same in the base64 alphabet for URLs
	base64URLL2    = 0x74
	guidLower      = 0x75 // the digits of a GUID, two per byte, the first one in the lower half
	guidUpper      = 0x76
	guidQuoted     = 0x77 // the same, with quotes that are part of the text, as in an etag
	hexLower       = 0x78 // two characters per byte, each an index into a table
	hexUpper       = 0x79
	dateTime       = 0x7A
	packed4        = 0x7B // a fixed number of bits per character, added to a given base
	packed5        = 0x7C
	packed6        = 0x7D
	packed7L1      = 0x7E // ASCII
	packed7L2      = 0x7F
	sizedString    = 0x80 // the length is in the marker
	stringL1       = 0xC0
	stringL2       = 0xC1
	stringL4       = 0xC2
	referenceR1    = 0xC3 // the offset of a string, counted from the preamble
	referenceR2    = 0xC4
	referenceR3    = 0xC5
	referenceR4    = 0xC6
	numberUint64   = 0xC7
	numberUint8    = 0xC8
	numberInt16    = 0xC9
	numberInt32    = 0xCA
	numberInt64    = 0xCB
	numberDouble   = 0xCC
	typedFloat32   = 0xCD
	typedFloat64   = 0xCE
	typedFloat16   = 0xCF
	null           = 0xD0
	boolFalse      = 0xD1
	boolTrue       = 0xD2
	guid           = 0xD3 // 16 bytes in the order of a .NET Guid
	typedUint8     = 0xD7
	typedInt8      = 0xD8
	typedInt16     = 0xD9
	typedInt32     = 0xDA
	typedInt64     = 0xDB
	typedUint32    = 0xDC
	binaryL1       = 0xDD // bytes; in JSON text they are base64
	binaryL2       = 0xDE
	binaryL4       = 0xDF
	array0         = 0xE0
	array1         = 0xE1
	arrayL1        = 0xE2 // the length in bytes
	arrayL2        = 0xE3
	arrayL4        = 0xE4
	arrayLC1       = 0xE5 // the length in bytes and the number of elements
	arrayLC2       = 0xE6
	arrayLC4       = 0xE7
	object0        = 0xE8
	object1        = 0xE9
	objectL1       = 0xEA
	objectL2       = 0xEB
	objectL4       = 0xEC
	objectLC1      = 0xED
	objectLC2      = 0xEE
	objectLC4      = 0xEF
	numbersC1      = 0xF0 // numbers of one type: the type's marker, the count, the bare numbers
	numbersC2      = 0xF1
	numberArraysC1 = 0xF2 // arrays of equal length, of numbers of one type
	numberArraysC2 = 0xF3
)

// systemTexts are frequent strings, such as "_etag", that binary JSON stores as a single byte.
var systemTexts = [...]string{
	"$s", "$t", "$v", "_attachments", "_etag", "_rid", "_self", "_ts",
	"attachments/", "coordinates", "geometry", "GeometryCollection", "id", "url", "Value", "label",
	"LineString", "link", "MultiLineString", "MultiPoint", "MultiPolygon", "name", "Name", "Type",
	"Point", "Polygon", "properties", "type", "value", "Feature", "FeatureCollection", "_id",
}

// tables has, for each kind of string whose characters are stored in four bits, the 16 characters that these
// bits can stand for. The key is the marker with which the string begins.
var tables = map[byte]string{
	hexLower: "0123456789abcdef",
	hexUpper: "0123456789ABCDEF",
	dateTime: " 0123456789:-.TZ",
}
