//go:build !long

package sdktest

var longConnections []connectionVariant
