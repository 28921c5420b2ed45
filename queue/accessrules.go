package queue

import "github.com/mayflydb/mayfly/queue/entity"
import "strings"

// AccessRules returns the path and the shared access rules of the queue or topic that a path, in any case,
// names or is below of. The rules are XML, as the client sent them. It returns none if there is no such
// entity.
func (q *Queues) AccessRules(path string) (owner string, rules []byte) {
	m, err := q.dataset()
	if err != nil {
		return "", nil
	}
	for path = strings.Trim(path, "/"); path != ""; path, _ = cutLast(path) {
		if e, err := m.find(entity.Address{Entity: path}); err == nil && e.kind != entity.Subscription {
			return e.path, e.properties.Load().AuthorizationRules
		}
	}
	return "", nil
}

// cutLast splits a path before its last segment.
func cutLast(path string) (before, last string) {
	at := strings.LastIndexByte(path, '/')
	return path[:max(at, 0)], path[at+1:]
}
