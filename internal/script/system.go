package script

import (
	_ "embed" // system.js
	"strconv"
)

//go:embed system.js
var systemText string

// SystemProcedure is the source of a stored procedure that every container has without anybody having made
// it; ok is false where there is none of that id. Clients call them by ids that begin with "__.sys.".
func SystemProcedure(id string) (source string, ok bool) {
	switch id {
	case "__.sys.echo", "__.sys.commonBulkInsert":
		return systemText + "[" + strconv.Quote(id) + "]", true
	}
	return "", false
}
