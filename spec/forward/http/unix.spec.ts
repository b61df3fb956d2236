// Backends at Unix sockets.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Backend } from '../../support/backend.ts'
import { Stage } from '../../support/gateway.ts'

const unix = suite('forward/http/unix')
const stage = new Stage()
unix.after.each(() => stage.clear())

const GET = 'GET / HTTP/1.1\r\nhost: a.test\r\n\r\n'

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'gateway-unix-'))
  stage.add({ close: () => rmSync(made, { recursive: true }) })
  return made
}

unix('calls a backend at a socket file, with the Host of the client', async () => {
  const path = join(folder(), 'a.sock')
  const backend = stage.add(
    await Backend.startAt({ path }, [
      { wait: /\r\n\r\n/ },
      { send: 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok' },
      { again: true },
    ]),
  )
  const gateway = await stage.gateway(
    `routes: [{ name: all, backends: [{ host: 'unix:${path}' }] }]`,
  )
  const client = await stage.client(gateway)
  client.send(GET + GET)
  await client.until(/ok[^]*ok$/)
  assert.is(backend.received, GET + GET)
  assert.is(backend.connections.length, 1)
  const [line] = await gateway.logged(1)
  assert.is(line!['endpoint'], `unix:${path}`)
})

unix('answers 503 when the socket file does not exist', async () => {
  const path = join(folder(), 'none.sock')
  const gateway = await stage.gateway(
    `routes: [{ name: all, backends: [{ host: 'unix:${path}' }] }]`,
  )
  const client = await stage.client(gateway)
  client.send(GET)
  await client.until(/503 Service Unavailable[^]*upstream call failed: no such socket$/)
})

unix.run()
