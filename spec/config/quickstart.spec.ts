import { existsSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { QUICKSTART, QUICKSTART_ENV, formatQuickstartHints } from '../../lib/config/quickstart.ts'
import { ADDRESSES } from '../../lib/config/shape/process-shapes.ts'
import { configOf, firstListener } from '../support/config.ts'

const quickstart = suite('quickstart')

quickstart('listens on loopback and needs no other software', () => {
  const config = configOf(QUICKSTART, QUICKSTART_ENV)
  assert.is(config.gateways.length, 1)
  const { name, port, address } = config.gateways[0]!
  assert.equal([name, port, address], ['default', 3000, '127.0.0.1'])
  const { routes } = firstListener(config)
  assert.equal(
    routes.map((route) => route.name),
    ['hello', 'demo', 'chat', 'moved', 'welcome'],
  )
  assert.equal(
    routes.flatMap(({ backends }) => backends.map(({ kind }) => kind)),
    ['mcp', 'ai'],
  )
  assert.ok(existsSync(QUICKSTART_ENV.GATEWAY_DEMO))
  assert.equal(JSON.parse(routes[0]!.policies.directResponse!.body), { hello: 'from the gateway' })
})

quickstart('limits tokens of a mock LLM that needs no key', () => {
  const { routes } = firstListener(configOf(QUICKSTART, QUICKSTART_ENV))
  const { backends, limits } = routes.find(({ name }) => name === 'chat')!
  assert.ok(backends[0]?.kind === 'ai')
  assert.is(backends[0].ai.groups[0]![0]!.provider.kind, 'mock')
  assert.equal(
    limits.map(({ counts, amount, interval, key }) => [counts, amount, interval, key]),
    [['tokens', 100_000, 60_000, null]],
  )
})

quickstart('prints curl lines for the paths it serves', () => {
  const lines = formatQuickstartHints({ kind: 'off' })
    .split('\n')
    .filter((line) => line.includes('curl'))
  assert.is(lines.length, 4)
  assert.ok(lines.some((line) => line.includes('/v1/chat/completions')))
  for (const path of ['/', '/hello', '/hi'])
    assert.ok(lines.some((line) => line.endsWith(`http://127.0.0.1:3000${path}`)))
})

quickstart('prints the URL of the web UI unless the admin address is not TCP', () => {
  const page = (address: string): string | undefined =>
    /web UI: (.+) \(/.exec(formatQuickstartHints(ADDRESSES.ADMIN_ADDR.parse(address)))?.[1]
  assert.is(page('localhost:15000'), 'http://127.0.0.1:15000/ui')
  assert.is(page('127.0.0.1:1'), 'http://127.0.0.1:1/ui')
  assert.is(page('[::1]:1'), 'http://[::1]:1/ui')
  assert.is(page('unix:/run/a'), undefined)
  assert.is(page('off'), undefined)
})

quickstart.run()
