// The admin interface of the built gateway: its address and its responses.

import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freePort } from '../../conformance/gateway-process.ts'
import { deadline } from '../support/deadline.ts'
import { Folder } from '../support/folder.ts'
import { Stage } from '../support/gateway.ts'
import { Program } from '../support/program.ts'

const WAIT_MS = 30_000
const EXPECTED = 'expected ip:port, localhost:port, unix:/path or off'

const admin = suite('gateway process, admin')
const stage = new Stage()
admin.after.each(() => stage.clear())

/** `address` is ADMIN_ADDR; undefined uses the configuration file. */
async function start(address: string | undefined, adminAddr?: string): Promise<Program> {
  const line = adminAddr === undefined ? '' : `config: { adminAddr: '${adminAddr}' }\n`
  const text = `${line}gateways: { default: { port: ${await freePort()}, address: 127.0.0.1 } }
routes: [{ policies: { directResponse: { status: 200 } } }]
`
  const program = new Program('gateway', ['-c', text], { ADMIN_ADDR: address })
  stage.add({ close: () => program.kill() })
  return program
}

async function addressOf(url: string): Promise<unknown> {
  const response = await fetch(url)
  assert.is(response.headers.get('content-type'), 'application/json')
  return ((await response.json()) as { config: Record<string, unknown> }).config['adminAddr']
}

admin('listens on the address of the file', async () => {
  const port = await freePort()
  const program = await start(undefined, `localhost:${port}`)
  await program.prints(
    /serving admin interface address=(127\.0\.0\.1:\d+) ui=http:\/\/\1\/ui\n[^]*started bind/,
  )
  assert.is(await addressOf(`http://localhost:${port}/config_dump`), `localhost:${port}`)
  assert.is(await addressOf(`http://127.0.0.1:${port}/config_dump`), `localhost:${port}`)
})

admin('listens on ADMIN_ADDR instead of the address of the file', async () => {
  const port = await freePort()
  const program = await start(`127.0.0.1:${port}`, 'off')
  await program.prints(/started bind/)
  assert.is(await addressOf(`http://127.0.0.1:${port}/config_dump`), `127.0.0.1:${port}`)
})

admin('does not listen when it is off', async () => {
  const program = await start('off', `localhost:${await freePort()}`)
  await program.prints(/started bind/)
  assert.not.match(program.stdout, /admin interface/)
})

admin('refuses an invalid ADMIN_ADDR, and describes a valid one', async () => {
  for (const wrong of ['', 'nonsense', '::1:15000']) {
    const program = await start(wrong)
    assert.is(await program.exit(), 1)
    const reason = `ADMIN_ADDR: invalid config.adminAddr: got '${wrong}', ${EXPECTED}`
    assert.is(program.stderr, `Error: ${reason}\n`)
  }
})

admin('does not start when its port is in use, and names the setting', async () => {
  const holder = stage.add(createServer())
  holder.listen(0, '127.0.0.1')
  await deadline(once(holder, 'listening'), WAIT_MS, 'a port to hold')
  const { port } = holder.address() as AddressInfo
  const program = await start(undefined, `127.0.0.1:${port}`)
  assert.is(await program.exit(), 1)
  const place = `cannot open the admin interface (config.adminAddr) on 127.0.0.1:${port}`
  assert.is(program.stderr, `Error: ${place}: it is in use by another process\n`)
})

admin('listens on a unix socket while it runs, and replaces one of a killed process', async () => {
  const folder = stage.add(new Folder())
  const path = folder.at('admin.sock')
  const killed = await start(`unix:${path}`)
  await killed.prints(/serving admin interface address=unix:\S+\n[^]*started bind/)
  await killed.kill()
  assert.ok(existsSync(path))
  const program = await start(`unix:${path}`)
  await program.prints(/started bind/)
  const client = await stage.client({ path })
  client.send('GET /config_dump HTTP/1.1\r\nhost: anything\r\nconnection: close\r\n\r\n')
  assert.match(await client.untilClosed(), /"adminAddr": "unix:\/.*admin\.sock"/)
  const second = await start(`unix:${path}`)
  assert.is(await second.exit(), 1)
  assert.match(second.stderr, /admin\.sock: it is in use by another process\n$/)
  program.signal('SIGTERM')
  assert.is(await program.exit(), 0)
  assert.not.ok(existsSync(path))
})

admin.run()
