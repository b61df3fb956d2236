// The admin server: where it listens, which addresses it refuses, and how it answers.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo, NetConnectOpts } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { AdminServer, sendText, sendJson } from '../../lib/admin/admin-server.ts'
import { RefusalCounter } from '../../lib/core/refusal-counter.ts'
import type { EndpointTable } from '../../lib/admin/endpoint-types.ts'
import type { AdminAddress } from '../../lib/config/config-types.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'

const WAIT_MS = 30_000
const ENDPOINTS: EndpointTable = {
  '/here': {
    GET: (_request, response, url) => sendJson(response, { name: url.searchParams.get('name') }),
    POST: (_request, response) => sendText(response, 200, 'done'),
  },
  '/broken': {
    GET: () => {
      throw new Error('out of order')
    },
  },
  '/never': { GET: () => {} },
  '/stream': { GET: (_request, response) => response.flushHeaders() },
}

const admin = suite('admin/server')
const stage = new Stage()
admin.after.each(() => stage.clear())

async function open(address: AdminAddress): Promise<{ server: AdminServer; labels: string[] }> {
  const server = stage.add(new AdminServer(ENDPOINTS, () => {}))
  const labels = await deadline(server.listen(address), WAIT_MS, 'the admin interface to listen')
  return { server, labels }
}

/** A server with this connection limit. */
async function openLimited(connections: number): Promise<[NetConnectOpts, RefusalCounter]> {
  const refusals = new RefusalCounter()
  const place = { name: 'it', setting: 'x', connections, refusals }
  const server = stage.add(new AdminServer(ENDPOINTS, () => {}, place))
  const target = { host: '127.0.0.1', port: await freePort() }
  await deadline(server.listen({ kind: 'tcp', ...target }), WAIT_MS, 'it to listen')
  return [target, refusals]
}

