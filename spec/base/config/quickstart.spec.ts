import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { QUICKSTART, QUICKSTART_HINTS } from '../../../lib/base/config/quickstart.ts'
import { configOf, firstListener } from '../../support/config.ts'

const quickstart = suite('quickstart')

quickstart('listens on loopback and answers without a backend', () => {
  const config = configOf(QUICKSTART)
  assert.is(config.gateways.length, 1)
  const { name, port, address } = config.gateways[0]!
  assert.equal([name, port, address], ['default', 3000, '127.0.0.1'])
  const { routes } = firstListener(config)
  assert.equal(
    routes.map((route) => route.name),
    ['hello', 'moved', 'welcome'],
  )
  for (const { backends } of routes) assert.equal(backends, [])
  assert.equal(JSON.parse(routes[0]!.policies.directResponse!.body), { hello: 'from the gateway' })
})

quickstart('prints curl lines for the paths it serves', () => {
  const lines = QUICKSTART_HINTS.split('\n').filter((line) => line.includes('curl'))
  assert.is(lines.length, 3)
  for (const path of ['/', '/hello', '/hi'])
    assert.ok(lines.some((line) => line.endsWith(`http://127.0.0.1:3000${path}`)))
})

quickstart.run()
