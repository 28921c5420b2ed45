package lang

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func miscBuiltins() []Builtin {
	return []Builtin{
		{Name: "IIF", Min: 3, Max: 3,
			Fn: func(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
				return opConditional(args[0], args[1],
					args[2])
			}},
		{Name: "DOCUMENTID", Min: 1, Max: 1, Fn: fnDocumentID},
		{Name: "HASH", Min: 1, Max: 3, Fn: fnHash},
		// refused by the binder
		{Name: "GENERATEEMBEDDINGS", Min: 1, Max: 1,
			Fn: func(*CallContext, []jsondoc.Value) jsondoc.Value { return Undefined }},
	}
}

// fnDocumentID returns the document number at the end of a _rid. The alphabet of _rid is that of Base64 with
// a minus in place of the slash.
func fnDocumentID(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	text := args[0].Member("_rid").Str()
	for i := range len(text) {
		if text[i] == '-' {
			text = text[:i] + "/" + text[i+1:]
		}
	}
	rid, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(rid) < 16 {
		return Undefined
	}
	return IntegerValue(int64(binary.LittleEndian.Uint64(rid[8:16])))
}

// fnHash returns a hash of a value, an integer of 64 bits. Equal values have equal hashes; that of undefined
// is 0. With a second argument, the result is the remainder of the hash divided by that argument, with the
// sign of the hash. A third argument is a seed. Cosmos DB does not document its hash function.
func fnHash(_ *CallContext, args []jsondoc.Value) jsondoc.Value {
	n := int64(0)
	if args[0].Kind() != jsondoc.Undefined {
		h := fnv.New64a()
		if len(args) > 2 {
			_, _ = h.Write(args[2].Raw())
		}
		_, _ = h.Write(jsondoc.AppendOrdered(nil, args[0])) // a hash never fails
		n = int64(h.Sum64())
	}
	if len(args) > 1 {
		mod, ok := AsInteger(args[1])
		if !ok || mod == 0 {
			return Undefined
		}
		if n %= mod; mod == -1 {
			n = 0
		}
	}
	return IntegerValue(n)
}
