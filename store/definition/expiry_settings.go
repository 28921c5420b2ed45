package definition

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/store/fault"
)

// ExpiryEventSettings are the settings of a container's log of expiries: see store.Container.Expirations.
type ExpiryEventSettings struct {
	// Retention is how long an event is kept, in seconds of the data clock; 0 is DefaultEventRetention.
	Retention int `json:"retention,omitempty" description:"Seconds to keep events. Default: 3600."`
	// Webhooks are the HTTP endpoints to which package hook sends each event.
	Webhooks []Webhook `json:"webhooks,omitempty"`
}

// Webhook is an endpoint that receives a container's expiry events.
type Webhook struct {
	// URL is an http or https URL. It identifies the webhook among those of its container.
	URL string `json:"url" description:"http or https URL that receives each event."`
	// Secret is the key of the HMAC that signs the requests; if it is empty, they are not signed.
	Secret string `json:"secret,omitempty" description:"Key that signs the requests; absent: unsigned."`
}

// Limits and defaults of the settings of a container's expiry events (ExpiryEventSettings) and of the purging
// of its expired items (ReaperSettings).
const (
	DefaultEventRetention = 3600              // seconds
	MaxEventRetention     = 30 * 24 * 3600    // seconds
	MaxWebhooks           = 16                // per container
	MaxPurgeDelay         = 100 * 365 * 86400 // seconds
	maxWebhookURL         = 2048              // bytes
)

// Clone returns a deep copy; nil for nil.
func (e *ExpiryEventSettings) Clone() *ExpiryEventSettings {
	if e == nil {
		return nil
	}
	next := *e
	next.Webhooks = slices.Clone(e.Webhooks)
	return &next
}

// Validate fails with CodeBadRequest for invalid settings. A nil *ExpiryEventSettings is valid: no events.
func (e *ExpiryEventSettings) Validate() error {
	if e == nil {
		return nil
	}
	if e.Retention < 0 || e.Retention > MaxEventRetention {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("'retention' of the expiry events must be between 1 and %d seconds.",
				MaxEventRetention))
	}
	if len(e.Webhooks) > MaxWebhooks {
		return fault.New(fault.CodeBadRequest, fmt.Sprintf("A container can have at most %d webhooks.",
			MaxWebhooks))
	}
	seen := make(map[string]bool)
	for _, w := range e.Webhooks {
		u, err := url.Parse(w.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" ||
			len(w.URL) > maxWebhookURL || !leads(u) {
			return fault.New(fault.CodeBadRequest,
				"The URL of a webhook must be an absolute http or https URL: '"+
					w.URL+"' is not.")
		}
		if seen[w.URL] {
			return fault.New(fault.CodeBadRequest, "The webhook '"+w.URL+"' is named twice.")
		}
		seen[w.URL] = true
	}
	return nil
}

// ReaperSettings delay the purges of a container. They do not change the results of requests, except of
// those about space and purges.
type ReaperSettings struct {
	Delay   *PurgeDelay     `json:"delay,omitempty"`   // nil: items may be purged as soon as they have expired
	Starved *PurgeRateLimit `json:"starved,omitempty"` // nil: the reaper purges at full speed
}

// PurgeDelay is the time between an item's expiry and its purge. It is Seconds for all items. If Seconds is
// 0, it is a number from Min to Max that depends only on Seed and the item's rid, so that a test run can be
// repeated.
type PurgeDelay struct {
	Seconds int64  `json:"seconds,omitempty" description:"Delay of each purge, in seconds; 0: random."`
	Min     int64  `json:"min,omitempty" description:"Shortest random delay, in seconds."`
	Max     int64  `json:"max,omitempty" description:"Longest random delay, in seconds."`
	Seed    uint64 `json:"seed,omitempty" description:"Seed of the random delays."`
}

// PurgeRateLimit limits the rate of the reaper on purpose, so that a test can see it fall behind with
// purges.
type PurgeRateLimit struct {
	// PerSecond is how many items may be purged in each second of the data clock. 0 means no limit, but no
	// purge while a request is being served.
	PerSecond int `json:"perSecond" description:"Purges per second; 0: unlimited while idle."`
}

// Clone returns a deep copy; nil for nil.
func (r *ReaperSettings) Clone() *ReaperSettings {
	if r == nil {
		return nil
	}
	next := *r
	if r.Delay != nil {
		delay := *r.Delay
		next.Delay = &delay
	}
	if r.Starved != nil {
		starved := *r.Starved
		next.Starved = &starved
	}
	return &next
}

// Validate fails with CodeBadRequest for invalid settings. A nil *ReaperSettings is valid: nothing is
// delayed.
func (r *ReaperSettings) Validate() error {
	switch {
	case r == nil:
	case r.Starved != nil && r.Starved.PerSecond < 0:
		return fault.New(fault.CodeBadRequest, "'perSecond' must not be negative.")
	case r.Delay == nil:
	case r.Delay.Seconds != 0 && (r.Delay.Min != 0 || r.Delay.Max != 0 || r.Delay.Seed != 0):
		return fault.New(fault.CodeBadRequest,
			"A purge delay is either 'seconds', or 'min', 'max' and 'seed'.")
	case r.Delay.Seconds < 0 || r.Delay.Min < 0 || r.Delay.Max < r.Delay.Min:
		return fault.New(fault.CodeBadRequest,
			"A purge delay must not be negative, and its 'max' not below its 'min'.")
	case max(r.Delay.Seconds, r.Delay.Max) > MaxPurgeDelay:
		return fault.New(fault.CodeBadRequest, fmt.Sprintf("A purge delay must be at most %d seconds.",
			MaxPurgeDelay))
	}
	return nil
}

// Bounds returns the minimum and the maximum delay, in seconds.
func (d *PurgeDelay) Bounds() (least, most int64) {
	switch {
	case d == nil:
		return 0, 0
	case d.Seconds > 0:
		return d.Seconds, d.Seconds
	}
	return d.Min, d.Max
}

// DelayOf returns the time in seconds from the expiry of the item with a rid to its purge. A random delay
// depends only on the rid and the seed.
func (d *PurgeDelay) DelayOf(rid uint64) int64 {
	least, most := d.Bounds()
	if least == most {
		return least
	}
	// splitmix64: neighbouring rids get independent numbers.
	x := d.Seed + rid*0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return least + int64((x^x>>31)%uint64(most-least+1))
}

// leads reports whether a request can be sent to a URL: its host is an IP address in the standard form, or a
// name whose last label is not a number, and its port is valid or missing.
func leads(u *url.URL) bool {
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	for _, part := range parts {
		if part == "" || len(part) > 63 || strings.ContainsAny(part, ":[]/ ") {
			return false
		}
	}
	last := strings.ToLower(parts[len(parts)-1])
	hex, is := strings.CutPrefix(last, "0x")
	number := strings.Trim(last, "0123456789") == "" || is && strings.Trim(hex, "0123456789abcdef") == ""
	return !number && len(host) <= 253
}
