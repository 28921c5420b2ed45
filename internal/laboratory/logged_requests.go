package laboratory

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/ttl"
)

// LoggedRequest is an entry of the log of requests: a finished request.
type LoggedRequest struct {
	ID   uint64 `json:"id" description:"Number of the request in the log, ascending."`
	Time string `json:"time" format:"date-time" description:"Start of the request, in real time."`

	DataTime string `json:"dataTime" format:"date-time" description:"End of the request, by the data clock."`

	Protocol       string  `json:"protocol" enum:"http,direct,amqp"`
	Method         string  `json:"method" description:"HTTP method, or AMQP step such as attach."`
	Path           string  `json:"path" description:"Path and query string, or AMQP address."`
	Operation      string  `json:"operation,omitempty" description:"Such as read_item or send."`
	FaultOperation string  `json:"faultOperation,omitempty" description:"Operation's name in fault rules."`
	Database       string  `json:"database,omitempty"`
	Container      string  `json:"container,omitempty"`
	Item           string  `json:"item,omitempty"`
	Entity         string  `json:"entity,omitempty" description:"Path of the queue, topic or subscription."`
	PartitionKey   string  `json:"partitionKey,omitempty" description:"Partition key as JSON, as sent."`
	Status         int     `json:"status" description:"HTTP status; 0: connection closed without a response."`
	Substatus      int     `json:"substatus,omitempty"`
	Condition      string  `json:"condition,omitempty" description:"AMQP error condition."`
	Charge         float64 `json:"charge" description:"Request charge, in RU."`
	Ms             float64 `json:"ms" description:"Duration in milliseconds."`
	BytesIn        int64   `json:"bytesIn" description:"Size of the request body."`
	BytesOut       int64   `json:"bytesOut" description:"Size of the response body."`
	Client         string  `json:"client,omitempty" description:"Name of the client, such as a User-Agent."`
	Version        string  `json:"version,omitempty" description:"Version of Cosmos DB's protocol."`
	Activity       string  `json:"activityId,omitempty"`
	Correlated     string  `json:"correlatedId,omitempty" description:"Id that all pages of one query share."`
	Fault          string  `json:"fault,omitempty" description:"Id of the fault rule that applied."`
	Attempt        int     `json:"attempt" description:"Number of this attempt at one operation, from 1."`
	First          uint64  `json:"first" description:"Id of the first attempt's request."`
	Explorer       bool    `json:"explorer,omitempty" description:"Whether the explorer sent the request."`
}

func requestOf(r *requestlog.RetrievedEntry) LoggedRequest {
	return LoggedRequest{ID: r.ID, Time: r.Began.Format(time.RFC3339Nano),
		DataTime: r.DataTime.Format(time.RFC3339Nano),
		Protocol: r.Protocol.String(), Method: r.Method, Path: r.URI, Operation: r.Operation,
		FaultOperation: r.FaultOperation, Database: r.Database, Container: r.Container, Item: r.Item,
		Entity: r.Entity, PartitionKey: r.PartitionKey, Status: r.Status, Substatus: r.Substatus,
		Condition: r.Condition, Charge: r.Charge, Ms: float64(r.Took.Microseconds()) / 1000, BytesIn: r.In,
		BytesOut: r.Out, Client: r.Client, Version: r.Version, Activity: r.Activity, Correlated: r.Correlated,
		Fault: r.Rule, Attempt: r.Attempt, First: r.First, Explorer: r.Explorer}
}

// LoggedRequests is a part of the log of requests.
type LoggedRequests struct {
	Requests []LoggedRequest `json:"requests" nullable:"false" description:"Ordered by the time they ended."`
	Position uint64          `json:"position" description:"Position to pass as the next 'after'."`
	Lost     bool            `json:"lost" description:"Whether requests after 'after' were overwritten."`
}

// Verbatim implements route.VerbatimResponse: characters that HTML reserves are not escaped.
func (*LoggedRequests) Verbatim() {}

// requestLogFilter is the part of a request that selects entries of the log of requests.
type requestLogFilter struct {
	Protocol  string `query:"protocol" description:"http, direct or amqp."`
	Method    string `query:"method" description:"HTTP method or AMQP step, ignoring case."`
	Container string `query:"container" description:"Id of a container, or database/id."`
	Database  string `query:"database" description:"Id of a database."`
	Entity    string `query:"entity" description:"Path of a queue, topic or subscription."`
	Status    string `query:"status" description:"A status such as 429, a class such as 4xx, or failed."`
	Substatus int    `query:"substatus" minimum:"0" maximum:"100000" description:"Substatus; 0: any."`
	MinMs     int64  `query:"minMs" minimum:"0" maximum:"3600000" description:"Minimum duration in ms."`
	Text      string `query:"text" description:"Text in the path, names, ids, client or request body."`
	Since     string `query:"since" description:"Earliest start: an RFC 3339 time, or an age such as 5m."`
	Explorer  string `query:"explorer" description:"true includes the requests of the explorer."`
}

