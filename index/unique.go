package index

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// Cosmos DB's limits of a unique key policy.
const (
	maxUniqueKeys     = 10
	maxUniqueKeyPaths = 16
)

// UniqueKeyConstraints are the unique key constraints of a container: no two documents of a logical partition
// may have the same values for all paths of a constraint. They are immutable. The zero UniqueKeyConstraints
// has no constraints and stands for a missing policy.
type UniqueKeyConstraints struct {
	keys []uniqueKeyConstraint // nil: no policy; empty: an empty list, which clients read back
}

// uniqueKeyConstraint is one constraint: its paths as the client sent them, and parsed.
type uniqueKeyConstraint struct {
	texts []string // as sent, which clients read back
	paths []jsondoc.Path
}

// NewUniqueKeys returns constraints with the given lists of paths such as /a/b, one list per constraint.
// There may be at most 10 constraints of 1 to 16 paths. A path may occur only once in a constraint and
// must not enter arrays. The error is a *PolicyError.
func NewUniqueKeys(constraints ...[]string) (UniqueKeyConstraints, error) {
	if len(constraints) > maxUniqueKeys {
		return UniqueKeyConstraints{}, refuse(fmt.Sprintf("A container may have at most %d unique keys, not %d.",
			maxUniqueKeys, len(constraints)), "uniqueKeys")
	}
	u := UniqueKeyConstraints{keys: []uniqueKeyConstraint{}}
	for i, texts := range constraints {
		key, err := newUniqueKeyConstraint(texts)
		if err != nil {
			return UniqueKeyConstraints{}, at(err, "uniqueKeys[%d].paths", i)
		}
		u.keys = append(u.keys, key)
	}
	return u, nil
}

func newUniqueKeyConstraint(texts []string) (uniqueKeyConstraint, error) {
	if len(texts) < 1 || len(texts) > maxUniqueKeyPaths {
		return uniqueKeyConstraint{}, &PolicyError{
			Reason: fmt.Sprintf("A unique key must have 1 to %d paths; this one has %d.",
				maxUniqueKeyPaths, len(texts))}
	}
	key := uniqueKeyConstraint{texts: slices.Clone(texts)}
	for _, text := range texts {
		path, err := jsondoc.ParsePath(text)
		if err != nil {
			return uniqueKeyConstraint{}, badPath(text, 0, err)
		}
		if slices.ContainsFunc(key.paths, func(p jsondoc.Path) bool { return p.String() == path.String() }) {
			return uniqueKeyConstraint{}, &PolicyError{
				Reason: fmt.Sprintf("The unique key path '%s' was specified more than once.", text)}
		}
		key.paths = append(key.paths, path)
	}
	return key, nil
}

// uniqueKeysJSON is the JSON form of UniqueKeyConstraints: Cosmos DB's uniqueKeyPolicy.
type uniqueKeysJSON struct {
	UniqueKeys []uniqueKeyJSON `json:"uniqueKeys"`
}

// uniqueKeyJSON is the JSON form of a uniqueKeyConstraint.
type uniqueKeyJSON struct {
	Paths []string `json:"paths"`
}

// ParseUniqueKeys parses Cosmos DB's uniqueKeyPolicy from JSON. The error is a *PolicyError.
func ParseUniqueKeys(raw []byte) (UniqueKeyConstraints, error) {
	var u UniqueKeyConstraints
	if err := json.Unmarshal(raw, &u); err != nil {
		return UniqueKeyConstraints{}, decodeError(err)
	}
	return u, nil
}

// UnmarshalJSON parses a uniqueKeyPolicy by the rules of ParseUniqueKeys: see json.Unmarshaler. It leaves u
// unchanged if the text is null.
func (u *UniqueKeyConstraints) UnmarshalJSON(raw []byte) error {
	if err := strictObject(raw); err != nil || isNull(raw) {
		return err
	}
	var w uniqueKeysJSON
	if err := json.Unmarshal(raw, &w); err != nil {
		return decodeError(err)
	}
	lists := make([][]string, len(w.UniqueKeys))
	for i, k := range w.UniqueKeys {
		lists[i] = k.Paths
	}
	keys, err := NewUniqueKeys(lists...)
	if err != nil {
		return err
	}
	*u = keys
	return nil
}

// MarshalJSON returns the uniqueKeyPolicy as a client reads it back, with the paths as sent.
func (u UniqueKeyConstraints) MarshalJSON() ([]byte, error) {
	w := uniqueKeysJSON{UniqueKeys: make([]uniqueKeyJSON, len(u.keys))}
	for i, k := range u.keys {
		w.UniqueKeys[i].Paths = k.texts
	}
	return jsondoc.Marshal(w)
}

// IsZero reports whether u stands for a missing policy.
func (u UniqueKeyConstraints) IsZero() bool { return u.keys == nil }

// Len returns the number of constraints.
func (u UniqueKeyConstraints) Len() int { return len(u.keys) }

// Equal reports whether both have the same constraints over the same paths, in the same order. A missing
// policy equals an empty list.
func (u UniqueKeyConstraints) Equal(v UniqueKeyConstraints) bool {
	return slices.EqualFunc(u.keys, v.keys, func(a, b uniqueKeyConstraint) bool {
		return slices.EqualFunc(a.paths, b.paths,
			func(p, q jsondoc.Path) bool { return p.String() == q.String() })
	})
}

// maxUniqueValues is the maximum length of encoded values that are not replaced by their hash, in bytes.
const maxUniqueValues = 512

// Values appends an encoding of a document's values for one of the constraints, counted from 0. Two
// documents have the same encoding if and only if their values are equal. As in Cosmos DB, a missing value
// counts as null, so only one document of a partition may lack the value. Arrays are equal if they have
// equal elements, objects if they have equal members in any order. An encoding of more than 512 bytes is
// replaced by FF and its SHA-256, because keys should be short and their order is not used. So the result
// has at most 512 bytes. The first byte distinguishes the two forms: type bytes of values are far below
// 0xFF.
func (u UniqueKeyConstraints) Values(dst []byte, constraint int, body []byte) []byte {
	start := len(dst)
	for _, p := range u.keys[constraint].paths {
		v := jsondoc.Get(body, p)
		if v.Kind() == jsondoc.Undefined {
			v = jsondoc.NullValue()
		}
		dst = jsondoc.AppendOrdered(dst, v)
	}
	if len(dst)-start > maxUniqueValues {
		sum := sha256.Sum256(dst[start:])
		dst = append(append(dst[:start], 0xFF), sum[:]...)
	}
	return dst
}
