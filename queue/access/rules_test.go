package access

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/ttl"
)

// ruleXML returns a shared access rule in XML. rights are names separated by "+".
func ruleXML(name, rights, primary, secondary string) string {
	b := `<AuthorizationRule i:type="SharedAccessAuthorizationRule"><ClaimType>SharedAccessKey</ClaimType>` +
		`<ClaimValue>None</ClaimValue><Rights>`
	for r := range strings.SplitSeq(rights, "+") {
		b += "<AccessRights>" + r + "</AccessRights>"
	}
	return b + "</Rights><KeyName>" + name + "</KeyName><PrimaryKey>" + primary +
		"</PrimaryKey><SecondaryKey>" +
		secondary + "</SecondaryKey></AuthorizationRule>"
}

// accessRulesByPath maps the paths of entities, in lower case, to their shared access rules in XML. It
// implements AccessRuleSource.
type accessRulesByPath map[string]string

func (e accessRulesByPath) AccessRules(path string) (entity string, rules []byte) {
	for path != "" {
		if rules, ok := e[path]; ok {
			return path, []byte(rules)
		}
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
	}
	return "", nil
}

// TestKeysOfEntities checks that a key of a queue or topic is valid for this entity and the paths below
// it, with the rights of the key, and for no other entity.
func TestKeysOfEntities(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	own := accessRulesByPath{"orders": ruleXML("own", "Send", "first", "second") + ruleXML("all",
		"Listen+Send+Manage", "k", ""),
		"a/news": ruleXML("own", "Listen", "third", "")}
	for _, mode := range []VerificationMode{Emulator, Strict} {
		g := New(TokenVerifierOptions{Mode: mode, Keys: []Key{{"root", All, "r"}, {"all", Listen, "other"}},
			Entities: own,
			Wall:     ttl.NewManual(at)})
		for _, c := range []struct {
			name, text, resource, path string
			need                       Rights
			want                       RefusalReason // 0: it is let in
		}{
			{"own", "first", "sb://h/Orders", "orders", Send, 0},
			{"own", "second", "sb://h/orders/", "orders", Send, 0},
			{"own", "first", "sb://h/orders", "orders", Listen, Lacking},
			{"own", "first", "sb://h/orders", "invoices", Send, Elsewhere},
			{"own", "third", "https://h/a/news/subscriptions/all", "a/news/subscriptions/all", Listen, 0},
			{"own", "third", "https://h/a/news", "a/news/Subscriptions/all/$DeadLetterQueue", Listen, 0},
			{"own", "third", "https://h/a/news", "a", Listen, Elsewhere},
			{"own", "first", "sb://h/", "orders", Send, Unknown},
			{"own", "first", "sb://h/invoices", "invoices", Send, Unknown},
			{"other", "first", "sb://h/orders", "orders", Send, Unknown},
			{"root", "r", "sb://h/orders", "orders", Manage, 0},
		} {
			grant, err := g.Token(Sign(Key{Name: c.name, Text: c.text}, c.resource, at.Add(time.Hour)))
			if err == nil {
				err = g.Allow(grant, c.path, c.need)
			}
			var denied *Error
			if errors.As(err, &denied) && denied.Reason != c.want || err == nil && c.want != 0 {
				t.Errorf("mode %d, %+v: %v", mode, c, err)
			}
		}
		// A key of the namespace and one of the entity of one name: the signature tells them apart.
		if mode == Strict {
			grant, err := g.Token(Sign(Key{Name: "all", Text: "k"}, "sb://h/orders", at.Add(time.Hour)))
			if err != nil || grant.Rights != All {
				t.Errorf("the entity's key has %v, %v", grant.Rights, err)
			}
			if _, err = g.Token(Sign(Key{Name: "own", Text: "x"}, "sb://h/orders",
				at.Add(time.Hour))); err == nil ||
				err.Error() != "InvalidSignature: The token has an invalid signature." {
				t.Errorf("a forged token: %v", err)
			}
			if _, err = g.Token(Sign(Key{Name: "own", Text: "first"}, "sb://h/orders", at)); err == nil ||
				err.Error() != "ExpiredToken: The token is expired. "+
					"Expiration time: '2027-01-15 08:00:00Z'." {
				t.Errorf("a token that is over: %v", err)
			}
		}
	}
}

// TestParseRules checks that ParseRules accepts valid rules and refuses malformed ones, with errors that
// contain no key.
func TestParseRules(t *testing.T) {
	if keys, err := ParseRules([]byte(ruleXML("a", "Listen+Send", "1", "2") + ruleXML("b",
		"Manage+Send+Listen", "3", ""))); err != nil ||
		len(keys) != 3 || keys[1] != (Key{"a", Listen | Send, "2"}) || keys[2] != (Key{"b", All, "3"}) {
		t.Errorf("%v, %v", keys, err)
	}
	if keys, err := ParseRules(nil); err != nil || len(keys) != 0 {
		t.Errorf("no rules: %v, %v", keys, err)
	}
	for _, text := range []string{"x<", ruleXML("", "Send", "secret", ""), ruleXML("a", "Fly", "secret", ""),
		ruleXML("a", "Manage", "secret", ""), ruleXML("a", "", "secret", ""),
		strings.Repeat(ruleXML("a", "Send", "secret", ""), maxRules+1), "<AuthorizationRule>"} {
		keys, err := ParseRules([]byte(text))
		var own *KeyError
		if !errors.As(err, &own) || keys != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, %v", text, keys, err)
		}
	}
}
