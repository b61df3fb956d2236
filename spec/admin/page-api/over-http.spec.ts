// The web UI on the admin interface, over real sockets.

import { request as httpRequest } from 'node:http'
import type { NetConnectOpts } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../../conformance/gateway-process.ts'
import { createIndexEndpoints } from '../../../lib/admin/admin-endpoints.ts'
import { AdminServer } from '../../../lib/admin/admin-server.ts'
import { MAX_PAGE_STREAMS } from '../../../lib/core/bounds.ts'
import { createUiFallback, UiService } from '../../../lib/admin/page-api/page-service.ts'
import type { UiSources } from '../../../lib/admin/page-api/page-service.ts'
import { deadline } from '../../support/deadline.ts'
import { Stage } from '../../support/gateway.ts'
import type { RawClient } from '../../support/raw-client.ts'
import { Readers } from '../../support/ui-sources.ts'
import { mainScript } from '../../support/ui/page-files.ts'
import { until } from '../../support/until.ts'

const test = suite('ui/over-http')
const stage = new Stage()
test.after.each(() => stage.clear())

const WAIT_MS = 30_000
const LIVE = '/api/live?topics=runtime'

interface Scene {
  readonly readers: Readers
  readonly target: NetConnectOpts
  /** Internal errors that were reported. */
  readonly faults: unknown[]
}

async function open(more: Partial<UiSources> = {}): Promise<Scene> {
  const readers = new Readers()
  const ui = new UiService({ ...readers.sources, ...more })
  const faults: unknown[] = []
  const page = createUiFallback(ui, (error) => faults.push(error))
  const server = new AdminServer(createIndexEndpoints({}), () => {}, undefined, page)
  stage.add(server)
  const port = await freePort()
  const address = { kind: 'tcp', host: '127.0.0.1', port } as const
  await deadline(server.listen(address), WAIT_MS, 'the admin interface to listen')
  return { readers, faults, target: { port, host: '127.0.0.1' } }
}

async function start({ target }: Scene, line: string, ...fields: string[]): Promise<RawClient> {
  const client = await stage.client(target)
  client.send([`${line} HTTP/1.1`, 'host: localhost', ...fields, '', ''].join('\r\n'))
  return client
}

/** The whole response, to the end of the connection. */
async function ask(scene: Scene, line: string, ...fields: string[]): Promise<string> {
  return (await start(scene, line, 'connection: close', ...fields)).untilClosed()
}

