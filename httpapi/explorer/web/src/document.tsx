// One document: its JSON, when it dies and why, and what happens when somebody else has changed it.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import {
	ask,
	collPath,
	Failure,
	json,
	ownColl,
	partitionKey,
	pkHeader,
	post,
	runQuery,
	type Answer,
} from './api'
import type { In } from './container'
import { Editor } from './editor'
import { countdown, doing, nowOf, note, say, tell, useData, useSignal, useTick } from './state'
import { pretty } from './text'
import { Bad, Button, Confirm } from './ui'
import { forget, leave, useUnsaved } from './unsaved'

interface DocProps extends In {
	id: string
	pk: unknown[]
	fresh: boolean
	close: () => void
	made: (doc: any) => void
}

const system = ['_rid', '_self', '_etag', '_attachments', '_ts', '_lsn']
const bare = (a: Answer) => pretty(a.text, system)

// example is a document that the container takes as it stands.
function example(paths: string[]) {
	const doc: any = { id: crypto.randomUUID() }
	for (const path of paths) {
		const parts = path.slice(1).split('/')
		parts.slice(0, -1).reduce((o, k) => (o[k] ??= {}), doc)[parts[parts.length - 1]] ??= 'a'
	}
	return JSON.stringify(doc, null, 2)
}

// addressOf is the path of a document. A browser takes . and .. out of a path however they are escaped: who is
// named so is asked for by its _rid.
async function addressOf(p: DocProps): Promise<string> {
	if (!/^\.{1,2}$/.test(p.id)) return `${collPath(p.db, p.coll)}/docs/${encodeURIComponent(p.id)}`
	const same = [{ name: '@id', value: p.id }],
		page = await runQuery(p.db, p.coll, 'SELECT * FROM c WHERE c.id = @id', same, { count: 1000 })
	const paths = p.of.partitionKey.paths,
		key = JSON.stringify(p.pk)
	const one = page.rows.find(d => JSON.stringify(partitionKey(d, paths)) === key)
	if (!one) throw new Failure(404, '', '')
	return '/' + one._self.replace(/\/$/, '')
}

// read is a document as it is stored, null where it is not.
async function read(p: DocProps): Promise<Answer | null> {
	try {
		return await ask('GET', await addressOf(p), { headers: pkHeader(p.pk) })
	} catch (e) {
		if (e instanceof Failure && e.status === 404) return null
		throw e
	}
}

