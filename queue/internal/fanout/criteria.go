package fanout

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/queue/rule"
)

// criterion is a property that a correlation filter looks at.
type criterion struct {
	system rule.System // 0: it is the sender's
	user   string      // its name, in lower case
}

// criteria are all that a filter looks at, in an order of their own, and the values that it wants, joined.
// There are none for a filter that must be evaluated: one of another kind, or one that asks for a value which
// nothing is equal to.
func criteria(f rule.Filter) (list []criterion, values string) {
	if f.Kind() != rule.KindCorrelation {
		return nil, ""
	}
	c := f.Correlation()
	keys := make(map[criterion]string)
	for system, text := range map[rule.System]string{rule.CorrelationID: c.CorrelationID,
		rule.MessageID: c.MessageID, rule.To: c.To, rule.ReplyTo: c.ReplyTo, rule.Label: c.Label,
		rule.SessionID: c.SessionID, rule.ReplyToSessionID: c.ReplyToSessionID,
		rule.ContentType: c.ContentType} {
		if text != "" {
			keys[criterion{system: system}], _ = valueKey(rule.String(text))
		}
	}
	for _, p := range c.Properties {
		at := criterion{user: strings.ToLower(p.Name)}
		key, ok := valueKey(p.Value)
		if _, twice := keys[at]; twice || !ok {
			return nil, ""
		}
		keys[at] = key
	}
	for at := range keys {
		list = append(list, at)
	}
	slices.SortFunc(list, func(a, b criterion) int {
		if a.system != b.system {
			return int(a.system) - int(b.system)
		}
		return strings.Compare(a.user, b.user)
	})
	for _, at := range list {
		values = appendKey(values, keys[at])
	}
	return list, values
}

// appendKey joins keys so that no two lists of them are the same.
func appendKey(joined, key string) string { return joined + strconv.Itoa(len(key)) + ":" + key }

// joined is the name of an index.
func joined(list []criterion) (name string) {
	for _, c := range list {
		name = appendKey(name, strconv.Itoa(int(c.system))+c.user)
	}
	return name
}

// values are those that a message has for the criteria of an index, joined; ok is false where it has not all.
func (v *View) values(list []criterion) (values string, ok bool) {
	for _, c := range list {
		var value rule.Value
		if c.system == 0 {
			value = v.User(c.user)
		} else {
			value = v.System(c.system)
		}
		key, ok := valueKey(value)
		if !ok {
			return "", false
		}
		values = appendKey(values, key)
	}
	return values, true
}

// valueKey is the same for values that filters take for equal; ok is false for a value that is equal to none.
func valueKey(v rule.Value) (key string, ok bool) {
	switch v.Kind {
	case rule.Text:
		return "t" + v.Text(), true
	case rule.GUID:
		return "g" + v.Text(), true
	case rule.Binary:
		return "x" + v.Text(), true
	case rule.Boolean, rule.Span, rule.Moment:
		return strconv.Itoa(int(v.Kind)) + " " + strconv.FormatInt(v.Int(), 36), true
	case rule.Integer, rule.Float:
		return "n" + strconv.FormatUint(math.Float64bits(v.Float()+0), 36), true // so that -0 is 0
	}
	return "", false
}
