package rntbd

import (
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strconv"
)

// Tokens of the connection context and of the response to it.
const (
	contextProtocol      = 0x00
	contextClientVersion = 0x01
	contextAgent         = 0x02 // name of the client or of the server
	contextServerVersion = 0x03
	contextIdle          = 0x04
)

const (
	protocolVersion = 1
	defaultVersion  = "2020-07-15" // version of the REST protocol for a client that sends none
)

// greet responds to the first frame of a connection, which negotiates the protocol version.
func (c *conn) greet(f *frame) error {
	b := appendAnswerHead(nil, http.StatusOK, f.activity)
	if !f.isContext() || f.tokens.number(contextProtocol) != protocolVersion {
		_ = c.out.add(refusedContext(f), true) // the connection is closed, whether this succeeds or not
		return ErrProtocol
	}
	if c.version = f.tokens.text(contextClientVersion); c.version == "" {
		c.version = defaultVersion
	}
	c.agent = f.tokens.text(contextAgent)
	b = appendULong(b, contextProtocol, protocolVersion)
	b = appendSmallString(b, contextClientVersion, c.version)
	b = appendSmallString(b, contextAgent, c.o.Agent)
	b = appendSmallString(b, contextServerVersion, c.o.Version)
	b = appendULong(b, contextIdle, uint32(advertisedIdle.Seconds()))
	return c.out.add(endHead(b), true)
}

// refusedContext returns the response, with status 400, to a client whose first frame is not a connection
// context. Its head lacks the token that normally announces a body, but a body with the error message
// follows.
func refusedContext(f *frame) []byte {
	b := endHead(appendAnswerHead(nil, http.StatusBadRequest, f.activity))
	body := errorBody(
		"The first frame of a connection must be a connection context of version " +
			strconv.Itoa(protocolVersion) + ".",
	)
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(body))), body...)
}

// errorBody returns the body of an error in the form in which a replica sends it.
func errorBody(message string) []byte {
	body, _ := json.Marshal(struct { // cannot fail: only strings
		Errors []string `json:"Errors"`
	}{[]string{message}})
	return body
}
