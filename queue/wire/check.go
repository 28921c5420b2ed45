package wire

import "unicode/utf8"

// Check validates the first value completely, as Value does, without building a Go value. rest is the data
// after it. Its time is proportional to the number of bytes, even if the bytes announce more elements than
// they contain.
func Check(b []byte) (rest []byte, err error) {
	it, rest, err := split(b, 0)
	if err == nil {
		err = it.check(0)
	}
	if err != nil {
		return nil, err
	}
	return rest, nil
}

func checkFirst(b []byte, depth int) (rest []byte, err error) {
	it, rest, err := split(b, depth)
	if err != nil {
		return nil, err
	}
	return rest, it.check(depth)
}

func (it encodedValue) check(depth int) (err error) {
	switch {
	case depth > maxDepth:
		return tooDeep()
	case it.descriptor != nil:
		if _, err = checkFirst(it.descriptor, depth+1); err == nil {
			_, err = checkFirst(it.value, depth+1)
		}
		return err
	case it.code >= codeArray8:
		return it.checkArray(depth)
	case it.code >= codeList8:
		if it.code&0xf == codeMap8&0xf && it.count%2 != 0 {
			return bad("a map", "a key without a value")
		}
		left := it.data
		for range it.count {
			if left, err = checkFirst(left, depth+1); err != nil {
				return err
			}
		}
	case it.code == codeBool:
		_, err = it.truth()
	case it.code == codeString8 || it.code == codeString32:
		if !utf8.Valid(it.data) {
			err = notUTF8()
		}
	}
	return err
}

func (it encodedValue) checkArray(depth int) error {
	head, err := it.arrayHead(depth)
	if err != nil {
		return err
	}
	if head.descriptor != nil {
		if _, err = checkFirst(head.descriptor, depth+1); err != nil {
			return err
		}
	}
	left := head.elements
	for range it.count {
		inner, rest, err := payload(head.code, left)
		if err != nil {
			return err
		}
		if err := inner.check(depth + 1); err != nil {
			return err
		}
		if len(rest) == len(left) {
			return nil // each element has no bytes, so all are equal
		}
		left = rest
	}
	return nil
}

func notUTF8() error { return bad("a string", "what is not UTF-8") }