export function DocumentPanel(p: DocProps) {
	const path = `${collPath(p.db, p.coll)}/docs`
	const [text, edit] = useState(p.fresh ? example(p.of.partitionKey.paths) : '')
	const [etag, setEtag] = useState(''),
		[theirs, setTheirs] = useState<Answer | null>(null),
		[dirty, setDirty] = useState(false),
		[gone, lost] = useState(false)
	const saving = useRef(false),
		left = useRef(false),
		now = useRef(text)
	now.current = text
	useLayoutEffect(() => () => {
		left.current = true
	}, [])
	const { error } = useData(async () => {
		if (p.fresh) return
		const a = await ask('GET', await addressOf(p), { headers: pkHeader(p.pk) })
		setEtag(a.body._etag)
		edit(bare(a))
		setDirty(false)
	}, [p.id])
	const there = p.fresh || etag !== '' // before, what is typed would be overwritten
	useUnsaved(dirty)
	const close = () => leave(p.close)
	// save writes the text over the version with an etag, or as a new document.
	const save = (match: string, anew = p.fresh) =>
		doing(async () => {
			if (saving.current) return // a second one would be in conflict with the first
			saving.current = true
			try {
				const doc = json('document', text),
					key = anew ? partitionKey(doc, p.of.partitionKey.paths) : p.pk
				const headers: Record<string, string> = pkHeader(key)
				if (match && !anew) headers['if-match'] = match
				const a = anew
					? await ask('POST', path, { headers, text, exact: true })
					: await ask('PUT', await addressOf(p), { headers, text, exact: true })
				setEtag(a.body._etag)
				setTheirs(null)
				lost(false)
				note(`Saved for ${a.headers.get('x-ms-request-charge')} RU.`)
				tell('data')
				if (left.current || now.current !== text) return // what has been typed meanwhile is not saved
				setDirty(false)
				forget()
				if (anew || a.body.id !== p.id) p.made(a.body)
			} catch (e) {
				if (!(e instanceof Failure) || anew || ![404, 412].includes(e.status)) throw e
				const stored = e.status === 412 ? await read(p) : null
				setTheirs(stored)
				lost(!stored)
				if (!stored) tell('data')
			} finally {
				saving.current = false
			}
		})
	return (
		<section
			class="doc panel"
			aria-label={p.fresh ? 'New document' : `Document ${p.id}`}
			onKeyDown={e => {
				// a dialog's, and one that the editor has used, are not meant for the panel
				if (e.key !== 'Escape' || e.defaultPrevented || (e.target as Element).closest('dialog')) return
				close()
			}}
		>
			<header>
				<h2 class="mono">{p.fresh ? 'New document' : p.id}</h2>
				<div class="row">
					<Button kind="main" do={() => save(etag)} title="Ctrl Enter" disabled={!there}>
						Save
					</Button>
					{!p.fresh && (
						<Confirm
							word="Delete"
							what={`Document ${p.id} is gone then.`}
							do={async () => {
								await ask('DELETE', await addressOf(p), { headers: pkHeader(p.pk) })
								tell('data')
								forget()
								p.close()
							}}
						/>
					)}
					<button type="button" class="btn" onClick={close} aria-label="Close">
						✕
					</button>
				</div>
			</header>
			<Bad text={error} />
			{!p.fresh && !gone && <Life {...p} />}
			{gone && (
				<div class="conflict" role="alert">
					<p>
						<b>This document is gone.</b> It has expired or was deleted since you opened it. What you
						see is not stored.
					</p>
					<div class="row">
						<Button do={() => save('', true)}>Write it again</Button>
					</div>
				</div>
			)}
			{theirs && (
				<div class="conflict" role="alert">
					<p>
						<b>Somebody has changed this document since you opened it.</b> Below yours is what is
						stored now.
					</p>
					<div class="row">
						<Button
							do={() => {
								edit(bare(theirs))
								setEtag(theirs.body._etag)
								setTheirs(null)
								setDirty(false)
							}}
						>
							Take theirs
						</Button>
						<Button kind="bad" do={() => save(theirs.body._etag)}>
							Overwrite with mine
						</Button>
					</div>
				</div>
			)}
			{(!error || etag) && (
				<Editor
					label="The document as JSON"
					mode="json"
					wait={!there}
					value={text}
					set={v => {
						if (v !== text) {
							edit(v)
							setDirty(true)
						}
					}}
					run={() => save(etag)}
					height={theirs ? '' : 'tall'}
				/>
			)}
			{theirs && <Editor label="What is stored" mode="json" value={bare(theirs)} />}
		</section>
	)
}

// Life is why a document dies, as the server tells it, with leases and all.
function Life(p: DocProps) {
	const moved = useSignal('data')
	const { data, error, again } = useData<any>(
		() => post(ownColl(p.db, p.coll, 'explain-item'), { id: p.id, partitionKey: p.pk }),
		[p.id, moved],
	)
	useTick(500)
	if (!data) return error ? <p class="life soft">{error}</p> : null
	const left = data.expiresAt ? (Date.parse(data.expiresAt) - nowOf(p.db)) / 1000 : null
	const lease = (method: 'POST' | 'DELETE') => async () => {
		const body = { id: p.id, partitionKey: p.pk, ...(method === 'POST' && { seconds: 60 }) }
		await ask(method, ownColl(p.db, p.coll, 'lease'), { body }).catch(e => {
			throw new Error(say(e))
		})
		again()
	}
	return (
		<div class={`life ${left !== null && left <= 0 ? 'gone' : ''}`}>
			<span class="left num" role="timer" aria-label="Time left">
				{left === null ? 'immortal' : left <= 0 ? 'expired' : countdown(left)}
			</span>
			<p>{data.explain}</p>
			{left !== null && (
				<Button
					do={lease(data.leaseUntil ? 'DELETE' : 'POST')}
					title="A lease keeps a document from expiring"
				>
					{data.leaseUntil ? 'End lease' : 'Lease 60 s'}
				</Button>
			)}
		</div>
	)
}
