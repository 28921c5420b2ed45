package jsondoc

import (
	"bytes"
	"cmp"
	"slices"
)

// This file detects names that occur twice in an object.
//
// The names of all open objects are on one stack, those of the innermost object on top. While an object has
// few names, each new name is compared with those before it, by hash and, if the hashes are equal, by text.
// Further names are only pushed; when the object ends, they are sorted and neighbours are compared. So the
// cost is at most n log n for any object. The first names are in an array inside the parser, so that most
// documents need no heap allocation for names.

// fewNames is the maximum number of names of an object that are compared with each other as they are read.
const fewNames = 32

// memberName is the name of a member of an object that is being read: one entry of a nameStack.
type memberName struct {
	at      int // offset in src of the opening quote
	to      int // offset in dst of the opening quote, if names may occur twice
	from    int // offset of the name in src or, if it had escapes, in arena
	len     int
	hash    uint32
	escaped bool
}

// nameStack holds the member names of all objects that the parser is inside of, to find repeated ones.
// They are in the array few until that is full, and from then on in the slice many, so that most documents
// need no allocation.
type nameStack struct {
	few   [fewNames]memberName
	used  int // number of names in few
	many  []memberName
	arena []byte // unescaped names
}

func (s *nameStack) len() int {
	if s.many != nil {
		return len(s.many)
	}
	return s.used
}

// above returns the names from index base on.
func (s *nameStack) above(base int) []memberName {
	if s.many != nil {
		return s.many[base:]
	}
	return s.few[base:s.used]
}

func (s *nameStack) push(n *memberName) {
	if s.many == nil {
		if s.used < len(s.few) {
			s.few[s.used] = *n
			s.used++
			return
		}
		s.many = append(make([]memberName, 0, 4*fewNames), s.few[:]...)
	}
	s.many = append(s.many, *n)
}

func (s *nameStack) cut(base int) {
	if s.many != nil {
		s.many = s.many[:base]
	} else {
		s.used = base
	}
}

func (p *parser) nameBytes(n *memberName) []byte {
	if n.escaped {
		return p.names.arena[n.from : n.from+n.len]
	}
	return p.src[n.from : n.from+n.len]
}

// name reads the name of a member and its colon, up to the value, and pushes it. base is the index of the
// first name of this object on the stack.
func (p *parser) name(base int) (memberName, error) {
	n := memberName{at: p.pos, to: len(p.dst), from: p.pos + 1}
	if p.peek() != '"' {
		return n, p.expected("a name in quotes")
	}
	var err error
	if n.escaped, err = p.str(); err != nil {
		return n, err
	}
	n.len = p.pos - 1 - n.from
	if n.escaped {
		in := p.src[n.from : n.from+n.len]
		n.from = len(p.names.arena)
		p.names.arena = appendUnescaped(p.names.arena, viewOf(in))
		n.len = len(p.names.arena) - n.from
	}
	text := p.nameBytes(&n)
	n.hash = hashName(text)
	if own := p.names.above(base); len(own) < fewNames && !p.unique {
		for i := range own {
			if own[i].hash == n.hash && bytes.Equal(p.nameBytes(&own[i]), text) {
				return n, p.duplicate(&n)
			}
		}
	}
	p.names.push(&n)
	p.skipBlanks()
	if p.peek() != ':' {
		return n, p.expected("a colon")
	}
	p.pos++
	p.skipBlanks()
	return n, nil
}

// closeNames is called at the end of an object. It takes the names of its members, those from base on, off
// the stack and, if there are many, checks that none is repeated.
func (p *parser) closeNames(base int) error {
	own := p.names.above(base)
	p.names.cut(base)
	if p.unique {
		p.cutRepeated(own)
		return nil
	}
	if len(own) <= fewNames {
		return nil
	}
	slices.SortFunc(own, func(a, b memberName) int {
		if c := p.compareNames(&a, &b); c != 0 {
			return c
		}
		return cmp.Compare(a.at, b.at)
	})
	var again *memberName
	for i := 1; i < len(own); i++ {
		if p.compareNames(&own[i-1], &own[i]) == 0 && (again == nil || own[i].at < again.at) {
			again = &own[i]
		}
	}
	if again == nil {
		return nil
	}
	return p.duplicate(again)
}

// cutRepeated removes repeated names from the JSON object at the end of dst: of several members with the same
// name only the last one stays. Each removed member is followed by another member, so the comma between the
// two is removed with it.
func (p *parser) cutRepeated(own []memberName) {
	order := make([]int, len(own))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if c := p.compareNames(&own[a], &own[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	repeated := make([]bool, len(own))
	for i := 1; i < len(order); i++ {
		repeated[order[i-1]] = p.compareNames(&own[order[i-1]], &own[order[i]]) == 0
	}
	end := own[0].to
	for i := range own {
		stop := len(p.dst)
		if i+1 < len(own) {
			stop = own[i+1].to
		}
		if !repeated[i] {
			end += copy(p.dst[end:], p.dst[own[i].to:stop])
		}
	}
	p.dst = p.dst[:end]
}

// compareNames defines an order in which equal names are adjacent. Otherwise the order is arbitrary.
func (p *parser) compareNames(a, b *memberName) int {
	if a.hash != b.hash {
		return cmp.Compare(a.hash, b.hash)
	}
	return bytes.Compare(p.nameBytes(a), p.nameBytes(b))
}

func (p *parser) duplicate(n *memberName) error {
	return &DuplicateNameError{Name: string(p.nameBytes(n)), Offset: n.at}
}

// hashName computes the FNV-1a hash. If the hashes of two names collide, their texts are compared.
func hashName(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(c)) * 16777619
	}
	return h
}
