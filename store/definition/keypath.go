package definition

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
)

// parseKeyPath is jsondoc.ParsePath for a path of a new partition key, with one more rule: names without
// quotes consist of letters, digits, '_' and '-'. The error contains the position of the failure, counted
// in characters from 0.
func parseKeyPath(text string) (jsondoc.Path, error) {
	p, err := jsondoc.ParsePath(text)
	at := 0
	var wrong *jsondoc.PathError
	switch {
	case err == nil:
		if at = unquotedFault(text); at < 0 {
			return p, nil
		}
	case errors.As(err, &wrong):
		if at = unquotedFault(text[:wrong.Offset]); at < 0 {
			at = wrong.Offset
		}
	}
	return p, &fault.Error{Code: fault.CodeBadRequest, Err: err,
		Message: fmt.Sprintf("The partition key component definition path '%s' could not be "+
			"accepted, failed near position '%d'. Partition key paths must contain only valid characters and not contain a trailing slash "+
			"or wildcard character.", text, utf8.RuneCountInString(text[:at]))}
}

// unquotedFault returns the position of the first character that is not allowed outside quotes, -1 if there
// is none.
func unquotedFault(path string) int {
	var quote byte
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case i > 0 && path[i-1] == '/' && (c == '"' || c == '\''):
			quote = c
		case c != '/' && c != '_' && c != '-' && c < utf8.RuneSelf && !isWordByte(c):
			return i
		}
	}
	return -1
}

// missingLevelText is Cosmos DB's text if a document lacks a level of a hierarchical key.
const missingLevelText = "PartitionKey extracted from document doesn't match the one specified in the header."

// KeyOf returns the key under which a document is stored. It fails with CodePartitionKeyMismatch if given
// is a key that differs from the document's own.
func (d *PartitionKeyDefinition) KeyOf(given PartitionKey, body []byte) (PartitionKey, error) {
	k := d.Extract(body)
	if given.given && !d.Matches(given, k) {
		text := MismatchText
		if slices.ContainsFunc(k.values[min(1, len(k.values)):], func(v jsondoc.Value) bool {
			return v.Kind() == jsondoc.Undefined
		}) {
			text = missingLevelText
		}
		return PartitionKey{}, fault.New(fault.CodePartitionKeyMismatch, text)
	}
	return k, k.checkSize()
}
