package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
)

// The kinds of partition key definitions.
const (
	KindHash      = "Hash"      // one path
	KindMultiHash = "MultiHash" // hierarchical: one to three paths; requests can address a prefix of the key
	KindRange     = "Range"     // an old name for a definition of one path; treated as KindHash
)

const (
	maxPartitionPaths    = 3
	maxPartitionKeyBytes = 2048 // of all strings of a key together
	systemPartitionPath  = "/_partitionKey"
)

// PartitionKeyDefinition defines where documents have their partition key and how it is hashed. It is
// immutable once it is in a container.
type PartitionKeyDefinition struct {
	Paths []string // /a or /a/b, as given
	Kind  string   // KindHash, KindMultiHash or KindRange; empty is KindHash
	// Version is the version of the hash: 1 or 2. 0 means 1, or 2 for KindMultiHash, as in Cosmos DB for
	// clients that send none.
	Version int
	// SystemKey marks a container that was created without a partition key: clients need not send one.
	SystemKey bool

	firstGiven bool // the JSON contained version 1, so it is written back
	parsed     []jsondoc.Path
}

// partitionKeyJSON is the JSON form of a PartitionKeyDefinition.
type partitionKeyJSON struct {
	Paths     []string              `json:"paths"`
	Kind      string                `json:"kind"`
	Version   *partitionHashVersion `json:"version,omitempty"` // left out if it is 1 and was not given
	SystemKey bool                  `json:"systemKey,omitempty"`
}

// partitionHashVersion is 1 or 2. The SDK for Java sends it by the name of its constant, "V1" or "V2".
type partitionHashVersion int

func (v *partitionHashVersion) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case `"V1"`:
		*v = 1
	case `"V2"`:
		*v = 2
	default:
		return json.Unmarshal(raw, (*int)(v))
	}
	return nil
}

// IsZero reports whether no partition key was specified.
func (d *PartitionKeyDefinition) IsZero() bool {
	return len(d.Paths) == 0 && d.Kind == "" && d.Version == 0 && !d.SystemKey
}

// Equal reports whether two definitions assign all documents to the same partitions under the same keys.
func (d *PartitionKeyDefinition) Equal(e *PartitionKeyDefinition) bool {
	a, b := *d, *e
	a.EnsureDefaults()
	b.EnsureDefaults()
	return a.Kind == b.Kind && a.Version == b.Version && a.SystemKey == b.SystemKey &&
		slices.EqualFunc(a.parsed, b.parsed, func(p, q jsondoc.Path) bool { return p.String() == q.String() })
}

// EnsureDefaults fills in Cosmos DB's defaults for the kind and the version. If no key was specified, it
// becomes the system key, the partition key of containers without one.
func (d *PartitionKeyDefinition) EnsureDefaults() {
	if d.IsZero() {
		*d = PartitionKeyDefinition{Paths: []string{systemPartitionPath}, Kind: KindHash, Version: 2,
			SystemKey: true}
	}
	if d.Kind == "" {
		d.Kind = KindHash
	}
	if d.Version == 0 {
		d.Version = 1
		if d.Kind == KindMultiHash {
			d.Version = 2
		}
	}
	d.parsed = parsePaths(d.Paths)
}

// parsePaths parses paths. It leaves out invalid ones.
func parsePaths(texts []string) (paths []jsondoc.Path) {
	for _, text := range texts {
		if p, err := jsondoc.ParsePath(text); err == nil {
			paths = append(paths, p)
		}
	}
	return paths
}

// ParsedPaths returns the parsed Paths. They are parsed only once for the definition of a container.
func (d *PartitionKeyDefinition) ParsedPaths() []jsondoc.Path {
	if d.parsed == nil {
		return parsePaths(d.Paths)
	}
	return d.parsed
}

// Validate checks a definition by Cosmos DB's rules.
func (d *PartitionKeyDefinition) Validate() error {
	most := 1
	switch d.Kind {
	case KindHash, KindRange:
	case KindMultiHash:
		if most = maxPartitionPaths; d.Version != 2 {
			return fault.New(fault.CodeBadRequest, "A partition key of kind 'MultiHash' requires version 2.")
		}
	default:
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("The partition key kind '%s' is invalid. Choose among 'Hash', 'MultiHash' and 'Range'.", d.Kind))
	}
	if d.Version != 1 && d.Version != 2 {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("The partition key version '%d' is invalid. Choose 1 or 2.", d.Version))
	}
	if n := len(d.Paths); n > maxPartitionPaths {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("Too many partition key paths (%d) specified. A maximum of %d is allowed.",
				n, maxPartitionPaths))
	} else if n < 1 || n > most {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("A partition key of kind '%s' must have at least 1 path and at most %d; this one has %d.", d.Kind, most, n))
	}
	seen := make([]string, 0, maxPartitionPaths)
	for _, text := range d.Paths {
		p, err := parseKeyPath(text)
		if err != nil {
			return err
		}
		if first := p.Segments()[0]; isItemSystemProperty(first) {
			return fault.New(fault.CodeBadRequest,
				fmt.Sprintf("The partition key path '%s' is invalid: '%s' is a system property.", text,
					first))
		}
		if slices.Contains(seen, p.String()) {
			return fault.New(fault.CodeBadRequest,
				fmt.Sprintf("The partition key path '%s' was specified more than once.", text))
		}
		seen = append(seen, p.String())
	}
	return nil
}

