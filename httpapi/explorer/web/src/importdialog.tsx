// The dialog that stores the documents of files in a container.
import { useRef, useState } from 'preact/hooks'
import type { In } from './container'
import { importFiles, type Existing, type ImportState } from './importsend'
import { plural, tell } from './state'
import { Bad, Choice, Dialog, Stats, Table } from './ui'

const existing: [Existing, string][] = [
	['replace', 'Replace it'],
	['skip', 'Keep it, skip the one in the file'],
	['refuse', 'Keep it, list the one in the file'],
]

const shown = 100 // problems that are listed

const inBytes = (n: number) =>
	n < 1 << 20 ? `${Math.ceil(n / 1024).toLocaleString('en')} KB` : `${(n / (1 << 20)).toFixed(1)} MB`

export default function ImportDialog(p: In & { files: File[]; close: () => void }) {
	const [files, choose] = useState(p.files),
		[then, setThen] = useState<Existing>('replace')
	const [state, set] = useState<ImportState | null>(null),
		[running, setRunning] = useState<AbortController | null>(null)
	const input = useRef<HTMLInputElement>(null)
	const size = files.reduce((n, f) => n + f.size, 0)
	const run = async () => {
		if (!files.length) throw new Error('Choose a file first.')
		const mine = new AbortController()
		setRunning(mine)
		try {
			await importFiles({ ...p, files, existing: then, signal: mine.signal, progress: set })
		} finally {
			setRunning(null)
			tell('data')
		}
		return false
	}
	const close = () => {
		running?.abort()
		p.close()
	}
	const over = state && !running
	return (
		<Dialog
			title={`Import into ${p.coll}`}
			close={close}
			send={running || over ? undefined : run}
			word="Import"
			end={running ? 'Cancel import' : over ? 'Close' : undefined}
		>
			{!state && (
				<>
					<div class="field wide">
						<label class="label" for="import-files">
							Files
						</label>
						<input
							id="import-files"
							type="file"
							multiple
							ref={input}
							aria-describedby="import-files-about"
							onChange={() => choose([...input.current!.files!])}
						/>
						<span class="hint" id="import-files-about">
							{files.length
								? files.map(f => `${f.name}, ${inBytes(f.size)}`).join('; ')
								: 'NDJSON, a JSON array, JSON documents or CSV, also compressed by gzip.'}
						</span>
					</div>
					<Choice
						label="A document whose id exists"
						value={then}
						set={v => setThen(v as Existing)}
						of={existing}
					/>
				</>
			)}
			{state && <State of={state} size={size} running={!!running} />}
		</Dialog>
	)
}

function State(p: { of: ImportState; size: number; running: boolean }) {
	const s = p.of
	return (
		<>
			{p.running && (
				<div class="progress">
					<progress aria-label="Import" max={p.size} value={Math.min(s.bytes, p.size)} />
					<span class="num">
						{inBytes(s.bytes)} of {inBytes(p.size)}
					</span>
				</div>
			)}
			<div class="wide" role="status">
				<Stats
					of={[
						['Created', s.created.toLocaleString('en')],
						['Replaced', s.replaced.toLocaleString('en')],
						['Skipped', s.skipped.toLocaleString('en')],
						['Refused', s.failed.toLocaleString('en'), s.failed ? 'warn' : ''],
					]}
				/>
			</div>
			<Bad text={s.stopped} />
			{s.problems.length > 0 && (
				<div class="wide import-problems">
					<Table
						label="Documents that were refused"
						head={['File', 'Line', 'Column', 'Reason']}
						rows={s.problems.slice(0, shown).map(x => [x.file, x.line, x.column, x.reason])}
					/>
					{s.failed > shown && (
						<p class="soft">{plural(s.failed - shown, 'more')} not listed.</p>
					)}
				</div>
			)}
		</>
	)
}
