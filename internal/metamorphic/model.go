package metamorphic

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
)

// ReferenceModel computes the correct answers to the steps of a history. It is as simple as possible: every
// search visits all items, and time advances one second at a time.
type ReferenceModel struct {
	config  TestedContainerConfig
	rangeOf func(partition string) int
	now     int64 // seconds since the history began
	def     int64 // the default time to live: 0 is off, -1 no expiry
	policy  string
	path    string // path from which times to live count; empty: ts
	items   []*modelItem
	etags   int
	rids    int
	cursors map[string]*listCursor
}

// modelItem is an item of a ReferenceModel, live or expired.
type modelItem struct {
	key  ItemKey
	etag int
	rid  int // also the order of insertion
	ts   int64
	own  int64  // 0 absent, -1 never
	u    string // JSON token, empty if it is missing
	body string
	dead bool // expired; never reset
}

// listCursor is a list that is read page by page. Its position is after the last item that it has returned.
type listCursor struct {
	scope HistoryStep
	after *modelItem
	done  bool
}

// NewModel returns the model of an empty container. rangeOf returns the index of the partition key range to
// which a partition belongs: lists are sorted by this index.
func NewModel(c TestedContainerConfig, rangeOf func(partition string) int) *ReferenceModel {
	def, _ := parseDefault(c.Default)
	return &ReferenceModel{config: c, rangeOf: rangeOf, def: def, policy: c.Policy,
		cursors: map[string]*listCursor{}}
}

// expired reports whether an item has expired at one moment: it applies the expiry rule with the default of
// that moment, and counts the time to live from the value at path.
func expired(it *modelItem, path string, def, now int64) bool {
	if it.own == -1 || def == 0 || it.own == 0 && def < 0 {
		return false
	}
	life := it.own
	if life == 0 {
		life = def
	}
	return it.from(path)+life <= now
}

// from returns the second of the history from which the time to live of an item counts: the integer part of
// the number that its document has in path, or else its last write.
func (it *modelItem) from(path string) int64 {
	if path == "" {
		return it.ts
	}
	var at any
	if json.Unmarshal([]byte(it.body), &at) != nil {
		return it.ts
	}
	for name := range strings.SplitSeq(path[1:], "/") {
		object, _ := at.(map[string]any)
		at = object[name]
	}
	n, ok := at.(float64)
	if !ok {
		return it.ts
	}
	return int64(math.Floor(min(max(n, -1e15), 1e15))) - began
}

// pass advances the model's clock to a second, and marks the items that expire. It skips to the last second
// if the advance is longer than 10,000 seconds: while the default time to live stays the same, an item that
// has expired in a skipped second is expired in the last one too.
func (w *ReferenceModel) pass(to int64) {
	if to-w.now > 10_000 {
		w.now = to - 1
	}
	for w.now < to {
		w.now++
		w.mark()
	}
}

func (w *ReferenceModel) mark() {
	for _, it := range w.items {
		if expired(it, w.path, w.def, w.now) {
			it.dead = true
		}
	}
}

// Do executes one step and returns the answer.
func (w *ReferenceModel) Do(s HistoryStep) string {
	w.pass(s.At / 1000)
	return w.do(s)
}

