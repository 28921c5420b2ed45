//go:build !long

package script

// deepSource is the length in bytes of the scripts that TestDeeplyNestedScripts compiles.
const deepSource = maxSource / 8
