// The built gateway with few file descriptors: which clients it refuses, and that it recovers.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { Stage } from '../support/gateway.ts'
import { Program } from '../support/program.ts'
import type { RawClient } from '../support/raw-client.ts'

const descriptors = suite('bin/descriptors')
const folder = mkdtempSync(join(tmpdir(), 'descriptors-'))
const stage = new Stage()
descriptors.after.each(() => stage.clear())
descriptors.after(() => rmSync(folder, { recursive: true }))

const MOST = 128
/** More connections than descriptors; few enough to leave descriptors for everything else. */
const TOO_MANY = 110
const MANY = 60

const HEAD = /\r\n\r\n/
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const GET = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n'
const SHED =
  /^HTTP\/1.1 503 [^]*\r\n\r\nout of file descriptors: the gateway may open 128 \(ulimit -n\)$/

async function start(): Promise<{ port: number; program: Program; backend: { release(): void } }> {
  const plain = await stage.backend([{ wait: HEAD }, { send: OK }, { again: true }])
  const held = await stage.backend([{ wait: HEAD }, { hold: true }, { send: OK }, { again: true }])
  const port = await freePort()
  const file = join(folder, 'config.yaml')
  writeFileSync(
    file,
    `gateways: { default: { port: ${port}, address: 127.0.0.1 } }
routes:
  - { matches: [{ path: { exact: /held } }], backends: [{ host: '127.0.0.1:${held.port}' }] }
  - { matches: [{ path: { exact: /mcp } }], backends: [{ mcp: { targets: [{ name: one, stdio: { cmd: cat } }] } }] }
  - { backends: [{ host: '127.0.0.1:${plain.port}' }] }
`,
  )
  const program = new Program({ name: 'gateway', descriptors: MOST }, ['-f', file])
  stage.add({ close: () => program.kill() })
  await program.prints(/started bind/)
  return { port, program, backend: held }
}

async function request(port: number, text = GET): Promise<RawClient> {
  const client = await stage.client({ port })
  client.send(text)
  await client.settled(() => client.text !== '', 30_000, 'an answer')
  // A refused client disconnects.
  if (client.text !== OK) client.destroy()
  return client
}

function countWarnings({ stdout }: Program): number {
  return stdout.split('limit reached limit=descriptors most=128').length - 1
}

descriptors('answers 503 without free descriptors, and serves clients again later', async () => {
  const { port, program } = await start()
  const clients: RawClient[] = []
  for (let left = TOO_MANY; left > 0; left--) clients.push(await request(port))
  const served = clients.filter(({ text }) => text === OK)
  const shed = clients.filter(({ text }) => SHED.test(text))
  assert.is(served.length + shed.length, TOO_MANY)
  assert.ok(served.length > MANY / 2, String(served.length))
  // Accepted clients are still served.
  served[0]!.send(GET)
  await served[0]!.until((text) => text === OK + OK)
  for (const client of clients) client.destroy()
  while ((await request(port)).text !== OK) continue
  await program.prints(() => countWarnings(program) === 1)
})

descriptors(
  'reports a backend connection or a child process that fails without free descriptors',
  async () => {
    const { port, program, backend } = await start()
    const clients: RawClient[] = []
    for (let left = MANY; left > 0; left--) clients.push(await request(port))
    for (const client of clients) client.send(GET.replace('/', '/held'))
    const failed = (): RawClient[] => clients.filter(({ text }) => text.includes(' 503 '))
    while (failed().length === 0) await request(port)
    const [first] = failed()
    assert.match(
      first!.text,
      /\r\n\r\nupstream call failed: out of file descriptors \(ulimit -n\)$/,
    )
    first!.take(first!.text.length)
    const body =
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}'
    first!.send(
      'POST /mcp HTTP/1.1\r\nhost: localhost\r\naccept: application/json, text/event-stream\r\n' +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    await first!.until(/could not be started: out of file descriptors \(ulimit -n\)/)
    backend.release()
    for (const client of clients) client.destroy()
    while ((await request(port)).text !== OK) continue
    assert.is(countWarnings(program), 1)
  },
)

descriptors.run()
