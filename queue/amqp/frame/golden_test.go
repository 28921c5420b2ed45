package frame

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/queue/wire"
)

// TestGolden compares the encoded frame of each body with its expected bytes in hexadecimal.
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		body    Body
		payload string
		want    string
	}{
		"mechanisms": {&SASLMechanisms{[]wire.Symbol{"PLAIN"}}, "",
			"0000002102010001 005340 c01401 f00000000e00000001b300000005 504c41494e"},
		"sasl outcome": {&SASLOutcome{Code: SASLOK}, "", "0000001102010001 005344 c00402 5000 40"},
		"open": {&Open{ContainerID: "m", MaxFrameSize: 65536, ChannelMax: 4999, IdleTimeout: 120_000}, "",
			"0000002402000001 005310 c0170a a1016d 40 7000010000 601387 700001d4c0" +
				"4040404040"},
		"begin": {&Begin{RemoteChannel: Some(1), IncomingWindow: 5000, OutgoingWindow: 5000,
			HandleMax: 255}, "",
			"0000002102000001 005311 c01408 600001 43 7000001388 7000001388 52ff 404040"},
		"attach that sends": {&Attach{Name: "l", Handle: 1, SndSettleMode: SenderMixed,
			RcvSettleMode: ReceiverSecond, Source: &Source{Address: "q", HasAddress: true}, Target: &Target{},
			InitialDeliveryCount: Some(0)}, "",
			"0000003f02000001 005312 c0320e a1016c 5201 42 5002 5001" +
				"005328 c00e0b a10171 43 40 43 42 404040404040" +
				"005329 c00807 40 43 40 43 42 4040" +
				"40 42 43 40 404040"},
		"attach that refuses": {&Attach{Name: "l", Receiver: true}, "",
			"0000002002000001 005312 c0130e a1016c 43 41 5000 5000 4040 40 42" +
				"4040 404040"},
		"flow": {&Flow{NextIncomingID: Some(0), IncomingWindow: 1, Handle: Some(2), DeliveryCount: Some(3),
			LinkCredit: Some(0), Drain: true}, "",
			"0000001c02000001 005313 c00f0b 43 5201 43 43 5202 5203 43 40 41" +
				"42 40"},
		"transfer": {&Transfer{Handle: 1, DeliveryID: Some(0), DeliveryTag: []byte{7},
			MessageFormat: Some(0)}, "xy",
			"0000001e02000001 005314 c00f0b 5201 43 a00107 43 42 42 40 40" +
				"42 42 42 7879"},
		"disposition": {&Disposition{First: 4, Settled: true, State: &Accepted{}}, "",
			"0000001b02000001 005315 c00e06 42 5204 5204 41 005324c00100 42"},
		"detach": {&Detach{Handle: 1, Closed: true, Error: &Error{Condition: "a:b"}}, "",
			"0000001e02000001 005316 c01103 5201 41 00531d c00803 a303613a62 4040"},
		"end":   {&End{}, "", "0000000f02000001 005317 c0020140"},
		"close": {&Close{}, "", "0000000f02000001 005318 c0020140"},
	} {
		want := strings.ReplaceAll(c.want, " ", "")
		if got := hex.EncodeToString(Append(nil, 1, c.body, []byte(c.payload))); got != want {
			t.Errorf("%s:\n%s, want\n%s", name, got, want)
		}
	}
}