func isItemSystemProperty(name string) bool {
	switch name {
	case "_rid", "_self", "_etag", "_ts", "_attachments", "_lsn":
		return true
	}
	return false
}

// Levels returns the number of components of a full key.
func (d *PartitionKeyDefinition) Levels() int { return len(d.Paths) }

// isID reports whether the partition key is the item's id.
func (d *PartitionKeyDefinition) isID() bool {
	paths := d.ParsedPaths()
	return len(paths) == 1 && paths[0].String() == "/id"
}

// Extract returns the full partition key of a document. A component is undefined if the document has no
// value, an array or an object at its path.
func (d *PartitionKeyDefinition) Extract(body []byte) PartitionKey {
	paths := d.ParsedPaths()
	values := make([]jsondoc.Value, len(paths))
	for i, p := range paths {
		if v := jsondoc.Get(body, p); v.Kind() < jsondoc.Array {
			values[i] = v
		}
	}
	return PartitionKey{values: values, given: true}
}

// Matches reports whether the key that a client sent equals the key of its document: the same number of
// components, each equal. Undefined, null and "" are three different values. If the definition is the system
// key (the container was created without a partition key), an empty key and a missing one mean undefined.
func (d *PartitionKeyDefinition) Matches(sent, extracted PartitionKey) bool {
	return slices.EqualFunc(d.Plain(sent).values, d.Plain(extracted).values, jsondoc.Equal)
}

// Plain returns a key in the form in which it is stored. For the system key (the container was created
// without a partition key), an empty or missing key becomes [{}].
func (d *PartitionKeyDefinition) Plain(k PartitionKey) PartitionKey {
	if d.SystemKey && len(k.values) == 0 {
		return NewPartitionKey(jsondoc.Value{})
	}
	return k
}

// MismatchText is Cosmos DB's error message for a partition key that has the wrong number of components,
// or differs from the values in the document. SDKs search error messages for it.
const MismatchText = "Partition key provided either doesn't correspond to definition in the collection " +
	"or doesn't match partition key field values specified in the document."

// FullKey returns the key that addresses an item by its id. A missing key is replaced by the id, if the
// partition key is the id, or by the value [{}] if the container has the system key, because its definition
// names no partition key. Otherwise a missing key fails with CodeBadRequest, and a wrong number of components
// with CodePartitionKeyMismatch.
func (d *PartitionKeyDefinition) FullKey(k PartitionKey, id string) (PartitionKey, error) {
	switch {
	case k.given || d.SystemKey:
	case d.isID():
		k = NewPartitionKey(jsondoc.StringValue(id))
	default:
		return PartitionKey{}, fault.New(fault.CodeBadRequest,
			"PartitionKey value must be supplied for this operation.")
	}
	if k = d.Plain(k); len(k.values) != d.Levels() {
		return PartitionKey{}, fault.New(fault.CodePartitionKeyMismatch, MismatchText)
	}
	return k, k.checkSize()
}

// KeyOfReplace returns the key of a request that replaces the item with the given id. A missing key is
// replaced by the id, if the partition key is the id.
func (d *PartitionKeyDefinition) KeyOfReplace(given PartitionKey, id string) PartitionKey {
	if given.given || !d.isID() {
		return given
	}
	return NewPartitionKey(jsondoc.StringValue(id))
}

// ScopeKey returns the key of a partition to list or query: a full key or, if the definition is
// hierarchical, a prefix of one.
func (d *PartitionKeyDefinition) ScopeKey(k PartitionKey) (PartitionKey, error) {
	k = d.Plain(k)
	if n := len(k.values); n < 1 || n > d.Levels() {
		return PartitionKey{}, fault.New(fault.CodePartitionKeyMismatch, MismatchText)
	}
	return k, k.checkSize()
}

// Prefix returns the EPK and the ordered encoding of the first n components of a full key. n can be less
// than the number of components only for a hierarchical key, whose EPK is the concatenation of its
// components' hashes.
func (d *PartitionKeyDefinition) Prefix(epk, pk []byte, n int) (prefixEPK, prefixPK []byte) {
	if n >= d.Levels() {
		return epk, pk
	}
	rest := pk
	for range n {
		_, tail, err := jsondoc.DecodeOrdered(rest)
		if err != nil {
			return epk, pk // not an encoding of a key of this definition
		}
		rest = tail
	}
	return epk[:n*EPKHashLen], pk[:len(pk)-len(rest)]
}

