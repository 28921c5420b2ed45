// One document: its JSON, when it dies and why, and what happens when somebody else has changed it.
import { useState } from 'preact/hooks'
import { ask, collPath, Failure, json, ownColl, partitionKey, pkHeader, post, type Answer } from './api'
import type { In } from './container'
import { Editor } from './editor'
import { countdown, doing, nowOf, note, say, tell, useData, useSignal, useTick } from './state'
import { pretty } from './text'
import { Bad, Button, Confirm } from './ui'
import { forget, stay, useUnsaved } from './unsaved'

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

export function DocumentPanel(p: DocProps) {
	const path = `${collPath(p.db, p.coll)}/docs`,
		at = `${path}/${encodeURIComponent(p.id)}`
	const [text, edit] = useState(p.fresh ? example(p.of.partitionKey.paths) : '')
	const [etag, setEtag] = useState(''),
		[theirs, setTheirs] = useState<Answer | null>(null),
		[dirty, setDirty] = useState(false)
	const { error } = useData(async () => {
		if (p.fresh) return
		const a = await ask('GET', at, { headers: pkHeader(p.pk) })
		setEtag(a.body._etag)
		edit(bare(a))
		setDirty(false)
	}, [p.id])
	const there = p.fresh || etag !== '' // before, what is typed would be overwritten
	useUnsaved(dirty)
	const close = () => {
		if (!stay()) p.close()
	}
	const save = (match: string) =>
		doing(async () => {
			const doc = json('document', text)
			const headers: Record<string, string> = pkHeader(partitionKey(doc, p.of.partitionKey.paths))
			if (match) headers['if-match'] = match
			try {
				const a = p.fresh
					? await ask('POST', path, { headers, text })
					: await ask('PUT', at, { headers, text })
				setEtag(a.body._etag)
				setTheirs(null)
				setDirty(false)
				forget()
				note(`Saved for ${a.headers.get('x-ms-request-charge')} RU.`)
				tell('data')
				if (p.fresh) p.made(a.body)
			} catch (e) {
				if (!(e instanceof Failure && e.status === 412)) throw e
				setTheirs(await ask('GET', at, { headers: pkHeader(p.pk) }))
			}
		})
	return (
		<section
			class="doc panel"
			aria-label={p.fresh ? 'New document' : `Document ${p.id}`}
			onKeyDown={e => {
				if (e.key === 'Escape') close()
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
								await ask('DELETE', at, { headers: pkHeader(p.pk) })
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
			{!p.fresh && <Life {...p} />}
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
			{there ? (
				<Editor
					label="The document as JSON"
					mode="json"
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
			) : (
				!error && <div class="editor tall" aria-busy="true" />
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
