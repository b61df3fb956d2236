// Discovery documents: fetched, cached, renewed, unavailable and available again.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createFetcher } from '../../../lib/http/fetch-document.ts'
import type { FetchDocument } from '../../../lib/http/fetch-document.ts'
import { DiscoveryDocuments } from '../../../lib/enforce/oauth/discovery.ts'
import { deadline } from '../../support/deadline.ts'
import { LogRecorder, Stage } from '../../support/gateway.ts'
import type { Line } from '../../support/gateway.ts'
import { ProviderServer } from './provider-server.ts'

const documents = suite('documents')
const stage = new Stage()
documents.after.each(() => stage.clear())

const PATH = '/.well-known/openid-configuration'
const MINUTE = 60_000

interface Scene {
  readonly provider: ProviderServer
  readonly clock: { time: number; now(): number }
  readonly lines: Line[]
  first: (...paths: string[]) => Promise<unknown>
  /** Waits until no fetch is in progress. */
  settled: () => Promise<unknown>
}

async function scene(timeout = 5000): Promise<Scene> {
  const provider = stage.add(await ProviderServer.start())
  const { origin } = provider
  const { fetch } = stage.add(createFetcher())
  let last: Promise<unknown> = Promise.resolve()
  const quick: FetchDocument = (url, options) => {
    const fetched = fetch(url, { ...options, timeout })
    last = fetched.catch(() => {})
    return fetched
  }
  // One more turn: the waiting callers are resolved first.
  const settled = (): Promise<unknown> =>
    deadline(
      last.then(() => new Promise((resolve) => setImmediate(resolve))),
      30_000,
      'the fetch',
    )
  const clock = { time: 1e12, now: () => clock.time }
  const lines: Line[] = []
  const kept = new DiscoveryDocuments(new LogRecorder((line) => lines.push(line)), quick, clock)
  const first = (...paths: string[]): Promise<unknown> =>
    deadline(kept.findFirst(paths.map((path) => origin + path)), 30_000, 'a document')
  return { provider, clock, lines, first, settled }
}

documents('fetches once for concurrent callers, and not again for a minute', async () => {
  const { provider, clock, first } = await scene()
  provider.offer(PATH, { a: 1 })
  const crowd = await Promise.all(Array.from({ length: 50 }, () => first(PATH)))
  for (const one of crowd) assert.equal(one, { a: 1 })
  clock.time += MINUTE - 1
  assert.equal(await first(PATH), { a: 1 })
  assert.is(provider.received.length, 1)
})

documents('serves a stale document while it fetches a new one', async () => {
  const { provider, clock, first, settled } = await scene()
  provider.offer(PATH, { a: 1 })
  await first(PATH)
  provider.offer(PATH, { a: 2 })
  clock.time += MINUTE
  assert.equal(await first(PATH), { a: 1 })
  await settled()
  assert.equal(await first(PATH), { a: 2 })
})

documents('serves the last valid document for an hour while the provider is down', async () => {
  const { provider, clock, lines, first, settled } = await scene()
  provider.offer(PATH, { a: 1 })
  await first(PATH)
  provider.says.set(`GET ${PATH}`, { status: 500, body: 'no' })
  for (let minute = 1; minute < 60; minute++) {
    clock.time += MINUTE
    assert.equal(await first(PATH), { a: 1 })
    await settled()
    assert.is(provider.received.length, 1 + minute)
  }
  clock.time += MINUTE
  assert.is(await first(PATH), `${provider.host} responded with status 500`)
  assert.is(lines.length, 1, 'one outage is one line')
  provider.offer(PATH, { a: 2 })
  clock.time += MINUTE
  assert.equal(await first(PATH), { a: 2 })
})

documents('waits before it calls a failed provider again', async () => {
  const { provider, clock, first } = await scene()
  for (let i = 0; i < 20; i++)
    assert.is(await first(PATH), `${provider.host} responded with status 404`)
  assert.is(provider.received.length, 1)
  clock.time += 5000
  await Promise.all(Array.from({ length: 20 }, () => first(PATH)))
  assert.is(provider.received.length, 2)
})

