package access

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxRules is how many shared access rules an entity can have.
const maxRules = 12

// rule is a shared access rule as entities have them: two keys of one name, with rights.
type rule struct {
	KeyName      string
	PrimaryKey   string
	SecondaryKey string
	Rights       []string `xml:"Rights>AccessRights"`
}

// ParseRules reads the shared access rules of an entity: elements AuthorizationRule, as the service's schema
// has them, one behind the other. Each rule gives a key, and a second one where it has one. It fails with a
// *KeyError, which does not repeat the keys.
func ParseRules(elements []byte) (keys []Key, err error) {
	d := xml.NewDecoder(bytes.NewReader(elements))
	for count := 1; ; count++ {
		var r rule
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

// Entities knows the shared access rules of queues and topics. Its methods may be called from any goroutine.
type Entities interface {
	// AccessRules are the rules of the queue or topic that a path leads to or into, in any case, with its
	// path: of "news/subscriptions/all" those of "news". There are none where the path leads to no entity.
	AccessRules(path string) (entity string, rules []byte)
}

// signer is a key that may have signed a token, and the entity whose rule it is of; nil: the namespace.
type signer struct {
	Key
	path []string
}

// signers are the keys of a name that are good for what a token is for.
func (g *Guard) signers(name string, path []string) (list []signer) {
	if k, known := g.keys[name]; known {
		list = append(list, signer{Key: k})
	}
	if g.entities == nil || len(path) == 0 {
		return list
	}
	entity, rules := g.entities.AccessRules(strings.Join(path, "/"))
	keys, err := ParseRules(rules)
	if err != nil {
		return list // these are of no use to anybody; the ports refuse them
	}
	for _, k := range keys {
		if k.Name == name {
			list = append(list, signer{k, segments(entity)})
		}
	}
	return list
}
