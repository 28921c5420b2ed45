package queue

import (
	"strings"

	"github.com/mayflydb/mayfly/queue/entity"
)

// AccessRules returns the path and the shared access rules of the queue or topic that path names, or of the
// queue or topic that contains path. Case is ignored. The rules are XML, as the client sent them.
// AccessRules returns "" and nil if there is no such entity.
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

// cutLast splits a path at its last slash.
func cutLast(path string) (before, last string) {
	at := strings.LastIndexByte(path, '/')
	return path[:max(at, 0)], path[at+1:]
}
