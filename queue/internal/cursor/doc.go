// Package cursor keeps the position of the receivers of a message store, and the receivers that wait for
// messages. The mutex of the store guards its values.
package cursor
