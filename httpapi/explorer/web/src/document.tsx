// One document: its JSON as text or as a tree, when it expires and why, and what somebody else has changed meanwhile.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ask, ownColl, post } from './api'
import { bare, systemNames, useDocument, type DocProps } from './documentstate'
import { Editor } from './editor'
import { membersOf, problemOf, problemText } from './jsontext'
import { lazy } from './lazy'
import { copyText } from './menu'
import { countdown, nowOf, note, say, useData, useSignal, useTick } from './state'
import { pretty } from './text'
import { Bad, Button, Confirm } from './ui'
import { leave, useUnsaved } from './unsaved'

const Diff = lazy(() => import('./diff'))
const Tree = lazy(() => import('./jsontree'))

// example is a document that the container takes as it stands.
export function example(paths: string[]) {
	const doc: any = { id: crypto.randomUUID() }
	for (const path of paths) {
		const parts = path.slice(1).split('/')
		parts.slice(0, -1).reduce((o, k) => (o[k] ??= {}), doc)[parts[parts.length - 1]] ??= 'a'
	}
	return JSON.stringify(doc, null, 2)
}

// renamed is a document as a text, with another id.
function renamed(text: string): string {
	const id = JSON.stringify(crypto.randomUUID())
	const members = membersOf(text).map(
		([name, v]) => `${JSON.stringify(name)}:${name === 'id' ? id : v}`,
	)
	return pretty(`{${members.join(',')}}`)
}

export function DocumentPanel(p: DocProps) {
	const d = useDocument(p)
	const [asTree, showTree] = useState(false),
		[cursor, setCursor] = useState<{ at: number } | null>(null)
	const problem = useMemo(() => (d.there ? problemOf(d.text) : null), [d.text, d.there])
	useUnsaved(d.changed)
	const met = useRef(false) // a conflict, whose buttons had the focus
	useLayoutEffect(() => {
		if (met.current && !d.theirs && !d.gone) setCursor({ at: 0 })
		met.current = !!d.theirs || d.gone
	}, [d.theirs, d.gone])
	const close = () => leave(p.close)
	const save = () => {
		if (problem) {
			showTree(false)
			setCursor({ at: problem.at })
		} else if (d.changed || d.isNew) d.save(d.etag)
		else note('Nothing has changed.')
	}
	const saveNow = useRef(save)
	saveNow.current = save
	useEffect(() => {
		// wherever the focus is: the browser would save the page
		const press = (e: KeyboardEvent) => {
			if (!(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== 's' || e.shiftKey || e.altKey) return
			e.preventDefault()
			if (!document.querySelector('dialog[open]')) saveNow.current()
		}
		addEventListener('keydown', press)
		return () => removeEventListener('keydown', press)
	}, [])
	return (
		<section
			class="doc panel"
			aria-label={d.isNew ? 'New document' : `Document ${p.id}`}
			onKeyDown={e => {
				// a dialog's, and one that the editor has used, are not meant for the panel
				if (
					e.key !== 'Escape' ||
					e.defaultPrevented ||
					(e.target as Element).closest('dialog, [popover]')
				)
					return
				close()
			}}
		>
			<header>
				<h2 class="mono">{d.isNew ? 'New document' : p.id}</h2>
				<div class="row">
					<Button
						kind="main"
						do={save}
						title="Ctrl S, or Ctrl Enter in the editor"
						disabled={!d.there || !(d.changed || d.isNew)}
					>
						Save
					</Button>
					{!d.isNew && (
						<Confirm
							word="Delete"
							what={`This deletes the document ${p.id}.`}
							do={d.remove}
						/>
					)}
					<button type="button" class="btn" onClick={close} aria-label="Close">
						✕
					</button>
				</div>
			</header>
			<Bad text={d.error} />
			{!d.isNew && !d.gone && <Life {...p} />}
			<Conflict of={d} />
			{d.there && (
				<div class="bar tools">
					<div class="seg" role="group" aria-label="Show">
						<button type="button" aria-pressed={!asTree} onClick={() => showTree(false)}>
							Text
						</button>
						<button
							type="button"
							aria-pressed={asTree}
							disabled={!!problem}
							onClick={() => showTree(true)}
						>
							Tree
						</button>
					</div>
					<Button kind="quiet" do={() => d.edit(pretty(d.text))} disabled={!!problem}>
						Format
					</Button>
					<Button kind="quiet" do={() => d.edit(d.base)} disabled={!d.changed}>
						Revert
					</Button>
					<Button kind="quiet" do={() => copyText(d.text).then(() => note('Document copied.'))}>
						Copy
					</Button>
					{!d.isNew && p.copy && (
						<Button
							kind="quiet"
							do={() => leave(() => p.copy!(renamed(problem ? d.base : d.text)))}
							title="A new document with the same members and another id"
						>
							Duplicate
						</Button>
					)}
				</div>
			)}
			{(!d.error || d.etag) &&
				(asTree && !problem ? (
					<Tree text={d.text} />
				) : (
					<Editor
						label="The document as JSON"
						mode="json"
						wait={!d.there}
						value={d.text}
						set={v => d.edit(v)}
						run={save}
						cursor={cursor}
						height="tall"
					/>
				))}
			{problem && (
				<p class="banner problem" role="alert">
					<button type="button" class="btn quiet" onClick={() => setCursor({ at: problem.at })}>
						{problemText(d.text, problem)}
					</button>
				</p>
			)}
			{d.kept && <System of={d.kept} />}
		</section>
	)
}

// Conflict is what to do where the document is another one by now, or gone.
function Conflict(p: { of: ReturnType<typeof useDocument> }) {
	const { theirs, gone, text, take, save } = p.of
	const box = useRef<HTMLDivElement>(null)
	useLayoutEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), [theirs, gone])
	if (gone)
		return (
			<div class="conflict" role="alert" ref={box}>
				<p>
					<b>This document is gone.</b> It has expired or was deleted since you opened it. What
					you see is not stored.
				</p>
				<div class="row">
					<Button do={() => save('', true)}>Write it again</Button>
				</div>
			</div>
		)
	if (!theirs) return null
	return (
		<div class="conflict" role="alert" ref={box}>
			<p>
				<b>Somebody has changed this document since you opened it.</b> These lines differ: − is
				stored now, + is yours.
			</p>
			<Diff
				from={bare(theirs)}
				to={problemOf(text) ? text : pretty(text)}
				names={['stored now', 'yours']}
			/>
			<div class="row">
				<Button do={() => take(theirs)}>Take theirs</Button>
				<Button kind="bad" do={() => save(theirs.body._etag)}>
					Overwrite with mine
				</Button>
			</div>
		</div>
	)
}

// System is what the server adds to a document.
function System(p: { of: any }) {
	return (
		<details class="system">
			<summary>System properties</summary>
			<dl>
				{systemNames
					.filter(name => p.of[name] !== undefined)
					.map(name => (
						<div>
							<dt class="mono">{name}</dt>
							<dd class="mono">
								{typeof p.of[name] === 'string' ? p.of[name] : JSON.stringify(p.of[name])}
							</dd>
						</div>
					))}
			</dl>
		</details>
	)
}

// Life is why a document expires, as the server explains it, with leases and all.
function Life(p: DocProps) {
	const moved = useSignal('data'),
		written = useSignal('items')
	const { data, error, again } = useData<any>(
		() => post(ownColl(p.db, p.coll, 'explain-item'), { id: p.id, partitionKey: p.pk }),
		[p.id, moved, written],
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
