// Many documents at once: those that are selected are changed and deleted, and files are imported.
import { gzipSync } from 'node:zlib'
import { check } from './world.js'

export const bulk = (w, { rows, button, same }) => {
	const { page, kb, see, at, send, axe } = w
	const dialog = page.locator('dialog[open]'),
		foot = page.locator('.grid-foot')
	const count = query =>
		send('/dbs/browse/colls/orders/docs', { query, parameters: [] }, 'POST', {
			headers: {
				'content-type': 'application/query+json',
				'x-ms-documentdb-isquery': 'True',
				'x-ms-documentdb-query-enablecrosspartition': 'True',
				'x-mayfly-serve-cross-partition': 'true',
			},
		}).then(a => a.Documents[0])
	const act = async name => {
		await button(name, foot).click()
		await dialog.waitFor()
	}
	const ends = async text => {
		await dialog.getByText(text).waitFor()
		await button('Close', dialog).click()
		await dialog.waitFor({ state: 'detached' })
	}
	return {
		async 'several documents are patched, and those that refuse are listed'() {
			await at("#/db/browse/orders?filter=WHERE+c.status+%3D+'paid'")
			await see('267 rows', '.foot')
			await rows().nth(0).locator('.c-mark').click()
			await rows()
				.nth(9)
				.click({ modifiers: ['Shift'] })
			await act('Patch')
			await see('Patch 10 documents', 'dialog h2')
			await dialog.getByLabel('Operation').selectOption('incr')
			await dialog.getByLabel('Path').fill('/bonus')
			await dialog.getByLabel('Value').fill('5')
			await axe()
			await w.shot('browser-patch')
			await button('Patch', dialog).click()
			await ends('10 documents changed.')
			same(await count('SELECT VALUE COUNT(1) FROM c WHERE c.bonus = 5'), 10, 'patched')
			await act('Patch')
			await dialog.getByLabel('Operation').selectOption('replace')
			await dialog.getByLabel('Path').fill('/absent')
			await dialog.getByLabel('Value').fill('no JSON')
			await button('Patch', dialog).click()
			await dialog.locator('[role=alert]', { hasText: 'no JSON' }).waitFor()
			await dialog.getByLabel('Value').fill('1')
			await button('Patch', dialog).click()
			await dialog.getByText('10 were refused').waitFor()
			await dialog.locator('td', { hasText: 'order-0000' }).waitFor()
			await ends('0 documents changed.')
		},
		async 'the time to live of all documents of a filter is set'() {
			await page.getByRole('grid').focus()
			await kb.press('Control+a')
			await act('Set time to live')
			await see('267 documents', 'dialog h2')
			await dialog.getByLabel('Seconds', { exact: true }).fill('900')
			await button('Set time to live', dialog).click()
			await ends('267 documents changed.')
			same(await count('SELECT VALUE COUNT(1) FROM c WHERE c.ttl = 900'), 267, 'with a ttl')
			await act('Set time to live')
			await dialog.getByLabel('Time to live').selectOption('default')
			await button('Set time to live', dialog).click()
			await ends('267 documents changed.')
			same(await count('SELECT VALUE COUNT(1) FROM c WHERE IS_DEFINED(c.ttl)'), 0, 'with a ttl')
		},
		async 'documents that are not loaded are deleted, too, after a question that says how many'() {
			await at('#/db/browse/orders')
			await see('550 of 800 rows loaded', '.foot')
			await page.getByRole('grid').focus()
			await kb.press('Control+a')
			await button('Select all 800', foot).click()
			await act('Delete')
			await see('Delete 800 documents?', 'dialog h2')
			await axe()
			await button('Cancel', dialog).click()
			await dialog.waitFor({ state: 'detached' })
			await act('Delete')
			await w.held('/docs/order-', async () => {
				await button('Delete', dialog).click()
				await button('Cancel changing', dialog).click()
			})
			await dialog.getByText(/Cancelled/).waitFor()
			await button('Close', dialog).click()
			const left = await count('SELECT VALUE COUNT(1) FROM c')
			check(left > 780, `${left} documents are left of a cancelled deletion`)
			await see(`of ${left} rows`, '.foot')
			await page.getByRole('grid').focus()
			await kb.press('Control+a')
			await button(`Select all ${left}`, foot).click()
			await act('Delete')
			await button('Delete', dialog).click()
			await w.told(`${left} documents deleted.`)
			await dialog.waitFor({ state: 'detached' })
			await see('No document', '.grid-empty')
			await page.locator('.notes').getByRole('button', { name: 'Undo' }).click()
			await w.told('The container orders is as it was before.')
			await see(`of ${left} rows`, '.foot')
		},
	}
}

