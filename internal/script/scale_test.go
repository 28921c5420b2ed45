//go:build !long

package script

// deepSource is how long the texts of TestDeepTexts are.
const deepSource = maxSource / 8
