package prefix

import "bytes"

// End returns the smallest key above every key that begins with prefix; nil where there is none, since prefix
// is empty or has no byte but FF. The caller owns the result.
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
