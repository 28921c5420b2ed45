//go:build long

package sdktest

var longConnections = []connection{{"http", 5}, {"https", 1}}
