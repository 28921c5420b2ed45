package prefix

import "bytes"

// End returns the smallest key that is greater than every key that begins with prefix. It returns nil if
// there is none, because prefix is empty or consists of FF bytes. The caller owns the result.
func End(prefix []byte) []byte {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xFF {
			end := bytes.Clone(prefix[:i+1])
			end[i]++
			return end
		}
	}
	return nil
}
