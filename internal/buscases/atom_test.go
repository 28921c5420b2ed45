package buscases

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
)

func connectATOM(b *caseFixture) {
	w := newHTTPClient(b)
	b.entities = &atomClient{w}
}

// atomClient manages entities by ATOM entries over HTTP, with no more elements than the cases need.
type atomClient struct{ *restClient }

// xmlElement is an XML element of any name, with its content.
type xmlElement struct {
	XMLName xml.Name
	Text    string       `xml:",chardata"`
	Nodes   []xmlElement `xml:",any"`
}

// find returns the first element with that name: e itself or one inside of it, or nil.
func (e *xmlElement) find(name string) *xmlElement {
	if e.XMLName.Local == name {
		return e
	}
	for i := range e.Nodes {
		if found := e.Nodes[i].find(name); found != nil {
			return found
		}
	}
	return nil
}

func (e *xmlElement) text(name string) string {
	if found := e.find(name); found != nil {
		return found.Text
	}
	return ""
}

func (a *atomClient) put(path, kind, elements string, headers ...string) error {
	_, err := a.do("PUT", "/"+path,
		`<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><`+kind+
			` xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" `+
			`xmlns:i="http://www.w3.org/2001/XMLSchema-instance">`+elements+`</`+kind+`></content></entry>`,
		headers...)
	return err
}

// elements returns the XML elements of an entity's description with the properties that the cases set.
func elements(kind entity.Kind, p entity.Properties) string {
	var text strings.Builder
	add := func(name string, value any) { fmt.Fprintf(&text, "<%s>%v</%s>", name, value, name) }
	if kind != entity.Topic {
		add("LockDuration", entity.FormatDuration(p.LockDuration))
		add("DeadLetteringOnMessageExpiration", p.DeadLetterOnExpiration)
		add("MaxDeliveryCount", p.MaxDeliveryCount)
	}
	if p.DefaultTTL > 0 { // else the tier decides
		add("DefaultMessageTimeToLive", entity.FormatDuration(p.DefaultTTL))
	}
	add("AutoDeleteOnIdle", entity.FormatDuration(p.AutoDeleteOnIdle))
	add("Status", p.Status)
	if p.ForwardTo != "" {
		add("ForwardTo", p.ForwardTo)
	}
	return text.String()
}

func (a *atomClient) create(kind entity.Kind, path string, p entity.Properties) error {
	return a.put(path, kind.String()+"Description", elements(kind, p))
}

func (a *atomClient) update(kind entity.Kind, path string, p entity.Properties) error {
	return a.put(path, kind.String()+"Description", elements(kind, p), "If-Match", "*")
}

func (a *atomClient) get(path string) (e entity.Entity, err error) {
	found, err := a.read("/" + path)
	var status *statusError
	if errors.As(err, &status) && status.status == http.StatusNotFound ||
		err == nil && found.XMLName.Local != "entry" {
		return e, &entity.Error{Code: entity.CodeEntityNotFound, Message: "there is no " + path}
	}
	if err != nil {
		return e, err
	}
	for _, kind := range []entity.Kind{entity.Queue, entity.Topic, entity.Subscription} {
		if d := found.find(kind.String() + "Description"); d != nil {
			e.Kind, e.Path = kind, path
			return e, readEntity(d, &e)
		}
	}
	return e, errors.New("no description")
}

// readEntity decodes into e those properties in the description d that the cases check.
func readEntity(d *xmlElement, e *entity.Entity) (err error) {
	p := &e.Properties
	for name, to := range map[string]*time.Duration{"LockDuration": &p.LockDuration,
		"DefaultMessageTimeToLive": &p.DefaultTTL, "AutoDeleteOnIdle": &p.AutoDeleteOnIdle} {
		if text := d.text(name); text != "" {
			if *to, err = entity.ParseDuration(text); err != nil {
				return err
			}
		}
	}
	for name, to := range map[string]*int64{"ActiveMessageCount": &e.Counts.Active,
		"DeadLetterMessageCount": &e.Counts.DeadLetter, "ScheduledMessageCount": &e.Counts.Scheduled} {
		if *to, err = strconv.ParseInt(d.text(name), 10, 64); err != nil {
			return err
		}
	}
	if text := d.text("MaxDeliveryCount"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		p.MaxDeliveryCount = int32(n)
	}
	p.DeadLetterOnExpiration = d.text("DeadLetteringOnMessageExpiration") == "true"
	e.Accessed, err = time.Parse(time.RFC3339Nano, d.text("AccessedAt"))
	return err
}

func (a *atomClient) read(path string) (*xmlElement, error) {
	res, err := a.do("GET", path, "")
	if err != nil {
		return nil, err
	}
	var found xmlElement
	return &found, xml.Unmarshal(res.Body.Bytes(), &found)
}

func (a *atomClient) addRule(subscription, name, filter, action string) error {
	act := `<Action i:type="EmptyRuleAction"/>`
	if action != "" {
		act = `<Action i:type="SqlRuleAction"><SqlExpression>` + html.EscapeString(action) +
			`</SqlExpression></Action>`
	}
	return a.put(subscription+"/Rules/"+name, "RuleDescription", `<Filter i:type="SqlFilter"><SqlExpression>`+
		html.EscapeString(filter)+`</SqlExpression></Filter>`+act+`<Name>`+name+`</Name>`)
}

func (a *atomClient) list(skip, top int) (names []string, err error) {
	feed, err := a.read(fmt.Sprintf("/$Resources/Queues?$skip=%d&$top=%d&api-version=2021-05", skip, top))
	if err != nil {
		return nil, err
	}
	for i := range feed.Nodes {
		if e := &feed.Nodes[i]; e.XMLName.Local == "entry" {
			names = append(names, e.text("title"))
		}
	}
	return names, nil
}
