package rest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/queue/entity"
)

// contentEntry and contentFeed are the content types of responses.
const (
	contentEntry = "application/atom+xml;type=entry;charset=utf-8"
	contentFeed  = "application/atom+xml;type=feed;charset=utf-8"
)

// atomEntry is an entity or a rule, as the ATOM entry of a response shows it.
type atomEntry struct {
	path     string // of the entity or rule: "news/Subscriptions/all"
	title    string
	created  time.Time
	updated  time.Time
	describe func(b []byte) []byte
}

// scheme returns the scheme of the client's URLs.
func (c *activeRequest) scheme() string {
	if c.r.TLS != nil {
		return "https://"
	}
	return "http://"
}

// address returns the URL of a path. Clients read the names of entities from it.
func (c *activeRequest) address(path string) string {
	text := c.scheme() + c.r.Host + "/" + path
	if v := c.query.Get("api-version"); v != "" {
		text += "?api-version=" + v
	}
	return text
}

// appendEntry appends an entry. inner is set for an entry within a feed; the feed then declares the
// namespace.
func (c *activeRequest) appendEntry(b []byte, it atomEntry, inner bool) []byte {
	b = append(b, "<entry"...)
	if !inner {
		b = append(b, ` xmlns="`+nsAtom+`"`...)
	}
	b = append(b, '>')
	b = appendElement(b, "id", c.address(it.path))
	b = append(b, `<title type="text">`...)
	b = append(appendText(b, it.title), "</title>"...)
	b = appendElement(b, "published", stamp(it.created))
	b = appendElement(b, "updated", stamp(it.updated))
	b = append(b, "<author><name>mayfly</name></author>"...)
	b = c.appendLink(b, "self", c.address(it.path))
	b = append(b, `<content type="application/xml">`...)
	b = it.describe(b)
	return append(b, "</content></entry>"...)
}

func (c *activeRequest) appendLink(b []byte, rel, href string) []byte {
	b = append(b, `<link rel="`+rel+`" href="`...)
	return append(appendText(b, href), `"/>`...)
}

// answerEntry responds with one entry.
func (c *activeRequest) answerEntry(status int, it atomEntry) error {
	return c.answer(status, contentEntry, c.appendEntry(nil, it, false))
}

// maxPage is the maximal and default number of entries of a feed.
const maxPage = 100

// page parses the query parameters $skip and $top, the first entry and the number of entries of a page.
func (c *activeRequest) page() (skip, top int, err error) {
	top = maxPage
	for name, to := range map[string]*int{"$skip": &skip, "$top": &top} {
		text := c.query.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return 0, 0, badRequest("The value of " + name + " is no number.")
		}
		*to = n
	}
	return skip, min(top, maxPage), nil
}

// answerFeed responds with an ATOM feed of one page of entries: the first top of list, which begins at the
// position skip of the whole. If list has more entries, the feed has a link to the next page.
func (c *activeRequest) answerFeed(title string, list []atomEntry, skip, top int) error {
	b := []byte(`<feed xmlns="` + nsAtom + `"><title type="text">`)
	b = append(appendText(b, title), "</title>"...)
	self := c.scheme() + c.r.Host + c.r.URL.RequestURI()
	b = appendElement(b, "id", self)
	b = appendElement(b, "updated", stamp(c.o.Queues.Now()))
	b = c.appendLink(b, "self", self)
	if len(list) > top {
		list = list[:top]
		query := "?$skip=" + strconv.Itoa(skip+top) + "&$top=" + strconv.Itoa(top)
		if v := c.query.Get("api-version"); v != "" {
			query += "&api-version=" + v
		}
		b = c.appendLink(b, "next", c.scheme()+c.r.Host+"/"+strings.Join(c.path, "/")+query)
	}
	for _, it := range list {
		b = c.appendEntry(b, it, true)
	}
	return c.answer(http.StatusOK, contentFeed, append(b, "</feed>"...))
}

// answerNothing responds to a GET of a queue or topic that does not exist. As in Service Bus, the response
// is a feed without entries, which clients recognize by its title.
func (c *activeRequest) answerNothing() error {
	return c.answerFeed("Publicly Listed Services", nil, 0, 0)
}

// namespaceInfo responds with the description of the server as a Service Bus namespace.
func (c *activeRequest) namespaceInfo() error {
	if c.r.Method != http.MethodGet {
		return c.notAllowed(http.MethodGet)
	}
	now := c.o.Queues.Now()
	name, _, _ := strings.Cut(c.r.Host, ".")
	name, _, _ = strings.Cut(name, ":")
	return c.answerEntry(http.StatusOK,
		atomEntry{path: "$namespaceinfo", title: name, created: now, updated: now,
			describe: func(b []byte) []byte {
				b = append(b, `<NamespaceInfo xmlns="`+nsBus+`" xmlns:i="`+nsInstance+`">`...)
				b = appendElement(b, "CreatedTime", stamp(now))
				b = appendElement(b, "MessagingSKU", "Standard")
				b = appendElement(b, "ModifiedTime", stamp(now))
				b = appendElement(b, "Name", name)
				b = appendElement(b, "NamespaceType", "Messaging")
				return append(b, "</NamespaceInfo>"...)
			}})
}

// kindOfPath returns Subscription for the path of a subscription, else Queue.
func kindOfPath(path string) entity.Kind {
	a, _, err := entity.ParseAddress(path)
	if _, _, ok := a.Subscription(); err == nil && ok {
		return entity.Subscription
	}
	return entity.Queue
}