// do executes a step at the current time of the model's clock and returns the answer.
func (w *ReferenceModel) do(s HistoryStep) string {
	switch s.Verb {
	case Create, Upsert, Replace:
		return w.write(s)
	case Delete:
		return w.delete(s)
	case Patch:
		return w.patch(s)
	case Batch:
		return w.batch(s)
	case Read:
		return w.read(s)
	case ReadMany:
		return w.readMany(s)
	case List:
		return labels(w.inScope(s))
	case Open:
		w.cursors[s.Args[0]] = &listCursor{scope: s}
		return w.next(s.Args[0])
	case Next:
		return w.next(s.Args[0])
	case Clear:
		w.items = slices.DeleteFunc(w.items,
			func(it *modelItem) bool { return it.key.Partition == s.Args[0] })
		return "cleared"
	case Default:
		def, ok := parseDefault(s.Args[0])
		if !ok || def != 0 && w.policy == NoIndex || def == 0 && w.path != "" {
			return fault.CodeBadRequest.String()
		}
		w.def = def
		w.mark()
		return "ok"
	case Path:
		path := pathOf(s)
		if path != "" && w.def == 0 {
			return fault.CodeBadRequest.String()
		}
		w.path = path
		w.mark()
		return "ok"
	case Reindex:
		policy := nextPolicy(s, w.policy)
		if policy == NoIndex && w.def != 0 {
			return fault.CodeBadRequest.String()
		}
		w.policy = policy
		return "ok"
	case Ask:
		return w.ask(s)
	case Sweep:
		if w.config.Between && s.Between == "" {
			return fmt.Sprintf("%d left", len(w.inScope(HistoryStep{})))
		}
	}
	return "" // a sweep and a reopen change nothing
}

func (w *ReferenceModel) find(k ItemKey) *modelItem {
	for _, it := range w.items {
		if !it.dead && it.key == k {
			return it
		}
	}
	return nil
}

// holds reports whether the etag of an existing item satisfies an If-Match or If-None-Match in the notation
// of HistoryStep.IfMatch: "*", or the current etag ("cur").
func holds(condition string) bool {
	return condition == "*" || strings.HasPrefix(condition, "cur")
}

func (w *ReferenceModel) write(s HistoryStep) string {
	own, ok := parseTTL(s.TTL)
	it := w.find(s.Key())
	switch {
	case !ok && (s.Verb != Replace || it != nil || s.NoKey): // a replace of an absent item
		return fault.CodeBadRequest.String() // fails before the document is read
	case s.Verb == Replace && it == nil:
		return fault.CodeNotFound.String()
	case s.Verb == Create && it != nil:
		return fault.CodeConflict.String()
	case s.Verb == Upsert && it != nil && s.IfNoneMatch == "*",
		s.Verb != Create && it != nil && s.IfMatch != "" && !holds(s.IfMatch):
		return fault.CodePreconditionFailed.String()
	case s.Document() != s.Key() && w.find(s.Document()) != nil, w.taken(s):
		return fault.CodeConflict.String()
	}
	done := "replaced"
	if it == nil {
		done = "created"
		w.rids++
		it = &modelItem{key: s.Key(), rid: w.rids}
		w.items = append(w.items, it)
	}
	w.etags++
	it.key = s.Document()
	it.etag, it.ts, it.own, it.u, it.body = w.etags, w.now, own, s.U, kept(w.config.body(s))
	it.dead = expired(it, w.path, w.def, w.now)
	return fmt.Sprintf("%s e%d r%d ts=%d", done, it.etag, it.rid, it.ts)
}

// taken reports whether another item of the partition has the unique value of s.
func (w *ReferenceModel) taken(s HistoryStep) bool {
	return w.config.Unique && slices.ContainsFunc(w.items, func(it *modelItem) bool {
		return !it.dead && it.key.Partition == s.Key().Partition && it.key != s.Key() &&
			unique(it.u) == unique(s.U)
	})
}

// unique returns a value as unique keys compare it: a missing value counts as null.
func unique(u string) string {
	if u == "" {
		return "null"
	}
	return u
}

func (w *ReferenceModel) delete(s HistoryStep) string {
	it := w.find(s.Key())
	switch {
	case it == nil:
		return fault.CodeNotFound.String()
	case s.IfMatch != "" && !holds(s.IfMatch):
		return fault.CodePreconditionFailed.String()
	}
	w.items = slices.DeleteFunc(w.items, func(o *modelItem) bool { return o == it })
	return "deleted"
}

func (w *ReferenceModel) read(s HistoryStep) string {
	it := w.find(s.Key())
	switch {
	case it == nil:
		return fault.CodeNotFound.String()
	case holds(s.IfNoneMatch):
		return fault.CodeNotModified.String()
	}
	return fmt.Sprintf("e%d r%d ts=%d %s", it.etag, it.rid, it.ts, it.body)
}

