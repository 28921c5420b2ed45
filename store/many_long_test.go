//go:build long

package store_test

const manyDocuments = 10_500
