package query

// heapOf keeps the first of its elements on top.
type heapOf[T any] struct {
	list   []T
	before func(a, b T) bool
}

// init puts list, which was filled before, in order.
func (h *heapOf[T]) init() {
	for i := len(h.list)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

func (h *heapOf[T]) push(e T) {
	h.list = append(h.list, e)
	h.rise(len(h.list) - 1)
}

// rise puts the element at i in order, if there is one.
func (h *heapOf[T]) rise(i int) {
	for i > 0 && i < len(h.list) {
		up := (i - 1) / 2
		if !h.before(h.list[i], h.list[up]) {
			return
		}
		h.list[i], h.list[up] = h.list[up], h.list[i]
		i = up
	}
}

// pop takes the first element off; there must be one.
func (h *heapOf[T]) pop() T {
	first, n := h.list[0], len(h.list)-1
	h.list[0] = h.list[n]
	h.list = h.list[:n]
	h.sink(0)
	return first
}

func (h *heapOf[T]) sink(i int) {
	for {
		first := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.list); c++ {
			if h.before(h.list[c], h.list[first]) {
				first = c
			}
		}
		if first == i {
			return
		}
		h.list[i], h.list[first] = h.list[first], h.list[i]
		i = first
	}
}
