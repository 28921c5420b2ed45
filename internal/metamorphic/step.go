package metamorphic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ItemKey names an item: its id, and its partition key in the notation of histories, such as "x", or "x/y"
// for a hierarchical key (see components).
type ItemKey struct{ ID, Partition string }

// HomePartition is the partition of an item whose key is written without one: the key "7" is "7@p".
const HomePartition = "p"

// String formats the key as id, or id@partition.
func (k ItemKey) String() string {
	if k.Partition == HomePartition {
		return k.ID
	}
	return k.ID + "@" + k.Partition
}

func parseItemKey(s string) ItemKey {
	id, partition, ok := strings.Cut(s, "@")
	if !ok {
		partition = HomePartition
	}
	return ItemKey{id, partition}
}

// The verbs of a step and their arguments.
const (
	Create   = "create"   // key
	Upsert   = "upsert"   // key
	Replace  = "replace"  // key; as: the id that the item gets
	Delete   = "delete"   // key
	Patch    = "patch"    // key: set ttl, u and v, if they are given
	Batch    = "batch"    // atomic, bulk or stop, and operations as verb:key
	Read     = "read"     // key
	ReadMany = "readmany" // keys
	List     = "list"     // everything in a scope, fetched in pages
	Open     = "open"     // name of a cursor: the first page of a scope
	Next     = "next"     // name of a cursor: its next page
	Clear    = "clear"    // partition: delete all items in it
	Ask      = "query"    // a query over a scope; the text of the query comes last
	Default  = "default"  // off, null or a JSON token: the container's default time to live
	Path     = "path"     // none, or the property from which times to live count
	// Reindex replaces the container's indexing policy by the policy in its argument. Without an argument, it
	// switches between SomePaths and DefaultPolicy.
	Reindex = "reindex"
	Sweep   = "sweep"  // purge everything that is due
	Reopen  = "reopen" // close the store and open it again
	Split   = "split"  // partition: split the range that holds it
)

// HistoryStep is one operation of a history, with the moment at which it runs.
type HistoryStep struct {
	At   int64    // milliseconds since the history began
	Verb string   // one of the verbs above
	Args []string // the arguments of the verb: keys, the name of a cursor, a partition, a default

	// TTL, U and V are the properties ttl, u and v of the document that is written, as JSON tokens; an
	// empty one is left out. For a list, U restricts it to items with this value of u.
	TTL, U, V string
	Base      string // a token, or +n: the second n of the history
	Extra     string // one more property, name:token
	Fields    string // more properties: a JSON object
	Sys       bool   // the document is sent with system properties that have wrong values
	NoKey     bool   // the partition key is not sent
	As        string // the id in the document of a replace, if it differs

	// IfMatch and IfNoneMatch are the preconditions of the step: cur (the etag that the last write of this
	// key returned), cur-bare (without its quotes), cur-weak, old (the one before), bogus, *, or empty for
	// none.
	IfMatch, IfNoneMatch string

	Query // the query of an Ask; SELECT is its first word

	// In, Range and EPK are the scope of a list or a query; at most one of them is set. In is the key of the
	// partition that is read, or a prefix of hierarchical keys ("x/*"). Range is the key of a partition whose
	// partition range is read. EPK is an effective partition key at which the container is divided: one
	// request reads the keys below it, and another one the rest.
	In, Range, EPK string
	Page           int // items per page; 0 is the store's default

	Between string // concurrent operations: see ConcurrentOperation
}

// Key returns the item that a step about a single item names, its first argument.
func (s HistoryStep) Key() ItemKey { return parseItemKey(s.Args[0]) }

// Document returns the key of the document that a step writes.
func (s HistoryStep) Document() ItemKey {
	k := s.Key()
	if s.As != "" {
		k.ID = s.As
	}
	return k
}

var argCount = map[string][2]int{Create: {1, 1}, Upsert: {1, 1}, Replace: {1, 1}, Delete: {1, 1},
	Patch: {1, 1}, Batch: {2, 100}, Read: {1, 1}, ReadMany: {1, 100},
	List: {0, 0}, Open: {1, 1}, Next: {1, 1}, Ask: {0, 0}, Clear: {1, 1}, Default: {1, 1}, Path: {1, 1},
	Reindex: {0,
		1}, Sweep: {0, 0}, Reopen: {0, 0}, Split: {1, 1}}

// options returns the fields of a step that are written as name=value.
func (s *HistoryStep) options() []nameValueStepField {
	return []nameValueStepField{{"ttl", &s.TTL}, {"base", &s.Base},
		{"u", &s.U}, {"v", &s.V}, {"as", &s.As}, {"extra", &s.Extra},
		{"fields", &s.Fields}, {"if-match", &s.IfMatch},
		{"if-none-match", &s.IfNoneMatch}, {"in", &s.In}, {"range", &s.Range}, {"epk", &s.EPK}, {"between",
			&s.Between}}
}

// nameValueStepField is a field of a step that is written as name=value.
type nameValueStepField struct {
	name  string
	value *string
}

