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
	ID             uint64  `json:"id" description:"Its number in the log; it rises."`
	Time           string  `json:"time" format:"date-time" description:"When it began, in real time."`
	DataTime       string  `json:"dataTime" format:"date-time" description:"Its end, by the data's clock."`
	Protocol       string  `json:"protocol" enum:"http,direct,amqp"`
	Method         string  `json:"method" description:"Of HTTP; of AMQP attach, transfer and so on."`
	Path           string  `json:"path" description:"With its query string."`
	Operation      string  `json:"operation,omitempty" description:"read_item, send and so on."`
	FaultOperation string  `json:"faultOperation,omitempty" description:"As faults on demand call it."`
	Database       string  `json:"database,omitempty"`
	Container      string  `json:"container,omitempty"`
	Item           string  `json:"item,omitempty"`
	Entity         string  `json:"entity,omitempty" description:"Path of the queue, topic or subscription."`
	PartitionKey   string  `json:"partitionKey,omitempty" description:"JSON, as it was sent."`
	Status         int     `json:"status" description:"0: the connection ended without an answer."`
	Substatus      int     `json:"substatus,omitempty"`
	Condition      string  `json:"condition,omitempty" description:"Of AMQP, where it failed."`
	Charge         float64 `json:"charge" description:"Request units."`
	Ms             float64 `json:"ms" description:"Milliseconds that it took."`
	BytesIn        int64   `json:"bytesIn" description:"Of the body."`
	BytesOut       int64   `json:"bytesOut" description:"Of the answer's body."`
	Client         string  `json:"client,omitempty" description:"What the client calls itself."`
	Version        string  `json:"version,omitempty" description:"Of the protocol."`
	Activity       string  `json:"activityId,omitempty"`
	Correlated     string  `json:"correlatedId,omitempty" description:"All pages of a query have the same."`
	Fault          string  `json:"fault,omitempty" description:"The fault on demand that it met."`
	Attempt        int     `json:"attempt" description:"Of one operation, from 1."`
	First          uint64  `json:"first" description:"The id of the first attempt."`
	Explorer       bool    `json:"explorer,omitempty" description:"The explorer sent it."`
}

func requestOf(r *requestlog.LoggedEntry) LoggedRequest {
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
	Requests []LoggedRequest `json:"requests" nullable:"false" description:"In the order of their ends."`
	Position uint64          `json:"position" description:"Behind them: where to go on."`
	Lost     bool            `json:"lost" description:"Some behind the position are gone."`
}

// Verbatim implements route.VerbatimResponse: characters that HTML reserves are not escaped.
func (*LoggedRequests) Verbatim() {}

// requestLogFilter is the part of a request that selects entries of the log of requests.
type requestLogFilter struct {
	Protocol  string `query:"protocol" description:"http, direct or amqp."`
	Method    string `query:"method" description:"In any case."`
	Container string `query:"container" description:"A container: its id, or database/id."`
	Database  string `query:"database" description:"Its id."`
	Entity    string `query:"entity" description:"Path of a queue, topic or subscription."`
	Status    string `query:"status" description:"A status, a class such as 4xx, or failed."`
	Substatus int    `query:"substatus" minimum:"0" maximum:"100000" description:"0: any."`
	MinMs     int64  `query:"minMs" minimum:"0" maximum:"3600000" description:"The least time."`
	Text      string `query:"text" description:"In the path, names, ids, client or body."`
	Since     string `query:"since" description:"A moment of real time, or for how long: 5m."`
	Explorer  string `query:"explorer" description:"true: with the requests that the explorer has sent."`
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
			route.BadRequest("'since' must be a moment such as 2027-03-01T12:00:00Z, or a duration " +
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

type listRequestsRequest struct {
	requestLogFilter
	After int64  `query:"after" minimum:"0" description:"A position. None: the latest ones."`
	Limit int    `query:"limit" minimum:"1" maximum:"10000" default:"100" description:"Of a page."`
	Wait  int64  `query:"wait" minimum:"0" maximum:"600" description:"Seconds, for a first one."`
	Last  string `header:"Last-Event-Id" description:"The position, for a client that reconnects."`
	WaitLimit
	MemoryReservation
	_ struct{} `takes:"requests take %"`
}

// reader opens a reader of the log at the request's position.
func (l *Laboratory) reader(in *listRequestsRequest) (*requestlog.Reader, error) {
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
func (l *Laboratory) listRequests(ctx context.Context, in *listRequestsRequest) (LoggedRequests, error) {
	r, err := l.reader(in)
	if err != nil {
		return LoggedRequests{}, err
	}
	if err := in.MemoryReservation.take(); err != nil {
		return LoggedRequests{}, err
	}
	list, lost := r.Next()
	if in.Wait > 0 && len(list) == 0 {
		patient, end := in.WaitLimit.wait(ctx, time.Duration(in.Wait)*time.Second)
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
