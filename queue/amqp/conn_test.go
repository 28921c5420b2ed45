package amqp

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mayflydb/mayfly/queue/amqp/frame"
	"github.com/mayflydb/mayfly/queue/wire"
	"github.com/mayflydb/mayfly/ttl"
)

// TestHeaders checks that the server answers an unknown protocol header with its own header, and closes
// the connection.
func TestHeaders(t *testing.T) {
	c := dial(t, &fixedAttachResponseHandler{})
	c.header(frame.ProtocolHeader{'A', 'M', 'Q', 'P', 0, 0, 9, 1}, frame.HeaderSASL())
	c.closed()
}

// TestSASL checks that a client can connect with ANONYMOUS and MSSBCBS, and that the server rejects PLAIN,
// for which no passwords are configured, and an unknown mechanism.
func TestSASL(t *testing.T) {
	for mechanism, want := range map[string]uint8{"ANONYMOUS": frame.SASLOK, "MSSBCBS": frame.SASLOK,
		"PLAIN": frame.SASLAuth, "CRAM-MD5": frame.SASLAuth} {
		t.Run(mechanism, func(t *testing.T) {
			c := dial(t, &fixedAttachResponseHandler{})
			c.header(frame.HeaderSASL(), frame.HeaderSASL())
			if m := expect[*frame.SASLMechanisms](c); len(m.List) == 0 {
				t.Error("the server has no mechanism")
			}
			b := frame.Append(nil, 0, &frame.SASLInit{Mechanism: wire.Symbol(mechanism),
				Response: []byte("\x00user\x00password")}, nil)
			b[5] = frame.TypeSASL
			c.write(b)
			if o := expect[*frame.SASLOutcome](c); uint8(o.Code) != want {
				t.Fatalf("the outcome is %d, not %d", o.Code, want)
			}
			if want != frame.SASLOK {
				c.closed()
				return
			}
			c.header(frame.HeaderAMQP(), frame.HeaderAMQP())
			c.send(0, &frame.Open{ContainerID: "client"})
			expect[*frame.Open](c)
		})
	}
}

// TestConnection checks how a connection ends after various protocol errors, after a close by the client,
// and when the server stops.
func TestConnection(t *testing.T) {
	t.Run("no open", func(t *testing.T) {
		c := dial(t, &fixedAttachResponseHandler{})
		c.header(frame.HeaderAMQP(), frame.HeaderAMQP())
		c.send(0, &frame.Begin{})
		expect[*frame.Open](c)
		c.failed(string(frame.CondIllegalState))
		c.closed()
	})
	for name, s := range map[string]struct {
		channel uint16
		body    frame.Body
		want    string
	}{
		"a second open":      {0, &frame.Open{}, string(frame.CondIllegalState)},
		"no session":         {3, &frame.Flow{}, string(frame.CondFraming)},
		"a channel too high": {channelMax + 1, &frame.Begin{}, string(frame.CondFraming)},
		"a long name": {0, &frame.Attach{Name: string(make([]byte, maxLinkName+1))},
			string(frame.CondInvalidField)},
	} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, &fixedAttachResponseHandler{})
			c.send(s.channel, s.body)
			c.failed(s.want)
			c.closed()
		})
	}
	t.Run("the client's close", func(t *testing.T) {
		c := opened(t, &fixedAttachResponseHandler{})
		c.send(0, &frame.Close{})
		if e := expect[*frame.Close](c).Error; e != nil {
			t.Error(e)
		}
		c.closed()
	})
	t.Run("the server's end", func(t *testing.T) {
		c := opened(t, &fixedAttachResponseHandler{})
		c.stop()
		c.failed(string(frame.CondForced))
		c.closed()
	})
	t.Run("a close that the client ignores", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := opened(t, &fixedAttachResponseHandler{})
			c.send(0, &frame.Open{})
			expect[*frame.Close](c)
			for range 5 {
				second, _ := ttl.SystemClock{}.After(time.Second)
				<-second
				c.write([]byte{0, 0, 0, 8, 2, 0, 0, 0}) // an empty frame
			}
			synctest.Wait()
			select {
			case _, open := <-c.frames:
				if open {
					t.Error("the server has sent a frame after its close")
				}
			default:
				t.Error("the connection is still open")
			}
		})
	})
	t.Run("no sense", func(t *testing.T) {
		c := opened(t, &fixedAttachResponseHandler{})
		c.write([]byte{0, 0, 0, 9, 2, 0, 0, 0, 0xff})
		c.failed(string(frame.CondDecode))
		c.closed()
	})
}
