// A provider's key set: fetched, cached, renewed, unavailable and available again.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createFetcher } from '../../../lib/http/fetch-document.ts'
import {
  createFixedKeySource,
  KeySetRegistry,
  RemoteKeySet,
} from '../../../lib/enforce/auth/key-sets.ts'
import type { VerificationKeySet } from '../../../lib/enforce/auth/key-sets.ts'
import { deadline } from '../../support/deadline.ts'
import { LogRecorder, Stage } from '../../support/gateway.ts'
import type { Line } from '../../support/gateway.ts'
import { KeyServer } from '../../support/key-server.ts'
import { Signer } from '../../support/signer.ts'

const remote = suite('remote keys')
const stage = new Stage()
remote.after.each(() => stage.clear())

const one = await Signer.make('ES256', 'one')
const two = await Signer.make('ES256', 'two')

class Clock {
  time = 1_000_000
  now(): number {
    return this.time
  }
}

/** A server and its key set, with a fixed clock. */
async function setUp(...signers: Signer[]) {
  return setUpAt('', ...signers)
}

/** The same key set, at a URL with a query. */
async function setUpAt(query: string, ...signers: Signer[]) {
  const server = stage.add(await KeyServer.start(...signers))
  const lines: Line[] = []
  const clock = new Clock()
  const { fetch, close } = createFetcher()
  stage.add({ close })
  const ear = new LogRecorder((line) => lines.push(line))
  const keys = new RemoteKeySet(server.url + query, fetch, ear, clock)
  return { server, keys, clock, lines }
}

async function current(keys: RemoteKeySet): Promise<VerificationKeySet | string> {
  return deadline(Promise.resolve(keys.current()), 30_000, 'keys')
}

async function idsOf(keys: RemoteKeySet): Promise<string[] | string> {
  const set = await current(keys)
  return typeof set === 'string' ? set : set.ids
}

