// beginning is how many characters of a section of the Go reference a search looks through: it finds a name
// by its declaration, and all of the long comments would be a seventh of the index.
const beginning = 150

// sections cuts a page at its headings: what a search finds is a section.
export function sections(url, html) {
	const [, article] = /<article>(.*)<\/article>/s.exec(html)
	const [, title] = /<title>(.*?)<\/title>/s.exec(html)
	const page = plain(title).replace(/ · Mayfly$/, '')
	return article.split(/(?=<h[23] )/).flatMap((part) => {
		const [heading, id, name] = /^<h[23] id="([^"]+)"[^>]*>(.*?)<\/h[23]>/s.exec(part) ?? []
		let text = plain(part.slice(heading?.length ?? 0))
		if (url.includes('/reference/')) text = text.slice(0, beginning)
		return { url: id ? url + '#' + id : url, page, title: name ? plain(name) : page, text }
	})
}

const entities = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }

const plain = (html) =>
	html.replace(/<\/?(?:span|code|a|em|strong)\b[^>]*>/g, '').replace(/<[^>]*>/g, ' ')
		.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => entities[name]).replace(/\s+/g, ' ').trim()
