import MiniSearch from 'minisearch'

// The search: an index of all sections, made when somebody first wants it.
const field = document.getElementById('search')
const list = document.getElementById('found')
let index

async function load() {
	const answer = await fetch('/_explorer/docs/search.json')
	const made = new MiniSearch({
		fields: ['title', 'page', 'text'], storeFields: ['url', 'page', 'title', 'text'], idField: 'url',
		searchOptions: { prefix: true, fuzzy: (term) => (term.length > 4 ? 0.2 : 0), combineWith: 'AND', boost: { title: 4, page: 2 } },
	})
	made.addAll(await answer.json())
	return made
}

// guidesFirst ranks sections of the Go reference below the same words in other pages.
const guidesFirst = (url) => (url.includes('/docs/reference/') ? 0.2 : 1)

// around is what a section says beside the first word that was looked for.
function around(text, terms) {
	const at = Math.min(...terms.map((term) => text.toLowerCase().indexOf(term)).filter((i) => i >= 0), text.length)
	const from = at === text.length ? 0 : Math.max(0, at - 40)
	return (from > 0 ? '… ' : '') + text.slice(from, from + 120)
}

function element(name, text, properties) {
	const made = Object.assign(document.createElement(name), properties)
	made.append(text)
	return made
}

async function search() {
	index ??= load()
	const hits = (await index).search(field.value, { boostDocument: guidesFirst }).slice(0, 12)
	list.replaceChildren(...hits.map((hit, i) => {
		const title = hit.title === hit.page ? hit.page : hit.page + ' › ' + hit.title
		const item = element('li', element('strong', title), { id: 'found-' + i, role: 'option' })
		item.append(element('span', around(hit.text, hit.terms)))
		item.addEventListener('click', () => location.assign(hit.url))
		item.setAttribute('aria-selected', 'false')
		return item
	}))
	if (hits.length === 0 && field.value !== '') list.append(element('li', 'Nothing found', { role: 'option' }))
	open(field.value !== '')
}

function open(is) {
	list.hidden = !is
	field.setAttribute('aria-expanded', String(is))
	if (!is) field.removeAttribute('aria-activedescendant')
}

// choose moves the choice by so many.
function choose(by) {
	const items = [...list.children]
	const now = items.findIndex((item) => item.getAttribute('aria-selected') === 'true')
	const next = items[(now + by + items.length + (now < 0 && by < 0 ? 1 : 0)) % items.length]
	for (const item of items) item.setAttribute('aria-selected', String(item === next))
	if (!next) return
	next.scrollIntoView({ block: 'nearest' })
	field.setAttribute('aria-activedescendant', next.id)
}

field.hidden = false
field.addEventListener('focus', () => (index ??= load()))
field.addEventListener('input', search)
field.addEventListener('keydown', (event) => {
	const chosen = list.querySelector('[aria-selected=true]') ?? list.querySelector('li')
	if (event.key === 'ArrowDown') choose(1)
	else if (event.key === 'ArrowUp') choose(-1)
	else if (event.key === 'Enter' && chosen) chosen.click()
	else if (event.key === 'Escape') open(false)
	else return
	event.preventDefault()
})
document.addEventListener('keydown', (event) => {
	if (event.key !== '/' || event.target instanceof HTMLInputElement) return
	event.preventDefault()
	field.focus()
})
document.addEventListener('click', (event) => {
	if (!(event.target instanceof Element && event.target.closest('search'))) open(false)
})

// The explorer's choice of light or dark holds here as well.
const theme = localStorage.getItem('mayfly-theme')
if (theme) document.documentElement.dataset.theme = theme
