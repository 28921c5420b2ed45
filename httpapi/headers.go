package httpapi

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// reqHeaders are the request headers that mean something here, parsed once. Headers that Cosmos DB knows and
// that change nothing in a single linearizable server (priority, dedicated gateway, SDK capabilities ...) are
// ignored.
type reqHeaders struct {
	activity   string // x-ms-activity-id where it is a GUID
	correlated string // x-ms-cosmos-correlated-activityid where it is a GUID

	partitionKey   definition.PartitionKey // zero: not given
	rangeID        string                  // x-ms-documentdb-partitionkeyrangeid without its "{container rid}," part
	minEPK         string                  // x-ms-start-epk, upper-case hexadecimal
	maxEPK         string                  // x-ms-end-epk, the same
	intendedRID    string                  // rid of the container that the client believes to be talking to
	sessionVersion int64                   // of the server's own tokens; not a header
	session        []store.SessionPosition

	ifMatch, ifNoneMatch string
	modifiedSince        string // If-Modified-Since, as it came
	minimal              bool   // Prefer: return=minimal
	incremental          bool   // A-IM: Incremental feed
	fullFidelity         bool   // A-IM: Full-Fidelity Feed
	metadataApart        bool   // x-ms-cosmos-changefeed-wire-format-version
	previousImages       bool   // x-mayfly-previous-images: of replaced items, too

	maxItems       int    // 0: not given; -1: as many as fit
	continuation   string // empty: the first page
	crossPartition bool   // x-ms-documentdb-query-enablecrosspartition

	upsert, query, plan, batch   bool
	atomic, continueOnError      bool // of a batch
	queryMetrics, populateQuota  bool
	statistics                   bool // x-ms-documentdb-populatepartitionstatistics
	indexMetrics, indexMetricsV2 bool // x-ms-cosmos-populateindexmetrics, and its second form
	serveCross                   bool // x-mayfly-serve-cross-partition
	direct                       bool // x-ms-cosmos-query-optimisticdirectexecute

	features  []string // x-ms-cosmos-supported-query-features; nil: not given
	continued bool     // x-ms-documentdb-query-iscontinuationexpected

	preTriggers, postTriggers []string // x-ms-documentdb-pre-trigger-include and its like
	scriptLog                 bool     // x-ms-documentdb-script-enable-logging

	explainTTL bool // x-mayfly-explain-ttl
	plain      bool // x-ms-exclude-system-properties: items as they were written

	tokenLife int // seconds that a permission's token shall live; 0: not given

	ranges                int // x-mayfly-ranges: of a new container; 0: not given
	throughput            definition.Throughput
	offerType             string
	toAutoscale, toManual bool

	imported *store.ImportOptions // of a create or an upsert; nil: it is written now

	contentType       string  // media type alone, lower case
	supported, wanted formats // of the answer's body: those that the client takes, and the one that it wants
}

// scope is the part of a container that the headers name.
func (h *reqHeaders) scope() store.Scope {
	return store.Scope{Partition: h.partitionKey, Range: h.rangeID, MinEPK: h.minEPK, MaxEPK: h.maxEPK}
}

// listOptions are scope, page and session of a feed or query of items.
func (h *reqHeaders) listOptions() store.ListOptions {
	return store.ListOptions{Scope: h.scope(), MaxItems: h.maxItems, Continuation: h.continuation, Session: h.session, ByRange: true}
}

// writeOptions are the preconditions and the triggers of a write.
func (h *reqHeaders) writeOptions() store.WriteOptions {
	return store.WriteOptions{IfMatch: h.ifMatch, IfNoneMatch: h.ifNoneMatch, PreTriggers: h.preTriggers, PostTriggers: h.postTriggers, Import: h.imported}
}

// readOptions are the conditions of a read.
func (h *reqHeaders) readOptions() store.ReadOptions {
	return store.ReadOptions{IfNoneMatch: h.ifNoneMatch, Session: h.session}
}

// parse reads all headers. Where several are bad the error is that of the first in the order of their names,
// so that equal requests get equal answers.
func (h *reqHeaders) parse(header http.Header, account consistency) error {
	var failed string
	var failure error
	for name, values := range header {
		if len(values) == 0 || values[0] == "" {
			continue
		}
		if name == "X-Ms-Max-Item-Count" && values[0] == "0" && header.Get("X-Ms-Documentdb-Isquery") != "" {
			continue // the SDK for Java asks so for the page of a TOP 0
		}
		if err := h.parseOne(name, strings.TrimSpace(values[0]), account); err != nil && (failed == "" || name < failed) {
			failed, failure = name, err
		}
	}
	if failure == nil {
		failure = h.checkOffer()
	}
	return failure
}

