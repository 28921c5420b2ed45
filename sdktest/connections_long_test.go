//go:build long

package sdktest

var longConnections = []connectionVariant{{"http", 5}, {"https", 1}}
