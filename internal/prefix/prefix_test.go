package prefix

import (
	"bytes"
	"testing"
)

func TestEnd(t *testing.T) {
	for prefix, want := range map[string]string{
		"a": "b", "ab": "ac", "a\xFF": "b", "a\xFF\xFF": "b", "\x00": "\x01", "a\xFE": "a\xFF",
	} {
		given := []byte(prefix)
		end := End(given)
		if string(end) != want {
			t.Errorf("the end of %q is %q, want %q", prefix, end, want)
		}
		if string(given) != prefix {
			t.Errorf("%q has become %q", prefix, given)
		}
		if last := append(given, bytes.Repeat([]byte{0xFF}, 9)...); bytes.Compare(last, end) >= 0 {
			t.Errorf("%q begins with %q and is not below %q", last, prefix, end)
		}
	}
	for _, prefix := range []string{"", "\xFF", "\xFF\xFF"} {
		if end := End([]byte(prefix)); end != nil {
			t.Errorf("the end of %q is %q", prefix, end)
		}
	}
}
