package rest

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// The XML namespaces.
const (
	nsAtom     = "http://www.w3.org/2005/Atom"
	nsBus      = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
	nsCounts   = "http://schemas.microsoft.com/netservices/2011/06/servicebus"
	nsInstance = "http://www.w3.org/2001/XMLSchema-instance"
	nsSchema   = "http://www.w3.org/2001/XMLSchema"
)

// xmlNode is an XML element that a client sent. Prefixes are resolved to namespaces, because clients choose
// them freely.
type xmlNode struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Nodes   []xmlNode  `xml:",any"`
}

// child returns the first child with this name, or nil. Namespaces are ignored, because some clients omit
// them.
func (n *xmlNode) child(name string) *xmlNode {
	if n == nil {
		return nil
	}
	for i := range n.Nodes {
		if n.Nodes[i].XMLName.Local == name {
			return &n.Nodes[i]
		}
	}
	return nil
}

// text returns the text of the child with this name, without spaces at its ends, or "" if there is none.
func (n *xmlNode) text(name string) string {
	if c := n.child(name); c != nil {
		return strings.TrimSpace(c.Text)
	}
	return ""
}

// written returns the text of the child with this name, with spaces at its ends, or "" if there is none.
func (n *xmlNode) written(name string) string {
	if c := n.child(name); c != nil {
		return c.Text
	}
	return ""
}

// kind returns the i:type attribute of an element, without the prefix.
func (n *xmlNode) kind() string {
	for _, a := range n.Attrs {
		if a.Name.Space == nsInstance && a.Name.Local == "type" {
			return a.Value[strings.LastIndexByte(a.Value, ':')+1:]
		}
	}
	return ""
}

// isNil reports whether an element has the attribute i:nil.
func (n *xmlNode) isNil() bool {
	for _, a := range n.Attrs {
		if a.Name.Space == nsInstance && a.Name.Local == "nil" {
			return a.Value == "true" || a.Value == "1"
		}
	}
	return false
}

// maxEntry is the maximal size of a request's ATOM entry in bytes.
const maxEntry = 1 << 20

// content parses the ATOM entry in the body of the request and returns its content element.
func (c *activeRequest) content() (*xmlNode, error) {
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, maxEntry))
	c.sent = body
	if err != nil {
		return nil, err
	}
	var root xmlNode
	if err := xml.NewDecoder(bytes.NewReader(body)).Decode(&root); err != nil {
		return nil, badRequest("The body is no ATOM entry: " + err.Error() + ".")
	}
	found := root.child("content")
	if root.XMLName.Local != "entry" || found == nil {
		return nil, badRequest("The body is no ATOM entry with a content.")
	}
	return found, nil
}

// entry parses the ATOM entry in the body of the request and returns the description element with this name.
func (c *activeRequest) entry(name string) (*xmlNode, error) {
	content, err := c.content()
	if err != nil {
		return nil, err
	}
	found := content.child(name)
	if found == nil {
		return nil, badRequest("The content of the entry is no " + name + ".")
	}
	return found, nil
}

// appendText appends escaped text. It escapes quotes by name (&quot;), because some clients do not accept the
// numeric escapes that encoding/xml writes. Characters that XML does not allow become U+FFFD.
func appendText(b []byte, text string) []byte {
	for _, r := range text {
		switch {
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r == '"':
			b = append(b, "&quot;"...)
		case r == '\r':
			b = append(b, "&#xD;"...) // an unescaped one would be read as the end of a line
		case r < ' ' && r != '\t' && r != '\n' || r == 0xFFFE || r == 0xFFFF:
			b = utf8.AppendRune(b, utf8.RuneError)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

// appendElement appends an element with a text.
func appendElement(b []byte, name, text string) []byte {
	b = append(append(append(b, '<'), name...), '>')
	b = appendText(b, text)
	return append(append(append(b, '<', '/'), name...), '>')
}

// appendNodes appends elements that a client sent, with their names in the namespace of Service Bus. It
// keeps no attribute except i:type.
func appendNodes(b []byte, list []xmlNode) []byte {
	for i := range list {
		n := &list[i]
		b = append(append(b, '<'), n.XMLName.Local...)
		if kind := n.kind(); kind != "" {
			b = append(appendText(append(b, ` i:type="`...), kind), '"')
		}
		b = append(b, '>')
		if len(n.Nodes) == 0 {
			b = appendText(b, n.Text)
		}
		b = append(append(append(appendNodes(b, n.Nodes), '<', '/'), n.XMLName.Local...), '>')
	}
	return b
}

// stamp formats a time in the format of times in ATOM entries.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.0000000Z") }
