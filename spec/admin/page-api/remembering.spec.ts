// What is recorded for a page that is opened later: only while a page can be opened.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { UiRequest } from '../../../lib/admin/page-api/page-request.ts'
import { TICKS_PER_QUIET_SAMPLE } from '../../../lib/admin/page-api/read-api.ts'
import type { ReadApi } from '../../../lib/admin/page-api/read-api.ts'
import { ADDRESSES } from '../../support/dump.ts'
import { Stage } from '../../support/gateway.ts'
import type { RunningGateway } from '../../support/gateway.ts'
import { HandTimer } from '../../support/hand-timer.ts'
import { Reloading } from '../../support/reloading.ts'

const test = suite('ui/remembering')
const stage = new Stage()
test.after.each(() => stage.clear())

function ask(query = ''): UiRequest {
  return { method: 'GET', path: '', query: new URLSearchParams(query), ifNoneMatch: undefined }
}

/** The key of the page on the only listener. */
const PAGE = 'gateway/default/ui'

async function hi(gateway: RunningGateway): Promise<void> {
  const client = await stage.client(gateway)
  client.send('GET /hi HTTP/1.1\r\nhost: a\r\n\r\n')
  await client.until(/\r\n\r\n/)
}

/** Reads live events until the function that it returns is called. */
function openedBy(readApi: ReadApi, query: string, write: (text: string) => unknown): () => void {
  const answer = readApi.live(ask(query))
  if (answer.kind !== 'events') throw new Error('no stream')
  const nothing = (): void => {}
  return answer.open({ isFull: false, write, onDrain: nothing, end: nothing, destroy: nothing })
}

const HI =
  '{ name: hi, matches: [{ path: { exact: /hi } }], policies: { directResponse: { status: 200, body: hi } } }'
const NO =
  '{ name: no, matches: [{ path: { exact: /no } }], policies: { directResponse: { status: 403, body: no } } }'

test('takes a sample every second while there is a live reader, otherwise fewer', async () => {
  const timer = new HandTimer()
  const { readApi } = await stage.gateway(`routes: [${HI}]\nui: {}\n`, timer.every)
  const count = () => readApi.runtime(ask(), 'admin').samples.length
  timer.turn(TICKS_PER_QUIET_SAMPLE - 1)
  assert.is(count(), 0)
  timer.turn(TICKS_PER_QUIET_SAMPLE + 1)
  assert.is(count(), 2)
  const texts: string[] = []
  const leave = openedBy(readApi, 'topics=runtime', (text) => texts.push(text))
  timer.turn(3)
  assert.is(count(), 5)
  assert.equal(
    texts.map((text) => /^event: (\w+)\n/.exec(text)?.[1]),
    ['runtime', 'runtime', 'runtime'],
  )
  leave()
  timer.turn(TICKS_PER_QUIET_SAMPLE - 1)
  assert.is(count(), 5)
  // A reader of another topic does not cause samples, which visit all connections.
  openedBy(readApi, 'topics=config', () => {})()
  const other = openedBy(readApi, 'topics=config', () => {})
  timer.turn()
  assert.is(count(), 6)
  timer.turn(TICKS_PER_QUIET_SAMPLE - 1)
  assert.is(count(), 6)
  other()
})

test('records nothing where no page can be opened, and all with a page on a listener', async () => {
  const without = await stage.gateway(`routes: [${HI}]`)
  await hi(without)
  await without.logged(1)
  assert.is(without.readApi.logs(ask(), 'admin').lines.length, 0)
  const gateway = await stage.gateway(`routes: [${HI}]\nui: {}\n`)
  await hi(gateway)
  await gateway.logged(1)
  const { lines } = gateway.readApi.logs(ask(), 'admin')
  assert.is(lines.at(-1)?.message, 'request')
  const last = lines.at(-1)!.number
  assert.equal(gateway.readApi.logs(ask(`after=${last}`), 'admin').lines, [])
  assert.is(gateway.readApi.logs(ask('after=text'), 'admin').lines.length, lines.length)
  await gateway.stop()
})

test('records as long as a listener has the page, or the admin interface is on', async () => {
  const gateway = stage.add(await Reloading.start(`routes: [${HI}]\nui: {}\n`))
  const { readApi } = gateway.gateway
  const messages = () => readApi.logs(ask(), 'admin').lines.map(({ message }) => message)
  await gateway.change(`routes: [${HI}, ${NO}]\nui: {}\n`)
  assert.ok(messages().includes('reloaded config'))
  await gateway.change(`routes: [${HI}]\n`)
  assert.equal(messages(), [])
  await gateway.change(`routes: [${HI}]\nui: {}\n`)
  assert.equal(messages(), ['reloaded config'])
  readApi.start({ addresses: ADDRESSES, refusal: () => null })
  await gateway.change(`routes: [${HI}]\n`)
  assert.equal(messages(), ['reloaded config', 'reloaded config'])
})

test('a reload keeps the recorded data while the page exists', async () => {
  const gateway = stage.add(await Reloading.start(`routes: [${HI}]\nui: {}\n`))
  const recorded = () => {
    const { backendStats, plan } = gateway.gateway
    return [backendStats.get(PAGE)?.requests, plan.metricKeys.has(PAGE)]
  }
  const client = await stage.client({ port: gateway.port, host: '127.0.0.1' })
  client.send('GET /ui HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await client.until(/<\/html>/)
  await gateway.logged('request')
  assert.equal(recorded(), [1, true])
  await gateway.change(`routes: [${HI}, ${NO}]\nui: {}\n`)
  assert.equal(recorded(), [1, true])
  await gateway.change(`routes: [${HI}]\n`)
  assert.equal(recorded(), [undefined, false])
})

test.run()
