package script

import (
	_ "embed" // system.js
	"strconv"
)

//go:embed system.js
var systemText string

// SystemProcedure returns the source of a built-in stored procedure; ok is false if there is none with this
// id. All containers have the built-in procedures, whose ids begin with "__.sys.".
func SystemProcedure(id string) (source string, ok bool) {
	switch id {
	case "__.sys.echo", "__.sys.commonBulkInsert":
		return systemText + "[" + strconv.Quote(id) + "]", true
	}
	return "", false
}
