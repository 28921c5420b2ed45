// Package frame reads and writes the frames of AMQP 1.0 and their contents: performatives, SASL bodies,
// delivery states, termini and errors (parts 2 to 5 of the standard). It keeps no state. The caller checks
// that frames arrive in a valid order.
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
// Each body is written with all of its fields, null for an empty one, because older clients read fields by
// position and fail if the list is shorter. A received body may have fewer fields, or additional unknown
// ones. A missing mandatory field is a *FormatError with the condition that the standard defines for it.
//
// # Memory
//
// The result of Next is valid until the next call. Parse copies what it returns, except the payload,
// delivery tags and fields of type []byte or any, which alias the frame.
package frame
