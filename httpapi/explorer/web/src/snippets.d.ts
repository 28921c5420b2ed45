// The programs of the start pages, as [language, page, text].
declare module 'virtual:snippets' {
	const all: [string, string, string][]
	export default all
}
