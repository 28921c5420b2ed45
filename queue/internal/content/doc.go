// Package content validates sent messages and changes the content of stored ones.
package content
