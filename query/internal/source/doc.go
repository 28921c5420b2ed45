// Package source holds the interfaces by which a query reads data: a DocumentSource for each partition range,
// and the iterators that it returns.
//
// Every range implements Source. The other interfaces (DocumentCounter, ContainerWideDocumentFinder,
// IndexEntryReader, DocumentsWithoutPathLister and more) are optional: a DocumentSource that implements them
// answers some questions without reading documents. The interfaces belong to the packages that run queries;
// the store implements them.
//
// The package holds nothing but the interfaces. It imports no other package of query.
package source