// parseOne reads one header; name is in Go's canonical form.
func (h *reqHeaders) parseOne(name, value string, account consistency) (err error) {
	switch name {
	case "X-Ms-Version":
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
		return account.allows(value)
	case "X-Ms-Session-Token":
		h.session, err = parseSessionToken(value, h.sessionVersion)
	case "X-Ms-Documentdb-Partitionkey":
		h.partitionKey, err = parsePartitionKey(value)
	case "X-Ms-Documentdb-Partitionkeyrangeid":
		h.rangeID = value[strings.LastIndexByte(value, ',')+1:]
	case "X-Ms-Start-Epk":
		h.minEPK, err = parseEPK(name, value)
	case "X-Ms-End-Epk":
		h.maxEPK, err = parseEPK(name, value)
	case "X-Ms-Cosmos-Intended-Collection-Rid":
		h.intendedRID = value
	case "If-Match":
		h.ifMatch = value
	case "If-None-Match":
		h.ifNoneMatch = value
	case "If-Modified-Since":
		h.modifiedSince = value
	case "Prefer":
		h.minimal = hasElement(value, "return=minimal")
	case "A-Im":
		return h.parseManipulation(value)
	case "X-Ms-Max-Item-Count":
		h.maxItems, err = parseCount(name, value, -1)
	case "X-Ms-Continuation":
		h.continuation = value
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

// parseRare reads the headers that ask for something special: flags, offers, and what is refused.
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
		h.atomic, err = parseBool(name, value)
	case "X-Ms-Cosmos-Batch-Continue-On-Error":
		h.continueOnError, err = parseBool(name, value)
	case "X-Ms-Cosmos-Batch-Ordered": // what is not atomic is in order where it does not continue on errors
		_, err = parseBool(name, value)
	case "X-Ms-Documentdb-Query-Enablecrosspartition":
		h.crossPartition, err = parseBool(name, value)
	case "X-Ms-Documentdb-Populatequerymetrics":
		h.queryMetrics, err = parseBool(name, value)
	case "X-Ms-Documentdb-Populatequotainfo":
		h.populateQuota, err = parseBool(name, value)
	case "X-Ms-Cosmos-Populateindexmetrics":
		h.indexMetrics, err = parseBool(name, value)
	case "X-Ms-Cosmos-Populateindexmetrics-V2":
		h.indexMetricsV2, err = parseBool(name, value)
	case "X-Ms-Cosmos-Supported-Query-Features":
		h.features = parseFeatures(value)
	case "X-Ms-Documentdb-Query-Iscontinuationexpected":
		h.continued, err = parseBool(name, value)
	case "X-Ms-Cosmos-Query-Optimisticdirectexecute":
		h.direct, err = parseBool(name, value)
	case "X-Mayfly-Ranges":
		h.ranges, err = parseCount(name, value, 1)
	case "X-Mayfly-Timestamp", "X-Mayfly-Age", "X-Mayfly-Expires-In":
		err = h.parseImport(name, value)
	case "X-Mayfly-Explain-Ttl":
		h.explainTTL, err = parseBool(name, value)
	case "X-Ms-Exclude-System-Properties":
		h.plain, err = parseBool(name, value)
	case "X-Mayfly-Serve-Cross-Partition":
		h.serveCross, err = parseBool(name, value)
	case "X-Mayfly-Previous-Images":
		h.previousImages, err = parseBool(name, value)
	case "X-Ms-Documentdb-Populatepartitionstatistics":
		h.statistics, err = parseBool(name, value)
	case "X-Ms-Documentdb-Query-Enable-Scan", "X-Ms-Documentdb-Query-Enable-Low-Precision-Order-By", "X-Ms-Documentdb-Query-Emit-Traces":
		_, err = parseBool(name, value)
	case "X-Ms-Offer-Throughput":
		h.throughput.Manual, err = parseCount(name, value, 1)
	case "X-Ms-Cosmos-Offer-Autopilot-Settings":
		err = h.parseAutoscale(value)
	case "X-Ms-Offer-Type":
		h.offerType = value
	case "X-Ms-Cosmos-Migrate-Offer-To-Autopilot":
		h.toAutoscale, err = parseBool(name, value)
	case "X-Ms-Cosmos-Migrate-Offer-To-Manual-Throughput":
		h.toManual, err = parseBool(name, value)
	case "X-Ms-Documentdb-Expiry-Seconds":
		h.tokenLife, err = parseCount(name, value, 1)
	case "X-Ms-Indexing-Directive":
		if !isOneOf(value, "Include", "Exclude", "Default") {
			err = badHeader(name, value)
		}
	case "X-Ms-Documentdb-Content-Serialization-Format":
		h.wanted, err = parseContentFormat(value)
	case "X-Ms-Cosmos-Supported-Serialization-Formats":
		h.supported = parseSupportedFormats(value)
	case "X-Ms-Cosmos-Changefeed-Wire-Format-Version":
		if value != "2021-09-15" { // the one in which metadata stands beside the images
			err = badHeader(name, value)
		}
		h.metadataApart = true
	case "X-Ms-Documentdb-Pre-Trigger-Include":
		h.preTriggers = parseList(value)
	case "X-Ms-Documentdb-Post-Trigger-Include":
		h.postTriggers = parseList(value)
	case "X-Ms-Documentdb-Script-Enable-Logging":
		h.scriptLog, err = parseBool(name, value)
	}
	return err
}

