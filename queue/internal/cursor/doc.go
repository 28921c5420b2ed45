// Package cursor holds how far the messages of a store have been handed out, and the receivers that wait for
// messages. The mutex of the store guards its values.
package cursor
