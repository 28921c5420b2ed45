// What fields take.

// lines are the lines of a text that have something.
export const lines = (text: string) =>
	text
		.split('\n')
		.map(s => s.trim())
		.filter(Boolean)

// wrongPath tells what is wrong with a path, '' for nothing.
export const wrongPath = (path: string) =>
	path.startsWith('/') && path.length > 1 ? '' : `"${path}" must begin with /`
// withSlash is a path with the slash that it must begin with.
export const withSlash = (path: string) => {
	const p = path.trim()
	return !p || p.startsWith('/') ? p : '/' + p
}
export const wrongPaths = (text: string) =>
	lines(text)
		.flatMap(l => l.split(','))
		.map(s => wrongPath(s.trim()))
		.find(Boolean) ?? ''
export const wrongCount = (text: string, least = 1) =>
	text === '' || (/^\d+$/.test(text) && Number(text) >= least) ? '' : `a whole number from ${least}`