documents('uses the first document that exists', async () => {
  const { provider, first } = await scene()
  provider.offer('/b', { b: 1 })
  provider.offer('/c', { c: 1 })
  assert.equal(await first('/a', '/b', '/c'), { b: 1 })
  assert.equal(provider.lines, ['GET /a', 'GET /b'])
})

documents('tries the URL of the cached document first', async () => {
  const { provider, clock, first, settled } = await scene()
  provider.offer('/b', { b: 1 })
  assert.equal(await first('/a', '/b'), { b: 1 })
  provider.offer('/a', { a: 1 })
  for (let minutes = 0; minutes < 3; minutes++) {
    clock.time += MINUTE
    assert.equal(await first('/a', '/b'), { b: 1 })
    await settled()
  }
  assert.equal(provider.lines, ['GET /a', 'GET /b', 'GET /b', 'GET /b', 'GET /b'])
  clock.time += 60 * MINUTE
  assert.equal(await first('/a', '/b'), { a: 1 })
})

documents('reports which host failed and how, with details only in the log', async () => {
  const { provider, lines, first } = await scene(200)
  const { host } = provider
  provider.says.set('GET /hang', 'hang')
  provider.says.set('GET /moved', { status: 302, headers: { location: '/b' } })
  provider.says.set('GET /html', { body: '<html>hush</html>' })
  provider.says.set('GET /list', { body: '["hush"]' })
  provider.says.set('GET /null', { body: 'null' })
  provider.says.set('GET /giant', { body: `{"a":"${'x'.repeat(1_048_576)}"}` })
  assert.is(await first('/hang'), `${host} does not respond`)
  assert.is(await first('/moved'), `${host} responded with status 302`)
  assert.is(await first('/html'), `${host} responded without a JSON object`)
  assert.is(await first('/list'), `${host} responded without a JSON object`)
  assert.is(await first('/null'), `${host} responded without a JSON object`)
  assert.is(await first('/giant'), `${host} sent a document of more than 1048576 bytes`)
  assert.is(lines.length, 6)
  assert.match(String(lines[5]!['error']), 'more than 1048576 bytes')
  assert.not.match(JSON.stringify(lines), 'hush')
  await provider.close()
  assert.is(await first('/refused'), `${host} does not respond`)
  assert.match(String(lines[6]!['error']), `${host} does not respond: `)
})

documents('logs a failure again when its cause changes', async () => {
  const { provider, clock, lines, first } = await scene(200)
  const { host } = provider
  provider.says.set('GET /a', 'hang')
  await first('/a')
  clock.time += MINUTE
  await first('/a')
  assert.is(lines.length, 1)
  await provider.close()
  clock.time += MINUTE
  await first('/a')
  assert.is(lines.length, 2)
  assert.match(String(lines[1]!['error']), `${host} does not respond: `)
})

documents('waits once for a host that hangs, not once for each of its URLs', async () => {
  const { provider, first } = await scene(200)
  provider.says.set('GET /a', 'hang')
  provider.says.set('GET /b', 'hang')
  assert.is(await first('/a', '/b'), `${provider.host} does not respond`)
  // And not again for a while.
  assert.is(await first('/a', '/b'), `${provider.host} does not respond`)
  assert.equal(provider.lines, ['GET /a'])
})

documents('are logged without the query of their URL', async () => {
  const { provider, lines, first } = await scene()
  await first('/document?code=s3cret')
  assert.equal(provider.lines, ['GET /document?code=s3cret'])
  assert.is(lines[0]!['url'], `${provider.origin}/document`)
  await provider.close()
  await first('/other?code=s3cret')
  assert.is(lines.length, 2)
  assert.not.match(JSON.stringify(lines), 's3cret')
})

documents.run()