// String formats the step for ParseStep.
func (s HistoryStep) String() string {
	var b strings.Builder
	b.WriteString("at " + strconv.FormatFloat(float64(s.At)/1000, 'f', -1, 64) + " " + s.Verb)
	for _, a := range s.Args {
		b.WriteString(" " + a)
	}
	for _, o := range s.options() {
		if *o.value != "" {
			b.WriteString(" " + o.name + "=" + *o.value)
		}
	}
	if s.Page != 0 {
		b.WriteString(" page=" + strconv.Itoa(s.Page))
	}
	if s.Sys {
		b.WriteString(" sys")
	}
	if s.NoKey {
		b.WriteString(" nokey")
	}
	for _, p := range s.Params {
		b.WriteString(" " + p.Name + "=" + p.Value)
	}
	if s.Text != "" {
		b.WriteString(" " + s.Text)
	}
	return b.String()
}

// StepSyntaxError reports a line that is not a step.
type StepSyntaxError struct{ Line, Reason string }

func (e *StepSyntaxError) Error() string { return fmt.Sprintf("%q: %s", e.Line, e.Reason) }

// ParseStep parses "[at SECONDS] verb args... [SELECT ...]". Without "at" the time of the step is now, in
// milliseconds since the history began.
func ParseStep(line string, now int64) (HistoryStep, error) {
	s := HistoryStep{At: now}
	before, text, hasText := strings.Cut(line, " SELECT ")
	if hasText {
		s.Text = "SELECT " + text
	}
	words := strings.Fields(before)
	if len(words) > 1 && words[0] == "at" {
		sec, err := strconv.ParseFloat(words[1], 64)
		if err != nil {
			return s, &StepSyntaxError{line, "the moment is not a number of seconds"}
		}
		s.At, words = int64(sec*1000+0.5), words[2:]
	}
	if len(words) == 0 {
		return s, &StepSyntaxError{line, "no verb"}
	}
	s.Verb = words[0]
	for _, w := range words[1:] {
		if err := s.word(line, w); err != nil {
			return s, err
		}
	}
	if _, ok := parseActs(s.Between); !ok {
		return s, &StepSyntaxError{line, "what happens meanwhile is not gap:verb:argument"}
	}
	if n, ok := argCount[s.Verb]; !ok || len(s.Args) < n[0] || len(s.Args) > n[1] ||
		hasText != (s.Verb == Ask) {
		return s, &StepSyntaxError{line, "unknown verb or wrong number of arguments"}
	}
	return s, nil
}

func (s *HistoryStep) word(line, w string) error {
	name, value, isOption := strings.Cut(w, "=")
	switch {
	case w == "sys":
		s.Sys = true
	case w == "nokey":
		s.NoKey = true
	case isOption && name[0] == '@':
		s.Params = append(s.Params, QueryParameter{name, value})
	case !isOption:
		s.Args = append(s.Args, w)
	case name == "page":
		n, err := strconv.Atoi(value)
		if err != nil {
			return &StepSyntaxError{line, "page is not a number"}
		}
		s.Page = n
	default:
		opts := s.options()
		i := slices.IndexFunc(opts, func(o nameValueStepField) bool { return o.name == name })
		if i < 0 {
			return &StepSyntaxError{line, "unknown option " + name}
		}
		*opts[i].value = value
	}
	return nil
}

// components returns the JSON tokens of a partition's key. The name none stands for undefined (an empty
// token); null, true, false and numbers stand for themselves; anything else is a string. In a hierarchical
// container the name is split at its slashes and padded with undefined; a prefix ("x/*") is not padded.
func (c TestedContainerConfig) components(partition string) []string {
	parts := []string{partition}
	if c.Kind == Hierarchical {
		prefix, isPrefix := strings.CutSuffix(partition, "/*")
		parts = strings.Split(prefix, "/")
		for !isPrefix && len(parts) < len(c.paths()) {
			parts = append(parts, "none")
		}
	}
	for i, p := range parts {
		parts[i] = token(p)
	}
	return parts
}

func token(name string) string {
	if _, err := strconv.ParseFloat(name, 64); err == nil {
		return name
	}
	switch name {
	case "none":
		return ""
	case "null", "true", "false":
		return name
	}
	return strconv.Quote(name)
}

// baseToken returns, as JSON, the value from which the time to live of the step's document counts. A relative
// value such as +30 becomes the Unix time of second 30 of the history.
func (s HistoryStep) baseToken() string {
	after, relative := strings.CutPrefix(s.Base, "+")
	if n, err := strconv.ParseFloat(after, 64); relative && err == nil {
		return strconv.FormatFloat(began+n, 'f', -1, 64)
	}
	return s.Base
}

// body returns the document of a step as it is sent: compact, without system properties.
func (c TestedContainerConfig) body(s HistoryStep) string {
	b := []byte(`{"id":` + strconv.Quote(s.Document().ID))
	member := func(name, token string) {
		if token != "" {
			b = append(b, ',')
			b = append(strconv.AppendQuote(b, name), ':')
			b = append(b, token...)
		}
	}
	for i, t := range c.components(s.Key().Partition) {
		member(c.paths()[i][1:], t)
	}
	member("ttl", s.TTL)
	member("base", s.baseToken())
	member("u", s.U)
	member("v", s.V)
	name, tok, _ := strings.Cut(s.Extra, ":")
	member(name, tok)
	if s.Fields != "" && s.Fields != "{}" {
		b = append(append(b, ','), s.Fields[1:len(s.Fields)-1]...)
	}
	return string(append(b, '}'))
}