func (w *ReferenceModel) readMany(s HistoryStep) string {
	var found []*modelItem
	for _, a := range s.Args {
		if it := w.find(parseItemKey(a)); it != nil {
			found = append(found, it)
		}
	}
	return labels(found)
}

// inScope returns the live items that a list or query step covers, sorted by partition key range and then by
// the order of insertion.
func (w *ReferenceModel) inScope(s HistoryStep) []*modelItem {
	var in []*modelItem
	for _, it := range w.items {
		p := it.key.Partition
		prefix, isPrefix := strings.CutSuffix(s.In, "*")
		switch {
		case it.dead,
			isPrefix && !strings.HasPrefix(p+"/", prefix),
			!isPrefix && s.In != "" && p != s.In,
			s.Range != "" && w.rangeOf(p) != w.rangeOf(s.Range),
			s.U != "" && it.u != s.U:
			continue
		}
		in = append(in, it)
	}
	if s.EPK == "" { // the two halves are merged in the order of insertion
		slices.SortStableFunc(in,
			func(a, b *modelItem) int {
				return cmp.Compare(w.rangeOf(a.key.Partition),
					w.rangeOf(b.key.Partition))
			})
	}
	return in
}

// next returns the next page of the list with this name: as many items as requested, and " more" if the page
// is full. If the list has a condition on the property u, or covers one logical partition, " more" is only
// added if an item follows. With a condition on u, the next page begins at this following item.
func (w *ReferenceModel) next(name string) string {
	c := w.cursors[name]
	if c == nil || c.done {
		return "no more"
	}
	rest := w.inScope(c.scope)
	if c.after != nil { // a cursor spans one range only, so the rid gives the order
		rest = slices.DeleteFunc(rest, func(it *modelItem) bool { return it.rid <= c.after.rid })
	}
	full := len(rest) >= c.scope.Page
	if !full || len(rest) == c.scope.Page && c.scope.looksAhead() {
		c.done = true
		return labels(rest)
	}
	c.after = rest[c.scope.Page-1]
	if c.scope.U != "" {
		c.after = &modelItem{rid: rest[c.scope.Page].rid - 1}
	}
	rest = rest[:c.scope.Page]
	return labels(rest) + " more"
}

// labels formats items as [key:etag ...].
func labels(items []*modelItem) string {
	var s []string
	for _, it := range items {
		s = append(s, fmt.Sprintf("%s:e%d", it.key, it.etag))
	}
	return "[" + strings.Join(s, " ") + "]"
}

// pathOf returns the ttlPropertyPath that a step of the kind Path sets, or "" if it removes the path.
func pathOf(s HistoryStep) string {
	if s.Args[0] == "none" {
		return ""
	}
	return s.Args[0]
}

// parseTTL parses an item's time to live: absent, -1, or a whole number of seconds up to 2147483647, in any
// spelling of the number. The result is false if the token is invalid.
func parseTTL(token string) (int64, bool) {
	if token == "" {
		return 0, true
	}
	var f any
	if json.Unmarshal([]byte(token), &f) != nil {
		return 0, false
	}
	n, ok := f.(float64)
	if !ok || n != float64(int64(n)) || n < -1 || n == 0 || n > 2147483647 {
		return 0, false
	}
	return int64(n), true
}

// parseDefault parses a default time to live: off, null, -1 or a whole number of seconds up to 2147483647.
// The result is false if the token is invalid.
func parseDefault(token string) (int64, bool) {
	if token == "off" || token == "null" {
		return 0, true
	}
	n, err := strconv.ParseInt(token, 10, 64)
	return n, err == nil && n >= -1 && n != 0 && n <= 2147483647
}

// kept returns a document in the form in which the store returns it: numbers are written in their shortest
// form.
func kept(body string) string {
	text, err := jsondoc.Compact([]byte(body), jsondoc.Limits{})
	if err != nil {
		return body // the store refuses it, and the answer shows that
	}
	return string(text)
}
