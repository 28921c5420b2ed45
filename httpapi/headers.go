package httpapi

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/store/definition"
)

// reqHeaders holds the parsed values of all supported request headers: those that determine which
// operation the request is, and those that are its parameters.
type reqHeaders struct {
	*cosmos.RequestHeaders
	activity   string // x-ms-activity-id if it is a GUID
	correlated string // x-ms-cosmos-correlated-activityid if it is a GUID

	upsert, query, plan, batch bool
	offerType                  string
	contentType                string // media type only, lower case

	proof authHeaders
}

// parse parses all headers. Fields with the same name must be adjacent in fields; the first value counts. If
// several headers are invalid, parse returns the error for the first of them in alphabetical order, so that
// equal requests get equal responses.
func (h *reqHeaders) parse(fields []requestlog.HeaderField, account cosmos.Consistency) error {
	var failed string
	var failure error
	for i := range fields {
		name, value := fields[i].Name, fields[i].Value
		if value == "" || i > 0 && name == fields[i-1].Name || h.proof.take(name, value) {
			continue
		}
		if name == "X-Ms-Max-Item-Count" && value == "0" && hasField(fields, "X-Ms-Documentdb-Isquery") {
			continue // the Java SDK sends this value for TOP 0
		}
		if err := h.parseOne(name, strings.TrimSpace(value), account); err != nil && (failed == "" ||
			name < failed) {
			failed, failure = name, err
		}
	}
	if failure == nil {
		failure = h.checkOffer()
	}
	return failure
}

// hasField reports whether a header is set and not empty.
func hasField(fields []requestlog.HeaderField, name string) bool {
	return slices.ContainsFunc(fields, func(f requestlog.HeaderField) bool {
		return f.Name == name && f.Value != ""
	})
}

// parseOne parses one header; name is in Go's canonical form.
func (h *reqHeaders) parseOne(name, value string, account cosmos.Consistency) (err error) {
	switch name {
	case "X-Ms-Version":
		h.LegacyIndexes = value <= lastWithIndexKinds
		h.BeforeSystemKey = value < firstWithSystemKey
		return checkVersion(value)
	case "X-Ms-Activity-Id":
		if isGUID(value) {
			h.activity = value
		}
	case "X-Ms-Cosmos-Correlated-Activityid":
		if isGUID(value) {
			h.correlated = value
		}
	case "X-Ms-Consistency-Level":
		return account.Allows(value)
	case "X-Ms-Session-Token":
		h.Session, err = cosmos.ParseSessionToken(value)
	case "X-Ms-Documentdb-Partitionkey":
		h.PartitionKey, err = cosmos.ParsePartitionKey(value)
	case "X-Ms-Documentdb-Partitionkeyrangeid":
		h.RangeID = value[strings.LastIndexByte(value, ',')+1:]
	case "X-Ms-Start-Epk":
		h.MinEPK, err = cosmos.ParseEPK(name, value)
	case "X-Ms-End-Epk":
		h.MaxEPK, err = cosmos.ParseEPK(name, value)
	case "X-Ms-Cosmos-Intended-Collection-Rid":
		h.IntendedRID = value
	case "If-Match":
		h.IfMatch = value
	case "If-None-Match":
		h.IfNoneMatch = value
	case "If-Modified-Since":
		h.ModifiedSince = value
	case "Prefer":
		h.Minimal = hasElement(value, "return=minimal")
	case "A-Im":
		return h.parseManipulation(value)
	case "X-Ms-Max-Item-Count":
		h.MaxItems, err = parseCount(name, value, -1)
	case "X-Ms-Continuation":
		h.Continuation = value
	case "X-Ms-Documentdb-Responsecontinuationtokenlimitinkb":
		err = checkTokenLimit(name, value)
	case "Content-Type":
		media, _, _ := strings.Cut(value, ";")
		h.contentType = strings.ToLower(strings.TrimSpace(media))
	default:
		if strings.HasPrefix(name, "X-M") { // X-Ms- and X-Mayfly-
			return h.parseRare(name, value)
		}
	}
	return err
}

