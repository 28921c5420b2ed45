package index

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

// PathSegment is one step into a document: to a property, or from an array to any of its elements.
type PathSegment struct {
	Name    string // of the property
	Element bool   // any element of an array, written []; Name is empty
}

// PathPattern is a parsed path of an indexing policy. It is immutable and cheap to copy.
type PathPattern struct {
	segments []PathSegment
	subtree  bool // ends in /*, not in /?
}

// ParsePattern parses a path of an indexing policy: names between slashes, in double quotes if they
// contain special characters, and [] for the elements of an array. At the end it has ? for the value at
// the path or * for that value and everything below. The path / is an old spelling of /*. The error is a
// *PolicyError without a Path.
func ParsePattern(s string) (PathPattern, error) {
	if s == "/" {
		return PathPattern{subtree: true}, nil
	}
	body, subtree := strings.CutSuffix(s, "/*")
	if !subtree {
		var scalar bool
		if body, scalar = strings.CutSuffix(s, "/?"); !scalar {
			return PathPattern{}, badPattern(s, len(s), "a path ends in /? or /*")
		}
		if body == "" {
			return PathPattern{}, &PolicyError{Reason: fmt.Sprintf(
				"The indexing path '%s' could not be accepted. Please ensure that the path has at least one label.", s)}
		}
	}
	p := PathPattern{subtree: subtree}
	for at := 0; at < len(body); {
		end := labelEnd(body, at)
		if label := body[at:end]; label == "/[]" {
			p.segments = append(p.segments, PathSegment{Element: true})
		} else {
			one, err := jsondoc.ParsePath(label)
			if err != nil {
				return PathPattern{}, badPath(s, at, err)
			}
			p.segments = append(p.segments, PathSegment{Name: one.Segments()[0]})
		}
		at = end
	}
	return p, nil
}

// labelEnd returns the end of the label that begins with the slash at s[at]: the next slash outside
// quotes.
func labelEnd(s string, at int) int {
	quoted, quote := false, byte('"')
	if at+1 < len(s) && s[at+1] == '\'' {
		quote = '\''
	}
	for i := at + 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			quoted = !quoted
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '/' && !quoted:
			return i
		}
	}
	return len(s)
}

// badPath returns the error for an invalid path in the part of s that begins at s[at]. err is the error of
// jsondoc.ParsePath for that part.
func badPath(s string, at int, err error) error {
	var wrong *jsondoc.PathError
	if !errors.As(err, &wrong) {
		return badPattern(s, at, err.Error())
	}
	return badPattern(s, at+wrong.Offset, wrong.Reason)
}

func badPattern(s string, at int, reason string) error {
	return &PolicyError{Reason: fmt.Sprintf(
		"The indexing path '%s' could not be accepted, failed near position '%d'. "+
			"Please ensure that the path is a valid path: %s.", s, at, reason)}
}

// Segments returns the steps to the position of the pattern. The slice must not be modified.
func (p PathPattern) Segments() []PathSegment { return p.segments }

// Subtree reports whether the pattern also matches everything below its position, that is, whether it ends
// in /*.
func (p PathPattern) Subtree() bool { return p.subtree }

// Matches reports whether the pattern matches a scalar at a path.
func (p PathPattern) Matches(path ...PathSegment) bool {
	if p.subtree {
		return len(path) >= len(p.segments) && slices.Equal(p.segments, path[:len(p.segments)])
	}
	return slices.Equal(p.segments, path)
}

// String returns the pattern in the syntax of ParsePattern. Two patterns are equal if their strings are
// equal.
func (p PathPattern) String() string {
	var b strings.Builder
	for _, s := range p.segments {
		if s.Element {
			b.WriteString("/[]")
		} else {
			b.WriteString(jsondoc.PathOf(s.Name).String())
		}
	}
	if p.subtree {
		return b.String() + "/*"
	}
	return b.String() + "/?"
}