// filter parses the parameters. now is real time.
func (in *requestLogFilter) filter(now time.Time) (f requestlog.Filter, err error) {
	f = requestlog.Filter{Method: in.Method, Database: in.Database,
		Container: in.Container, Entity: in.Entity, Substatus: in.Substatus,
		Min: time.Duration(in.MinMs) * time.Millisecond, Text: in.Text}
	if database, container, both := strings.Cut(in.Container, "/"); both {
		f.Database, f.Container = database, container
	}
	if in.Protocol != "" {
		if f.Protocol = requestlog.ParseProtocol(in.Protocol); f.Protocol == 0 {
			return f, route.BadRequest("'protocol' must be one of " +
				strings.Join(requestlog.ProtocolNames(), ", ") + ".")
		}
	}
	if err := setStatus(&f, in.Status); err != nil {
		return f, err
	}
	if in.Explorer != "" {
		if f.Explorer, err = strconv.ParseBool(in.Explorer); err != nil {
			return f, route.BadRequest("'explorer' must be true or false.")
		}
	}
	if in.Since == "" {
		return f, nil
	}
	if f.Since, err = time.Parse(time.RFC3339, in.Since); err == nil {
		return f, nil
	}
	ago, err := ttl.ParseDuration(in.Since)
	if err != nil {
		return f,
			route.BadRequest("'since' must be a time such as 2027-03-01T12:00:00Z, or a duration " +
				"such as 5m.")
	}
	f.Since = now.Add(-ago)
	return f, nil
}

// setStatus parses a status filter: 429, 4xx or failed.
func setStatus(f *requestlog.Filter, text string) error {
	switch class, ok := strings.CutSuffix(strings.ToLower(text), "xx"); {
	case text == "":
	case text == "failed":
		f.Failed = true
	case ok && len(class) == 1 && class[0] >= '1' && class[0] <= '5':
		f.MinStatus = int(class[0]-'0') * 100
		f.MaxStatus = f.MinStatus + 99
	default:
		n, err := strconv.Atoi(text)
		if err != nil || n < 100 || n > 599 {
			return route.BadRequest("'status' must be a status such as 429, a class such as 4xx, or failed.")
		}
		f.MinStatus, f.MaxStatus = n, n
	}
	return nil
}

type listLoggedRequestsRequest struct {
	requestLogFilter
	After int64 `query:"after" minimum:"0" description:"Position to read after; absent: the latest."`

	Limit int `query:"limit" minimum:"1" maximum:"10000" default:"100" description:"Maximum number per page."`

	Wait int64  `query:"wait" minimum:"0" maximum:"600" description:"Seconds to wait if there are none."`
	Last string `header:"Last-Event-Id" description:"Position for a reconnecting client; overrides 'after'."`
	WaitTimeLimiter
	ResponseMemoryReserver
	_ struct{} `takes:"requests take %"`
}

// reader opens a reader of the log of requests, at the position that the request names.
func (l *Laboratory) reader(in *listLoggedRequestsRequest) (*requestlog.Reader, error) {
	f, err := in.filter(l.opt.Wall.Now())
	if err != nil {
		return nil, err
	}
	after := uint64(in.After)
	if in.Last != "" {
		if after, err = strconv.ParseUint(in.Last, 10, 64); err != nil {
			return nil, route.BadRequest("'Last-Event-Id' must be the id of an event.")
		}
	}
	log, err := l.log()
	if err != nil {
		return nil, err
	}
	return log.Read(after, f), nil
}

// log returns the log of requests, or a 404 error if the server has none.
func (l *Laboratory) log() (*requestlog.Log, error) {
	if l.opt.Requests == nil {
		return nil, route.NotFound("This server keeps no log of requests.")
	}
	return l.opt.Requests, nil
}

// listRequests returns the latest requests, or the first ones after a position. If there are none, it waits
// for them, for up to in.Wait seconds of real time.
func (l *Laboratory) listRequests(ctx context.Context, in *listLoggedRequestsRequest) (LoggedRequests,
	error) {
	r, err := l.reader(in)
	if err != nil {
		return LoggedRequests{}, err
	}
	if err := in.ResponseMemoryReserver.take(); err != nil {
		return LoggedRequests{}, err
	}
	list, lost := r.Next()
	if in.Wait > 0 && len(list) == 0 {
		patient, end := in.WaitTimeLimiter.wait(ctx, time.Duration(in.Wait)*time.Second)
		for len(list) == 0 && r.Wait(patient) == nil {
			list, _ = r.Next()
		}
		end()
	}
	out := LoggedRequests{Requests: []LoggedRequest{}, Position: r.Position(), Lost: lost && in.After > 0}
	switch more := len(list) - in.Limit; {
	case more > 0 && in.After > 0:
		list = list[:in.Limit]
		out.Position = list[in.Limit-1].ID
	case more > 0:
		list = list[more:]
	}
	for _, one := range list {
		out.Requests = append(out.Requests, requestOf(one))
	}
	return out, nil
}

func (l *Laboratory) clearRequests(context.Context, *route.NoBody) (route.NoBody, error) {
	log, err := l.log()
	log.Clear()
	return route.NoBody{}, err
}