// parseRare parses the less frequent headers: flags, throughput, and headers that are refused.
func (h *reqHeaders) parseRare(name, value string) (err error) {
	switch name {
	case "X-Ms-Documentdb-Is-Upsert":
		h.upsert, err = parseBool(name, value)
	case "X-Ms-Documentdb-Isquery", "X-Ms-Documentdb-Query":
		var on bool
		on, err = parseBool(name, value)
		h.query = h.query || on
	case "X-Ms-Cosmos-Is-Query-Plan-Request":
		h.plan, err = parseBool(name, value)
	case "X-Ms-Cosmos-Is-Batch-Request":
		h.batch, err = parseBool(name, value)
	case "X-Ms-Cosmos-Batch-Atomic":
		h.Atomic, err = parseBool(name, value)
	case "X-Ms-Cosmos-Batch-Continue-On-Error":
		h.ContinueOnError, err = parseBool(name, value)
	case "X-Ms-Cosmos-Batch-Ordered": // non-atomic batches run in order unless they continue on errors
		_, err = parseBool(name, value)
	case "X-Ms-Documentdb-Query-Enablecrosspartition":
		h.CrossPartition, err = parseBool(name, value)
	case "X-Ms-Documentdb-Populatequerymetrics":
		h.QueryMetrics, err = parseBool(name, value)
	case "X-Ms-Documentdb-Populatequotainfo":
		h.PopulateQuota, err = parseBool(name, value)
	case "X-Ms-Cosmos-Populateindexmetrics":
		h.IndexMetrics, err = parseBool(name, value)
	case "X-Ms-Cosmos-Populateindexmetrics-V2":
		h.IndexMetricsV2, err = parseBool(name, value)
	case "X-Ms-Cosmos-Supported-Query-Features":
		h.Features = parseFeatures(value)
	case "X-Ms-Documentdb-Query-Iscontinuationexpected":
		h.Continued, err = parseBool(name, value)
	case "X-Ms-Cosmos-Query-Optimisticdirectexecute":
		h.Direct, err = parseBool(name, value)
	case "X-Mayfly-Ranges":
		h.Ranges, err = parseCount(name, value, 1)
	case "X-Mayfly-Timestamp", "X-Mayfly-Age", "X-Mayfly-Expires-In":
		err = h.parseImport(name, value)
	case "X-Mayfly-Explain-Ttl":
		h.ExplainTTL, err = parseBool(name, value)
	case "X-Ms-Exclude-System-Properties":
		h.Plain, err = parseBool(name, value)
	case "X-Mayfly-Serve-Cross-Partition":
		h.ServeCross, err = parseBool(name, value)
	case "X-Mayfly-Previous-Images":
		h.PreviousImages, err = parseBool(name, value)
	case "X-Ms-Documentdb-Populatepartitionstatistics":
		h.Statistics, err = parseBool(name, value)
	case "X-Ms-Documentdb-Query-Enable-Scan", "X-Ms-Documentdb-Query-Enable-Low-Precision-Order-By", "X-Ms-Documentdb-Query-Emit-Traces":
		_, err = parseBool(name, value)
	case "X-Ms-Offer-Throughput":
		h.Throughput.Manual, err = parseCount(name, value, 1)
	case "X-Ms-Cosmos-Offer-Autopilot-Settings":
		err = h.parseAutoscale(value)
	case "X-Ms-Offer-Type":
		h.offerType = value
	case "X-Ms-Cosmos-Migrate-Offer-To-Autopilot":
		h.ToAutoscale, err = parseBool(name, value)
	case "X-Ms-Cosmos-Migrate-Offer-To-Manual-Throughput":
		h.ToManual, err = parseBool(name, value)
	case "X-Ms-Documentdb-Expiry-Seconds":
		h.TokenLife, err = parseCount(name, value, 1)
	case "X-Ms-Indexing-Directive":
		if !isOneOf(value, "Include", "Exclude", "Default") {
			err = cosmos.BadHeader(name, value)
		}
	case "X-Ms-Documentdb-Content-Serialization-Format":
		h.Wanted, err = parseContentFormat(value)
	case "X-Ms-Cosmos-Supported-Serialization-Formats":
		h.Supported = parseSupportedFormats(value)
	case "X-Ms-Cosmos-Changefeed-Wire-Format-Version":
		if value != "2021-09-15" { // from this version on, metadata and images are separate
			err = cosmos.BadHeader(name, value)
		}
		h.MetadataApart = true
	case "X-Ms-Documentdb-Pre-Trigger-Include":
		h.PreTriggers = parseList(value)
	case "X-Ms-Documentdb-Post-Trigger-Include":
		h.PostTriggers = parseList(value)
	case "X-Ms-Documentdb-Script-Enable-Logging":
		h.ScriptLog, err = parseBool(name, value)
	}
	return err
}

// parseManipulation parses A-IM ("acceptable instance manipulations"), by which a client requests a change
// feed.
func (h *reqHeaders) parseManipulation(value string) error {
	switch {
	case strings.EqualFold(value, "Incremental feed"):
		h.Incremental = true
	case strings.EqualFold(value, "Full-Fidelity Feed"):
		h.FullFidelity = true
	default:
		return cosmos.BadHeader("A-IM", value)
	}
	return nil
}

