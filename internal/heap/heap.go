package heap

// Heap is a heap of elements. List[0] is the first element in the order of Before. A Heap with only Before
// set is empty and ready to use.
type Heap[T any] struct {
	List   []T
	Before func(a, b T) bool
}

// Init establishes the order of a List that the caller has filled.
func (h *Heap[T]) Init() {
	for i := len(h.List)/2 - 1; i >= 0; i-- {
		h.sink(i)
	}
}

// Push adds an element.
func (h *Heap[T]) Push(e T) {
	h.List = append(h.List, e)
	h.Rise(len(h.List) - 1)
}

// Rise restores the order of the heap after the element at i has become smaller. It does nothing if i is out
// of range.
func (h *Heap[T]) Rise(i int) {
	for i > 0 && i < len(h.List) {
		up := (i - 1) / 2
		if !h.Before(h.List[i], h.List[up]) {
			return
		}
		h.List[i], h.List[up] = h.List[up], h.List[i]
		i = up
	}
}

// Fix restores the order of the heap after its first element has changed.
func (h *Heap[T]) Fix() { h.sink(0) }

// Pop removes and returns the first element. The heap must not be empty.
func (h *Heap[T]) Pop() T {
	var none T
	first, n := h.List[0], len(h.List)-1
	h.List[0], h.List[n] = h.List[n], none
	h.List = h.List[:n]
	h.sink(0)
	return first
}

func (h *Heap[T]) sink(i int) {
	for {
		first := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h.List); c++ {
			if h.Before(h.List[c], h.List[first]) {
				first = c
			}
		}
		if first == i {
			return
		}
		h.List[i], h.List[first] = h.List[first], h.List[i]
		i = first
	}
}