// PartitionKey is the value of a partition key, one component for each path of the definition. The zero
// PartitionKey means that no key was given. It differs from a key without components ([]) and from one whose
// component is undefined ([{}]). A PartitionKey is immutable. It refers to the bytes from which its values
// were parsed, which must not change while the key is in use.
type PartitionKey struct {
	values []jsondoc.Value
	given  bool
}

// NewPartitionKey returns a key with these components; without any it is the empty key []. An undefined
// component stands for a property that the document does not have. Arrays and objects become undefined, as
// they do in documents.
func NewPartitionKey(values ...jsondoc.Value) PartitionKey {
	values = slices.Clone(values)
	for i, v := range values {
		if v.Kind() >= jsondoc.Array {
			values[i] = jsondoc.Value{}
		}
	}
	return PartitionKey{values: values, given: true}
}

// ParsePartitionKey parses a key from JSON: an array of null, booleans, numbers and strings; {} is
// undefined. Anything else fails with CodeBadRequest.
func ParsePartitionKey(json []byte) (PartitionKey, error) {
	if err := jsondoc.Valid(json, jsondoc.Limits{}); err != nil {
		return PartitionKey{}, &fault.Error{Code: fault.CodeBadRequest, Message: "The partition key is not valid JSON: " + err.Error(), Err: err}
	}
	list := jsondoc.Of(json)
	if list.Kind() != jsondoc.Array {
		return PartitionKey{}, fault.New(fault.CodeBadRequest, "The partition key must be a JSON array, not "+list.Kind().String()+".")
	}
	k := PartitionKey{given: true}
	var err error
	list.Each(func(_ string, v jsondoc.Value) bool {
		switch {
		case v.Kind() < jsondoc.Array:
			k.values = append(k.values, v)
		case v.Kind() == jsondoc.Object && v.Len() == 0:
			k.values = append(k.values, jsondoc.Value{})
		default:
			err = fault.New(fault.CodeBadRequest, "A component of a partition key must be null, a boolean, a number, a string or {}, not "+v.Kind().String()+".")
		}
		return err == nil
	})
	if err != nil {
		return PartitionKey{}, err
	}
	return k, nil
}

// IsZero reports whether no key was given.
func (k PartitionKey) IsZero() bool { return !k.given }

// Len returns the number of components.
func (k PartitionKey) Len() int { return len(k.values) }

// Values returns the components. A number is read as a double. The slice must not be changed.
func (k PartitionKey) Values() []jsondoc.Value { return k.values }

// String returns the JSON form that ParsePartitionKey reads, with numbers in their shortest form; "" for a
// missing key. Equal keys have equal strings.
func (k PartitionKey) String() string {
	if !k.given {
		return ""
	}
	var b strings.Builder
	for i, v := range k.values {
		b.WriteByte("[,"[min(i, 1)])
		switch v.Kind() {
		case jsondoc.Undefined:
			b.WriteString("{}")
		case jsondoc.Number:
			b.Write(jsondoc.NumberValue(v.Num()).Raw())
		case jsondoc.String:
			b.Write(jsondoc.StringValue(v.Str()).Raw())
		default:
			b.Write(v.Raw())
		}
	}
	if len(k.values) == 0 {
		b.WriteByte('[')
	}
	b.WriteByte(']')
	return b.String()
}

// AppendOrdered appends the encoding of the key in which it is part of storage keys. It is the concatenation
// of the encodings of the components, so that all keys with the same first components are adjacent.
func (k PartitionKey) AppendOrdered(dst []byte) []byte {
	for _, v := range k.values {
		dst = jsondoc.AppendOrdered(dst, v)
	}
	return dst
}

// checkSize fails if the total length of the strings of a key is too large. The JSON text of a string is
// never shorter than the string, so most keys need not be decoded.
func (k PartitionKey) checkSize() error {
	text, size := 0, 0
	for _, v := range k.values {
		if v.Kind() == jsondoc.String {
			text += v.TextLen()
		}
	}
	if text <= maxPartitionKeyBytes {
		return nil
	}
	for _, v := range k.values {
		size += len(v.Str())
	}
	if size > maxPartitionKeyBytes {
		return fault.New(fault.CodeBadRequest, fmt.Sprintf(
			"Partition key value size limit exceeded: %d bytes are more than the %d allowed.", size, maxPartitionKeyBytes))
	}
	return nil
}

// DecodeOrdered decodes a key from the bytes that AppendOrdered writes.
func DecodeOrdered(pk []byte) (PartitionKey, error) {
	key := PartitionKey{given: true}
	for len(pk) > 0 {
		v, rest, err := jsondoc.DecodeOrdered(pk)
		if err != nil {
			return PartitionKey{}, err
		}
		key.values, pk = append(key.values, v), rest
	}
	return key, nil
}
