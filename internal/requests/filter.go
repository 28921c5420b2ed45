package requests

import (
	"bytes"
	"strings"
	"time"
)

// Filter says which entries a reader wants. The zero value of each field wants all.
type Filter struct {
	Protocol            Protocol
	Method              string // in any case
	Database, Container string
	Entity              string // in any case, as Service Bus compares paths
	MinStatus           int    // statuses from here ...
	MaxStatus           int    // ... to here; 0: no bound
	Failed              bool   // no answer, or a status from 400
	Substatus           int
	Min                 time.Duration // least time that it took
	Since               time.Time     // it began then, or later, in real time
	// Text is in one of the texts of the entry, in any case, or in its request's body as it is.
	Text     string
	Explorer bool // with those that the explorer has sent
}

// wants reports whether an entry is wanted.
func (f *Filter) wants(r *Record) bool {
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

// has reports whether a text occurs in the entry.
func (r *Record) has(text string) bool {
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
