// Package failover tests several servers that share one PostgreSQL database, while servers, the database and
// the network between them fail. Clients that use the official SDKs write documents, and send and complete
// messages, and record which of these operations the server has acknowledged. After the failure no
// acknowledged write may be missing, nothing may have happened twice, and no two receivers may have had the
// lock of one message at the same time.
//
//	MAYFLY_FAILOVER=1 go test -v -timeout 1h ./failover
//
// The variable is the number of times that each failure is repeated; if it is not set, the tests are skipped.
// The tests start PostgreSQL themselves, and Patroni with etcd for the failovers; a test is skipped if its
// programs are missing. If it is permitted to, a test mounts a small file system and fills it. The tests need
// Linux and must run as root, because they start PostgreSQL as another user.
package failover
