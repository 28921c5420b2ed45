// offered is a draft with what the URL offers for its fields, so that a page can lead to a form that is filled in.
export function offered<T extends Record<string, string>>(draft: T): T {
	const given = new URLSearchParams(location.hash.split('?')[1] ?? '')
	const out: Record<string, string> = { ...draft }
	for (const name of Object.keys(draft)) if (given.has(name)) out[name] = given.get(name)!
	return out as T
}
