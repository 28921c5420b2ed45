package requestlog

import (
	"bytes"
	"strings"
	"time"
)

// Filter selects the entries that a reader returns. A zero field selects all.
type Filter struct {
	Protocol            Protocol
	Method              string // ignoring case
	Database, Container string
	Entity              string // ignoring case, as in Service Bus's paths
	MinStatus           int    // minimal status
	MaxStatus           int    // maximal status; 0: no limit
	Failed              bool   // select requests without a response or with a status of 400 or higher
	Substatus           int
	Min                 time.Duration // minimal duration
	Since               time.Time     // minimal time at which the request began, in real time
	// Text must occur in the entry: ignoring case in one of its texts, or with the same case in its request
	// body.
	Text     string
	Explorer bool // include requests of the explorer
}

// matches reports whether the filter selects an entry.
func (f *Filter) matches(r *RetrievedEntry) bool {
	switch {
	case r.Explorer && !f.Explorer,
		f.Protocol != 0 && r.Protocol != f.Protocol,
		f.Method != "" && !strings.EqualFold(r.Method, f.Method),
		f.Database != "" && r.Database != f.Database,
		f.Container != "" && r.Container != f.Container,
		f.Entity != "" && !strings.EqualFold(r.Entity, f.Entity),
		r.Status < f.MinStatus,
		f.MaxStatus != 0 && r.Status > f.MaxStatus,
		f.Failed && r.Status != 0 && r.Status < 400,
		f.Substatus != 0 && r.Substatus != f.Substatus,
		r.Took < f.Min,
		r.Began.Before(f.Since):
		return false
	}
	return f.Text == "" || r.has(f.Text)
}

// has reports whether a text occurs in the log entry: ignoring case in the URI, a name, an id or the client,
// or with the same case in the request body.
func (r *RetrievedEntry) has(text string) bool {
	lower := strings.ToLower(text)
	for _, in := range [...]string{r.URI, r.Operation, r.Database, r.Container, r.Item, r.Entity,
		r.PartitionKey,
		r.Client, r.Condition, r.Activity, r.Correlated, r.Rule} {
		if strings.Contains(strings.ToLower(in), lower) {
			return true
		}
	}
	return bytes.Contains(r.RequestBody, []byte(text))
}