test('serves the page, its files and its data, next to the index', async () => {
  const scene = await open()
  assert.match(await ask(scene, 'GET /ui'), /^HTTP\/1\.1 200 OK\r\n[^]*<div id="page">/)
  const script = await ask(scene, `GET ${mainScript()}`)
  const [, length, body] = /content-length: (\d+)\r\n[^]*?\r\n\r\n([^]*)$/i.exec(script) ?? []
  assert.is(Number(length), Buffer.byteLength(body!, 'latin1'))
  assert.match(script, /\r\ncontent-type: text\/javascript; charset=utf-8\r\n/)
  assert.match(await ask(scene, 'GET /api/runtime'), /\r\n\r\n{"part":"runtime","place":"admin"/)
  assert.match(await ask(scene, 'GET /'), '<a href="/ui">/ui</a>')
})

test('304 has no content, HEAD the length of it', async () => {
  const scene = await open()
  const head = await ask(scene, 'HEAD /ui')
  assert.match(head, /\r\ncontent-length: [1-9]\d*\r\n/)
  assert.match(head, /\r\n\r\n$/)
  const [, tag] = /\r\netag: (.*)\r\n/.exec(head) ?? []
  const known = await ask(scene, 'GET /ui', `if-none-match: ${tag}`)
  assert.match(known, /^HTTP\/1\.1 304 /)
  assert.match(known, /\r\n\r\n$/)
  assert.not.match(known, /content-length/i)
})

test('answers 404 as JSON below the page, and as text elsewhere', async () => {
  const scene = await open()
  const json = /^HTTP\/1\.1 404 [^]*\r\n\r\n{"error":"not found"}$/
  assert.match(await ask(scene, 'GET /api/none'), json)
  assert.match(await ask(scene, 'GET /ui/none'), json)
  assert.match(await ask(scene, 'GET /other'), /^HTTP\/1\.1 404 [^]*\r\n\r\nnot found\n$/)
  const wrong = await ask(scene, 'POST /ui', 'content-length: 3')
  assert.match(wrong, /^HTTP\/1\.1 405 [^]*\r\nallow: GET, HEAD\r\n/)
})

test('answers an internal error as JSON, and logs its cause', async () => {
  const fault = new Error('out of order')
  const fail = (): never => {
    throw fault
  }
  const scene = await open({ map: fail, live: () => ({ kind: 'events', open: fail }) })
  const answer = await ask(scene, 'GET /api/map')
  assert.match(answer, /^HTTP\/1\.1 500 [^]*\r\n\r\n{"error":"internal error"}$/)
  assert.not.match(await ask(scene, `GET ${LIVE}`), 'out of order')
  assert.equal(scene.faults, [fault, fault])
})

test('opens a stream that has no event yet', async () => {
  const scene = await open({ live: () => ({ kind: 'events', open: () => () => {} }) })
  const client = await start(scene, `GET ${LIVE}`)
  assert.match(await client.until(/\r\n\r\n/), /\r\ncontent-type: text\/event-stream\r\n/)
})

test('the admin guard applies to it', async () => {
  const scene = await open()
  for (const path of ['/ui', '/api/runtime', LIVE])
    for (const field of ['origin: http://evil.example', 'sec-fetch-site: same-site'])
      assert.match(await ask(scene, `GET ${path}`, field), /^HTTP\/1\.1 403 /, `${path} ${field}`)
  const client = await stage.client(scene.target)
  client.send('GET /api/runtime HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n')
  assert.match(await client.untilClosed(), /^HTTP\/1\.1 403 /)
  assert.is(scene.readers.open.length, 0)
})

test('sends events as they are written, and releases a reader that leaves', async () => {
  const scene = await open()
  const client = await start(scene, `GET ${LIVE}`)
  const head = await client.until(/event: config\ndata: {}\n\n/)
  assert.match(head, /\r\ncontent-type: text\/event-stream\r\n/)
  assert.match(head, /\r\ncache-control: no-cache\r\n/)
  const [out] = scene.readers.open
  out!.write('data: 1\n\n')
  await client.until(/data: 1\n\n/)
  client.destroy()
  await until('it to be left', () => scene.readers.left === 1)
})

test('a stream that ends is complete', async () => {
  const scene = await open()
  const client = await start(scene, `GET ${LIVE}`, 'connection: close')
  await client.until(/event: config/)
  scene.readers.open[0]!.end()
  assert.match(await client.untilClosed(), /\r\n0\r\n\r\n$/)
  await until('it to be left', () => scene.readers.left === 1)
})

test('HEAD of a stream opens none', async () => {
  const scene = await open()
  const head = await ask(scene, `HEAD ${LIVE}`)
  assert.match(head, /^HTTP\/1\.1 200 [^]*\r\ncontent-type: text\/event-stream\r\n/)
  assert.is(scene.readers.open.length, 0)
})

test('a reader that stalls is full, and drains when it reads on', async () => {
  const scene = await open()
  const client = await start(scene, `GET ${LIVE}`)
  await client.until(/event: config/)
  client.socket.pause()
  const [out] = scene.readers.open
  const text = `data: ${'a'.repeat(65_536)}\n\n`
  let written = 0
  for (; !out!.isFull && written < 1_000; written++) {
    out!.write(text)
    await deadline(new Promise((resolve) => setImmediate(resolve)), WAIT_MS, 'a turn')
  }
  assert.ok(written < 1_000)
  const room = new Promise<void>((resolve) => out!.onDrain(resolve))
  client.socket.resume()
  await deadline(room, WAIT_MS, 'room')
  assert.not.ok(out!.isFull)
})

test('answers 503 for one reader too many, while other requests succeed', async () => {
  const scene = await open()
  const clients = await Promise.all(
    Array.from({ length: MAX_PAGE_STREAMS }, () => start(scene, `GET ${LIVE}`)),
  )
  for (const client of clients) await client.until(/event: config/)
  const refused = await ask(scene, `GET ${LIVE}`)
  assert.match(refused, /^HTTP\/1\.1 503 [^]*\r\n\r\n{"error":"too many event streams: 32 /)
  assert.match(await ask(scene, 'GET /api/runtime'), /^HTTP\/1\.1 200 /)
  clients[0]!.destroy()
  await until('one to be left', () => scene.readers.left === 1)
  await (await start(scene, `GET ${LIVE}`)).until(/event: config/)
})

test('resolves dots in a path before the lookup', async () => {
  const scene = await open()
  const { port } = scene.target as { port: number }
  for (const path of ['/ui/../api/none', '/ui/%2e%2e/api/none', '/ui/lib/../../../etc/passwd']) {
    const status = new Promise<number>((resolve, reject) => {
      const outgoing = httpRequest({ port, host: '127.0.0.1', path }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
      outgoing.on('error', reject)
      outgoing.end()
    })
    assert.is(await deadline(status, WAIT_MS, path), 404, path)
  }
})

test.run()
