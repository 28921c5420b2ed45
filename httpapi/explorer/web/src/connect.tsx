// How a client connects: addresses, key, connection strings, ports, and a program in each language.
import { useEffect, useState } from 'preact/hooks'
import { get, own, secretKey } from './api'
import { doing, note, useData } from './state'
import { Button, Panel } from './ui'

interface Connection {
	ports: number[]
	direct: boolean
	serviceBus?: { ports: number[]; keyName: string; key: string }
}

const hidden = '••••••••'

// copy puts a text on the clipboard.
export const copy = (what: string, text: string) =>
	doing(async () => {
		await navigator.clipboard.writeText(text)
		note(`${what} copied.`)
	})

export function Connect() {
	const { data } = useData<Connection>(() => get(own('connection')), [])
	const [shown, show] = useState(false)
	const key = secretKey(),
		host = location.hostname,
		bus = data?.serviceBus,
		endpoint = `https://${location.host}/`
	const cosmos = (k: string) =>
		`AccountEndpoint=${endpoint};AccountKey=${k};DisableServerCertificateValidation=true;`
	const service = (k: string) =>
		`Endpoint=sb://${host}${bus!.ports[0] === 5672 ? '' : ':' + bus!.ports[0]};SharedAccessKeyName=${bus!.keyName};` +
		`SharedAccessKey=${k};UseDevelopmentEmulator=true;`
	const other = data?.ports.filter(p => String(p) !== location.port) ?? []
	return (
		<Panel
			title="Connect"
			class="connect"
			side={<Button do={() => show(!shown)}>{shown ? 'Hide keys' : 'Show keys'}</Button>}
		>
			<dl class="strings">
				<Line name="Endpoint" text={endpoint} />
				<Line name="Key" text={key} shown={shown ? key : hidden} />
				<Line name="Connection string" text={cosmos(key)} shown={cosmos(shown ? key : hidden)} />
				{bus && (
					<Line
						name="Service Bus connection string"
						text={service(bus.key)}
						shown={service(shown ? bus.key : hidden)}
					/>
				)}
			</dl>
			<p class="soft">
				The endpoint answers HTTP as well{other.length > 0 && `, also on port ${other.join(', ')}`}.{' '}
				{data?.direct && 'Direct mode uses the same port. '}
				{bus
					? `Service Bus: ports ${bus.ports.join(', ')}, each for AMQP, WebSockets and HTTP, plain and in TLS.`
					: data && 'Service Bus has no port: start the server with --servicebus.'}
			</p>
			<Snippets key_={key} shown={shown} />
		</Panel>
	)
}

function Line(p: { name: string; text: string; shown?: string }) {
	return (
		<div>
			<dt>{p.name}</dt>
			<dd>
				<code>{p.shown ?? p.text}</code>
				<Button do={() => copy(p.name, p.text)} title={`Copy ${p.name.toLowerCase()}`}>
					Copy<span class="unseen"> {p.name}</span>
				</Button>
			</dd>
		</div>
	)
}

// The programs of the start pages have the address of a server as it starts by itself, and the emulators' key.
const address = /\b(https?):\/\/localhost:8081\b/g

function Snippets(p: { key_: string; shown: boolean }) {
	const [all, set] = useState<[string, string, string][]>([]),
		[at, go] = useState(0)
	useEffect(() => {
		import('virtual:snippets').then(m => set(m.default))
	}, [])
	if (!all.length) return null
	const [language, page, program] = all[at]!
	const text = (key: string) =>
		program
			.replace(address, (_, scheme) => `${scheme}://${location.host}`)
			.replace(/C2y6yDjf5[A-Za-z0-9+/]+==/g, key)
	return (
		<details class="snippets">
			<summary>A first program</summary>
			<div class="row wrap">
				<div class="seg" role="group" aria-label="Language">
					{all.map(([name], i) => (
						<button type="button" aria-pressed={i === at} onClick={() => go(i)}>
							{name}
						</button>
					))}
				</div>
				<Button do={() => copy(`The program in ${language}`, text(p.key_))}>Copy program</Button>
				<a href={`/_explorer/docs/start/${page}`}>How to run it</a>
			</div>
			<pre class="json" tabIndex={0} aria-label={`A program in ${language}`}>
				{text(p.shown ? p.key_ : hidden)}
			</pre>
		</details>
	)
}
