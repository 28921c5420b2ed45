package cosmos

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/store"
)

// Consistency is a consistency level. Larger values are stronger.
type Consistency uint8

// The consistency levels.
const (
	Eventual Consistency = iota
	ConsistentPrefix
	Session
	BoundedStaleness
	Strong
)

// levels holds the names that Cosmos DB uses for the consistency levels.
var levels = [...]string{
	Strong: "Strong", BoundedStaleness: "BoundedStaleness", Session: "Session",
	ConsistentPrefix: "ConsistentPrefix", Eventual: "Eventual",
}

// String returns the level's name.
func (c Consistency) String() string { return levels[c] }

// ParseConsistency returns the level with a name, ignoring case; Cosmos DB's documentation also uses
// Bounded.
func ParseConsistency(name string) (level Consistency, ok bool) {
	if strings.EqualFold(name, "Bounded") {
		return BoundedStaleness, true
	}
	for level, canonical := range levels {
		if strings.EqualFold(canonical, name) {
			return Consistency(level), true
		}
	}
	return 0, false
}

// Allows returns an error if an account with level c does not allow a request with the named level. The
// store is linearizable, so it satisfies every level, but as in Cosmos DB a request must not ask for a
// stronger level than that of the account.
func (c Consistency) Allows(name string) error {
	asked, ok := ParseConsistency(name)
	if !ok {
		return BadHeader("x-ms-consistency-level", name)
	}
	if asked > c {
		return BadRequest("The consistency level '" + name + "' is stronger than the account's.")
	}
	return nil
}

// ParseSessionToken parses a session token: entries {range}:{version}#{lsn}[#{region}={lsn}]* separated by
// commas. An entry may be preceded by its container's rid and a comma. The oldest clients send
// {range}:{lsn}. The version is store.Container.SessionVersion.
func ParseSessionToken(token string) ([]store.SessionTokenEntry, error) {
	var positions []store.SessionTokenEntry
	for rest := token; rest != ""; {
		var entry string
		entry, rest, _ = strings.Cut(rest, ",")
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		id, vector, found := strings.Cut(entry, ":")
		if !found && looksLikeContainerRID(entry) {
			continue
		}
		lsn, version, ok := globalLSN(vector)
		if !found || id == "" || !ok {
			return nil, BadRequest("The session token provided '" + token + "' is invalid.")
		}
		positions = append(positions, store.SessionTokenEntry{Range: id, LSN: lsn, Version: version})
	}
	return positions, nil
}

// globalLSN parses the LSN and the version of {version}#{lsn}[#{region}={lsn}]*, or a bare {lsn}, whose
// version is 0. A negative LSN means that the client has not seen anything yet.
func globalLSN(vector string) (lsn uint64, version int64, ok bool) {
	text, rest, isVector := strings.Cut(vector, "#")
	if isVector {
		var err error
		if version, err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, 0, false
		}
		text, rest, _ = strings.Cut(rest, "#")
	}
	for rest != "" {
		var region string
		region, rest, _ = strings.Cut(rest, "#")
		name, seen, _ := strings.Cut(region, "=")
		if _, err := strconv.ParseInt(seen, 10, 64); err != nil || name == "" || strings.Trim(name,
			"0123456789") != "" {
			return 0, 0, false
		}
	}
	seen, err := strconv.ParseInt(text, 10, 64)
	return uint64(max(seen, 0)), version, err == nil
}

// looksLikeContainerRID reports whether s has the form of a container's rid: eight bytes in base64.
func looksLikeContainerRID(s string) bool { return len(s) == 12 && s[11] == '=' && s[10] != '=' }
