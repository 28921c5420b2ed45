package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/mayflydb/mayfly/httpapi"
)

// measureDirect compares the CPU time of a server for point reads in direct mode with that for the same reads
// over HTTPS.
func (b *BenchmarkRun) measureDirect(ctx context.Context) (err error) {
	n := min(hotDocs, b.docs())
	dir := b.path("direct")
	defer drop(dir)
	requests, err := b.makeHTTPData(ctx, n, dir)
	if err != nil {
		return err
	}
	frames := make([][]byte, n)
	for i := range frames {
		frames[i] = directRead(newDocument(i))
	}
	server, err := startBenchServer(ctx, "mayfly", dir)
	if err != nil {
		return err
	}
	defer closing(server, &err)
	direct := &benchServer{childProcess: server.childProcess, address: server.address, counts: server.counts}
	https := &benchServer{childProcess: server.childProcess, address: server.address, counts: server.counts}
	err = errors.Join(direct.connectTLS(ctx, frames, true), https.connectTLS(ctx, requests, false))
	server.conns = append(direct.conns, https.conns...) // closed with it
	if err != nil {
		return err
	}
	b.report.begin("direct", fmt.Sprintf(
		"point reads in direct mode, %d connections, one request at a time on each, %s keys, cached; "+
			"against HTTPS",
		httpConns, thousands(int64(n))), "HTTPS")
	var rates [2][]float64
	d, err := b.compare(ctx, "reading in direct mode", direct.loaded(ctx, b, &rates[0]),
		https.loaded(ctx, b, &rates[1]))
	if err != nil {
		return err
	}
	if server.counts {
		b.report.add(d.speed("server CPU (user + system) a request", nil))
	}
	against, pairs := median(rates[1]), baselineComparisonTimes{mayfly: rates[0], baseline: rates[1]}
	ratio := median(pairs.ratios(quotient))
	b.report.add(Measurement{Name: "requests, client on the same machine", Value: median(rates[0]),
		Unit: perSecond, Against: &against, Ratio: &ratio, Samples: pairs.ratios(quotient)})
	return nil
}

// connectTLS opens the connections for the load over TLS. If direct is set, they are connections of direct
// mode, which begin with a connection context.
func (s *benchServer) connectTLS(ctx context.Context, requests [][]byte, direct bool) error {
	// The server has a self-signed certificate. It can be trusted, since this process has started the
	// server.
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	for i := range httpConns {
		conn, err := dialer.DialContext(ctx, "tcp", s.address)
		if err != nil {
			return err
		}
		w := newRawHTTPConn(conn, requests, i)
		s.conns = append(s.conns, w)
		if direct {
			if err := w.greet(); err != nil {
				return err
			}
			w.read = w.frame
		}
	}
	return nil
}

// Types of tokens in frames of direct mode.
const (
	tokenULong       = 0x02
	tokenSmallString = 0x07
	tokenString      = 0x08
)

// directFrame returns the encoded frame of a request without a payload, up to its tokens: see internal/rntbd.
func directFrame(resource, operation uint16, tokens func([]byte) []byte) []byte {
	b := binary.LittleEndian.AppendUint16(make([]byte, 4), resource)
	b = binary.LittleEndian.AppendUint16(b, operation)
	b = append(b, make([]byte, 16)...) // the activity id
	b = tokens(b)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

// directRead returns the frame of a point read.
func directRead(d document) []byte {
	return directFrame(3, 3, func(b []byte) []byte {
		for _, t := range []struct {
			id    uint16
			value string
		}{{0x01, "Bearer " + httpapi.EmulatorKey}, {0x15, benchDatabase}, {0x16, benchContainer},
			{0x17, d.id},
			{0x2B, `["` + d.pk + `"]`}} {
			b = append(binary.LittleEndian.AppendUint16(b, t.id), tokenString)
			b = append(binary.LittleEndian.AppendUint16(b, uint16(len(t.value))), t.value...)
		}
		return b
	})
}

// greet opens a connection of direct mode: it sends a connection context and reads the server's.
func (w *rawHTTPConn) greet() error {
	greeting := directFrame(0, 0, func(b []byte) []byte {
		b = append(binary.LittleEndian.AppendUint16(b, 0), tokenULong)
		b = binary.LittleEndian.AppendUint32(b, 1)
		for id, text := range []string{"2020-07-15", "bench"} {
			b = append(binary.LittleEndian.AppendUint16(b, uint16(id+1)), tokenSmallString, byte(len(text)))
			b = append(b, text...)
		}
		return b
	})
	if _, err := w.conn.Write(greeting); err != nil {
		return err
	}
	_, _, err := w.head()
	return err
}

// head reads a frame up to its payload.
func (w *rawHTTPConn) head() (status uint32, tokens []byte, err error) {
	var head [24]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		return 0, nil, err
	}
	length := binary.LittleEndian.Uint32(head[:])
	if length < 24 || length > math.MaxUint16 {
		return 0, nil, fmt.Errorf("a frame of %d bytes", length)
	}
	tokens = make([]byte, length-24)
	_, err = io.ReadFull(w.in, tokens)
	return binary.LittleEndian.Uint32(head[4:]), tokens, err
}

// payloadPresent is the token of a response that has a payload.
var payloadPresent = []byte{0, 0, 0, 1}

// frame reads one response of direct mode.
func (w *rawHTTPConn) frame() error {
	status, tokens, err := w.head()
	if err != nil {
		return err
	}
	if status != 200 || !bytes.Contains(tokens, payloadPresent) {
		return fmt.Errorf("a point read was answered with %d", status)
	}
	var size [4]byte
	if _, err := io.ReadFull(w.in, size[:]); err != nil {
		return err
	}
	_, err = w.in.Discard(int(binary.LittleEndian.Uint32(size[:])))
	return err
}
