package value

import (
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/view"
	"github.com/mayflydb/mayfly/ttl"
)

// Check returns an error for options that are invalid for any item.
func (o *ImportTimestampOptions) Check() error {
	given := 0
	for _, set := range []bool{o.Timestamp != 0, o.Age != 0, o.ExpiresIn != 0} {
		if set {
			given++
		}
	}
	switch {
	case given > 1:
		return fault.New(fault.CodeBadRequest,
			"An import takes one of a timestamp, an age and a remaining time to live, not several.")
	case o.Timestamp < 0:
		return fault.New(fault.CodeBadRequest, "The timestamp of an import must not lie before 1970.")
	case o.Age < 0:
		return fault.New(fault.CodeBadRequest,
			"The age of an import must not be negative: its _ts would lie in the future.")
	case o.ExpiresIn < 0:
		return fault.New(fault.CodeBadRequest,
			"The remaining time to live of an import must be positive. For an item that has expired, give its age.")
	}
	return nil
}

// WrittenAt returns the _ts of an item that is imported at second now under a policy.
func (o *ImportTimestampOptions) WrittenAt(p *ttl.Policy, l ttl.Lifetime, now int64) (int64, error) {
	ts := now
	switch {
	case o.Timestamp != 0:
		ts = o.Timestamp
	case o.Age != 0:
		ts = now - int64(o.Age/time.Second)
	case o.ExpiresIn != 0:
		l.TS, l.Generation = now, p.Generation
		at, mortal := p.ExpiresAt(l)
		if !mortal {
			return 0, fault.New(fault.CodeBadRequest,
				"The import has a remaining time to live, but the item never expires.")
		}
		left := int64((o.ExpiresIn + time.Second - 1) / time.Second)
		if l.Based && left != at-now {
			return 0, fault.New(fault.CodeBadRequest,
				"The import has a remaining time to live, but the item's counts from its 'ttlPropertyPath'.")
		}
		if left > at-now {
			return 0, fault.New(fault.CodeBadRequest,
				"The import's remaining time to live is longer than the item's whole time to live.")
		}
		ts = now + left - (at - now)
	}
	switch {
	case ts > now:
		return 0, fault.New(fault.CodeBadRequest,
			"The _ts of an import must not lie in the future of the database's clock, which shows "+
				view.ClockText(now)+". A virtual clock can be moved there first.")
	case ts < 1:
		return 0, fault.New(fault.CodeBadRequest, "The _ts of an import must not lie before 1970.")
	}
	return ts, nil
}

// ArchiveMember is the name of a property of documents: in an import it has the document's age, in an
// archive the document's origin.
const ArchiveMember = "_mayfly"

// ParseImport splits an import into the document and its age. The age is given by a _ts, as in exported
// documents, or by a member _mayfly, which overrides the _ts: {"timestamp": seconds since 1970}, {"age":
// "29d"} or {"expiresIn": "5m"}. Neither member is stored. The _mayfly member of an archived document is
// not an age and remains part of the document. ParseImport returns CodeBadRequest if body is not a
// document or if its _ts or _mayfly is malformed.
func ParseImport(body []byte) (document []byte, o ImportTimestampOptions, err error) {
	// The size limit of documents is checked when the remaining document is stored.
	if body, err = jsondoc.Compact(body, jsondoc.Limits{MaxBytes: 2 * jsondoc.DefaultMaxBytes}); err != nil {
		return nil, o, definition.DocumentError(err)
	}
	if kind := jsondoc.Of(body).Kind(); kind != jsondoc.Object {
		return nil, o, definition.DocumentError(&jsondoc.NotObjectError{Kind: kind})
	}
	var ts, own jsondoc.Value
	document = make([]byte, 0, len(body))
	jsondoc.Of(body).Each(func(name string, v jsondoc.Value) bool {
		switch {
		case name == "_ts":
			ts = v
		case name == ArchiveMember && v.Member("deadLetterReason").Kind() == jsondoc.Undefined:
			own = v
		default:
			document = jsondoc.AppendString(append(document, ','), name)
			document = append(append(document, ':'), v.Raw()...)
		}
		return true
	})
	if len(document) == 0 {
		document = append(document, ',')
	}
	document[0] = '{'
	document = append(document, '}')
	if own.Kind() != jsondoc.Undefined {
		o, err = parseAge(own)
	} else if ts.Kind() != jsondoc.Undefined {
		o.Timestamp, err = parseTimestamp("_ts", ts)
	}
	return document, o, err
}

// parseAge parses the member _mayfly of an imported document, which says when it was written or when it
// expires: {"timestamp": 1700000000}, {"age": "2h"} or {"expiresIn": "30s"}.
func parseAge(v jsondoc.Value) (o ImportTimestampOptions, err error) {
	if v.Kind() != jsondoc.Object || v.Len() != 1 {
		return o, fault.New(fault.CodeBadRequest,
			"'_mayfly' must be an object with one of 'timestamp', 'age' and 'expiresIn'.")
	}
	v.Each(func(name string, v jsondoc.Value) bool {
		switch name {
		case "timestamp":
			o.Timestamp, err = parseTimestamp(name, v)
		case "age":
			o.Age, err = parseDuration(name, v)
		case "expiresIn":
			o.ExpiresIn, err = parseDuration(name, v)
		default:
			err = fault.New(fault.CodeBadRequest,
				"'"+name+"' is not known: '_mayfly' takes 'timestamp', 'age' or 'expiresIn'.")
		}
		return false
	})
	return o, err
}

// parseTimestamp parses a number of whole seconds since 1970, at least 1.
func parseTimestamp(name string, v jsondoc.Value) (int64, error) {
	n := v.Num()
	if v.Kind() != jsondoc.Number || n < 1 || n > 1e12 || n != float64(int64(n)) {
		return 0, fault.New(fault.CodeBadRequest, "'"+name+"' must be whole seconds since 1970.")
	}
	return int64(n), nil
}

func parseDuration(name string, v jsondoc.Value) (time.Duration, error) {
	d, err := ttl.ParseDuration(v.Str())
	if v.Kind() != jsondoc.String || err != nil {
		return 0, &fault.Error{Code: fault.CodeBadRequest,
			Message: "'" + name + "' must be a duration such as \"90s\", \"12h\" or \"29d\".", Err: err}
	}
	return d, nil
}