// parseManipulation reads A-IM, the "acceptable instance manipulations" by which a client asks for a change
// feed.
func (h *reqHeaders) parseManipulation(value string) error {
	switch {
	case strings.EqualFold(value, "Incremental feed"):
		h.incremental = true
	case strings.EqualFold(value, "Full-Fidelity Feed"):
		h.fullFidelity = true
	default:
		return badHeader("A-IM", value)
	}
	return nil
}

// checkOffer refuses combinations of the headers that ask for throughput. How much may be asked for is the
// store's rule.
func (h *reqHeaders) checkOffer() error {
	switch {
	case h.throughput.Manual != 0 && h.throughput.Autoscale != 0:
		return badRequest("Cannot specify both manual throughput and autoscale settings: send x-ms-offer-throughput or x-ms-cosmos-offer-autopilot-settings.")
	case h.offerType == "":
		return nil
	case !isOneOf(h.offerType, "S1", "S2", "S3", "Invalid"):
		return badHeader("x-ms-offer-type", h.offerType)
	case h.throughput != definition.Throughput{}:
		return badRequest("Cannot specify both x-ms-offer-type and a throughput.")
	}
	if level, ok := definition.PerformanceLevel(h.offerType); ok {
		h.throughput = level
	}
	return nil
}

// parseAutoscale reads {"maxThroughput":4000} in RU/s, and the increment with which the service would raise
// that by itself.
func (h *reqHeaders) parseAutoscale(value string) error {
	var settings struct {
		MaxThroughput int `json:"maxThroughput"` // how little there may be is the store's to say, but for none
		Upgrade       struct {
			Throughput struct {
				Increment *int `json:"incrementPercent"`
			} `json:"throughputPolicy"`
		} `json:"autoUpgradePolicy"`
	}
	if err := json.Unmarshal([]byte(value), &settings); err != nil || settings.MaxThroughput == 0 {
		return badHeader("x-ms-cosmos-offer-autopilot-settings", value)
	}
	h.throughput.Autoscale, h.throughput.Increment = settings.MaxThroughput, settings.Upgrade.Throughput.Increment
	return nil
}

// versions are the values of x-ms-version up to 2020. A later one only has to be a date: a new client should
// not fail on it alone.
var versions = [...]string{
	"2014-08-21", "2015-04-08", "2015-06-03", "2015-08-06", "2015-12-16", "2016-05-30", "2016-07-11", "2016-11-14", "2017-01-19", "2017-02-22",
	"2017-05-03", "2017-11-15", "2018-06-18", "2018-08-31", "2018-09-17", "2018-12-31", "2019-10-14", "2020-07-15",
}

func checkVersion(v string) error {
	newest := versions[len(versions)-1]
	if slices.Contains(versions[:], v) {
		return nil
	}
	if v < newest || len(v) != len(newest) || v[4] != '-' || v[7] != '-' || !isDigits(v[:4]) || !isDigits(v[5:7]) || !isDigits(v[8:]) {
		return badHeader("x-ms-version", v)
	}
	return nil
}

// parseBool reads a boolean in any case: clients write true, True and TRUE.
func parseBool(name, value string) (bool, error) {
	switch {
	case strings.EqualFold(value, "true"):
		return true, nil
	case strings.EqualFold(value, "false"):
		return false, nil
	}
	return false, badHeader(name, value)
}

// parseCount reads an int32 that is positive; least may allow -1 ("as many as fit"), never 0.
func parseCount(name, value string, least int) (int, error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n == 0 || n < int64(least) || n > math.MaxInt32 {
		return 0, badHeader(name, value)
	}
	return int(n), nil
}

// checkTokenLimit reads a limit in KB, which no token here comes near.
func checkTokenLimit(name, value string) error {
	if value == "0" {
		return badRequest("The continuation token limit specified is not large enough.")
	}
	_, err := parseCount(name, value, 1)
	return err
}

// parseEPK reads a bound of the effective partition key: whole bytes in hexadecimal.
func parseEPK(name, value string) (string, error) {
	if len(value)%2 != 0 || !isHex(value) {
		return "", badHeader(name, value)
	}
	return strings.ToUpper(value), nil
}

// hasElement reports whether a comma-separated list has an element, in any case.
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

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// isGUID reports whether s is a GUID in its usual form of 36 characters. What is echoed into headers and
// bodies is checked by it.
func isGUID(s string) bool {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return false
	}
	return isHex(s[:8]) && isHex(s[9:13]) && isHex(s[14:18]) && isHex(s[19:23]) && isHex(s[24:])
}

func badHeader(name, value string) error {
	return badRequest("The value '" + value + "' specified for the header '" + strings.ToLower(name) + "' is invalid.")
}