admin('counts connections beyond the limit', async () => {
  const [target, refusals] = await openLimited(1)
  const first = await stage.client(target)
  first.send('GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await first.until((text) => text.includes('200 OK'))
  const second = await stage.client(target)
  assert.is(await second.untilClosed(), '')
  assert.is(refusals.counts.get('adminConnections'), 1)
})

admin('closes the connection that is idle longest for a new one', async () => {
  const [target, refusals] = await openLimited(3)
  const busy = await stage.client(target)
  busy.send('GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await busy.until((text) => text.includes('200 OK'))
  const served = await stage.client(target)
  const silent = await stage.client(target)
  served.send('GET /here HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await served.until((text) => text.includes('200 OK'))
  assert.match(await ask(target, 'GET /here'), /^HTTP\/1.1 200 OK/)
  assert.is(await silent.untilClosed(), '')
  assert.is(refusals.counts.get('adminConnections'), 1)
  served.send('GET /here HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  assert.is((await served.untilClosed()).split('200 OK').length, 3)
})

async function refusal(address: AdminAddress): Promise<string> {
  return open(address).then(
    () => 'opened',
    (error: Error) => error.message,
  )
}

async function openTcp(): Promise<NetConnectOpts> {
  const port = await freePort()
  await open({ kind: 'tcp', host: '127.0.0.1', port })
  return { port, host: '127.0.0.1' }
}

/** The whole response, to the end of the connection. */
async function ask(target: NetConnectOpts, start: string, ...fields: string[]): Promise<string> {
  const client = await stage.client(target)
  const head = [`${start} HTTP/1.1`, 'host: localhost', ...fields, 'connection: close']
  client.send(head.join('\r\n') + '\r\n\r\n')
  return client.untilClosed()
}

async function listening(path: string): Promise<void> {
  const server = stage.add(createServer())
  server.listen(path)
  await deadline(once(server, 'listening'), WAIT_MS, 'a socket')
}

admin('answers by path and method, with the query', async () => {
  const target = await openTcp()
  const text = await ask(target, 'GET /here?name=a%20b')
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n/)
  assert.match(text, /\r\ncontent-type: application\/json\r\n/)
  assert.match(text, /\r\ncache-control: no-store\r\n/)
  assert.match(text, /\r\nx-content-type-options: nosniff\r\n/)
  assert.ok(text.includes('{\n  "name": "a b"\n}\n'))
  assert.match(await ask(target, 'POST /here', 'content-length: 0'), /\bdone\n/)
})

admin(
  'answers 404 for an unknown path, 405 with Allow and no body for a wrong method',
  async () => {
    const target = await openTcp()
    for (const path of ['/', '/nowhere', '/here/', '/HERE', '/__proto__', '//'])
      assert.match(await ask(target, `GET ${path}`), /^HTTP\/1\.1 404 .*not found\n/s, path)
    const text = await ask(target, 'DELETE /here')
    assert.match(text, /^HTTP\/1\.1 405 /)
    assert.match(text, /\r\nallow: GET, POST\r\n/)
    assert.not.match(text, /not/)
  },
)

admin('answers 500 with the reason when an endpoint fails', async () => {
  const text = await ask(await openTcp(), 'GET /broken')
  assert.match(text, /^HTTP\/1\.1 500 .*out of order\n/s)
})

admin(
  'answers 403 for a host name of another machine, a foreign origin, another site',
  async () => {
    const target = await openTcp()
    const rebound = await stage.client(target)
    rebound.send('GET /here HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n')
    assert.match(await rebound.untilClosed(), /^HTTP\/1\.1 403 .*Host must be a loopback name/s)
    assert.match(await ask(target, 'GET /here', 'origin: http://evil.example'), /^HTTP\/1\.1 403 /)
    assert.match(await ask(target, 'GET /here', 'sec-fetch-site: cross-site'), /^HTTP\/1\.1 403 /)
  },
)

admin('closes the connection after a refusal', async () => {
  const target = await openTcp()
  for (const field of ['host: evil.example', 'host: localhost\r\nsec-fetch-site: cross-site']) {
    const client = await stage.client(target)
    client.send(`GET /here HTTP/1.1\r\n${field}\r\n\r\n`)
    assert.match(await client.untilClosed(), /^HTTP\/1\.1 403 .*\r\nconnection: close\r\n/s)
  }
})

admin('never allows another origin in a response', async () => {
  const target = await openTcp()
  const preflight = await ask(
    target,
    'OPTIONS /here',
    'origin: http://localhost:3000',
    'access-control-request-method: POST',
  )
  assert.match(preflight, /^HTTP\/1\.1 403 /)
  assert.not.match(preflight, /access-control-allow/)
})

admin('localhost is both loopback addresses, and no other', async () => {
  const port = await freePort()
  const { labels } = await open({ kind: 'localhost', port })
  assert.is(labels[0], `127.0.0.1:${port}`)
  for (const label of labels) {
    const host = label.startsWith('[') ? '::1' : '127.0.0.1'
    assert.match(await ask({ port, host }, 'GET /here'), /^HTTP\/1\.1 200 /)
  }
})

admin('the error names an address that is in use', async () => {
  const holder = stage.add(createServer())
  holder.listen(0, '127.0.0.1')
  await deadline(once(holder, 'listening'), WAIT_MS, 'a port to hold')
  const { port } = holder.address() as AddressInfo
  assert.is(
    await refusal({ kind: 'tcp', host: '127.0.0.1', port }),
    `cannot open the admin interface (config.adminAddr) on 127.0.0.1:${port}: it is in use by another process`,
  )
})

admin('closes the first loopback address when the other is in use', async () => {
  const holder = stage.add(createServer())
  const held = once(holder, 'listening')
  const failed = once(holder, 'error').then(() => 'no IPv6')
  holder.listen(0, '::1')
  if ((await deadline(Promise.race([held, failed]), WAIT_MS, 'IPv6')) === 'no IPv6') return
  const { port } = holder.address() as AddressInfo
  assert.match(await refusal({ kind: 'localhost', port }), /on \[::1\]:\d+: it is in use/)
  const { labels } = await open({ kind: 'tcp', host: '127.0.0.1', port })
  assert.is(labels.length, 1)
})

admin('the error says that the machine has no such address', async () => {
  const message = await refusal({ kind: 'tcp', host: '192.0.2.1', port: await freePort() })
  assert.match(message, /config\.adminAddr.*192\.0\.2\.1:\d+: this machine has no such address$/)
})

admin('does not listen when it is off', async () => {
  assert.equal((await open({ kind: 'off' })).labels, [])
})

admin('a unix socket accepts any Host, and its file is removed at the end', async () => {
  const folder = stage.add(new Folder())
  const path = folder.at('admin.sock')
  const { server, labels } = await open({ kind: 'unix', path })
  assert.equal(labels, [`unix:${path}`])
  assert.match(await ask({ path }, 'GET /here'), /^HTTP\/1\.1 200 /)
  server.close()
  assert.not.ok(existsSync(path))
})

admin('replaces a socket that a dead process left', async () => {
  const folder = stage.add(new Folder())
  const path = folder.at('admin.sock')
  const leave = `require('net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(process.execPath, ['-e', leave])
  assert.ok(existsSync(path))
  await open({ kind: 'unix', path })
  assert.match(await ask({ path }, 'GET /here'), /^HTTP\/1\.1 200 /)
})

admin('keeps a socket on which another process listens', async () => {
  const folder = stage.add(new Folder())
  const path = folder.at('admin.sock')
  await listening(path)
  assert.is(
    await refusal({ kind: 'unix', path }),
    `cannot open the admin interface (config.adminAddr) on unix:${path}: it is in use by another process`,
  )
  await stage.client({ path })
})

admin('keeps a file that is not a socket', async () => {
  const folder = stage.add(new Folder())
  const path = folder.write('precious.txt', 'precious')
  symlinkSync(path, folder.at('link.sock'))
  for (const taken of [path, folder.at('link.sock'), folder.path])
    assert.match(
      await refusal({ kind: 'unix', path: taken }),
      /the file exists and is not a socket$/,
    )
  assert.is(readFileSync(path, 'utf8'), 'precious')
})

admin('the error says that the folder of the socket does not exist', async () => {
  const folder = stage.add(new Folder())
  const message = await refusal({ kind: 'unix', path: folder.at('no/admin.sock') })
  assert.match(message, /admin\.sock: the folder does not exist$/)
})

admin('serves 64 requests at a time and no more', async () => {
  const target = await openTcp()
  const clients = await Promise.all(Array.from({ length: 64 }, () => stage.client(target)))
  for (const client of clients) client.send('GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await Promise.all(clients.map((client) => client.until(/200 OK/)))
  const more = await stage.client(target)
  more.send('GET /here HTTP/1.1\r\nhost: localhost\r\n\r\n')
  assert.is(await more.untilClosed(), '')
  clients[0]!.destroy()
  // A connection is free as soon as the server has seen the close.
  for (let tries = 0; tries < 100; tries++) {
    const next = await stage.client(target)
    next.send('GET /here HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
    if ((await next.untilClosed()).startsWith('HTTP/1.1 200 ')) return
  }
  assert.unreachable('a place became free')
})

admin.run()
