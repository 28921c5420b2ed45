// Package failover tests several servers on one PostgreSQL database while servers, the database and the
// network between them fail. Clients of the official SDKs write documents, and send and complete messages;
// each knows what it was promised. After the failure nothing that was acknowledged may be missing, nothing
// may have happened twice, and no two receivers may have had the lock of one message at the same time.
//
//	MAYFLY_FAILOVER=1 go test -v -timeout 1h ./failover
//
// The variable is the number of rounds of each failure; without it the tests are skipped. They start
// PostgreSQL themselves, and for failovers Patroni with etcd; a test whose programs are missing is skipped.
// Where it may, a test mounts a small file system that becomes full. They need Linux and the rights of root,
// since PostgreSQL refuses root and runs as another user.
package failover
