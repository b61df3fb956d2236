// The admin servers of one process: log lines are kept only if a page can be opened.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseConfig } from '../../lib/config/load.ts'
import { Log } from '../../lib/core/log.ts'
import { Mutex } from '../../lib/core/scheduling.ts'
import { Gateway } from '../../lib/gateway.ts'
import { AdminServers } from '../../lib/processes/admin-servers.ts'
import { Reloader } from '../../lib/processes/reload.ts'
import { deadline } from '../support/deadline.ts'

const test = suite('process/admin-servers')

interface Made {
  readonly log: Log
  readonly gateway: Gateway
  readonly stop: () => Promise<void>
}

function made(adminAddr: string): Made {
  const text = 'gateways: { default: { port: 3000 } }\n'
  const config = parseConfig(text, { file: 'c.yaml', env: {} })
  const log = new Log({ level: 'info', format: 'text', write: (_text, done) => done() })
  const gateway = new Gateway(config, log)
  const reloader = new Reloader(gateway, log, { load: () => config, mutex: new Mutex() })
  const env = { ADMIN_ADDR: adminAddr, STATS_ADDR: 'off', READINESS_ADDR: 'off' }
  new AdminServers({ config, env, gateway, reloader, log, quit: () => {} })
  return { log, gateway, stop: () => deadline(gateway.stop(), 20_000, 'the gateway to stop') }
}

const ASK = { method: 'GET', path: '', query: new URLSearchParams(), ifNoneMatch: undefined }

test('keeps log lines from the first one on when there is an admin interface', async () => {
  const { log, gateway, stop } = made('127.0.0.1:15000')
  log.write('info', 'gateway', 'first', [])
  const { lines } = gateway.readApi.logs(ASK, 'admin')
  assert.equal(
    lines.map(({ message }) => message),
    ['first'],
  )
  const { yaml } = gateway.readApi.config(ASK, 'admin')
  assert.match(yaml, 'adminAddr: 127.0.0.1:15000')
  await stop()
  assert.is(log.tap, null)
})

test('keeps no log lines when no page can be opened', async () => {
  const { log, gateway, stop } = made('off')
  log.write('info', 'gateway', 'first', [])
  assert.is(log.tap, null)
  assert.equal(gateway.readApi.logs(ASK, 'admin').lines, [])
  assert.match(gateway.readApi.config(ASK, 'admin').yaml, 'adminAddr: "off"')
  await stop()
})

test.run()