// checkOffer refuses invalid combinations of throughput headers. The store checks the values.
func (h *reqHeaders) checkOffer() error {
	switch {
	case h.Throughput.Manual != 0 && h.Throughput.Autoscale != 0:
		return cosmos.BadRequest("Cannot specify both manual throughput and autoscale settings: send " +
			"x-ms-offer-throughput or x-ms-cosmos-offer-autopilot-settings.")
	case h.offerType == "":
		return nil
	case !isOneOf(h.offerType, "S1", "S2", "S3", "Invalid"):
		return cosmos.BadHeader("x-ms-offer-type", h.offerType)
	case h.Throughput != definition.Throughput{}:
		return cosmos.BadRequest("Cannot specify both x-ms-offer-type and a throughput.")
	}
	if level, ok := definition.PerformanceLevel(h.offerType); ok {
		h.Throughput = level
	}
	return nil
}

// parseAutoscale parses an autoscale setting such as {"maxThroughput":4000}, in RU/s, with the optional
// increment by which Cosmos DB would raise the maximum automatically.
func (h *reqHeaders) parseAutoscale(value string) error {
	var settings struct {
		// The store checks the minimum; only 0 is refused here.
		MaxThroughput int `json:"maxThroughput"`
		Upgrade       struct {
			Throughput struct {
				Increment *int `json:"incrementPercent"`
			} `json:"throughputPolicy"`
		} `json:"autoUpgradePolicy"`
	}
	if err := json.Unmarshal([]byte(value), &settings); err != nil || settings.MaxThroughput == 0 {
		return cosmos.BadHeader("x-ms-cosmos-offer-autopilot-settings", value)
	}
	h.Throughput.Autoscale, h.Throughput.Increment = settings.MaxThroughput, settings.Upgrade.Throughput.Increment
	return nil
}

// versions are the values of x-ms-version up to 2020. A later version need only be a date, so that new
// clients are not refused.
var versions = [...]string{
	"2014-08-21", "2015-04-08", "2015-06-03", "2015-08-06", "2015-12-16", "2016-05-30", "2016-07-11", "2016-11-14", "2017-01-19", "2017-02-22",
	"2017-05-03", "2017-11-15", "2018-06-18", "2018-08-31", "2018-09-17", "2018-12-31", "2019-10-14", "2020-07-15",
}

// lastWithIndexKinds is the last x-ms-version in which clients distinguish kinds of indexes (hash, range).
const lastWithIndexKinds = "2018-08-31"

// firstWithSystemKey is the first x-ms-version whose clients see a container that was created without a
// partition key as one with the system key.
const firstWithSystemKey = "2018-12-31"

func checkVersion(v string) error {
	newest := versions[len(versions)-1]
	if slices.Contains(versions[:], v) {
		return nil
	}
	if v < newest || len(v) != len(newest) || v[4] != '-' || v[7] != '-' || !isDigits(v[:4]) ||
		!isDigits(v[5:7]) || !isDigits(v[8:]) {
		return cosmos.BadHeader("x-ms-version", v)
	}
	return nil
}

// parseBool parses a boolean in any case: clients write true, True and TRUE.
func parseBool(name, value string) (bool, error) {
	switch {
	case strings.EqualFold(value, "true"):
		return true, nil
	case strings.EqualFold(value, "false"):
		return false, nil
	}
	return false, cosmos.BadHeader(name, value)
}

// parseCount parses an int32 that is not 0 and at least least. The value -1 means "as many as fit".
func parseCount(name, value string, least int) (int, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n == 0 || n < int64(least) || n > math.MaxInt32 {
		return 0, cosmos.BadHeader(name, value)
	}
	return int(n), nil
}

// checkTokenLimit validates a limit in KB for the size of continuation tokens. All tokens of this server are
// far smaller.
func checkTokenLimit(name, value string) error {
	if value == "0" {
		return cosmos.BadRequest("The continuation token limit specified is not large enough.")
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && n < 0 {
		return cosmos.BadRequest("Please pass in a valid continuation token size limit which must be a " +
			"positive integer")
	}
	_, err := parseCount(name, value, 1)
	return err
}

// hasElement reports whether a comma-separated list contains an element. It ignores case.
func hasElement(list, element string) bool {
	for list != "" {
		var one string
		one, list, _ = strings.Cut(list, ",")
		if strings.EqualFold(strings.TrimSpace(one), element) {
			return true
		}
	}
	return false
}

func isOneOf(value string, known ...string) bool {
	for _, k := range known {
		if strings.EqualFold(value, k) {
			return true
		}
	}
	return false
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// isGUID reports whether s is a GUID in its usual form of 36 characters. Only valid GUIDs are echoed into
// headers and bodies.
func isGUID(s string) bool { return len(s) == 36 && uuid.Validate(s) == nil }
