package queue

import "strings"

// AccessRules are the shared access rules of the queue or topic that a path leads to or into, in any case,
// as their owner has written them, with the path of that entity. There are none where the path leads to no
// entity.
func (q *Queues) AccessRules(path string) (entity string, rules []byte) {
	m, err := q.resident()
	if err != nil {
		return "", nil
	}
	for path = strings.Trim(path, "/"); path != ""; path, _ = cutLast(path) {
		if e, err := m.find(Address{Entity: path}); err == nil && e.kind != Subscription {
			return e.path, e.properties.Load().AuthorizationRules
		}
	}
	return "", nil
}

// cutLast cuts off the last segment of a path.
func cutLast(path string) (before, last string) {
	at := strings.LastIndexByte(path, '/')
	return path[:max(at, 0)], path[at+1:]
}
