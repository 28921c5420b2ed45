package fanout

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/queue/rule"
)

// comparedPropertyName identifies a property that a correlation filter compares.
type comparedPropertyName struct {
	system rule.SystemProperty // 0: it is an application property
	user   string              // the application property's name, in lower case
}

// criteria returns the properties that a filter compares, in a fixed order, and the values that it requires
// of them, joined to one key. The list is empty for a filter that an index cannot answer: a filter of
// another kind, or one with a value that equals nothing.
func criteria(f rule.Filter) (list []comparedPropertyName, values string) {
	if f.Kind() != rule.KindCorrelation {
		return nil, ""
	}
	c := f.Correlation()
	keys := make(map[comparedPropertyName]string)
	for system, text := range map[rule.SystemProperty]string{rule.CorrelationID: c.CorrelationID,
		rule.MessageID: c.MessageID, rule.To: c.To, rule.ReplyTo: c.ReplyTo, rule.Label: c.Label,
		rule.SessionID: c.SessionID, rule.ReplyToSessionID: c.ReplyToSessionID,
		rule.ContentType: c.ContentType} {
		if text != "" {
			keys[comparedPropertyName{system: system}], _ = valueKey(rule.String(text))
		}
	}
	for _, p := range c.Properties {
		at := comparedPropertyName{user: strings.ToLower(p.Name)}
		key, ok := valueKey(p.Value)
		if _, twice := keys[at]; twice || !ok {
			return nil, ""
		}
		keys[at] = key
	}
	for at := range keys {
		list = append(list, at)
	}
	slices.SortFunc(list, func(a, b comparedPropertyName) int {
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

// appendKey appends key, preceded by its length, to joined, so that different lists of keys have different
// results.
func appendKey(joined, key string) string { return joined + strconv.Itoa(len(key)) + ":" + key }

// joined returns a text that is different for different lists of properties. It is the map key of the table
// of the correlation filters that compare these properties.
func joined(list []comparedPropertyName) (name string) {
	for _, c := range list {
		name = appendKey(name, strconv.Itoa(int(c.system))+c.user)
	}
	return name
}

// values returns the message's values of the given properties, joined to one key for the look-up of
// correlation filters that compare the same properties. ok is false if a property is missing.
func (v *MessageView) values(list []comparedPropertyName) (values string, ok bool) {
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

// valueKey returns the key of a value. Values that filters consider equal have the same key. ok is false for
// a value that equals nothing.
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
		return "n" + strconv.FormatUint(math.Float64bits(v.Float()+0), 36), true // + 0 converts -0 to 0
	}
	return "", false
}
