// Source positions of gateways, listeners, routes and backends.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseConfig } from '../../lib/config/load.ts'

const places = suite('source positions')

function placesOf(text: string): Record<string, string> {
  return Object.fromEntries(parseConfig(text, { file: 'c.yaml', env: {} }).places)
}

places('point to the name of a part or to the start of a list entry', () => {
  const found = placesOf(`gateways:
  default:
    port: 3000
  multi:
    port: 3001
    listeners:
      - { name: a, hostname: a.example.com }
      - hostname: b.example.com
routes:
  - name: api
    gateways: [default, multi/a]
    backends:
      - host: localhost:80
      - { host: 'localhost:81' }
`)
  assert.equal(found, {
    'bind/3000': 'c.yaml:2:3',
    'gateway/default': 'c.yaml:2:3',
    'bind/3001': 'c.yaml:4:3',
    'gateway/multi/a': 'c.yaml:7:9',
    'gateway/multi/listener1': 'c.yaml:8:9',
    'gateway/default/default/api': 'c.yaml:10:5',
    'gateway/default/default/api/backend0': 'c.yaml:13:9',
    'gateway/default/default/api/backend1': 'c.yaml:14:9',
    'gateway/multi/a/default/api': 'c.yaml:10:5',
    'gateway/multi/a/default/api/backend0': 'c.yaml:13:9',
    'gateway/multi/a/default/api/backend1': 'c.yaml:14:9',
  })
})

places('of a section point to its name', () => {
  const found = placesOf(`gateways:
  default: { port: 3000 }
mcp:
  port: 3002
  targets: [{ name: a, stdio: { cmd: x } }]
llm:
  models: [{ name: m, provider: mock }]
`)
  assert.equal(found, {
    'bind/3000': 'c.yaml:2:3',
    'gateway/default': 'c.yaml:2:3',
    'bind/3002': 'c.yaml:3:1',
    mcp: 'c.yaml:3:1',
    'mcp:default': 'c.yaml:3:1',
    'mcp:default/backend0': 'c.yaml:3:1',
    'gateway/default/default/llm:default': 'c.yaml:6:1',
    'gateway/default/default/llm:default/backend0': 'c.yaml:6:1',
  })
})

places('are part of a frozen configuration', () => {
  const config = parseConfig('gateways: { default: { port: 3000 } }\n', { file: 'c.yaml', env: {} })
  assert.ok(Object.isFrozen(config))
  assert.is(config.places.get('bind/3000'), 'c.yaml:1:13')
})

places.run()