/** Waits until the background fetch has changed the set. */
async function untilGeneration(keys: RemoteKeySet, generation: number): Promise<void> {
  const until = performance.now() + 30_000
  while (keys.generation < generation) {
    assert.ok(performance.now() < until, `generation ${keys.generation}, not ${generation}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

remote('are fetched when first needed, once for concurrent callers', async () => {
  const { server, keys, lines } = await setUp(one)
  assert.is(server.asked, 0)
  assert.is(keys.generation, 0)
  server.isHolding = true
  const crowd = [1, 2, 3].map(() => idsOf(keys))
  await server.untilAsked(1)
  server.release()
  for (const ids of await Promise.all(crowd)) assert.equal(ids, ['one'])
  assert.is(server.asked, 1)
  assert.is(keys.generation, 1)
  // Synchronous from now on.
  assert.not.instance(keys.current(), Promise)
  assert.equal(
    lines.map(({ message, keys: count }) => [message, count]),
    [['fetched key set', 1]],
  )
})

remote('are fetched again in the background when they are no longer fresh', async () => {
  const { server, keys, clock } = await setUp(one)
  await current(keys)
  clock.time += 900_000 - 1
  void keys.current()
  assert.is(server.asked, 1)
  clock.time += 1
  server.offer(one, two)
  assert.equal((keys.current() as VerificationKeySet).ids, ['one'])
  void keys.current()
  await untilGeneration(keys, 2)
  assert.equal(await idsOf(keys), ['one', 'two'])
  assert.is(server.asked, 2)
})

remote('are fresh for the max-age of the provider, within bounds', async () => {
  const table: [cacheControl: string, fresh: number][] = [
    ['max-age=300', 300_000],
    ['public, max-age=7200, must-revalidate', 7_200_000],
    ['max-age=0', 60_000],
    ['max-age=999999999', 86_400_000],
    ['no-store, max-age=7200', 60_000],
    ['no-cache', 60_000],
    ['max-age=2', 60_000],
    ['s-max-age=5', 900_000],
    ['max-age=x', 900_000],
  ]
  for (const [cacheControl, fresh] of table) {
    const { server, keys, clock } = await setUp(one)
    server.headers['cache-control'] = cacheControl
    await current(keys)
    clock.time += fresh - 1
    void keys.current()
    await new Promise((resolve) => setImmediate(resolve))
    assert.is(server.asked, 1, cacheControl)
    clock.time += 1
    void keys.current()
    await server.untilAsked(2)
    await deadline(keys.renew(), 30_000, 'the fetch')
  }
})

remote('are waited for after the grace period', async () => {
  const { server, keys, clock } = await setUp(one)
  await current(keys)
  server.offer(two)
  server.isHolding = true
  clock.time += 900_000 + 60_000
  const crowd = [idsOf(keys), idsOf(keys)]
  await server.untilAsked(2)
  server.release()
  assert.equal(await Promise.all(crowd), [['two'], ['two']])
  assert.is(server.asked, 2)
})

remote('are not waited for after the grace period while the provider is down', async () => {
  const { server, keys, clock } = await setUp(one)
  await current(keys)
  server.status = 500
  clock.time += 960_000
  // The first caller has to wait.
  assert.equal(await idsOf(keys), ['one'])
  assert.is(server.asked, 2)
  clock.time += 5000
  assert.not.instance(keys.current(), Promise)
  await server.untilAsked(3)
})

remote('are decompressed', async () => {
  const { server, keys } = await setUp(one)
  server.packs = true
  assert.equal(await idsOf(keys), ['one'])
})

remote('with an unknown compression are an error', async () => {
  const { server, keys } = await setUp(one)
  server.headers['content-encoding'] = 'br'
  assert.is(await idsOf(keys), 'content-encoding br')
})

remote('report how many keys of a set were excluded, and why', async () => {
  const { server, keys, lines } = await setUp(one)
  const odd = [
    { ...two.jwk, use: 'enc' },
    { ...two.jwk, use: 'enc' },
    { kid: 'x', kty: 'oct' },
  ]
  server.text = JSON.stringify({ keys: [...odd, one.jwk] })
  assert.equal(await idsOf(keys), ['one'])
  const { level, message, why } = lines.at(-1)!
  assert.equal(
    [level, message, why],
    ['warn', 'keys excluded from key set', 'not for signatures: 2, key type: 1'],
  )
})

remote('keep their generation while the document stays the same', async () => {
  const { server, keys, clock } = await setUp(one)
  const first = await current(keys)
  clock.time += 900_000
  assert.not(await deadline(keys.renew(), 30_000, 'the fetch'))
  assert.is(server.asked, 2)
  assert.is(keys.generation, 1)
  assert.is(await current(keys), first)
})

remote('are renewed for an unknown key, with a cooldown in between', async () => {
  const { server, keys, clock } = await setUp(one)
  await current(keys)
  // The first time at once, no matter when the last regular fetch was.
  assert.not(await keys.renew())
  assert.is(server.asked, 2)
  server.offer(two)
  for (let times = 3; times > 0; times--) assert.not(await keys.renew())
  assert.is(server.asked, 2)
  clock.time += 30_000
  const crowd = await deadline(
    Promise.all([keys.renew(), keys.renew(), keys.renew()]),
    30_000,
    'a fetch',
  )
  assert.equal(crowd, [true, true, true])
  assert.is(server.asked, 3)
  assert.equal(await idsOf(keys), ['two'])
  assert.is(keys.generation, 2)
})

remote('that cannot be fetched return the reason, and are retried after a delay', async () => {
  const { server, keys, clock, lines } = await setUp(one)
  server.status = 503
  assert.is(await idsOf(keys), 'status 503')
  assert.is(await idsOf(keys), 'status 503')
  assert.is(server.asked, 1)
  assert.equal(keys.status, {
    url: server.url,
    kids: [],
    ageSeconds: null,
    error: 'status 503',
  })
  clock.time += 5000
  server.status = 200
  assert.equal(await idsOf(keys), ['one'])
  clock.time += 7000
  assert.equal(keys.status, { url: server.url, kids: ['one'], ageSeconds: 7, error: null })
  assert.equal(
    lines.map(({ level, message, error, keys: kept }) => ({ level, message, error, kept })),
    [
      { level: 'warn', message: 'cannot fetch key set', error: 'status 503', kept: 'none' },
      { level: 'info', message: 'fetched key set', error: undefined, kept: 1 },
    ],
  )
})

remote('that were valid stay in use while the provider is down or sends garbage', async () => {
  for (const [status, text] of [
    [500, '{}'],
    [302, ''],
    [200, 'no json'],
    [200, '{"keys":{}}'],
    [200, 'null'],
    [200, '[]'],
    [200, `{"keys":[],"pad":"${'x'.repeat(1_100_000)}"}`],
  ] as const) {
    const { server, keys, clock, lines } = await setUp(one)
    await current(keys)
    Object.assign(server, { status, text })
    clock.time += 1_000_000
    assert.not(await deadline(keys.renew(), 30_000, 'a fetch'), text)
    assert.equal(await idsOf(keys), ['one'])
    assert.is(keys.generation, 1)
    const line = lines.at(-1)!
    assert.equal([line['level'], line['keys']], ['warn', 'the last good set'])
    assert.ok(String(line['error']).length < 300)
    assert.is.not(keys.status.error, null)
  }
})

remote('of a provider that is down are not waited for again and again', async () => {
  const { server, keys, clock } = await setUp(one)
  const { url } = server
  await server.close()
  const reason = await idsOf(keys)
  assert.match(String(reason), 'ECONNREFUSED')
  assert.is(await idsOf(keys), reason)
  clock.time += 5000
  assert.match(String(await idsOf(keys)), 'ECONNREFUSED')
  assert.is(keys.status.url, url)
})

remote('are logged without the query of their URL', async () => {
  const { server, keys, clock, lines } = await setUpAt('?code=s3cret', one)
  const { text, url } = server
  const fetchAndCheckLog = async (): Promise<void> => {
    await current(keys)
    clock.time += 5000
    assert.is(lines.at(-1)!['url'], url)
    assert.is(keys.status.url, url)
    assert.not.match(JSON.stringify([lines, keys.status]), 's3cret')
  }
  // Some servers repeat the request in the response.
  server.text = '?code=s3cret'
  await fetchAndCheckLog()
  assert.is(keys.status.error, 'no key set')
  server.text = text
  await fetchAndCheckLog()
  await server.close()
  clock.time += 1_000_000
  await deadline(keys.renew(), 30_000, 'a fetch')
  await fetchAndCheckLog()
  assert.equal(
    lines.map(({ message }) => message),
    ['cannot fetch key set', 'fetched key set', 'cannot fetch key set'],
  )
})

remote('are shared by all policies with the same URL', async () => {
  const { fetch, close } = createFetcher()
  stage.add({ close })
  const sets = new KeySetRegistry(new LogRecorder(() => {}), fetch)
  assert.is(sets.sourceFor('http://a/k'), sets.sourceFor('http://a/k'))
  assert.is.not(sets.sourceFor('http://a/k'), sets.sourceFor('http://b/k'))
  assert.equal(
    sets.status.map(({ url }) => url),
    ['http://a/k', 'http://b/k'],
  )
})

remote('in the configuration are never fetched', async () => {
  const fixed = createFixedKeySource([one.jwk as never])
  assert.equal((fixed.current() as VerificationKeySet).ids, ['one'])
  assert.not(await fixed.renew())
  assert.is(fixed.generation, 0)
})

remote.run()
