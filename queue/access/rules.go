package access

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxRules is the maximal number of shared access rules of an entity.
const maxRules = 12

// accessRule is a shared access authorization rule of an entity, in XML: two keys of one name, with rights.
type accessRule struct {
	KeyName      string
	PrimaryKey   string
	SecondaryKey string
	Rights       []string `xml:"Rights>AccessRights"`
}

// ParseRules parses the shared access rules of an entity: a sequence of AuthorizationRule elements of the
// service's schema. The primary and the secondary key of a rule become one Key each. ParseRules fails with a
// *KeyError, whose text contains no key.
func ParseRules(elements []byte) (keys []Key, err error) {
	d := xml.NewDecoder(bytes.NewReader(elements))
	for count := 1; ; count++ {
		var r accessRule
		switch err := d.Decode(&r); {
		case errors.Is(err, io.EOF):
			return keys, nil
		case err != nil:
			return nil, &KeyError{"the shared access rules cannot be read"}
		case count > maxRules:
			return nil, &KeyError{fmt.Sprintf("an entity has at most %d shared access rules", maxRules)}
		case r.KeyName == "":
			return nil, &KeyError{"a shared access rule has a KeyName"}
		}
		rights, err := ParseRights(strings.Join(r.Rights, "+"))
		if err != nil {
			return nil, err
		}
		if rights&Manage != 0 && rights != All {
			return nil, &KeyError{"Manage goes with Send and Listen alone"}
		}
		for _, text := range []string{r.PrimaryKey, r.SecondaryKey} {
			if text != "" {
				keys = append(keys, Key{r.KeyName, rights, text})
			}
		}
	}
}

// AccessRuleSource is the source of shared access rules. It must be safe for concurrent use.
type AccessRuleSource interface {
	// AccessRules returns the path and the rules of the queue or topic that path names or belongs to. For
	// "news/subscriptions/all" it returns those of "news". Case is ignored. It returns no rules if there is
	// no such entity.
	AccessRules(path string) (entity string, rules []byte)
}

// signingKey is a key that may have signed a token. path is the entity that has the key; nil for the
// namespace.
type signingKey struct {
	Key
	path []string
}

// signers returns the keys with this name that are valid for a path.
func (g *TokenVerifier) signers(name string, path []string) (list []signingKey) {
	if k, known := g.keys[name]; known {
		list = append(list, signingKey{Key: k})
	}
	if g.entities == nil || len(path) == 0 {
		return list
	}
	entity, rules := g.entities.AccessRules(strings.Join(path, "/"))
	keys, err := ParseRules(rules)
	if err != nil {
		return list // rules that cannot be parsed have no keys
	}
	for _, k := range keys {
		if k.Name == name {
			list = append(list, signingKey{k, segments(entity)})
		}
	}
	return list
}