export const imports = (w, { rows, button, same }) => {
	const { page, see, at, send, axe } = w
	const dialog = page.locator('dialog[open]')
	const choose = async (...files) => {
		await button('Import').first().click()
		await dialog.getByLabel('Files').setInputFiles(
			files.map(([name, text]) => ({
				name,
				mimeType: 'text/plain',
				buffer: Buffer.from(text),
			})),
		)
	}
	const figure = name => dialog.locator('dl.stats > div', { hasText: name }).locator('dd').textContent()
	const run = async () => {
		await button('Import', dialog).click()
		await button('Close', dialog).waitFor()
		const all = []
		for (const name of ['Created', 'Replaced', 'Skipped', 'Refused'])
			all.push(Number(await figure(name)))
		const problems = await dialog
			.locator('tbody tr')
			.evaluateAll(all => all.map(tr => [...tr.children].map(td => td.textContent)))
		return [all, problems]
	}
	const close = async () => {
		await button('Close', dialog).click()
		await dialog.waitFor({ state: 'detached' })
	}
	return {
		async 'an empty container offers documents, an import and an example'() {
			await send('/dbs/browse/colls', {
				id: 'imported',
				partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
			})
			await at('#/db/browse/imported')
			await see('No document', '.grid-empty')
			await axe()
			await w.shot('browser-empty')
			await button('Load an example').click()
			await see('20 rows', '.foot')
		},
		async 'files of all forms are imported, and errors have their line and column'() {
			await choose(
				[
					'a.ndjson',
					'{"id":"a1","pk":"x"}\n\n{"id":"a2","pk":,}\n{"id":"a3","pk":"x","big":12345678901234567890}\n[1]\n',
				],
				[
					'b.json',
					'[\n  {"id":"b1","pk":"x"},\n  {"id":"b2","pk":"x" "n":1},\n  {"id":"b3","pk":"x"}\n]',
				],
				['c.csv', 'id,pk,n,address.city\n7,x,1.5,"Wien, \n""A"""\n8,x\n9,x,true,\n'],
				['d.json', '{\n  "id": "d1",\n  "pk": "x"\n}\n{"id":"d2","pk":"x"}'],
				['e.ndjson.gz', gzipSync('{"id":"e1","pk":"x"}\n')],
				['f.json', '[{"id":"f1","pk":"x"},'],
				['g.ndjson', '{"id":"g1","pk":"x"}\n{"pk":"x","id":7}\n'],
			)
			await axe()
			const [counts, problems] = await run()
			await axe()
			await w.shot('browser-import')
			same(
				problems.map(p => p.slice(0, 3).join(':')),
				[
					'a.ndjson:3:17',
					'a.ndjson:5:1',
					'b.json:3:23',
					'c.csv:4:1',
					'f.json:1:23',
					'g.ndjson:2:1',
				],
				'the places',
			)
			same(counts, [11, 0, 0, 6], 'the figures')
			await close()
			await see('31 rows', '.foot')
			await see('12345678901234567890', '.grid-body')
			const row = await send('/dbs/browse/colls/imported/docs/7', undefined, 'GET', {
				headers: { 'x-ms-documentdb-partitionkey': '["x"]' },
			})
			same([row.n, row.address], [1.5, { city: 'Wien, \n"A"' }], 'the row')
		},
		async 'documents that exist are replaced, skipped or refused'() {
			const results = []
			for (const [existing, id] of [
				['replace', 'r'],
				['skip', 's'],
				['refuse', 't'],
			]) {
				await choose(['a.ndjson', `{"id":"a1","pk":"x","n":1}\n{"id":"${id}","pk":"x"}\n`])
				await dialog.getByLabel('A document whose id exists').selectOption(existing)
				results.push((await run())[0])
				await close()
			}
			same(
				results,
				[
					[1, 1, 0, 0],
					[1, 0, 1, 0],
					[1, 0, 0, 1],
				],
				'created, replaced, skipped, refused',
			)
		},
		async 'files that are dropped are imported, and a full storage ends it'() {
			const data = await page.evaluateHandle(() => {
				const all = new DataTransfer()
				const lines = Array.from({ length: 500 }, (_, n) => `{"id":"drop-${n}","pk":"x"}`)
				all.items.add(new File([lines.join('\n')], 'dropped.ndjson'))
				return all
			})
			await page.dispatchEvent('main', 'dragover', { dataTransfer: data })
			await page.locator('.drop', { hasText: 'Import into imported' }).waitFor()
			await page.dispatchEvent('main', 'drop', { dataTransfer: data })
			await see('dropped.ndjson', 'dialog')
			let sent = 0
			await page.route('**/imported/import', async r => {
				if (++sent < 3) await r.continue()
				else
					await r.fulfill({
						status: 507,
						body: '{"code":"InsufficientStorage","message":"no room"}',
					})
			})
			const [counts] = await run()
			same([counts[0], sent], [200, 3], 'stored before, and requests')
			await see('no room', 'dialog [role=alert]')
			await page.unrouteAll({ behavior: 'wait' })
			await close()
			await rows().first().waitFor()
		},
	}
}
