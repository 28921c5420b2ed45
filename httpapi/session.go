package httpapi

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/store"
)

// consistency is a consistency level, the weaker the smaller.
type consistency uint8

const (
	eventual consistency = iota
	consistentPrefix
	session
	boundedStaleness
	strong
)

// levels are the names that Cosmos DB uses.
var levels = [...]string{
	strong: "Strong", boundedStaleness: "BoundedStaleness", session: "Session", consistentPrefix: "ConsistentPrefix", eventual: "Eventual",
}

// parseConsistency finds a level by its name, in any case; Cosmos DB's documents also say Bounded.
func parseConsistency(name string) (level consistency, canonical string, ok bool) {
	if strings.EqualFold(name, "Bounded") {
		name = levels[boundedStaleness]
	}
	for level, canonical := range levels {
		if strings.EqualFold(canonical, name) {
			return consistency(level), canonical, true
		}
	}
	return 0, "", false
}

// allows checks the level that a request asks for. The store is linearizable, so that every level holds; but as
// in Cosmos DB a request cannot ask for more than its account has.
func (account consistency) allows(name string) error {
	asked, _, ok := parseConsistency(name)
	if !ok {
		return badHeader("x-ms-consistency-level", name)
	}
	if asked > account {
		return badRequest("The consistency level '" + name + "' is stronger than the account's.")
	}
	return nil
}

// parseSessionToken reads a session token: entries {range}:{version}#{lsn}[#{region}={lsn}]* joined by commas. An
// entry may be preceded by its container's rid and a comma; the oldest clients write {range}:{lsn}.
func parseSessionToken(token string) ([]store.SessionPosition, error) {
	var positions []store.SessionPosition
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
		lsn, ok := globalLSN(vector)
		if !found || id == "" || !ok {
			return nil, badRequest("The session token provided '" + token + "' is invalid.")
		}
		positions = append(positions, store.SessionPosition{Range: id, LSN: lsn})
	}
	return positions, nil
}

// globalLSN reads the LSN of {version}#{lsn}[#{region}={lsn}]* or of a bare {lsn}. A negative one says that nothing
// was seen yet.
func globalLSN(vector string) (uint64, bool) {
	text, rest, isVector := strings.Cut(vector, "#")
	if isVector {
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return 0, false
		}
		text, rest, _ = strings.Cut(rest, "#")
	}
	for rest != "" {
		var region string
		region, rest, _ = strings.Cut(rest, "#")
		name, lsn, _ := strings.Cut(region, "=")
		if _, err := strconv.ParseInt(lsn, 10, 64); err != nil || !isDigits(name) {
			return 0, false
		}
	}
	lsn, err := strconv.ParseInt(text, 10, 64)
	return uint64(max(lsn, 0)), err == nil
}

// looksLikeContainerRID reports whether s has the form of a container's rid: eight bytes in base64.
func looksLikeContainerRID(s string) bool { return len(s) == 12 && s[11] == '=' && s[10] != '=' }
