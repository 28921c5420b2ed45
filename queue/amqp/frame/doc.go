// Package frame reads and writes the frames of AMQP 1.0 and what they carry: performatives, SASL's bodies,
// the states of deliveries, termini and errors (parts 2 to 5 of the standard). It keeps no state: which frame
// may come when is the server's business.
//
//	r := frame.NewReader(conn, maxFrameSize)
//	id, err := r.ProtocolHeader()
//	f, err := r.Next()
//	body, payload, err := frame.Parse(f.Body)
//
//	buf = frame.Append(buf[:0], channel, &frame.Begin{...}, nil)
//
// # Fields
//
// Each body is written with all of its fields, null where there is nothing to say: older clients read fields
// by their number and fail where the list ends before. What is read may end early, or have fields that nobody
// knows. A field that must be there and is not is an *Error of the condition that the standard has for it.
//
// # Memory
//
// What Next returns lives until the next call. Parse copies what it keeps, but for the payload, delivery tags
// and whatever is typed []byte or any: these alias the frame.
package frame
