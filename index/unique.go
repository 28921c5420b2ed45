package index

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// The most that Cosmos DB allows.
const (
	maxUniqueKeys     = 10
	maxUniqueKeyPaths = 16
)

// UniqueKeys are the unique key constraints of a container: inside one logical partition no two documents may
// agree in all values of a constraint. They are immutable. The zero UniqueKeys are none, and a policy that
// was not given.
type UniqueKeys struct {
	keys []uniqueKey // nil: not given; empty: given as an empty list, which clients get back
}

type uniqueKey struct {
	texts []string // as given: clients get them back
	paths []jsondoc.Path
}

// NewUniqueKeys returns constraints over these lists of paths, /a/b, one list for each constraint: at most 10
// constraints of 1 to 16 paths, each path once in its constraint; paths do not enter arrays. The error is a
// *PolicyError.
func NewUniqueKeys(constraints ...[]string) (UniqueKeys, error) {
	if len(constraints) > maxUniqueKeys {
		return UniqueKeys{}, refuse(fmt.Sprintf("A container may have at most %d unique keys, not %d.",
			maxUniqueKeys, len(constraints)), "uniqueKeys")
	}
	u := UniqueKeys{keys: []uniqueKey{}}
	for i, texts := range constraints {
		key, err := newUniqueKey(texts)
		if err != nil {
			return UniqueKeys{}, at(err, "uniqueKeys[%d].paths", i)
		}
		u.keys = append(u.keys, key)
	}
	return u, nil
}

func newUniqueKey(texts []string) (uniqueKey, error) {
	if len(texts) < 1 || len(texts) > maxUniqueKeyPaths {
		return uniqueKey{}, &PolicyError{
			Reason: fmt.Sprintf("A unique key must have 1 to %d paths; this one has %d.",
				maxUniqueKeyPaths, len(texts))}
	}
	key := uniqueKey{texts: slices.Clone(texts)}
	for _, text := range texts {
		path, err := jsondoc.ParsePath(text)
		if err != nil {
			return uniqueKey{}, badPath(text, 0, err)
		}
		if slices.ContainsFunc(key.paths, func(p jsondoc.Path) bool { return p.String() == path.String() }) {
			return uniqueKey{}, &PolicyError{
				Reason: fmt.Sprintf("The unique key path '%s' was specified more than once.", text)}
		}
		key.paths = append(key.paths, path)
	}
	return key, nil
}

// uniqueKeysJSON is the form of UniqueKeys in JSON: Cosmos DB's uniqueKeyPolicy.
type uniqueKeysJSON struct {
	UniqueKeys []uniqueKeyJSON `json:"uniqueKeys"`
}

type uniqueKeyJSON struct {
	Paths []string `json:"paths"`
}

// ParseUniqueKeys reads Cosmos DB's uniqueKeyPolicy from JSON. The error is a *PolicyError.
func ParseUniqueKeys(raw []byte) (UniqueKeys, error) {
	var u UniqueKeys
	if err := json.Unmarshal(raw, &u); err != nil {
		return UniqueKeys{}, decodeError(err)
	}
	return u, nil
}

// UnmarshalJSON is ParseUniqueKeys. It leaves u alone where the text is null.
func (u *UniqueKeys) UnmarshalJSON(raw []byte) error {
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

// MarshalJSON returns the uniqueKeyPolicy that a client reads back, with paths as they were given.
func (u UniqueKeys) MarshalJSON() ([]byte, error) {
	w := uniqueKeysJSON{UniqueKeys: make([]uniqueKeyJSON, len(u.keys))}
	for i, k := range u.keys {
		w.UniqueKeys[i].Paths = k.texts
	}
	return jsondoc.Marshal(w)
}

// IsZero reports whether u was not given.
func (u UniqueKeys) IsZero() bool { return u.keys == nil }

// Len returns the number of constraints.
func (u UniqueKeys) Len() int { return len(u.keys) }

// Equal reports whether both hold the same constraints over the same paths, in the same order. Not given is
// equal to an empty list.
func (u UniqueKeys) Equal(v UniqueKeys) bool {
	return slices.EqualFunc(u.keys, v.keys, func(a, b uniqueKey) bool {
		return slices.EqualFunc(a.paths, b.paths,
			func(p, q jsondoc.Path) bool { return p.String() == q.String() })
	})
}

// maxUniqueValues is how many bytes of values Values returns as they are.
const maxUniqueValues = 512

// Values appends what a document holds for one of the constraints, counted from 0, in a form in which equal
// values, and only they, have equal bytes. A missing value counts as null, as Cosmos DB has it, so one
// document of a partition may lack it. Arrays and objects are values like others: the same elements, the same
// members in any order. Values of more than 512 bytes are replaced by their SHA-256, as keys are to stay
// short and nobody asks for them in order: the result is at most 512 bytes long. Its first byte tells the two
// forms apart: types of values are far below 0xFF.
func (u UniqueKeys) Values(dst []byte, constraint int, body []byte) []byte {
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
