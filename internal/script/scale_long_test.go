//go:build long

package script

const deepSource = maxSource
